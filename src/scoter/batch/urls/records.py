"""Turn seed lines and sitemap entries into crawldb records, in a temporary file."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.schemas import drop_nulls, row_of
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.seeds import Seed, SeedLine, SeedProblem, parse_seed
from scoter.config import Config
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.scoring import ScoringChain
from scoter.core.url import Url
from scoter.engine import Engine, TableSource
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows
from scoter.errors import UrlError
from scoter.parse.feeds.sitemap import SitemapEntry
from scoter.plugins import Column
from scoter.store.disk import disk_errors
from scoter.store.tables.schema import with_columns

MAX_PROBLEMS = 20
"""Problems kept for display; further ones are only counted."""
ROWS = 10_000
SEED_NUMBER, HAS_SCORE, HAS_INTERVAL = "seed_number", "seed_has_score", "seed_has_interval"


def seed_schema(columns: Sequence[Column]) -> Any:
    """Return the schema of the temporary file: a record, its number, and whether it sets a score and an interval."""
    own = [(SEED_NUMBER, pa.int64()), (HAS_SCORE, pa.bool_()), (HAS_INTERVAL, pa.bool_())]
    return pa.schema([*with_columns(schemas.CRAWLDB, columns), *map(pa.field, *zip(*own, strict=True))])


def first_seeds(engine: Engine, file: Path, columns: Sequence[Column]) -> Rows:
    """Return the records of a file; if a URL occurs twice, its first record."""
    rows = engine.read(TableSource(files=(str(file),), schema=seed_schema(columns), defaults={}))
    return first_rows(rows, ["url"], [rows[SEED_NUMBER]])


class SeedRecords:
    """Turns seed lines into records and counts the rejected lines."""

    def __init__(
        self,
        chains: UrlChains,
        scoring: Sequence[tuple[str, Any]],
        columns: Sequence[Column],
        config: Config,
        now: datetime,
    ) -> None:
        self.kept = self.filtered = self.not_urls = self.bad_fields = 0
        self.problems: list[SeedProblem] = []
        self._chains = chains
        self._scoring = ScoringChain(scoring)
        self._columns = columns
        self._new = CrawlDatum(
            status=DbStatus.UNFETCHED,
            fetch_time=now,
            interval=config.db.fetch_interval_default,
            score=config.db.score_injected,
            extra=drop_nulls({column.name: column.default for column in columns}),
        )

    def write(self, lines: Iterable[SeedLine | SeedProblem], file: Path) -> None:
        """Write the records of lines to a Parquet file, in batches."""
        schema = seed_schema(self._columns)
        rows: list[dict[str, Any]] = []
        with disk_errors("write temporary files", file), pq.ParquetWriter(file, schema, compression="lz4") as writer:
            for row in self.rows(lines):
                rows.append(row)
                if len(rows) == ROWS:
                    writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
                    rows.clear()
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))

    def rows(self, lines: Iterable[SeedLine | SeedProblem]) -> Iterator[dict[str, Any]]:
        """Yield the rows of the lines whose URL the chains keep."""
        names = schemas.column_names(self._columns)
        for line in lines:
            if isinstance(line, SeedProblem):
                self.not_urls += 1
                self._note(line)
                continue
            seed = parse_seed(line.text)
            try:
                url = self._chains.apply(seed.text)
            except UrlError:
                self.not_urls += 1
                self._note(SeedProblem(line.where, seed.text, "not a URL that can be fetched"))
                continue
            if url is None:
                self.filtered += 1
                continue
            if seed.wrong:
                self.bad_fields += 1
                self._note(SeedProblem(line.where, seed.text, "; ".join(seed.wrong)))
            self.kept += 1
            datum = self._scored(url, seed)
            row = row_of(url, datum, names)
            row[SEED_NUMBER] = self.kept
            row[HAS_SCORE] = seed.score is not None or datum.score != self._new.score
            row[HAS_INTERVAL] = seed.interval is not None or datum.interval != self._new.interval
            yield row

    def _scored(self, url: Url, seed: Seed) -> CrawlDatum:
        datum = replace(
            self._new,
            score=self._new.score if seed.score is None else seed.score,
            interval=self._new.interval if seed.interval is None else seed.interval,
            metadata=seed.metadata,
        )
        return self._scoring.injected(url, datum)

    def _note(self, problem: SeedProblem) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(replace(problem, text=problem.text[:200]))


DEFAULT_PRIORITY = 0.5
"""The default priority of sitemaps.org; also used for 0, since such a page would never be fetched."""
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


class SitemapRecords:
    """Turns sitemap entries into records, writes them as they arrive, and counts the skipped ones."""

    def __init__(
        self,
        file: Path,
        chains: UrlChains,
        scoring: Sequence[tuple[str, Any]],
        columns: Sequence[Column],
        config: Config,
        now: datetime,
    ) -> None:
        self.kept = self.filtered = self.not_urls = self.outside = 0
        self._file = file
        self._chains = chains
        self._scoring = ScoringChain(scoring)
        self._names = schemas.column_names(columns)
        self._schema = seed_schema(columns)
        db = config.db
        self._shortest = min(db.fetch_schedule_adaptive_min_interval, db.fetch_interval_max)
        self._longest = db.fetch_interval_max
        self._now = now
        self._new = CrawlDatum(
            status=DbStatus.UNFETCHED,
            fetch_time=now,
            interval=db.fetch_interval_default,
            score=DEFAULT_PRIORITY,
            extra=drop_nulls({column.name: column.default for column in columns}),
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

    def add(self, entries: Iterable[SitemapEntry], below: Sequence[str] | None = None) -> None:
        """Write the records of entries; with ``below``, only of those whose URL starts with one of these prefixes."""
        prefixes = None if below is None else tuple(below)
        for entry in entries:
            if prefixes is not None and not entry.url.text.startswith(prefixes):
                self.outside += 1
                continue
            try:
                url = self._chains.apply(entry.url.text)
            except UrlError:
                self.not_urls += 1
                continue
            if url is None:
                self.filtered += 1
                continue
            self.kept += 1
            row = row_of(url, self._scoring.injected(url, self._datum(entry)), self._names)
            row[SEED_NUMBER] = self.kept
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
            score=entry.priority or DEFAULT_PRIORITY,
            interval=self._new.interval if interval is None else min(max(interval, self._shortest), self._longest),
            modified_time=entry.lastmod if entry.lastmod is not None and entry.lastmod <= self._now else None,
        )

    def _flush(self) -> None:
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()
