"""Every extension point of Scoter: one Protocol each."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from scoter.config import Config
from scoter.core.chain import UrlFilter, UrlNormalizer
from scoter.core.datum import CrawlDatum
from scoter.core.document import CrawledPage, Document, RejectedDocument
from scoter.core.page import EMPTY, Content, Outlink, Page
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


class PluginValue:
    """A plug-in that never changes and equals others with the same attributes, so that cached queries fit both."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(type(self))


class FetchProtocol(Protocol):
    """Fetches one hop for URLs of the schemes it declares.

    ``fetch`` is called concurrently, for many requests at a time, on one event loop. If it has a second parameter,
    ``datum: CrawlDatum | None = None``, it gets the URL's record in its fetch list; ``None`` for a robots.txt, and in
    the live service.
    """

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

    ``index`` is called when the indexing filters have filled the document; ``crawled`` has the parsed page and its
    inlinks. A filter whose ``index`` takes only the first three is called before them.

    ``distribute`` may also adjust the page itself, by returning a link to it of the kind ``ADJUSTMENT``
    (``scoter.core.page``). An update combines its score and columns with those of the inlinks; no other table shows it.

    A filter that sets the metadata of links in ``distribute`` declares ``carries_metadata = True``: a new record then
    starts with the metadata of its best link.
    """

    def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum: ...
    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum: ...
    def sort_value(self, url: Url, datum: CrawlDatum, value: float) -> float: ...
    def before_parsing(self, url: Url, datum: CrawlDatum, content: Content) -> Content: ...
    def after_parsing(self, url: Url, content: Content, page: Page) -> Page: ...
    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]: ...
    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum: ...
    def index(self, url: Url, datum: CrawlDatum, boost: float, document: Document, crawled: CrawledPage) -> float: ...
    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum: ...


class IndexingFilter(Protocol):
    """Adds fields to a document, or returns `None` to leave it out of the index."""

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None: ...


class DocumentExchange(Protocol):
    """Names the index writers that get a document, or none if it leaves that to others.

    A document goes to the writers that all exchanges and all routes of the writers' file name together, and to those of
    the default route if there are none. Writers that are not active are ignored.
    """

    def writers(self, document: Document) -> Collection[str]: ...


class MergedPage(Struct, frozen=True, kw_only=True):
    """The newest fetch of a URL when segments are merged, and what was parsed from it.

    ``datum`` is its record in the segment. ``parse_status`` is empty if the page was not parsed.
    """

    url: Url
    datum: CrawlDatum
    segment: str
    http_status: int | None = None
    content_type: str = ""
    parse_status: str = ""
    title: str = ""
    text: str = ""
    language: str = ""
    metadata: Mapping[str, str] = EMPTY


class SegmentMergeFilter(Protocol):
    """Keeps a page or drops it when segments are merged."""

    def keeps(self, page: MergedPage) -> bool: ...


class IndexRun(Struct, frozen=True, kw_only=True):
    """A run of ``scoter index``: the crawl directory, and the run's number.

    A run that is killed is repeated with the same number. ``rebuild``: every document will be written, so that an index
    may start empty.
    """

    directory: Path
    number: int
    rebuild: bool = False


class IndexWriter(Protocol):
    """Writes documents to a search index.

    Writing a document replaces an earlier one with the same id, so that writing it twice changes nothing. After a
    commit, what was written and deleted before is durable. A run that is killed is repeated from the last commit.
    Documents that the index does not accept are returned, by ``write`` or by ``commit``, and written again by the next
    run; an index that cannot be reached is an error.
    """

    def open(self, run: IndexRun) -> None: ...
    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]: ...
    def delete(self, ids: Sequence[str]) -> None: ...
    def commit(self) -> Sequence[RejectedDocument]: ...
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
    """Publishes the events of a fetch, each with a name and facts."""

    def publish(self, event: str, facts: Mapping[str, Any]) -> None: ...


class HostProcessor(Protocol):
    """Aggregates the records of each host into metadata of the hostdb.

    ``updatehostdb`` calls ``start`` with a host, ``add`` with each of its records in the crawldb, and ``finish``.
    """

    def start(self, host: str) -> None: ...
    def add(self, url: Url, datum: CrawlDatum) -> None: ...
    def finish(self) -> Mapping[str, str]: ...


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
        Point("urlfilter", UrlFilter, "urlfilter.filters"),
        Point("urlnormalizer", UrlNormalizer, "urlnormalizer.normalizers"),
        Point("urlexemption", UrlExemption, "urlfilter.exemptions"),
        Point("parser", Parser, "parse.parsers"),
        Point("parsefilter", ParseFilter, "parse.filters"),
        Point("scoring", ScoringFilter, "scoring.filters"),
        Point("indexingfilter", IndexingFilter, "index.filters"),
        Point("exchange", DocumentExchange, "index.exchanges"),
        Point("indexwriter", IndexWriter, "index.writers"),
        Point("segmentmergefilter", SegmentMergeFilter, "db.segment_merge_filters"),
        Point("schedule", FetchSchedule, "db.schedule"),
        Point("signature", Signature, "db.signature"),
        Point("publisher", Publisher, "publisher.publishers"),
        Point("hostprocessor", HostProcessor, "hostdb.processors"),
    )
}

SCORING_HOOKS = tuple(name for name in vars(ScoringFilter) if not name.startswith("_"))
# Parsing works on single pages, never inside the engine.
COLUMN_HOOKS = tuple(f"{hook}_columns" for hook in SCORING_HOOKS if not hook.endswith("_parsing"))
SCHEDULE_COLUMNS = ("first_columns", "fetched_columns", "retry_columns", "gone_columns", "force_columns")
