"""readseg: the state of segments, and what a segment holds of one URL or of all URLs."""

from __future__ import annotations

import base64
import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.export import iter_rows, json_value, text_value
from scoter.batch.crawldir.lookup import find_rows, url_rows
from scoter.batch.crawldir.schemas import DEFERRED
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.config import Config
from scoter.core.datum import EPOCH
from scoter.core.display import size
from scoter.core.reply import Headers, header
from scoter.core.url import canonical
from scoter.engine import Engine, TableSource
from scoter.fetch.decode import content_codings, decode
from scoter.parse.encoding import decode_page
from scoter.parse.mediatype import parse_content_type
from scoter.store.disk import scratch_of_reader
from scoter.store.tables import PartSet
from scoter.store.warc import ArchiveFolder

Row = Mapping[str, Any]
PARSED = ("success", "redirect")
"""Values of ``parse_status`` for parsed pages; ``redirect`` means an immediate meta refresh."""


class SegmentSummary(Struct, frozen=True, kw_only=True):
    """A segment's counts; ``state`` is generated, fetching, fetched, parsed or applied."""

    segment: str
    state: str
    created: datetime
    generated: int
    fetched: int
    parsed: int
    fetch_start: datetime | None
    fetch_end: datetime | None
    size: int
    statuses: Mapping[str, int]


class ArchivedContent(Struct, frozen=True, kw_only=True):
    """The archived response of a page, with content codings removed."""

    status: int
    headers: Headers
    body: bytes
    problem: str = ""

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.body[:1_024]


class SegmentEntry(Struct, frozen=True, kw_only=True):
    """Everything that a segment holds of a URL."""

    segment: str
    url: str
    generate: Row | None = None
    fetch: Row | None = None
    content: ArchivedContent | None = None
    parse_data: Row | None = None
    parse_text: Row | None = None
    outlinks: tuple[Row, ...] = ()


def archived_content(archive: ArchiveFolder, fetch: Row | None, *, recode: bool) -> ArchivedContent | None:
    """Return the archived response of a fetch, or ``None``; with ``recode``, text is converted to UTF-8."""
    if fetch is None or not fetch["warc_file"] or fetch["warc_offset"] is None:
        return None
    found = archive.at(fetch["warc_file"], fetch["warc_offset"])
    plain = decode(found.body, content_codings(found.headers), None)
    body = plain.body
    media_type, charset = parse_content_type(header(found.headers, "Content-Type"))
    if recode and (media_type.startswith("text/") or media_type.endswith(("xml", "json"))):
        body = decode_page(body, charset, markup=media_type != "text/plain").utf8
    return ArchivedContent(status=found.status, headers=found.headers, body=body, problem=plain.problem)


def summarize_segments(crawl: CrawlDir, segments: Sequence[Segment]) -> Iterator[SegmentSummary]:
    """Yield a summary of each segment."""
    known = applied_segments(crawl.crawldb) or ()
    for segment in segments:
        info = segment.info()
        statuses, start, end = _fetched(segment.crawl_fetch())
        parsed: Counter[str] = Counter()
        for batch in segment.parse_data().scan(["parse_status"]):
            parsed += _counts(batch["parse_status"])
        yield SegmentSummary(
            segment=segment.name,
            state=_state(segment, known, statuses.total()),
            created=info.created,
            generated=info.urls,
            fetched=statuses.total() - statuses[DEFERRED],
            parsed=sum(parsed[status] for status in PARSED),
            fetch_start=start,
            fetch_end=end,
            size=sum(file.stat().st_size for file in segment.path.rglob("*") if file.is_file()),
            statuses=dict(sorted(statuses.items())),
        )


