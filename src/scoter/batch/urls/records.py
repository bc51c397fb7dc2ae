"""Turn seed lines and sitemap entries into crawldb records, in a temporary file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import write_positions
from scoter.batch.crawldir.export import only_row
from scoter.batch.crawldir.schemas import columns_of, drop_nulls
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.listed import ListedHashes
from scoter.batch.urls.seeds import Seed, SeedLine, SeedProblem, parse_seed
from scoter.config import Config
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.scoring import ScoringChain
from scoter.core.url import Url
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows, save_source
from scoter.engine.portable import first_rows
from scoter.engine.sources import with_positions
from scoter.errors import UrlError
from scoter.parse.feeds.sitemap import SitemapEntry
from scoter.plugins import Column, chain
from scoter.store.disk import disk_errors
from scoter.store.tables import NewVersion
from scoter.store.tables.schema import with_columns

MAX_PROBLEMS = 20
"""Problems kept for display; further ones are only counted."""
ROWS = 10_000
SEED_NUMBER, HAS_SCORE, HAS_INTERVAL = "seed_number", "seed_has_score", "seed_has_interval"
IS_KNOWN = "seed_is_known"
OLD = "old_"
"""The prefix of the columns of a known record, next to those of its seed."""

Merge: TypeAlias = Callable[[Rows, Sequence[str]], Rows]
"""From known records (``OLD``) joined with their seeds, and the columns of the crawldb, to the new records."""


def seed_schema(columns: Sequence[Column]) -> Any:
    """Return the schema of the temporary file: a record, its number, and whether it sets a score and an interval."""
    own = [(SEED_NUMBER, pa.int64()), (HAS_SCORE, pa.bool_()), (HAS_INTERVAL, pa.bool_())]
    return pa.schema([*with_columns(schemas.CRAWLDB, columns), *map(pa.field, *zip(*own, strict=True))])


def first_seeds(engine: Engine, file: Path, columns: Sequence[Column]) -> Rows:
    """Return the records of a file; if a URL occurs twice, its first record."""
    rows = engine.read(file_source(file, seed_schema(columns)))
    return first_rows(rows, ["url"], [rows[SEED_NUMBER]])


def flag_known(
    engine: Engine, seeds: Path, known: TableSource, columns: Sequence[Column], folder: Path
) -> tuple[TableSource, int, int]:
    """Return the distinct records of a file with a flag for known URLs, and the number of new and known ones."""
    first = first_seeds(engine, seeds, columns)
    there = engine.read(source_of(known, ["url"]), positions=True).rename(there_url="url")
    met = first.left_join(there, first.url == there.there_url)
    schema = with_positions(seed_schema(columns).append(pa.field(IS_KNOWN, pa.bool_())))
    file = folder / "flagged.parquet"
    total = engine.save(met.mutate(**{IS_KNOWN: met.there_url.notnull()}), schema, file, is_temporary=True)
    rows = engine.read(file_source(file, schema))
    old = only_row(engine.batches(rows.filter(rows[IS_KNOWN]).aggregate(known=rows[IS_KNOWN].count())))["known"]
    return file_source(file, schema), total - old, old


def put_records(
    engine: Engine,
    flagged: TableSource,
    known: TableSource,
    merge: Merge | None,
    folder: Path,
    version: NewVersion,
    extended: int | None = None,
) -> None:
    """Write known records and those that ``flag_known`` returned; without ``merge``, known URLs stay unchanged.

    If ``extended`` is the version that has the known records, only the others are written, as delta parts.
    """
    names = known.schema.names
    if extended is not None:
        version.extend(extended)
    if merge is None:
        new = source_of(flagged, [*names, IS_KNOWN])
        if extended is None:
            engine.write(_adding, {"known": known, "seeds": new}, version)
        else:
            engine.write(_new, {"seeds": new}, version)
        return
    rows, old = engine.read(flagged), engine.read(known)
    again = rows.filter(rows[IS_KNOWN])
    old = old.select(**{OLD + name: old[name] for name in names})
    merged = merge(again.join(old, again.url == old[OLD + "url"]), names)
    put = rows.filter(~rows[IS_KNOWN]).select(names).union(merged)
    source = save_source(engine, put, known.schema, folder / "put.parquet")
    if extended is None:
        engine.write(_replacing, {"known": known, "put": source}, version)
    else:
        engine.write(_put, {"put": source}, version)
        gone = again.semi_join(engine.read(source), "url")
        version.replace_rows(write_positions(engine, gone, known, folder / "positions.parquet"))


def _new(inputs: Mapping[str, Rows]) -> Rows:
    seeds = inputs["seeds"]
    return seeds.filter(~seeds[IS_KNOWN]).drop(IS_KNOWN)


def _adding(inputs: Mapping[str, Rows]) -> Rows:
    return inputs["known"].union(_new(inputs))


def _put(inputs: Mapping[str, Rows]) -> Rows:
    return inputs["put"]


def _replacing(inputs: Mapping[str, Rows]) -> Rows:
    return inputs["known"].anti_join(inputs["put"], "url").union(inputs["put"])


class _RecordFile:
    """Writes records to a temporary file as they arrive, and counts what it keeps and skips."""

    def __init__(self, file: Path, chains: UrlChains, config: Config, now: datetime, score: float) -> None:
        scoring = chain("scoring", config)
        columns = schemas.plugin_columns(scoring)
        self.kept = self.filtered = self.not_urls = 0
        self.listed = ListedHashes()
        self._file = file
        self._chains = chains
        self._scoring = ScoringChain(scoring)
        self._names = schemas.column_names(columns)
        self._schema = seed_schema(columns)
        self._new = CrawlDatum(
            status=DbStatus.UNFETCHED,
            fetch_time=now,
            interval=config.db.fetch_interval_default,
            score=score,
            extra=drop_nulls({column.name: column.default for column in columns}),
        )
        self._urls: list[Url] = []
        self._data: list[CrawlDatum] = []
        self._flags: list[tuple[bool, bool]] = []
        self._writer: Any = None

    def __enter__(self) -> Self:
        with disk_errors("write temporary files", self._file):
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="lz4")
        return self

    def __exit__(self, *_: object) -> None:
        with disk_errors("write temporary files", self._file), self._writer:
            self._flush()

    def _keep(self, url: Url, datum: CrawlDatum, *, has_score: bool, has_interval: bool) -> None:
        self.kept += 1
        self.listed.add(url.text)
        self._urls.append(url)
        self._data.append(datum)
        self._flags.append((has_score, has_interval))
        if len(self._urls) >= ROWS:
            with disk_errors("write temporary files", self._file):
                self._flush()

    def _flush(self) -> None:
        columns = {
            "url": [url.text for url in self._urls],
            "key": [url.key for url in self._urls],
            "host": [url.host for url in self._urls],
            **self._data_columns(),
            SEED_NUMBER: range(self.kept - len(self._urls) + 1, self.kept + 1),
            HAS_SCORE: [has_score for has_score, _ in self._flags],
            HAS_INTERVAL: [has_interval for _, has_interval in self._flags],
        }
        self._writer.write_batch(pa.RecordBatch.from_pydict(columns, schema=self._schema))
        self._urls, self._data, self._flags = [], [], []

    def _data_columns(self) -> dict[str, Any]:
        """Return the records without their URLs as columns. Most seeds have the same, which is converted once."""
        distinct = {id(each): each for each in self._data}
        places = dict(zip(distinct, range(len(distinct)), strict=True))
        found = columns_of(distinct.values(), self._names)
        schema = pa.schema([self._schema.field(name) for name in found])
        batch = pa.RecordBatch.from_pydict(found, schema=schema)
        batch = batch.take(pa.array([places[id(each)] for each in self._data], pa.int32()))
        return dict(zip(schema.names, batch.columns, strict=True))


class SeedRecords(_RecordFile):
    """Turns seed lines into records and counts the rejected lines."""

    def __init__(self, file: Path, chains: UrlChains, config: Config, now: datetime) -> None:
        super().__init__(file, chains, config, now, config.db.score_injected)
        self.bad_fields = 0
        self.problems: list[SeedProblem] = []

    def add(self, lines: Iterable[SeedLine | SeedProblem]) -> None:
        """Write the records of the lines whose URL the chains keep."""
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
            datum = self._scored(url, seed)
            self._keep(
                url,
                datum,
                has_score=seed.score is not None or datum.score != self._new.score,
                has_interval=seed.interval is not None or datum.interval != self._new.interval,
            )

    def _scored(self, url: Url, seed: Seed) -> CrawlDatum:
        datum = self._new
        if seed.score is not None or seed.interval is not None or seed.metadata:
            datum = replace(
                datum,
                score=datum.score if seed.score is None else seed.score,
                interval=datum.interval if seed.interval is None else seed.interval,
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


class SitemapRecords(_RecordFile):
    """Turns sitemap entries into records, writes them as they arrive, and counts the skipped ones."""

    def __init__(self, file: Path, chains: UrlChains, config: Config, now: datetime) -> None:
        super().__init__(file, chains, config, now, DEFAULT_PRIORITY)
        self.outside = 0
        db = config.db
        self._shortest = min(db.fetch_schedule_adaptive_min_interval, db.fetch_interval_max)
        self._longest = db.fetch_interval_max
        self._now = now

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
            datum = self._scoring.injected(url, self._datum(entry))
            self._keep(url, datum, has_score=entry.priority is not None, has_interval=bool(entry.changefreq))

    def _datum(self, entry: SitemapEntry) -> CrawlDatum:
        interval = _INTERVALS.get(entry.changefreq)
        return replace(
            self._new,
            score=entry.priority or DEFAULT_PRIORITY,
            interval=self._new.interval if interval is None else min(max(interval, self._shortest), self._longest),
            modified_time=entry.lastmod if entry.lastmod is not None and entry.lastmod <= self._now else None,
        )
