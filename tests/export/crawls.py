"""A small crawl with an archive, and how tests export it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.batch.crawls import NOW, Row, crawl_at, datum, named, page, write_crawldb, write_segment
from tests.store.exchanges import exchange

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.config import load
from scoter.engine.duckdb import DuckDbEngine
from scoter.export.folder import ExportManifest
from scoter.export.job import ExportOptions, export
from scoter.export.page_rows import ExportSource
from scoter.store.warc import ArchiveInfo, WarcPart

OLD, NEW = "20261115000001", "20261115000002"
A, B, C, GONE, TWIN, HIDDEN = (f"http://{name}.org/" for name in ("a", "b", "c", "gone", "twin", "hidden"))
URLS = (A, B, C, GONE, TWIN, HIDDEN)
EXPORTED = [A, B, C]
"""The pages that an export has by default."""


def crawl_with_archive(path: Path) -> CrawlDir:
    """Make a crawl of six pages; A was fetched twice, the last three are gone, a duplicate and noindex."""
    crawl = crawl_at(path)
    statuses = {GONE: "gone", TWIN: "duplicate"}
    write_crawldb(crawl, [datum(url, statuses.get(url, "fetched")) for url in URLS])
    add_segment(crawl, OLD, {url: f"Text of {url}" for url in URLS}, noindex=(HIDDEN,))
    add_segment(crawl, NEW, {A: "New text of A"})
    return crawl


def add_segment(
    crawl: CrawlDir, name: str, texts: Mapping[str, str], *, noindex: Sequence[str] = (), **columns: Any
) -> Segment:
    """Add a segment with a page per text, and its archive."""
    segment = Segment(crawl.segments / name)
    places = {url: f"<title>Title of {url}</title><p>{text}</p>".encode() for url, text in texts.items()}
    fetches = [datum(url, "success", **_fetched(url)) for url in texts]
    written = write_segment(
        crawl,
        name,
        fetches=_archived(segment, fetches, places),
        pages=[
            page(
                url,
                title=f"Title of {url}",
                content_type="text/html",
                language="en",
                noindex=url in noindex,
                authors=["An Author"],
                **columns,
            )
            for url in texts
        ],
        texts=[{**named(url), "text": text, "main_text": text, "markdown": f"# {text}"} for url, text in texts.items()],
    )
    (crawl.path / name).rename(written.content)
    return written


def _fetched(url: str) -> Row:
    return {"content_type": "text/html", "http_status": 200, "length": 5, "ip": "192.0.2.7", "fetch_time": NOW}


def _archived(segment: Segment, fetches: Sequence[Row], bodies: Mapping[str, bytes]) -> list[Row]:
    """Write the archive of a segment beside the segments, and return the fetches with their places in it."""
    folder = segment.path.parents[1] / segment.name
    folder.mkdir()
    part = WarcPart(folder, "part-00001", ArchiveInfo(software="test"), opened=NOW)
    found = []
    for row in fetches:
        place = part.append(exchange(row["url"], bodies[row["url"]]), facts=(("fetchTimeMs", "250"),))
        found.append({**row, "warc_file": place.file, "warc_offset": place.offset, "warc_length": place.length})
    part.finish()
    return found


def exported(crawl: CrawlDir, out: Path, form: str, *, ranges: int | None = None, **options: Any) -> ExportManifest:
    """Export a crawl, one key range at a time if there are several, and return the manifest."""
    config = load(None, {}, [])
    with DuckDbEngine(out.parent / "engine", 2**28, ranges=ranges) as engine:
        return export(ExportSource(crawl, engine, config), out, ExportOptions(format=form, **options), now=NOW).manifest


def lines(out: Path) -> list[dict[str, Any]]:
    """Return the rows of all shards of an export as JSON lines."""
    return [json.loads(line) for file in sorted(out.glob("pages-*.jsonl")) for line in file.read_text().splitlines()]


def urls(out: Path) -> list[str]:
    """Return the URLs of an export as JSON lines."""
    return [row["url"] for row in lines(out)]


def content_of(folder: Path) -> dict[str, bytes]:
    """Return every file of an export except SQLite databases, which need not be equal byte by byte."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".sqlite"
    }
