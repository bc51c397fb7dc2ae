"""Import the segments of a Nutch crawl.

Nutch keeps what belongs to a fetch in two places: ``crawl_fetch`` has its status and time, ``content`` its response.
Both are read one after the other and joined by the engine. Nutch's ``crawl_parse`` names the targets of links with
their scores, but not the pages they are on; ``parse_data`` has pages and links, but no scores. So the links of
``parse_data`` are imported, and all links to a target share the sum of its scores equally, which an update adds up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter import __version__
from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, PARSED, Segment, SegmentInfo
from scoter.batch.worker.segment_part import LinkBuffer, PageBuffer
from scoter.config import Config
from scoter.core.datum import DbStatus, FetchStatus, PartStatus
from scoter.core.page import Outlink
from scoter.core.reply import Reason
from scoter.core.url import Url, canonical
from scoter.engine import Engine, TableSource
from scoter.engine.portable import first_rows
from scoter.errors import UrlError
from scoter.nutch.crawl import layout
from scoter.nutch.crawl.captures import ProtocolStatus, exchange_of, http_code
from scoter.nutch.crawl.layout import NutchSegment
from scoter.nutch.crawl.parses import REDIRECT, page_row, page_status
from scoter.nutch.crawl.reader import STATUSES, CrawlReader, datum_columns
from scoter.nutch.crawl.records import NutchDatum, NutchParse, read_content, read_datum, read_parse, read_parse_text
from scoter.nutch.crawl.tables import COMMAND, row_file, saved_rows
from scoter.plugins.recorded import ibis
from scoter.store.disk import disk_errors
from scoter.store.tables import PartSet
from scoter.store.tables.local import LocalStorage
from scoter.store.warc import ArchiveInfo, WarcWriter

PART: Final = "part-00001"
_MAX_ARCHIVE: Final = 2**30
_KEY: Final = "nutch_url"
_FETCHES: Final = pa.schema([*schemas.CRAWL_FETCH, (_KEY, pa.utf8())])
_CAPTURES: Final = pa.schema(
    [
        ("captured", pa.utf8()),
        ("c_http_status", pa.int32()),
        ("c_content_type", pa.utf8()),
        ("c_length", pa.int64()),
        ("c_truncated", pa.utf8()),
        ("c_warc_file", pa.utf8()),
        ("c_warc_offset", pa.int64()),
        ("c_warc_length", pa.int64()),
        ("c_ip", pa.utf8()),
    ]
)
_OF_CAPTURE: Final = tuple(name.removeprefix("c_") for name in _CAPTURES.names[1:])
_SCORES: Final = pa.schema([("target", pa.utf8()), ("sum", pa.float64())])
_REASONS: Final = {
    "gone": Reason.REMOVED,
    "notfound": Reason.NOT_FOUND,
    "access_denied": Reason.UNAUTHORIZED,
    "robots_denied": Reason.ROBOTS_DENIED,
    "proto_not_found": Reason.REFUSED_SCHEME,
    "blocked": Reason.BUSY,
    "wouldblock": Reason.BUSY,
    "retry": Reason.BUSY,
}
_CODE: Final = re.compile(r"code=(\d{3})")


class ImportedSegment(Struct, frozen=True):
    """A segment: its number of fetched URLs, and which of its steps are complete."""

    name: str
    urls: int
    is_fetched: bool
    is_parsed: bool


class SegmentImport:
    """Writes one segment."""

    def __init__(
        self, source: NutchSegment, folder: Path, reader: CrawlReader, engine: Engine, config: Config, now: datetime
    ) -> None:
        """``folder`` is for temporary files."""
        self._source = source
        self._folder = folder / source.name
        self._reader = reader
        self._engine = engine
        self._now = now
        self._time = _time_of(source.name) or now
        agent = config.agent
        about = ArchiveInfo(
            software=f"Scoter/{__version__}",
            agent=agent.name,
            operator=agent.email or agent.url,
            more=(("description", f"imported from the Nutch segment {source.name}"),),
        )
        self._archive: Callable[[Path], WarcWriter] = partial(
            WarcWriter,
            prefix=f"{source.name}-nutch",
            about=about,
            size=_MAX_ARCHIVE,
            age=timedelta(days=365),
            now=lambda: now,
        )

    def write(self, into: Segment) -> ImportedSegment:
        """Write the segment into a folder that does not exist yet."""
        with disk_errors("write the segment", into.path):
            into.path.mkdir(parents=True)
            self._folder.mkdir(parents=True)
        listed = self._generate(into)
        has = {part: bool(self._source.files(part)) for part in (layout.FETCH, layout.PARSE_DATA)}
        fetched = self._fetch(into) if has[layout.FETCH] else 0
        if not has[layout.FETCH]:
            for part in (layout.CONTENT, layout.PARSE_DATA, layout.PARSE_TEXT, layout.PARSE):
                for file in self._source.files(part):
                    self._reader.add_problem(file, 0, "not imported: the segment has no crawl_fetch")
        elif has[layout.PARSE_DATA]:
            self._parse(into)
        info = SegmentInfo(created=self._time, lists=1, urls=listed or fetched, made_by=COMMAND)
        LocalStorage(into.path).replace(INFO_FILE, msgspec.json.encode(info) + b"\n")
        if has[layout.FETCH]:
            into.finish(FETCHED)
            if has[layout.PARSE_DATA]:
                into.finish(PARSED)
        return ImportedSegment(into.name, listed or fetched, has[layout.FETCH], all(has.values()))

    def _generate(self, into: Segment) -> int:
        part = layout.GENERATE
        count, rows = self._reader.of(part), 0
        with row_file(into.crawl_generate(), "list-00000") as buffer:
            for url, _, datum in self._reader.records(part, self._source.files(part), read_datum):
                status = STATUSES.get(datum.status)
                known = status if isinstance(status, DbStatus) else DbStatus.UNFETCHED
                self._reader.check_metadata(part, datum)
                buffer.add((*datum_columns(url, known, datum), 0, None))
                rows += 1
        count.imported += rows
        return rows

    # Fetches and their content

    def _fetch(self, into: Segment) -> int:
        """Write the fetches and the archive; return the number of fetched URLs."""
        part, folder = layout.FETCH, self._folder
        count, before = self._reader.of(part), 0
        with row_file(PartSet(folder, _FETCHES), "fetches") as rows:
            for url, key, datum in self._reader.records(part, self._source.files(part), read_datum):
                status = STATUSES.get(datum.status)
                if status is PartStatus.LINKED:
                    count.left_out["redirect target (kept with its source)"] += 1
                elif isinstance(status, FetchStatus) or status is PartStatus.PARSE_FAILED:
                    self._reader.check_metadata(part, datum)
                    rows.add((*datum_columns(url, status, datum), *_outcome(url, status, datum), key))
                    before += 1
                else:
                    count.left_out[f"status {datum.status:#04x}"] += 1
        captures = self._content(into)
        fetches = self._engine.read(saved_rows(folder, "fetches", _FETCHES))
        once = first_rows(fetches, ["url"], [fetches.fetch_time.desc(), fetches[_KEY]])
        joined = once.left_join(captures, once[_KEY] == captures.captured)
        found = {name: joined[f"c_{name}"] for name in _OF_CAPTURE}
        found["http_status"] = ibis.coalesce(joined.http_status, joined.c_http_status)
        result = joined.mutate(**found).select(schemas.CRAWL_FETCH.names)
        written = self._engine.save(result, schemas.CRAWL_FETCH, _file_of(into.crawl_fetch()))
        count.imported += written
        count.left_out["same URL in canonical form"] += before - written
        return written

    def _content(self, into: Segment) -> Any:
        """Archive the content; return its locations by Nutch's key."""
        part, folder = layout.CONTENT, self._folder
        count = self._reader.of(part)
        fetches = _FetchesInOrder(self._source)
        with row_file(PartSet(folder, _CAPTURES), "captures") as rows, self._archive(into.content) as archive:
            for file in self._source.files(part):
                fetches.open(file)
                for url, key, content in self._reader.records(part, [file], read_content):
                    fetch = fetches.find(key)
                    count.left_out["without a fetch: only archived"] += fetch is None
                    exchange = exchange_of(url, content, fetch, self._time)
                    place = archive.write(exchange)
                    kind = exchange.header("content-type") or content.content_type or None
                    size, cut = len(content.body), exchange.truncation.value or None
                    where = (place.file, place.offset, place.length)
                    rows.add((key, exchange.status or None, kind, size, cut, *where, exchange.peer or None))
                    count.imported += 1
        captures = self._engine.read(saved_rows(folder, "captures", _CAPTURES))
        return first_rows(captures, ["captured"], [captures.c_warc_file.desc(), captures.c_warc_offset.desc()])

    # Pages, texts and links

    def _parse(self, into: Segment) -> None:
        self._texts(into)
        scores = self._scores()
        name = PART if scores is None else "links"
        links = into.crawl_parse() if scores is None else PartSet(self._folder, schemas.CRAWL_PARSE)
        pages, buffer = PageBuffer(into.parse_data(), PART), LinkBuffer(links, name)
        try:
            self._pages(pages, buffer)
            for each in (buffer, pages):
                each.seal()
                each.publish()
        except BaseException:
            pages.discard()
            buffer.discard()
            raise
        if scores is not None:
            self._score_links(scores, _file_of(into.crawl_parse()))

    def _pages(self, pages: PageBuffer, links: LinkBuffer) -> None:
        part = layout.PARSE_DATA
        count = self._reader.of(part)
        for url, _, parse in self._reader.records(part, self._source.files(part), read_parse):
            kept = _outlinks(parse)
            if page_status(parse) != REDIRECT:
                count.left_out["links that are not URLs"] += len(parse.outlinks) - len(kept)
            pages.add(page_row(url, parse, len(kept)))
            if kept:
                links.add_page(url.text, kept)
            count.imported += 1

    def _texts(self, into: Segment) -> None:
        part = layout.PARSE_TEXT
        count = self._reader.of(part)
        with row_file(into.parse_text(), PART) as rows:
            for url, _, text in self._reader.records(part, self._source.files(part), read_parse_text):
                rows.add((url.text, url.key, text, *[None] * 5), len(text))
                count.imported += 1

    def _scores(self) -> TableSource | None:
        """Read the scores of link targets; return ``None`` if there are none but 0."""
        part, any_score = layout.PARSE, False
        count = self._reader.of(part)
        with row_file(PartSet(self._folder, _SCORES), "scores") as rows:
            for url, _, datum in self._reader.records(part, self._source.files(part), read_datum):
                count.imported += 1
                if datum.status == PartStatus.LINKED.value and 0 < abs(datum.score) < float("inf"):
                    rows.add((url.text, datum.score))
                    any_score = True
        return saved_rows(self._folder, "scores", _SCORES) if any_score else None

    def _score_links(self, scores: TableSource, file: Path) -> None:
        links = self._engine.read(saved_rows(self._folder, "links", schemas.CRAWL_PARSE))
        found = self._engine.read(scores)
        sums = found.group_by("target").agg(total=found["sum"].sum())
        counts = links.group_by("url").agg(number=links.count()).rename(counted="url")
        shares = sums.join(counts, sums.target == counts.counted)
        shares = shares.select("target", share=shares.total / shares.number)
        joined = links.left_join(shares, links.url == shares.target)
        rows = joined.mutate(score=ibis.coalesce(joined.share, 0.0)).select(schemas.CRAWL_PARSE.names)
        self._engine.save(rows, schemas.CRAWL_PARSE, file)


