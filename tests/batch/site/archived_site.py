"""Small crawls with an archive, made without a server: pages by URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.batch.crawls import NOW, crawl_at, datum, write_segment
from tests.store.exchanges import exchange

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.checksite import SiteCheckOptions, checksite
from scoter.batch.site.tables import SITE_URLS, SiteFolder, SiteReport
from scoter.config import load
from scoter.core.url import canonical
from scoter.store.warc import ArchiveInfo, WarcPart

CONFIG = load(overrides=["engine.memory_limit=512MiB"])


def make_site(path: Path, *, segments: Sequence[Mapping[str, Any]], seeds: Sequence[str] = ()) -> CrawlDir:
    """Make a crawl; each segment is a mapping of URLs to pages, statuses, or ``-> URL`` for redirects."""
    crawl = crawl_at(path)
    for number, pages in enumerate(segments, 1):
        add_segment(crawl, f"2026111500000{number}", pages, NOW + timedelta(hours=number))
    if seeds:
        list_urls(crawl, "seeds-1.parquet", seeds)
    return crawl


def add_segment(crawl: CrawlDir, name: str, pages: Mapping[str, Any], when: datetime) -> Segment:
    folder = crawl.path / name
    folder.mkdir()
    part = WarcPart(folder, "part-00001", ArchiveInfo(software="test"), opened=NOW)
    fetches = []
    for url, page in pages.items():
        row = _fetched(url, page) | {"fetch_time": when}
        if isinstance(page, str) and not page.startswith("-> "):
            place = part.append(exchange(row["url"], page.encode()))
            row |= {"warc_file": place.file, "warc_offset": place.offset, "warc_length": place.length}
        fetches.append(row)
    part.finish()
    written = write_segment(crawl, name, fetches=fetches)
    folder.rename(written.content)
    return written


def _fetched(url: str, page: Any) -> dict[str, Any]:
    if isinstance(page, int):
        return datum(url, "gone", http_status=page, reason="not_found")
    if page.startswith("-> "):
        return datum(url, "redir_perm", http_status=301, redirect_to=canonical(page[3:]).text)
    answer = {"http_status": 200, "content_type": "text/html", "length": len(page), "response_ms": 5}
    return datum(url, "success", **answer)


def list_urls(crawl: CrawlDir, name: str, urls: Sequence[str]) -> None:
    """Keep URLs as those of seeds or sitemaps."""
    draft = crawl.path / "listed.parquet"
    pq.write_table(pa.table({"url": list(urls)}, schema=SITE_URLS), draft)
    SiteFolder(crawl).copy_urls(name, draft, 1_000)
    draft.unlink()


def checked(crawl: CrawlDir, **options: Any) -> SiteReport:
    """Check a site without asking for anything."""
    scratch = crawl.path / "tmp" / "check"
    return checksite(crawl, CONFIG, scratch, now=NOW, options=SiteCheckOptions(**options)).report


def rows(crawl: CrawlDir, problem: str) -> list[tuple[str | None, ...]]:
    """Return the URL, page, text and detail of each problem of a kind, in their order."""
    (file,) = SiteFolder(crawl).problem_files()
    found = pq.read_table(file).to_pylist()
    names = ("url", "page", "text", "detail")
    return [tuple(row[name] for name in names) for row in found if row["problem"] == problem]
