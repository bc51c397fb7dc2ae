"""The tags that a page gives itself by links: ``<a href="/tag/seals" rel="tag">`` tags it ``seals``."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_plus

from scoter.core.page import Content, Page
from scoter.core.url import Url
from scoter.parse.filters.values import together, with_metadata
from scoter.plugins import Setup

KEY: Final = "Rel-Tag"


class ReltagFilter:
    """Keeps the tags that a page's links with rel=tag name, as Rel-Tag."""

    def __init__(self, setup: Setup) -> None: ...

    def refine(self, content: Content, page: Page) -> Page:
        tags = (tag_of(link.target) for link in page.outlinks if link.rel and "tag" in link.rel.lower().split())
        return with_metadata(page, {KEY: together(tags)})


def tag_of(target: Url) -> str:
    """Return the tag that an address stands for: the last segment of its path that is not empty.

    The microformat has nothing for an address that ends with a slash; the blogs that write them mean what stands
    before it.

    >>> from scoter.core.url import canonical
    >>> tag_of(canonical("http://a.example/tag/grey+seals/?page=2")), tag_of(canonical("http://a.example/"))
    ('grey seals', '')
    """
    return unquote_plus(target.path.rstrip("/").rpartition("/")[2])
