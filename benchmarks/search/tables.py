"""The tables of a crawl that has the pages of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from benchmarks.search.corpus import Corpus, SourcePage
from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, PARSED, Segment, SegmentInfo
from scoter.core.url import Url, canonical
from scoter.store.tables import Table

T = TypeVar("T")
NOW = datetime(2026, 11, 15, 5, tzinfo=UTC)
_CHUNK = 1_000
_PART = 5_000  # what a worker fetches in a minute
_INTERVAL = timedelta(days=30)


def write_crawl(path: Path, corpus: Corpus) -> int:
    """Write a crawl whose pages are fetched, parsed and linked; return the bytes of their texts."""
    crawl = CrawlDir.create(path, NOW)
    known: list[tuple[Url, float, tuple[str, ...]]] = []

    def noted() -> Iterator[SourcePage]:
        for page in corpus.range(range(corpus.pages)):
            known.append((canonical(page.url), page.score, page.anchors))
            yield page

    size = _write_segment(crawl, "20261115000000", noted(), corpus.pages)
    known.sort(key=lambda each: (each[0].key, each[0].text))
    urls = [url.text for url, _, _ in known]
    _write_table(crawl.crawldb, schemas.CRAWLDB, (_datum(url, score, "fetched") for url, score, _ in known))
    _write_table(crawl.linkdb, schemas.LINKDB, (_links(urls, place, *each) for place, each in enumerate(known)))
    return size


def refetch(path: Path, corpus: Corpus, numbers: Sequence[int]) -> None:
    """Add a segment in which some pages have a new text."""
    crawl = CrawlDir.open(path)
    _write_segment(crawl, "20261116000000", corpus.range(numbers, version=1), len(numbers))


def _write_segment(crawl: CrawlDir, name: str, pages: Iterable[SourcePage], count: int) -> int:
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(SegmentInfo(created=NOW, lists=1, urls=count)))
    size = 0
    sets = (segment.crawl_fetch(), segment.parse_data(), segment.parse_text())
    for part in chunks(pages, _PART):
        with sets[0].part() as fetches, sets[1].part() as data, sets[2].part() as texts:
            for chunk in chunks(part, _CHUNK):
                both = [(canonical(page.url), page) for page in chunk]
                size += sum(len(page.text.encode()) for page in chunk)
                fetches.write(_batch([_fetch(url, page) for url, page in both], sets[0].schema))
                data.write(_batch([_parse(url, page) for url, page in both], sets[1].schema))
                texts.write(_batch([{**_named(url), "text": page.text} for url, page in both], sets[2].schema))
    segment.finish(FETCHED)
    segment.finish(PARSED)
    return size


def _write_table(path: Path, schema: Any, rows: Iterable[dict[str, Any]]) -> None:
    with Table.write(path, schema, writer="benchmark") as new:
        with new.part() as part:
            for chunk in chunks(rows, _CHUNK):
                part.write(_batch(chunk, new.schema))
        new.commit(["20261115000000"])


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in lists of a bounded size."""
    rest = iter(items)
    while found := list(islice(rest, size)):
        yield found


def _named(url: Url) -> dict[str, Any]:
    return {"url": url.text, "key": url.key, "host": url.host}


def _datum(url: Url, score: float, status: str) -> dict[str, Any]:
    about = {"status": status, "fetch_time": NOW + _INTERVAL, "interval": int(_INTERVAL.total_seconds()), "retries": 0}
    return {**_named(url), **about, "score": score, "signature": hashlib.md5(url.text.encode()).digest()}


def _fetch(url: Url, page: SourcePage) -> dict[str, Any]:
    about = {"http_status": 200, "content_type": "text/html", "length": 4 * len(page.text), "ip": "192.0.2.1"}
    return {**_datum(url, page.score, "success"), "fetch_time": NOW - timedelta(minutes=page.number), **about}


def _parse(url: Url, page: SourcePage) -> dict[str, Any]:
    return {
        **_named(url),
        "parse_status": "success",
        "title": page.title,
        "language": page.lang,
        "content_type": "text/html",
        "encoding": "utf-8",
        "noindex": False,
        "headings": [{"level": 2, "text": text} for text in page.headings],
    }


def _links(urls: Sequence[str], place: int, url: Url, _: float, anchors: Sequence[str]) -> dict[str, Any]:
    sources = (urls[(place * 7 + 31 * number) % len(urls)] for number in range(len(anchors)))
    inlinks = [{"url": source, "anchor": anchor} for source, anchor in zip(sources, anchors, strict=True)]
    return {**_named(url), "inlinks": inlinks}


def _batch(rows: Sequence[dict[str, Any]], schema: Any) -> Any:
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)
