"""inject: add seeds to the crawldb.

Seeds are written to a temporary file; the engine finds out which are known and writes a new version of the crawldb.
Known URLs are left unchanged, unless their record is replaced (``overwrite``) or updated (``update``: metadata is
merged, score and interval are set if the seed has them). If a URL occurs twice, its first line counts. If nothing
changes, no version is written.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import ibis
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import crawldb_snapshot, remove_backup
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.batch.urls.records import HAS_INTERVAL, HAS_SCORE, SeedRecords, first_seeds, seed_schema
from scoter.batch.urls.seeds import SeedProblem, read_seeds, seed_sources
from scoter.config import Config
from scoter.engine import Engine, TableSource
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows, map_concat
from scoter.plugins import Column, chain
from scoter.store.disk import Scratch
from scoter.store.tables import Table

InjectMode: TypeAlias = Literal["keep", "overwrite", "update"]
SEEDS = "seeds.parquet"
_KNOWN = "seed_is_known"
_OLD = "old_"


class InjectResult(Struct, frozen=True, kw_only=True):
    """``filtered``, ``not_urls`` and ``bad_fields`` count lines, the others distinct URLs."""

    new: int = 0
    known: int = 0
    changed: int = 0
    """Known URLs whose record was replaced or updated."""
    filtered: int = 0
    not_urls: int = 0
    bad_fields: int = 0
    """Lines with an invalid field, which was ignored."""
    dropped: int = 0
    """URLs removed from the crawldb by ``filter_normalize_all``."""
    complaints: tuple[SeedProblem, ...] = ()
    """The first problems with lines."""


def inject(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    seeds: Iterable[str],
    *,
    now: datetime,
    overwrite: bool | None = None,
    update: bool | None = None,
    filter: bool = True,
    normalize: bool = True,
    filter_normalize_all: bool = False,
    stdin: IO[bytes] | None = None,
) -> InjectResult:
    """Add the URLs of files, folders, arguments and standard input (``-``) to the crawldb.

    ``overwrite`` and ``update`` default to the settings ``db.injector_…``; ``overwrite`` wins. ``filter_normalize_all``
    also applies the normalisers and filters to the URLs already in the crawldb.
    """
    mode = _mode(config, overwrite, update)
    sources = seed_sources(seeds)
    chains = UrlChains.from_config(config, "inject", filter=filter, normalize=normalize)
    scoring = chain("scoring", config)
    columns = schemas.plugin_columns(scoring)
    records = SeedRecords(chains, scoring, columns, config, now)
    with closing(Scratch(crawl.scratch, "inject")) as scratch, ExitStack() as held:
        folder = scratch.path
        records.write(read_seeds(sources, stdin), folder / SEEDS)
        known = held.enter_context(crawldb_snapshot(crawl, columns)).source
        dropped, moved = 0, False
        if filter_normalize_all and known.files:
            known, dropped, moved = filter_crawldb(engine, known, chains, folder)
        flagged, new, old = _flag(engine, known, columns, folder)
        changed = 0 if mode == "keep" else old
        if new or changed or moved:
            put = _put(engine, known, flagged, mode, folder / "put.parquet")
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=columns, writer="inject") as version:
                engine.write(_adding if mode == "keep" else _replacing, {"known": known, "put": put}, version)
                version.commit()
    remove_backup(crawl.crawldb, config)
    return InjectResult(
        new=new,
        known=old,
        changed=changed,
        filtered=records.filtered,
        not_urls=records.not_urls,
        bad_fields=records.bad_fields,
        dropped=dropped,
        complaints=tuple(records.problems),
    )


def _mode(config: Config, overwrite: bool | None, update: bool | None) -> InjectMode:
    if config.db.injector_overwrite if overwrite is None else overwrite:
        return "overwrite"
    return "update" if (config.db.injector_update if update is None else update) else "keep"


def _flag(engine: Engine, known: TableSource, columns: Sequence[Column], folder: Path) -> tuple[TableSource, int, int]:
    """Return distinct seeds with a flag for known URLs, and the number of new and known ones."""
    first = first_seeds(engine, folder / SEEDS, columns)
    there = engine.read(replace(known, schema=pa.schema([known.schema.field("url")]))).select(there_url="url")
    met = first.left_join(there, first.url == there.there_url)
    schema = seed_schema(columns).append(pa.field(_KNOWN, pa.bool_()))
    flagged = _file(folder / "flagged.parquet", schema)
    total = engine.save(met.mutate(**{_KNOWN: met.there_url.notnull()}), schema, Path(flagged.files[0]))
    rows = engine.read(flagged)
    counted = rows.filter(rows[_KNOWN]).aggregate(known=rows[_KNOWN].count())
    old = sum(batch["known"][0].as_py() for batch in engine.batches(counted) if batch.num_rows)
    return flagged, total - old, old


def _put(engine: Engine, known: TableSource, flagged: TableSource, mode: InjectMode, file: Path) -> TableSource:
    """Return the records to write into the next version."""
    rows, names = engine.read(flagged), known.schema.names
    put = rows if mode == "overwrite" else rows.filter(~rows[_KNOWN])
    put = put.select(names)
    if mode == "update":
        again, old = rows.filter(rows[_KNOWN]), engine.read(known)
        old = old.select(**{_OLD + name: old[name] for name in names})
        met = again.join(old, again.url == old[_OLD + "url"])
        put = put.union(_updated(met, names))
    engine.save(put, known.schema, file)
    return _file(file, known.schema)


def _updated(met: Rows, names: Sequence[str]) -> Rows:
    """Return known records updated from their seeds."""
    merged = {name: met[_OLD + name] for name in names}
    for name in names[len(schemas.CRAWLDB.names) :]:
        merged[name] = met[name].coalesce(merged[name])
    merged["metadata"] = map_concat(merged["metadata"], met.metadata)
    merged["score"] = ibis.ifelse(met[HAS_SCORE], met.score, merged["score"])
    merged["interval"] = ibis.ifelse(met[HAS_INTERVAL], met.interval, merged["interval"])
    return met.select(**merged)


def _adding(inputs: Mapping[str, Rows]) -> Rows:
    return inputs["known"].union(inputs["put"])


def _replacing(inputs: Mapping[str, Rows]) -> Rows:
    return inputs["known"].anti_join(inputs["put"], "url").union(inputs["put"])


def _file(file: Path, schema: Any) -> TableSource:
    return TableSource(files=(str(file),), schema=schema, defaults={})


def filter_crawldb(
    engine: Engine, known: TableSource, chains: UrlChains, folder: Path
) -> tuple[TableSource, int, bool]:
    """Apply the chains to the crawldb; return the remaining records, the number dropped, and whether any changed.

    If two records get the same URL, the one fetched last is kept.
    """
    rows = engine.read(known)
    changes = url_changes(engine, rows, chains)
    counted = rows.aggregate(rows=rows.count()).cross_join(changes.aggregate(changes=changes.count()))
    total, changed = next((row["rows"], row["changes"]) for each in engine.batches(counted) for row in each.to_pylist())
    if not changed:
        return known, 0, False
    named = rows.mutate(inject_former_url=rows.url)
    new = rewrite_urls(named, changes, derived=DERIVED)
    last = ibis.ifelse(new.status == "unfetched", 0, new.fetch_time.epoch_seconds() - new.interval)
    kept = first_rows(new, ["url"], [last.desc(), new.fetch_time.desc(), new.inject_former_url])
    file = folder / "rewritten.parquet"
    left = engine.save(kept, known.schema, file)
    return replace(known, files=(str(file),), is_sorted=False), total - left, True
