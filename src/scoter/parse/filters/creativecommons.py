"""The Creative Commons licence of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scoter.core.page import Content, Page
from scoter.parse.filters.licences import HOSTS, licence_at
from scoter.parse.filters.values import together, with_metadata
from scoter.plugins import Setup

URL: Final = "License-Url"
LOCATION: Final = "License-Location"
FEATURES: Final = "License-Features"
VERSION: Final = "License-Version"
JURISDICTION: Final = "License-Jurisdiction"


class CreativeCommonsFilter:
    """Keeps the Creative Commons licence of a page, as License-Url and what it asks for.

    A link with ``rel=license`` is believed first, then what the page says about itself, then any link to a licence.
    """

    def __init__(self, setup: Setup) -> None: ...

    def refine(self, content: Content, page: Page) -> Page:
        for location, url in _candidates(page):
            licence = licence_at(url)
            if licence is not None:
                found = {
                    URL: licence.url,
                    LOCATION: location,
                    FEATURES: together(licence.features),
                    VERSION: licence.version,
                    JURISDICTION: licence.jurisdiction,
                }
                return with_metadata(page, found)
        return page


def _candidates(page: Page) -> Iterator[tuple[str, str]]:
    for link in page.outlinks:
        if link.rel and "license" in link.rel.lower().split():
            yield "rel", link.target.text
    if page.about is not None:
        yield "about", page.about.license
    for link in page.outlinks:
        # A picture or a style sheet of theirs licenses nothing.
        if link.kind in ("a", "area") and link.target.host in HOSTS:
            yield "a", link.target.text
