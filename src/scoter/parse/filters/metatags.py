"""The ``meta`` elements of a page as metadata."""

from __future__ import annotations

from itertools import islice
from typing import Final

from scoter.core.page import Content, Page
from scoter.parse.filters.values import together, with_metadata
from scoter.plugins import Setup

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
