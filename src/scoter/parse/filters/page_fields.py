"""The headings of a page as metadata."""

from __future__ import annotations

from itertools import islice
from typing import Final
from urllib.parse import unquote_plus

from scoter.core.page import Content, Page
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.parse.filters.values import together, with_metadata
from scoter.plugins import Setup

_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}


class HeadingsFilter:
    """Keeps the first heading of each level that is wanted, or all of them, as h1 to h6."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.parse
        names = [name.strip().lower() for name in settings.headings]
        strange = next((name for name in names if name not in _LEVELS), None)
        if strange is not None:
            raise ConfigError(
                f"{strange!r} is no heading", where="parse.headings", hint="Headings are h1, h2, h3, h4, h5 and h6."
            )
        self._names = {_LEVELS[name]: name for name in names}
        self._all = settings.headings_multivalued

    def refine(self, content: Content, page: Page) -> Page:
        found: dict[str, list[str]] = {}
        for heading in page.headings:
            name = self._names.get(heading.level)
            if name is not None and heading.text.strip() and (self._all or name not in found):
                found.setdefault(name, []).append(heading.text)
        return with_metadata(page, {name: together(texts) for name, texts in found.items()})


PREFIX: Final = "metatag."
MOST_NAMES: Final = 200
LONGEST_NAME: Final = 100


class MetatagsFilter:
    """Keeps the meta elements whose names are wanted, each as metatag.NAME."""

    def __init__(self, setup: Setup) -> None:
        names = [name.strip().lower() for name in setup.config.parse.metatags_names]
        self._all = "*" in names
        self._names = frozenset(names)

    def refine(self, content: Content, page: Page) -> Page:
        wanted = (
            (name, values)
            for name, values in page.metas.items()
            if (self._all and len(name) <= LONGEST_NAME) or name in self._names
        )
        return with_metadata(page, {PREFIX + name: together(values) for name, values in islice(wanted, MOST_NAMES)})


RELTAG_KEY: Final = "Rel-Tag"


class ReltagFilter:
    """Keeps the tags that a page's links with rel=tag name, as Rel-Tag."""

    def __init__(self, setup: Setup) -> None: ...

    def refine(self, content: Content, page: Page) -> Page:
        tags = (tag_of(link.target) for link in page.outlinks if link.rel and "tag" in link.rel.lower().split())
        return with_metadata(page, {RELTAG_KEY: together(tags)})


def tag_of(target: Url) -> str:
    """Return the tag that an address stands for: the last segment of its path that is not empty.

    The microformat has nothing for an address that ends with a slash; the blogs that write them mean what stands
    before it.

    >>> from scoter.core.url import canonical
    >>> tag_of(canonical("http://a.example/tag/grey+seals/?page=2")), tag_of(canonical("http://a.example/"))
    ('grey seals', '')
    """
    return unquote_plus(target.path.rstrip("/").rpartition("/")[2])
