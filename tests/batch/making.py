"""Small crawl directories, made without running a crawl."""

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

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
MONTH = 30 * 86_400

Row = Mapping[str, Any]


def row(url: str, **columns: Any) -> dict[str, Any]:
    """Return a row of a URL, with its key and host."""
    found = canonical(url)
    return {"url": found.text, "key": found.key, "host": found.host, **columns}


def known(url: str, status: str = "unfetched", **columns: Any) -> dict[str, Any]:
    """Return a row of the crawldb."""
    usual = {"status": status, "fetch_time": NOW - DAY, "retries": 0, "interval": MONTH, "score": 1.0}
    return row(url, **{**usual, **columns})


def fetch(url: str, status: str = "success", *, to: str | None = None, **columns: Any) -> dict[str, Any]:
    """Return a row of ``crawl_fetch``; ``to`` is the target of a redirect."""
    usual = {"status": status, "fetch_time": NOW, "retries": 0, "interval": MONTH, "score": 1.0}
    if to is not None:
        target = canonical(to)
        usual |= {"redirect_to": target.text, "redirect_key": target.key, "redirect_host": target.host}
    return row(url, **{**usual, **columns})


def page(url: str, parse_status: str = "success", **columns: Any) -> dict[str, Any]:
    """Return a row of ``parse_data``."""
    return row(url, **{"parse_status": parse_status, **columns})


def link(source: str, url: str, score: float | None = 0.0, **columns: Any) -> dict[str, Any]:
    """Return a row of ``crawl_parse``."""
    return row(url, source=canonical(source).text, score=score, **columns)


def make_crawl(path: Path, rows: Iterable[Row] = (), *, extra: Sequence[Column] = ()) -> CrawlDir:
    """Make a crawl whose crawldb has these rows."""
    crawl = CrawlDir.create(path, NOW)
    ordered = sorted(rows, key=lambda each: (each["key"], each["url"]))
    with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=extra, writer="test") as new:
        if ordered:
            with new.part() as part:
                part.write(_batch(ordered, new.schema))
        new.commit()
    return crawl


def make_segment(
    crawl: CrawlDir,
    name: str = "20261115000000",
    *,
    fetches: Iterable[Row] = (),
    pages: Iterable[Row] = (),
    links: Iterable[Row] = (),
    extra: Sequence[Column] = (),
    steps: Sequence[str] = (FETCHED, PARSED),
) -> Segment:
    """Make a segment with one part; ``steps`` are complete."""
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    about = SegmentInfo(created=NOW, lists=1, urls=len(list(fetches)))
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    put(segment.crawl_parse(extra), links)
    put(segment.parse_data(), pages)
    put(segment.crawl_fetch(extra), fetches)
    for step in steps:
        segment.finish(step)
    return segment


def put(parts: PartSet, rows: Iterable[Row], name: str = "part-00001") -> None:
    """Write a part."""
    with parts.part(name) as part:
        part.write(_batch(rows, parts.schema))


def crawldb_of(crawl: CrawlDir, extra: Sequence[Column] = ()) -> dict[str, dict[str, Any]]:
    """Return the records of the crawldb by URL."""
    with Table.open(crawl.crawldb, schemas.CRAWLDB, extra=extra) as table:
        rows = [each for batch in table.scan() for each in batch.to_pylist()]
    assert [each["url"] for each in rows] == sorted({each["url"] for each in rows}, key=lambda url: canonical(url).key)
    return {each["url"]: each for each in rows}


def _batch(rows: Iterable[Row], schema: Any) -> Any:
    given = [{**each, "metadata": _entries(each.get("metadata"))} for each in rows]
    return pa.RecordBatch.from_pylist(given, schema=schema)


def _entries(metadata: Mapping[str, str] | None) -> list[tuple[str, str]] | None:
    return None if metadata is None else list(metadata.items())
