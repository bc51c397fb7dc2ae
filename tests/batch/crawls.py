"""Small crawls, written row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, PARSED, Segment, SegmentInfo
from scoter.core.url import canonical
from scoter.plugins import Column
from scoter.store.tables import PartSet, Table

NOW = datetime(2026, 11, 15, 5, tzinfo=UTC)
Row = dict[str, Any]


def crawl_at(path: Path) -> CrawlDir:
    return CrawlDir.create(path, NOW)


def named(text: str) -> Row:
    """Return the columns of a URL."""
    url = canonical(text)
    return {"url": url.text, "key": url.key, "host": url.host}


def datum(text: str, status: str = "fetched", **columns: Any) -> Row:
    """Return a row of a crawldb: fetched an hour ago, due in 30 days, unless given otherwise."""
    hour, days = timedelta(hours=1), timedelta(days=30)
    whole = {"fetch_time": NOW - hour + days, "interval": int(days.total_seconds()), "retries": 0, "score": 1.0}
    return {**named(text), "status": status, **whole, **columns}


def link(source: str, target: str, anchor: str = "", **columns: Any) -> Row:
    """Return a row of crawl_parse."""
    return {**named(target), "source": canonical(source).text, "anchor": anchor, "score": 0.0, **columns}


def page(text: str, parse_status: str = "success", **columns: Any) -> Row:
    """Return a row of parse_data."""
    return {**named(text), "parse_status": parse_status, **columns}


def write_crawldb(
    crawl: CrawlDir, rows: Iterable[Row], extra: Sequence[Column] = (), applied: Sequence[str] = ()
) -> None:
    _write(crawl.crawldb, schemas.CRAWLDB, rows, extra, applied)


def write_linkdb(
    crawl: CrawlDir, inlinks: Mapping[str, Sequence[tuple[str, str]]], applied: Sequence[str] = ()
) -> None:
    """Write a linkdb of url → (source, anchor), …"""
    rows = [
        {**named(url), "inlinks": [{"url": source, "anchor": anchor} for source, anchor in found]}
        for url, found in inlinks.items()
    ]
    _write(crawl.linkdb, schemas.LINKDB, rows, (), applied)


def write_segment(
    crawl: CrawlDir,
    name: str,
    *,
    fetches: Sequence[Row] = (),
    pages: Sequence[Row] = (),
    texts: Sequence[Row] = (),
    links: Sequence[Row] = (),
    generates: Sequence[Row] = (),
    done: Sequence[str] = (FETCHED, PARSED),
    extra: Sequence[Column] = (),
) -> Segment:
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    about = SegmentInfo(created=NOW, lists=1, urls=len(generates) or len(fetches))
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    _write_part(segment.crawl_generate(extra), generates)
    _write_part(segment.parse_text(), texts)
    _write_part(segment.crawl_parse(extra), links)
    _write_part(segment.parse_data(), pages)
    _write_part(segment.crawl_fetch(extra), fetches)
    for step in done:
        segment.finish(step)
    return segment


def crawldb(crawl: CrawlDir, extra: Sequence[Column] = ()) -> dict[str, Row]:
    """Return the crawldb's rows by URL; check that they are sorted."""
    with Table.open(crawl.crawldb, schemas.CRAWLDB, extra=extra) as table:
        rows = [row for batch in table.scan() for row in batch.to_pylist(maps_as_pydicts="strict")]
    assert rows == sorted(rows, key=lambda row: (row["key"], row["url"]))
    assert len({row["url"] for row in rows}) == len(rows)
    return {row["url"]: row for row in rows}


def linkdb(crawl: CrawlDir) -> dict[str, list[tuple[str, str]]]:
    """Return the linkdb as url → (source, anchor), … by source."""
    with Table.open(crawl.linkdb, schemas.LINKDB) as table:
        rows = [row for batch in table.scan() for row in batch.to_pylist()]
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert len({row["url"] for row in rows}) == len(rows)
    return {row["url"]: sorted((each["url"], each["anchor"]) for each in row["inlinks"]) for row in rows}


def _write(path: Path, schema: Any, rows: Iterable[Row], extra: Sequence[Column], applied: Sequence[str]) -> None:
    with Table.write(path, schema, extra=extra, writer="test") as new:
        with new.part() as part:
            part.write(_batch(sorted(rows, key=lambda row: (row["key"], row["url"])), new.schema))
        new.commit(applied=applied)


def _write_part(parts: PartSet, rows: Sequence[Row]) -> None:
    with parts.part() as part:
        part.write(_batch(rows, parts.schema))


def _batch(rows: Sequence[Row], schema: Any) -> Any:
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)
