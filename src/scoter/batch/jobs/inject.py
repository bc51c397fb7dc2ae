"""inject: add seeds to the crawldb.

Seeds are written to a temporary file; the engine finds out which are known and writes a new version of the crawldb.
Known URLs are left unchanged, unless their record is replaced (``overwrite``) or updated (``update``: metadata is
merged, score and interval are set if the seed has them). If a URL occurs twice, its first line counts. If nothing
changes, no version is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import is_incremental
from scoter.batch.crawldir.crawldb import crawldb_snapshot, scoring_columns
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import only_row
from scoter.batch.jobs.compact import settle
from scoter.batch.site.listings import note_seeds
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.batch.urls.records import HAS_INTERVAL, HAS_SCORE, OLD, Merge, SeedRecords, flag_known, put_records
from scoter.batch.urls.seeds import SeedProblem, read_seeds, seed_sources
from scoter.config import Config
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows, map_concat
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.tables import Table


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
) -> InjectResult:
    """Add the URLs of files, folders, arguments and standard input (``-``) to the crawldb.

    ``overwrite`` and ``update`` default to the settings ``db.injector_…``; ``overwrite`` wins. ``filter_normalize_all``
    also applies the normalisers and filters to the URLs already in the crawldb.
    """
    db = config.db
    merge: Merge | None = None
    if db.injector_overwrite if overwrite is None else overwrite:
        merge = _overwritten
    elif db.injector_update if update is None else update:
        merge = _updated
    sources = seed_sources(seeds)
    chains = UrlChains.from_config(config, "inject", filter=filter, normalize=normalize)
    columns = scoring_columns(config)
    with Scratch(crawl.scratch, "inject") as scratch, crawldb_snapshot(crawl, columns) as snapshot:
        file, known = scratch.path / "seeds.parquet", snapshot.source
        with SeedRecords(file, chains, config, now) as records:
            records.add(read_seeds(sources))
        dropped, moved = 0, False
        if filter_normalize_all and known.files:
            known, dropped, moved = filter_crawldb(engine, known, chains, scratch.path)
        flagged, new, old = flag_known(engine, file, known, columns, scratch.path)
        note_seeds(crawl, file)
        changed = 0 if merge is None else old
        if new or changed or moved:
            is_delta = not moved and is_incremental(snapshot.manifest, known.schema, config, new + changed)
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=columns, writer="inject") as version:
                extended = snapshot.version if is_delta else None
                put_records(engine, flagged, known, merge, scratch.path, version, extended)
                version.commit()
    records.listed.save(crawl)
    settle(crawl, engine, config, now=now)
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


def _overwritten(met: Rows, names: Sequence[str]) -> Rows:
    return met.select(names)


def _updated(met: Rows, names: Sequence[str]) -> Rows:
    """Return known records updated from their seeds."""
    merged = {name: met[OLD + name] for name in names}
    for name in names[len(schemas.CRAWLDB.names) :]:
        merged[name] = met[name].coalesce(merged[name])
    merged["metadata"] = map_concat(merged["metadata"], met.metadata)
    merged["score"] = ibis.ifelse(met[HAS_SCORE], met.score, merged["score"])
    merged["interval"] = ibis.ifelse(met[HAS_INTERVAL], met.interval, merged["interval"])
    return met.select(**merged)


def filter_crawldb(
    engine: Engine, known: TableSource, chains: UrlChains, folder: Path
) -> tuple[TableSource, int, bool]:
    """Apply the chains to the crawldb; return the remaining records, the number dropped, and whether any changed.

    If two records get the same URL, the one fetched last is kept.
    """
    rows = engine.read(known)
    changes = url_changes(engine, rows, chains)
    counted = rows.aggregate(rows=rows.count()).cross_join(changes.aggregate(changes=changes.count()))
    total, changed = only_row(engine.batches(counted)).values()
    if not changed:
        return known, 0, False
    named = rows.mutate(inject_former_url=rows.url)
    new = rewrite_urls(named, changes, derived=DERIVED)
    last = ibis.ifelse(new.status == "unfetched", 0, new.fetch_time.epoch_seconds() - new.interval)
    kept = first_rows(new, ["url"], [last.desc(), new.fetch_time.desc(), new.inject_former_url])
    file = folder / "rewritten.parquet"
    left = engine.save(kept, known.schema, file)
    return file_source(file, known.schema), total - left, True
