"""Documents for search indexes, and what they are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.datum import CrawlDatum
from scoter.core.page import EMPTY, Page, PageSection


class Inlink(Struct, frozen=True):
    """A link to a page: the page it is on, and its anchor text."""

    url: str
    anchor: str = ""


class CrawledPage(Struct, frozen=True, kw_only=True):
    """A parsed page with what the crawl knows about it.

    ``datum`` is its record in the crawldb. ``fetched`` is the time of the fetch that the page comes from; ``headers``
    are facts about that response by header name (``Content-Type``, ``Content-Length``, ``Last-Modified``), and ``ip``
    the address of the server. ``segment`` holds the page. ``part_of`` is the feed or archive that it is an entry of.
    """

    page: Page
    datum: CrawlDatum
    fetched: datetime | None = None
    headers: Mapping[str, str] = EMPTY
    ip: str = ""
    segment: str = ""
    part_of: str = ""
    inlinks: tuple[Inlink, ...] = ()


class RejectedDocument(Struct, frozen=True):
    """A document that an index did not accept, and why."""

    id: str
    reason: str


class Document(Struct, frozen=True, kw_only=True):
    """A document for a search index: an id and fields with one or more values each.

    Values are texts, numbers, booleans and times. ``sections`` are those of the page, for indexes that link to them;
    ``rest`` is what the page says beside its main text, for indexes that can give it less weight.

    >>> Document(id="a").with_fields(title=["Grey seals"], lang=[""]).fields
    {'title': ('Grey seals',)}
    """

    id: str
    fields: Mapping[str, tuple[Any, ...]] = EMPTY
    boost: float = 1.0
    sections: tuple[PageSection, ...] = ()
    rest: str = ""

    def first(self, name: str) -> Any:
        """Return the first value of a field, or ``None``."""
        values = self.fields.get(name)
        return values[0] if values else None

    def with_fields(self, fields: Mapping[str, Iterable[Any]] = EMPTY, **more: Iterable[Any]) -> Document:
        """Return the document with fields set; a field without a value is left as it is.

        ``None`` and the empty text are not values.
        """
        given = {**fields, **more}
        found = {
            name: tuple(kept)
            for name, values in given.items()
            if (kept := [value for value in values if value is not None and value != ""])
        }
        return replace(self, fields={**self.fields, **found}) if found else self

    def without(self, names: Iterable[str]) -> Document:
        """Return the document without some of its fields."""
        gone = frozenset(names)
        return replace(self, fields={name: values for name, values in self.fields.items() if name not in gone})