class _FetchesInOrder:
    """Finds the fetch of a content by reading both files of a part in parallel: Nutch sorts them by key.

    A damaged key may be out of order; such records are skipped, so that those after them are found.
    """

    def __init__(self, segment: NutchSegment) -> None:
        self._files = {_part_name(file): file for file in segment.files(layout.FETCH)}
        self._records: Iterator[tuple[bytes, NutchDatum]] = iter(())
        self._head: tuple[bytes, NutchDatum] | None = None
        self._next: tuple[bytes, NutchDatum] | None = None

    def open(self, content: Path) -> None:
        """Begin with the file of ``crawl_fetch`` that belongs to one of ``content``."""
        file = self._files.get(_part_name(content))
        self._records = iter(()) if file is None else _sorted_fetches(file)
        self._head, self._next = next(self._records, None), next(self._records, None)

    def find(self, key: str) -> NutchDatum | None:
        """Return the fetch with a key; keys must be given in order."""
        wanted = key.encode()
        while self._head is not None:
            is_in_order = self._next is None or self._head[0] <= self._next[0]
            if is_in_order and self._head[0] >= wanted:
                break
            self._head, self._next = self._next, next(self._records, None)
        return self._head[1] if self._head is not None and self._head[0] == wanted else None


def _sorted_fetches(file: Path) -> Iterator[tuple[bytes, NutchDatum]]:
    # Problems are reported where the file is read for its rows.
    for key, datum, _, _ in CrawlReader().values(layout.FETCH, [file], read_datum):
        if datum.status != PartStatus.LINKED.value:
            yield key.encode(), datum


