"""Entries of sitemaps, made into records of the crawldb and written to a temporary file."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from scoter.batch import schemas
from scoter.batch.rows import present, row_of
from scoter.batch.sift import Sieve
from scoter.batch.sowing import HAS_INTERVAL, HAS_SCORE, NUMBER, ROWS, seed_schema
from scoter.config import Config
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.scoring import ScoringChain
from scoter.errors import UrlError
from scoter.parse.feeds.sitemap import SitemapEntry
from scoter.plugins import Column
from scoter.store.disk import disk_errors

USUAL_PRIORITY = 0.5
"""What sitemaps.org gives a page whose priority is not told; one of 0 would never be fetched, and gets it too."""
_DAY = timedelta(days=1)
_INTERVALS = {
    "always": timedelta(seconds=1),
    "hourly": _DAY / 24,
    "daily": _DAY,
    "weekly": 7 * _DAY,
    "monthly": 30 * _DAY,
    "yearly": 365 * _DAY,
    "never": timedelta.max,
}


class EntrySower:
    """Makes records of entries, writes them as they come, and counts those it leaves out."""

    def __init__(
        self,
        file: Path,
        sieve: Sieve,
        scoring: Sequence[tuple[str, Any]],
        columns: Sequence[Column],
        config: Config,
        now: datetime,
    ) -> None:
        self.kept = self.filtered = self.not_urls = self.outside = 0
        self._file = file
        self._sieve = sieve
        self._scoring = ScoringChain(scoring)
        self._names = schemas.names(columns)
        self._schema = seed_schema(columns)
        db = config.db
        self._shortest = min(db.fetch_schedule_adaptive_min_interval, db.fetch_interval_max)
        self._longest = db.fetch_interval_max
        self._now = now
        self._new = CrawlDatum(
            status=DbStatus.UNFETCHED,
            fetch_time=now,
            interval=db.fetch_interval_default,
            score=USUAL_PRIORITY,
            extra=present({column.name: column.default for column in columns}),
        )
        self._rows: list[dict[str, Any]] = []
        self._stack = ExitStack()
        self._writer: Any = None

    def __enter__(self) -> Self:
        with disk_errors("write temporary files", self._file):
            self._writer = self._stack.enter_context(pq.ParquetWriter(self._file, self._schema, compression="lz4"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with disk_errors("write temporary files", self._file), self._stack:
            self._flush()

    def sow(self, entries: Iterable[SitemapEntry], below: Sequence[str] | None = None) -> None:
        """Write the records of entries; given ``below``, of those whose URL begins with one of these."""
        places = None if below is None else tuple(below)
        for entry in entries:
            if places is not None and not entry.url.text.startswith(places):
                self.outside += 1
                continue
            try:
                url = self._sieve.sift(entry.url.text)
            except UrlError:
                self.not_urls += 1
                continue
            if url is None:
                self.filtered += 1
                continue
            self.kept += 1
            row = row_of(url, self._scoring.injected(url, self._datum(entry)), self._names)
            row[NUMBER] = self.kept
            row[HAS_SCORE] = entry.priority is not None
            row[HAS_INTERVAL] = bool(entry.changefreq)
            self._rows.append(row)
            if len(self._rows) >= ROWS:
                with disk_errors("write temporary files", self._file):
                    self._flush()

    def _datum(self, entry: SitemapEntry) -> CrawlDatum:
        interval = _INTERVALS.get(entry.changefreq)
        return replace(
            self._new,
            score=entry.priority or USUAL_PRIORITY,
            interval=self._new.interval if interval is None else min(max(interval, self._shortest), self._longest),
            modified_time=entry.lastmod if entry.lastmod is not None and entry.lastmod <= self._now else None,
        )

    def _flush(self) -> None:
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()
