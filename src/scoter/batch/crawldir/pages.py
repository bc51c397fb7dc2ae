"""Reading crawled pages back from the tables of a crawl, for documents and exports."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.config import Config
from scoter.core.document import CrawledPage, Inlink
from scoter.core.metadata import PageMetadata
from scoter.core.page import ADJUSTMENT, EMPTY, Alternate, Heading, Outlink, Page, PageSection
from scoter.core.url import Url, canonical
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows, save_source
from scoter.errors import UrlError
from scoter.heap import give_back
from scoter.plugins.recorded import ibis
from scoter.store.disk import disk_errors
from scoter.store.objects.path import any_path
from scoter.store.tables.parquet import write_batches

_PAGE = (
    *("url", "key", "parse_status", "part_of", "title", "language", "content_type", "encoding", "canonical"),
    *("noindex", "nofollow", "noarchive", "nosnippet", "unavailable_after", "metadata", "headings", "sections"),
    *("alternates", "about", "doubt"),
)
_FETCH = ("url", "host", "fetch_time", "content_type", "length", "ip")
_LINK = ("source", "url", "key", "host", "anchor", "rel", "kind")
_BATCH = 1_024  # pages are long
_RANGE = 50_000  # pages joined at a time
_WAITING = 20_000  # pages in memory at a time, without their texts
_GROUP = 4 * 2**20  # bytes of files whose texts are read together
_MOST_GROUPS = 64
_PLACE = "place"
_NOWHERE = -1
_DB, _OF_FETCH, _OF_TEXT = "db_", "fetch_", "text_"
_about = msgspec.json.Decoder(PageMetadata, strict=False)


class PageSources(Struct, frozen=True, kw_only=True):
    """The tables to read pages from: crawldb and linkdb, and which pages, as url, key, owner and segment.

    The owner is the URL that was fetched: the page's own, or that of the feed or archive that it is an entry of.
    ``folder`` is for temporary files.
    """

    crawldb: TableSource
    linkdb: TableSource
    changed: TableSource
    folder: Path


def crawled_pages(
    engine: Engine, config: Config, segments: Sequence[Segment], sources: PageSources, *, outlinks: bool = False
) -> Iterator[CrawledPage]:
    """Yield pages, one segment at a time; ``outlinks``: with their links.

    The memory needed does not depend on the size of a segment: tables are joined one key range at a time, without the
    texts, and ordered by the files that hold the texts; then one file after the other is read.
    """
    with_pages = {segment.name: segment for segment in segments}
    extra = schemas.column_names(scoring_columns(config))
    known = _known(engine, sources)
    for name, ranges in _key_ranges(known):
        segment = with_pages[name]
        for row in _SegmentPages(engine, segment, sources, known, outlinks=outlinks).rows(ranges):
            yield page_of_row(row, name, extra)


def _known(engine: Engine, sources: PageSources) -> TableSource:
    """Save the crawldb's records of the pages, in the order of segments and keys."""
    wanted = engine.read(sources.changed).select("url", "key", "owner", "segment")
    stored = [field for field in sources.crawldb.schema if field.name not in ("key", "host")]
    crawldb = engine.read(sources.crawldb).select(**{f"{_DB}{field.name}": field.name for field in stored})
    rows = wanted.join(crawldb, wanted.owner == crawldb[f"{_DB}url"])
    schema = pa.schema(
        [
            *schemas.texts("url", "key", "owner", "segment"),
            *(pa.field(f"{_DB}{field.name}", field.type) for field in stored),
        ]
    )
    file = sources.folder / "known.parquet"
    engine.save(rows.select(*schema.names), schema, file, order=("segment", "key"))
    return file_source(file, schema)


def _key_ranges(known: TableSource) -> Iterator[tuple[str, list[str]]]:
    """Yield the segments that pages are in, each with the first keys of ranges with a bounded number of pages."""
    name, count = "", 0
    first: list[str] = []
    with pq.ParquetFile(known.files[0]) as file:
        for batch in file.iter_batches(_BATCH, columns=["segment", "key"]):
            for segment, key in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if segment != name:
                    if first:
                        yield name, first
                    name, count, first = segment, 0, [key]
                elif count >= _RANGE and key != first[-1]:
                    first.append(key)
                    count = 0
                count += 1
    if first:
        yield name, first