def find_entries(
    config: Config, segments: Sequence[Segment], url: str, *, recode: bool = False
) -> Iterator[SegmentEntry]:
    """Yield what each segment holds of a URL, which need not be canonical."""
    wanted = canonical(url)
    extra = scoring_columns(config)
    for segment in segments:
        parts = SegmentSources([segment], extra)
        generate = next(url_rows(parts.generate, wanted), None)
        fetch = max(url_rows(parts.fetch, wanted), key=fetched_last, default=None)
        page, text = _own(url_rows(parts.parse_data, wanted)), _own(url_rows(parts.parse_text, wanted))
        if generate is None and fetch is None and page is None:
            continue
        with ArchiveFolder(segment.content) as archive:
            content = archived_content(archive, fetch, recode=recode)
        yield SegmentEntry(
            segment=segment.name,
            url=wanted.text,
            generate=generate,
            fetch=fetch,
            content=content,
            parse_data=page,
            parse_text=text,
            outlinks=tuple(find_rows(parts.links, {"source": wanted.text})),
        )


def select_segments(crawl: CrawlDir, name: str | None, *, newest: bool = False) -> Sequence[Segment]:
    """Return the named segment; without a name all segments, or only the newest."""
    chosen = crawl.segment(name or "")  # raises if there are no segments
    return [chosen] if name or newest else crawl.all_segments()


def own_first(row: Row) -> bool:
    """Sort key: fetched pages before documents inside other documents."""
    return row["part_of"] is not None


def fetched_last(row: Row) -> datetime:
    """Sort key for several fetches of a URL, for example by a redirect: updates use the last."""
    return row["fetch_time"] or EPOCH


def _own(rows: Iterator[Row]) -> Row | None:
    return min(rows, key=own_first, default=None)


def _fetched(parts: PartSet) -> tuple[Counter[str], datetime | None, datetime | None]:
    statuses: Counter[str] = Counter()
    times: list[datetime] = []
    for batch in parts.scan(["status", "fetch_time"]):
        statuses += _counts(batch["status"])
        reach = pc.min_max(batch["fetch_time"]).as_py()
        times = [each for each in (*times, reach["min"], reach["max"]) if each is not None]
        times = [min(times), max(times)] if times else []
    return statuses, min(times, default=None), max(times, default=None)


def _counts(column: Any) -> Counter[str]:
    return Counter({each["values"]: each["counts"] for each in pc.value_counts(column).to_pylist()})


def _state(segment: Segment, known: Collection[str], fetched: int) -> str:
    if segment.is_in(known):
        return "applied"
    if segment.is_parsed:
        return "parsed"
    if segment.is_fetched:
        return "fetched"
    return "fetching" if fetched else "generated"


_BATCH = 1_024
_OUTLINKS = 1_000
"""Maximum number of links shown per page; by default a crawl keeps a hundred."""


_NOTHING: tuple[Any, ...] = (None, {}, "", [])


class SegmentParts(Struct, frozen=True, kw_only=True):
    """Which tables of a segment to read."""

    content: bool = True
    fetch: bool = True
    generate: bool = True
    outlinks: bool = True
    parse_data: bool = True
    parse_text: bool = True


def entries(
    crawl: CrawlDir, engine: Engine, config: Config, segment: Segment, wanted: SegmentParts, *, recode: bool = False
) -> Iterator[SegmentEntry]:
    """Yield what a segment holds of each URL, sorted by URL.

    Each table is sorted by URL, and they are merged.
    """
    parts = SegmentSources([segment], scoring_columns(config))
    sources = {
        "generate": (parts.generate, wanted.generate),
        "fetch": (parts.fetch, wanted.fetch or wanted.content),
        "parse_data": (parts.parse_data, wanted.parse_data),
        "parse_text": (parts.parse_text, wanted.parse_text),
        "outlinks": (parts.links, wanted.outlinks),
    }
    with scratch_of_reader(crawl.scratch, "readseg") as scratch, ArchiveFolder(segment.content) as archive:
        runs = [
            _sorted(engine, source, kind, scratch.path / f"{kind}.parquet")
            for kind, (source, is_wanted) in sources.items()
            if is_wanted and source.files
        ]
        for url, found in groupby(heapq.merge(*runs, key=itemgetter(0)), key=itemgetter(0)):
            fields = _fields(found)
            content = archived_content(archive, fields.get("fetch"), recode=recode) if wanted.content else None
            if not wanted.fetch:
                fields.pop("fetch", None)
            yield SegmentEntry(segment=segment.name, url=url, content=content, **fields)


