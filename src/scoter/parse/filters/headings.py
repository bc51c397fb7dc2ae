"""The headings of a page as metadata."""

from __future__ import annotations

from typing import Final

from scoter.core.page import Content, Page
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