class _SegmentPages:
    """Joins the tables of one segment with what is known about its pages."""

    def __init__(
        self, engine: Engine, segment: Segment, sources: PageSources, known: TableSource, *, outlinks: bool
    ) -> None:
        self._engine = engine
        self._segment = segment
        self._sources = sources
        self._known = known
        self._outlinks = outlinks
        self._stored = SegmentSources([segment])
        self._texts = source_of(self._stored.parse_text, ("url", "part_of", "text", "main_text"))
        self._places = _groups(self._texts.files)

    def rows(self, ranges: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of pages whose keys start with those given."""
        files = []
        places = self._text_places()
        for number, (start, end) in enumerate(zip(ranges, (*ranges[1:], None), strict=True)):
            files.append(self._sources.folder / f"pages-{number:05d}.arrow")
            rows = self._details(start, end, places)
            _write_stream(files[-1], self._schema(), self._engine.batches(rows.order_by(_PLACE), _BATCH))
        give_back()
        with ExitStack() as stack:
            # All of these files are read at the same time, and Parquet files take 20 MB each.
            streams = [pa.ipc.open_stream(stack.enter_context(file.open("rb"))) for file in files]
            ordered = heapq.merge(*map(iter_rows, streams), key=itemgetter(_PLACE))
            for place, found in groupby(ordered, key=itemgetter(_PLACE)):
                while waiting := {(row["url"], row["owner"]): row for row in islice(found, _WAITING)}:
                    yield from self._with_texts(waiting, place)
        for file in files:
            file.unlink()

    def _with_texts(self, waiting: dict[tuple[str, str], dict[str, Any]], place: int) -> Iterator[dict[str, Any]]:
        """Yield rows with their texts."""
        if place != _NOWHERE:
            texts = self._engine.read(replace(self._texts, files=self._places[place]))
            texts = texts.mutate(owner=owner_of(texts))
            for found in iter_rows(self._engine.batches(texts, _BATCH)):
                row = waiting.pop((found["url"], found["owner"]), None)
                if row is not None:
                    yield {**row, f"{_OF_TEXT}text": found["text"], f"{_OF_TEXT}main_text": found["main_text"]}
        for row in waiting.values():
            yield {**row, f"{_OF_TEXT}text": None, f"{_OF_TEXT}main_text": None}

    def _details(self, start: str, end: str | None, found: TableSource) -> Rows:
        """Return the rows of a key range, without texts."""
        read = self._engine.read
        rows = _in_range(read(self._known), start, end)
        rows = rows.filter(rows.segment == self._segment.name).drop("segment", "key")
        linkdb = _in_range(read(self._sources.linkdb), start, end).select(link_target="url", inlinks="inlinks")
        rows = rows.left_join(linkdb, rows.url == linkdb.link_target)
        data = read(source_of(self._stored.parse_data, _PAGE))
        data = data.filter(data.parse_status == "success")
        # A page may also be an entry of a feed in the same segment.
        data = data.mutate(of=owner_of(data))
        rows = rows.join(data, [rows.url == data.url, rows.owner == data.of])
        fetch = read(source_of(self._stored.fetch, _FETCH))
        fetch = fetch.rename({f"{_OF_FETCH}{name}": name for name in fetch.columns})
        rows = rows.left_join(fetch, rows.owner == fetch[f"{_OF_FETCH}url"])
        if self._outlinks:
            links = _links_by_source(self._engine, self._stored.links)
            rows = rows.left_join(links, rows.url == links.source)
        places = read(found).select(text_url="url", text_owner="owner", text_place=_PLACE)
        rows = rows.left_join(places, [rows.url == places.text_url, rows.owner == places.text_owner])
        rows = rows.mutate({_PLACE: rows.text_place.fill_null(_NOWHERE)})
        return rows.select(*self._schema().names)

    def _text_places(self) -> TableSource:
        """Save which group of files has the text of each page."""
        schema = pa.schema([*schemas.texts("url", "owner"), (_PLACE, pa.int32())])
        file = self._sources.folder / "places.parquet"
        if not self._places:
            write_batches(file, schema, ())
            return file_source(file, schema)
        found = []
        for number, files in enumerate(self._places):
            texts = self._engine.read(replace(source_of(self._texts, ("url", "part_of")), files=files))
            found.append(texts.select("url", owner=owner_of(texts), at=ibis.literal(number, "int32")))
        rows = ibis.union(*found) if len(found) > 1 else found[0]
        rows = rows.group_by("url", "owner").agg(**{_PLACE: rows["at"].max()})
        return save_source(self._engine, rows, schema, file)

    def _schema(self) -> Any:
        fields = [
            *(field for field in self._known.schema if field.name not in ("segment", "key")),
            *(schemas.PARSE_DATA.field(name) for name in _PAGE if name != "url"),
            *(schemas.CRAWL_FETCH.field(name).with_name(f"{_OF_FETCH}{name}") for name in _FETCH),
            schemas.LINKDB.field("inlinks"),
            pa.field(_PLACE, pa.int32()),
        ]
        if self._outlinks:
            fields.append(pa.field("links", pa.list_(pa.struct(schemas.texts(*_LINK[1:])))))
        return pa.schema(fields)


def _write_stream(file: Path, schema: Any, batches: Iterator[Any]) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with disk_errors("write temporary rows", file), pa.ipc.new_stream(file, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _in_range(rows: Rows, start: str, end: str | None) -> Rows:
    rows = rows.filter(rows.key >= start)
    return rows if end is None else rows.filter(rows.key < end)


def _groups(files: Sequence[str]) -> list[tuple[str, ...]]:
    """Return files in groups of a bounded size, and not too many of them."""
    sizes = [any_path(file).stat().st_size for file in files]
    most = max(_GROUP, sum(sizes) // _MOST_GROUPS)
    groups: list[list[str]] = []
    room = 0
    for file, size in zip(files, sizes, strict=True):
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(file)
        room -= size
    return [tuple(group) for group in groups]


def owner_of(rows: Rows) -> Any:
    """Return the URL that was fetched for a parsed page: its own, or that of the feed or archive it is an entry of."""
    return rows.part_of.nullif("").coalesce(rows.url)


def _links_by_source(engine: Engine, links: TableSource) -> Rows:
    rows = engine.read(source_of(links, _LINK))
    record = ibis.struct({name: rows[name] for name in _LINK if name != "source"})
    return rows.group_by("source").agg(links=record.collect())


def page_of_row(row: Mapping[str, Any], segment: str, extra: Sequence[str]) -> CrawledPage:
    """Return the page of a joined row."""
    datum = schemas.datum_of(row, extra=extra, prefix=_DB)
    part_of = row["part_of"] or ""
    headers = {
        "Content-Type": row[f"{_OF_FETCH}content_type"],
        "Content-Length": None if row[f"{_OF_FETCH}length"] is None else str(row[f"{_OF_FETCH}length"]),
    }
    host = row[f"{_OF_FETCH}host"] or ""
    url = canonical(row["url"]) if part_of or not host else Url(row["url"], row["key"], host)
    return CrawledPage(
        page=_page(row, url),
        datum=datum,
        fetched=row[f"{_OF_FETCH}fetch_time"],
        headers={name: value for name, value in headers.items() if value},
        ip=row[f"{_OF_FETCH}ip"] or "",
        segment=segment,
        part_of=part_of,
        inlinks=tuple(Inlink(each["url"], each["anchor"] or "") for each in sorted(row["inlinks"] or (), key=_by_url)),
    )


def _page(row: Mapping[str, Any], url: Url) -> Page:
    return Page(
        url=url,
        title=row["title"] or "",
        text=row[f"{_OF_TEXT}text"] or "",
        main_text=row[f"{_OF_TEXT}main_text"] or "",
        language=row["language"] or "",
        media_type=row["content_type"] or "",
        encoding=row["encoding"] or "",
        canonical=_url(row["canonical"]),
        noindex=bool(row["noindex"]),
        nofollow=bool(row["nofollow"]),
        noarchive=bool(row["noarchive"]),
        nosnippet=bool(row["nosnippet"]),
        unavailable_after=row["unavailable_after"],
        metadata=row["metadata"] or EMPTY,
        headings=tuple(Heading(each["level"], each["text"]) for each in row["headings"] or ()),
        sections=tuple(PageSection(each["level"], each["text"], each["anchor"]) for each in row["sections"] or ()),
        alternates=tuple(_alternate(each) for each in row["alternates"] or () if _url(each["url"])),
        about=_about.decode(row["about"]) if row["about"] else None,
        doubt=row["doubt"] or "",
        outlinks=tuple(
            Outlink(
                target=Url(each["url"], each["key"], each["host"]),
                anchor=each["anchor"] or "",
                rel=each["rel"] or "",
                kind=each["kind"] or "a",
            )
            for each in row.get("links") or ()
            if each["kind"] != ADJUSTMENT
        ),
    )


def _alternate(each: Mapping[str, Any]) -> Alternate:
    return Alternate(
        url=canonical(each["url"]),
        language=each["language"] or "",
        media_type=each["media_type"] or "",
        title=each["title"] or "",
        rel=each["rel"] or "alternate",
    )


def _url(text: str | None) -> Url | None:
    try:
        return canonical(text) if text else None
    except UrlError:
        return None


def _by_url(link: Mapping[str, Any]) -> str:
    return str(link["url"])
