"""The folder ``site`` of a crawl: what was read for the report on the site's health, and its result.

```
site/
  pages-SEGMENT-PART.parquet     what the archived pages of a part of a segment say about themselves
  links-SEGMENT-PART.parquet     every address on them
  seeds-HASH.parquet             the seeds of the crawl, from which clicks are counted
  sitemap-TIME.parquet           the URLs that sitemaps list
  checks-TIME-NUMBER.parquet     what servers said about URLs that the crawl did not fetch
  styles-TIME-NUMBER.parquet     the addresses in style sheets
  problems-TIME.parquet          the problems found
  report.json                    how they were found: time, counts, the file
  LOCK                           which command is working here
```

Everything in it can be made again, so the folder may be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.schemas import TIME, texts
from scoter.store.disk import disk_errors
from scoter.store.objects.path import StorePath
from scoter.store.tables.local import storage_at
from scoter.store.tables.storage import this_process

SITE_FOLDER: Final = "site"
REPORT_FILE: Final = "report.json"
LOCK: Final = "LOCK"

_LIST = pa.list_(pa.utf8())
SITE_PAGES = pa.schema(
    [
        ("url", pa.utf8()),
        ("fetch_time", TIME),
        *((name, _LIST) for name in ("titles", "descriptions", "headings", "canonicals", "names")),
        *texts("skipped", "language", "refresh"),
        ("noindex", pa.bool_()),
        ("nofollow", pa.bool_()),
    ]
)
SITE_LINKS = pa.schema(
    [
        ("source", pa.utf8()),
        ("fetch_time", TIME),
        *texts("target", "href", "fragment", "text", "kind"),
        ("nofollow", pa.bool_()),
    ]
)
SITE_STYLES = pa.schema([field for field in SITE_LINKS if field.name not in ("fragment", "nofollow")])
SITE_CHECKS = pa.schema(
    [
        ("url", pa.utf8()),
        ("time", TIME),
        ("method", pa.utf8()),
        ("http_status", pa.int32()),
        *texts("outcome", "reason", "detail", "redirect_to", "content_type"),
        ("length", pa.int64()),
        ("response_ms", pa.int32()),
    ]
)
SITE_URLS = pa.schema([("url", pa.utf8())])
PROBLEMS = pa.schema(
    [
        *texts("problem", "severity", "url", "page", "text", "detail"),
        ("number", pa.int64()),
    ]
)
"""A problem of a URL; ``page`` and ``text`` are a page that leads there and its link text, ``number`` a count or a
measure that rows are sorted by."""


class ProblemCount(Struct, frozen=True):
    """How often there is a kind of problem: its rows, and the distinct URLs in them."""

    problem: str
    severity: str
    rows: int
    urls: int


class SiteReport(Struct, frozen=True, kw_only=True):
    """The content of ``report.json``: what a report was made from, and its counts."""

    made: datetime
    version: int
    source: str
    """A digest of what it was made from; a report with the same one is up to date."""
    file: str
    """The name of the file of problems."""
    totals: Mapping[str, int]
    problems: Sequence[ProblemCount]
    depths: Sequence[tuple[int, int]]
    """The number of pages by their clicks from the start pages."""
    starts: Sequence[str]
    """The first start pages."""


class SiteFolder:
    """The folder ``site`` of a crawl on disk or in an object store."""

    def __init__(self, crawl: CrawlDir) -> None:
        self.path = crawl.path / SITE_FOLDER
        self._is_remote = isinstance(self.path, StorePath)
        self.storage = storage_at(self.path)

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the finished Parquet files that begin with a prefix."""
        found = self.storage.entries() or {}
        return sorted(name for name in found if name.startswith(prefix) and name.endswith(".parquet"))

    def files(self, prefix: str) -> list[str]:
        """Return the locations of these files."""
        return [self.storage.location(name) for name in self.names(prefix)]

    def draft(self, name: str) -> Path:
        """Return the local path under which to write a file before it is finished."""
        if not self._is_remote:
            self.storage.make()
        return self.storage.draft(name)

    def finish(self, name: str, draft: Path) -> None:
        """Give a draft its name."""
        self.storage.finish(name, draft)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self.storage.remove(name)

    def copy_urls(self, name: str, file: Path, most: int) -> None:
        """Store the first URLs of another Parquet file."""
        draft, left = self.draft(name), most
        with disk_errors("write the file", draft), pq.ParquetWriter(draft, SITE_URLS, compression="zstd") as out:
            for batch in pq.ParquetFile(file).iter_batches(columns=["url"]):
                out.write_batch(batch.slice(0, left).cast(SITE_URLS))
                left -= min(left, batch.num_rows)
                if not left:
                    break
        self.finish(name, draft)

    def report(self) -> SiteReport | None:
        """Return what is known about the last report, or ``None`` if there is none that this version can read."""
        data = self.storage.read(REPORT_FILE)
        try:
            return None if data is None else msgspec.json.decode(data, type=SiteReport)
        except msgspec.DecodeError:  # it is made again
            return None

    def store_report(self, report: SiteReport) -> None:
        """Store a report, and remove the problems of earlier ones."""
        self.storage.replace(REPORT_FILE, msgspec.json.encode(report) + b"\n")
        self.remove(name for name in self.names("problems-") if name != report.file)

    def problem_files(self) -> list[str]:
        """Return the file of problems of the last report, if there is one."""
        known = self.report()
        return [] if known is None else self.files(known.file)

    @contextmanager
    def lock(self, command: str, now: datetime) -> Iterator[None]:
        """Lock out other commands that work in the folder."""
        if not self._is_remote:
            self.storage.make()
        lock = self.storage.lock(LOCK, this_process(command, now))
        try:
            yield
        finally:
            lock.release()