def entry_json(found: SegmentEntry) -> dict[str, Any]:
    """Return an entry for JSON; a body is text, or ``body_base64`` if it is binary."""
    fields = {name: getattr(found, name) for name in found.__struct_fields__ if name != "content"}
    if found.content is not None:
        fields["content"] = {"status": found.content.status, "headers": found.content.headers, **_body(found.content)}
    if found.parse_data is not None and found.parse_data["about"]:
        fields["parse_data"] = {**found.parse_data, "about": _about(found.parse_data["about"])}
    return {name: json_value(value) for name, value in fields.items() if value is not None}


def entry_lines(found: SegmentEntry) -> Iterator[str]:
    """Yield an entry as lines of text."""
    yield f"{found.url}  (segment {found.segment})"
    for title, row in (("generate", found.generate), ("fetch", found.fetch), ("parse data", found.parse_data)):
        if row is not None:
            yield f"{title}:"
            values = {name: value for name, value in row.items() if value not in _NOTHING}
            widest = max(map(len, values), default=0)
            yield from (f"  {name:<{widest}}  {text_value(value)}" for name, value in values.items())
    if found.outlinks:
        yield f"outlinks ({len(found.outlinks):,}):"
        yield from (f"  {link['url']}  {link['anchor'] or ''}".rstrip() for link in found.outlinks)
    for title, name in (("text", "text"), ("main text", "main_text"), ("Markdown", "markdown")):
        if found.parse_text is not None and found.parse_text[name]:
            yield from (f"{title}:", *_indented(found.parse_text[name]))
    if found.content is not None:
        protocol = f"HTTP {found.content.status}, " if found.content.status else ""
        yield f"content ({protocol}{size(len(found.content.body))}):"
        yield from (f"  {name}: {value}" for name, value in found.content.headers)
        if found.content.problem:
            yield f"  ({found.content.problem})"
        yield ""
        if not found.content.is_binary:
            yield from _indented(found.content.body.decode("utf-8", "replace"))
    yield ""


def _sorted(engine: Engine, source: TableSource, kind: str, file: Path) -> Iterator[tuple[str, str, Row]]:
    by = "source" if kind == "outlinks" else "url"
    order = [by, "url"] if kind == "outlinks" else [by]
    engine.save(engine.read(source), source.schema, file, order)
    with pq.ParquetFile(file) as parquet:
        for row in iter_rows(parquet.iter_batches(_BATCH)):
            yield row[by], kind, row


def _fields(found: Iterator[tuple[str, str, Row]]) -> dict[str, Any]:
    """Return the rows of a URL by the field of a ``SegmentEntry``."""
    fields: dict[str, Any] = {}
    links: list[Row] = []
    for _, kind, row in found:
        if kind == "fetch":
            fields[kind] = max(fields.get(kind, row), row, key=fetched_last)
        elif kind != "outlinks":
            # The fetched page takes precedence over a document inside another one.
            if kind not in fields or "part_of" not in row or not own_first(row):
                fields[kind] = row
        elif len(links) < _OUTLINKS:
            links.append(row)
    return {**fields, "outlinks": tuple(links)}


def _about(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # written by another program
        return text


def _body(content: ArchivedContent) -> dict[str, str]:
    if content.is_binary:
        return {"body_base64": base64.b64encode(content.body).decode()}
    return {"body": content.body.decode("utf-8", "replace")}


def _indented(text: str) -> Sequence[str]:
    return [f"  {line}" for line in text.splitlines()]
