"""Filters that copy what a page says into its metadata: headings, ``meta`` elements and tags."""

from __future__ import annotations

from itertools import islice
from typing import Final
from urllib.parse import unquote_plus

from scoter.core.page import Content, Page
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.parse.filters.metadata_values import join_values, with_metadata
from scoter.plugins import Setup

_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
PREFIX: Final = "metatag."
MOST_NAMES: Final = 200
LONGEST_NAME: Final = 100
RELTAG_KEY: Final = "Rel-Tag"


class HeadingsFilter:
    """Copies the first heading of each selected level, or all of them, to h1 … h6."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.parse
        names = [name.strip().lower() for name in settings.headings]
        strange = next((name for name in names if name not in _LEVELS), None)
        if strange is not None:
            raise ConfigError(
                f"{strange!r} is not a heading level", where="parse.headings", hint="Use h1, h2, h3, h4, h5 or h6."
            )
        self._names = {_LEVELS[name]: name for name in names}
        self._all = settings.headings_multivalued

    def refine(self, content: Content, page: Page) -> Page:
        found: dict[str, list[str]] = {}
        for heading in page.headings:
            name = self._names.get(heading.level)
            if name is not None and heading.text.strip() and (self._all or name not in found):
                found.setdefault(name, []).append(heading.text)
        return with_metadata(page, {name: join_values(texts) for name, texts in found.items()})


class MetatagsFilter:
    """Copies the selected meta elements to metatag.NAME."""

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
        return with_metadata(page, {PREFIX + name: join_values(values) for name, values in islice(wanted, MOST_NAMES)})


class ReltagFilter:
    """Copies the tags named by links with rel=tag to Rel-Tag."""

    def __init__(self, setup: Setup) -> None: ...

    def refine(self, content: Content, page: Page) -> Page:
        tags = (tag_of(link.target) for link in page.outlinks if link.rel and "tag" in link.rel.lower().split())
        return with_metadata(page, {RELTAG_KEY: join_values(tags)})


def tag_of(target: Url) -> str:
    """Return the tag of an address: the last non-empty segment of its path.

    The microformat defines no tag for an address that ends with a slash, but blogs that write one mean the segment
    before it.

    >>> from scoter.core.url import canonical
    >>> tag_of(canonical("http://a.example/tag/grey+seals/?page=2")), tag_of(canonical("http://a.example/"))
    ('grey seals', '')
    """
    return unquote_plus(target.path.rstrip("/").rpartition("/")[2])
