"""Every extension point of Scoter: one Protocol each."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from scoter.config import Config
from scoter.core.chain import UrlFilter, UrlNormalizer
from scoter.core.datum import CrawlDatum
from scoter.core.page import Content, Document, Outlink, Page
from scoter.core.reply import Reply, Request
from scoter.core.schedule import Change
from scoter.core.url import Url


class Column(Struct, frozen=True):
    """A typed column that a plug-in keeps in the crawldb.

    ``merge`` says how the values of several inlinks are combined: minimum, maximum, sum, or that of the link with the
    best score.
    """

    name: str
    arrow_type: str
    default: Any = None
    merge: Literal["min", "max", "sum", "first"] = "first"


class Setup(Struct, frozen=True):
    """The argument of a plug-in's constructor: the configuration, and its own settings if it declares any."""

    config: Config
    settings: Any = None


class NoSettings(Struct, frozen=True):
    """The settings of a plug-in that declares none."""


class FetchProtocol(Protocol):
    """Fetches one hop for URLs of the schemes it declares."""

    schemes: tuple[str, ...]

    async def fetch(self, request: Request) -> Reply: ...


class UrlExemption(Protocol):
    """Keeps an external link although external links are ignored."""

    def exempts(self, source: Url, target: Url) -> bool: ...


class Parser(Protocol):
    """Parses the bytes of the media types it declares into one or more pages."""

    media_types: tuple[str, ...]

    def parse(self, content: Content) -> Sequence[Page]: ...


class ParseFilter(Protocol):
    """Changes a parsed page."""

    def refine(self, content: Content, page: Page) -> Page: ...


class ScoringFilter(Protocol):
    """Scores URLs, by any of nine hooks.

    These hooks work on one record. Each may also, or instead, be implemented as ``HOOK_columns(table)``: it gets a
    table with the columns of a crawl datum, returns column expressions by name (``sort_value`` and ``index``: one
    expression), and runs inside the engine without a Python call per row. In ``update_columns`` the columns of the old
    record have the prefix ``old_``, and the combined ones of the inlinks ``link_`` (``link_score`` is their sum). There
    and in ``orphaned_columns`` the column ``now`` is the current time.
    """

    def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum: ...
    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum: ...
    def sort_value(self, url: Url, datum: CrawlDatum, value: float) -> float: ...
    def before_parsing(self, url: Url, datum: CrawlDatum, content: Content) -> Content: ...
    def after_parsing(self, url: Url, content: Content, page: Page) -> Page: ...
    def distribute(self, url: Url, datum: CrawlDatum, targets: Sequence[Outlink], found: int) -> Sequence[Outlink]: ...
    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum: ...
    def index(self, url: Url, datum: CrawlDatum, boost: float) -> float: ...
    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum: ...


class IndexingFilter(Protocol):
    """Adds fields to a document, or returns `None` to leave it out of the index."""

    def fill(self, document: Document, page: Page, datum: CrawlDatum) -> Document | None: ...


class IndexWriter(Protocol):
    """Writes documents to a search back end."""

    def open(self) -> None: ...
    def write(self, documents: Sequence[Document]) -> None: ...
    def delete(self, ids: Sequence[str]) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class FetchSchedule(Protocol):
    """Decides when a page is due again.

    A schedule may also offer ``first_columns``, ``fetched_columns``, ``retry_columns``, ``gone_columns`` and
    ``force_columns``. Each gets a table with the columns of a crawl datum and returns what changes, as column
    expressions by name. The table also has ``fetched`` (the time), ``change`` (``unknown``, ``modified``,
    ``notmodified``) and ``now``. With all five, jobs need no Python call per row.
    """

    def first(self, datum: CrawlDatum, now: datetime) -> CrawlDatum: ...
    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: Change) -> CrawlDatum: ...
    def retry(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum: ...
    def gone(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum: ...
    def force(self, datum: CrawlDatum) -> CrawlDatum: ...
    def due(self, datum: CrawlDatum, now: datetime) -> tuple[bool, CrawlDatum]: ...


class Signature(Protocol):
    """Computes the same bytes for pages that count as duplicates.

    One that does not read the text declares ``reads_text = False``; the text may then be empty.
    """

    def sign(self, url: Url, body: bytes, text: str) -> bytes: ...


class Publisher(Protocol):
    """Publishes the events of the fetcher, each with a name and facts."""

    def publish(self, event: str, facts: Mapping[str, Any]) -> None: ...


@runtime_checkable
class Command(Protocol):
    """A plug-in that can be run from the command line."""

    def run(self, args: Sequence[str]) -> int: ...


class Point(Struct, frozen=True):
    """An extension point: its name, its protocol, and the setting that lists the active plug-ins."""

    name: str
    protocol: type
    chain: str

    @property
    def sentence(self) -> str:
        return (inspect.getdoc(self.protocol) or "").partition("\n")[0]

    @property
    def group(self) -> str:
        return f"scoter.{self.name}"


POINTS: Mapping[str, Point] = {
    point.name: point
    for point in (
        Point("protocol", FetchProtocol, "fetch.protocols"),
        Point("urlfilter", UrlFilter, "urlfilter.order"),
        Point("urlnormalizer", UrlNormalizer, "urlnormalizer.order"),
        Point("urlexemption", UrlExemption, "urlfilter.exemptions"),
        Point("parser", Parser, "parse.parsers"),
        Point("parsefilter", ParseFilter, "parse.filter_order"),
        Point("scoring", ScoringFilter, "scoring.filter_order"),
        Point("indexingfilter", IndexingFilter, "index.filter_order"),
        Point("indexwriter", IndexWriter, "index.writers"),
        Point("schedule", FetchSchedule, "db.fetch_schedule_class"),
        Point("signature", Signature, "db.signature_class"),
        Point("publisher", Publisher, "publisher.order"),
    )
}

SCORING_HOOKS = tuple(name for name in vars(ScoringFilter) if not name.startswith("_"))
# Parsing works on single pages, never inside the engine.
COLUMN_HOOKS = tuple(f"{hook}_columns" for hook in SCORING_HOOKS if not hook.endswith("_parsing"))
SCHEDULE_COLUMNS = ("first_columns", "fetched_columns", "retry_columns", "gone_columns", "force_columns")