def _part_name(file: Path) -> str:
    return file.parent.name if file.name == "data" else file.name


def _file_of(parts: PartSet) -> Path:
    file = Path(parts.location(f"{PART}.parquet"))
    with disk_errors("write the segment", file):
        file.parent.mkdir(exist_ok=True)
    return file


def _outcome(url: Url, status: FetchStatus | PartStatus, datum: NutchDatum) -> tuple[Any, ...]:
    """Return the columns of a fetch after those of its record; those of its content are still missing."""
    protocol = ProtocolStatus.of(datum)
    code, target = http_code(datum), None
    reason: str | None = None
    detail: str | None = protocol.message or None
    match status:
        case FetchStatus.REDIR_TEMP | FetchStatus.REDIR_PERM:
            reason = "moved"
            with suppress(UrlError):
                target, detail = canonical(protocol.message), None
        case FetchStatus.GONE | FetchStatus.RETRY:
            reason = _reason(protocol, code)
        case _:
            detail = None
    to = (None, None, None) if target is None else (target.text, target.key, target.host)
    response_ms = datum.metadata.get("_rs_", "")
    took = int(response_ms) if re.fullmatch("[0-9]{1,9}", response_ms) else None
    content = (None,) * 6
    return (code, reason, detail, *to, *content, took, *(None,) * 4)


def _reason(protocol: ProtocolStatus, code: int | None) -> str:
    if code is None and (shown := _CODE.search(protocol.message)):
        code = int(shown[1])
    if code is not None and code >= 500:
        return (Reason.BUSY if code == 503 else Reason.SERVER_ERROR).value
    if code in (403, 429):
        return (Reason.FORBIDDEN if code == 403 else Reason.BUSY).value
    if code in (402, 451):
        return (Reason.PAYMENT_REQUIRED if code == 402 else Reason.LEGAL_REASONS).value
    return _REASONS.get(protocol.name, Reason.UNREACHABLE if code is None else Reason.OTHER_STATUS).value


def _outlinks(parse: NutchParse) -> list[Outlink]:
    """Return the links of a page; a page that redirects has its target as the only link, as in our segments."""
    if page_status(parse) == REDIRECT:
        with suppress(UrlError):
            return [Outlink(target=canonical(parse.message.partition(", ")[0]), rel="refresh", kind="refresh")]
        return []
    found = []
    for link in parse.outlinks:
        with suppress(UrlError):
            found.append(Outlink(target=canonical(link.url), anchor=link.anchor))
    return found


def _time_of(name: str) -> datetime | None:
    try:
        return datetime.strptime(name, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
