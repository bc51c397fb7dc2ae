"""Merge the crawldbs of several crawls: of each URL the record fetched last, over the metadata of the others."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import ibis
from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.directory import CrawlDir
from scoter.batch.rewriting import changes_of, rewritten
from scoter.batch.sift import Sieve
from scoter.config import Config
from scoter.core.datum import EPOCH, DbStatus, short_name
from scoter.engine import Engine, Source, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import map_concat
from scoter.errors import UsageError
from scoter.plugins import chain
from scoter.store.tables import Table
from scoter.store.tables.manifest import CURRENT

_UNFETCHED = short_name(DbStatus.UNFETCHED)
_BESIDE = {"key": "its_key", "host": "its_host"}


class MergedCrawldb(Struct, frozen=True, kw_only=True):
    """How many records there were in all, and how many URLs there are now."""

    records: int
    urls: int


def mergedb(
    out: CrawlDir,
    crawls: Sequence[CrawlDir],
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    filter: bool = False,  # noqa: A002 - as the option is called
    normalize: bool = False,
) -> MergedCrawldb:
    """Write the crawldb of a crawl that has none yet out of those of others.

    Where records of one URL were fetched at the same time, the later fetch time decides, then the crawl named first.
    The new crawldb knows of every segment that was brought into one of them.
    """
    check_new(out, out.crawldb, "crawldb")
    extra = schemas.plugin_columns(chain("scoring", config))
    sieve = Sieve.of(config, "crawldb", filter=filter, normalize=normalize)
    out.scratch.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        tables = [stack.enter_context(Table.open(each.crawldb, schemas.CRAWLDB, extra=extra)) for each in crawls]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=out.scratch)))
        sources = [source_of(each, is_sorted=True) for each in tables]
        if sieve.filters or sieve.normalizers:
            sources = [_sifted(engine, each, sieve, folder / f"{n}.parquet") for n, each in enumerate(sources)]
        inputs = {str(number): each for number, each in enumerate(sources)}
        new = stack.enter_context(
            Table.write(out.crawldb, schemas.CRAWLDB, extra=extra, writer="mergedb", clock=lambda: now)
        )
        engine.write(_newest, inputs, new)
        manifest = new.commit(applied={name for each in tables for name in each.manifest.applied})
        return MergedCrawldb(records=sum(each.manifest.rows for each in tables), urls=manifest.rows)


def check_new(out: CrawlDir, table: Path, name: str) -> None:
    """Raise if a crawl has a table already that is about to be made."""
    if (table / CURRENT).exists():
        raise UsageError(f"this crawl has a {name} already", where=str(out.path), hint="Name a new directory.")


def _sifted(engine: Engine, source: Source, sieve: Sieve, file: Path) -> Source:
    """Return a crawldb's records under the URLs that they come to have; where two come to one, the newest stays."""
    rows = engine.read(source)
    changes = changes_of(engine, rows, sieve)
    rows = rewritten(rows.mutate(was=rows.url), changes, beside=_BESIDE)
    ranked = _ranked(rows, rows.was)
    engine.save(ranked.filter(ranked.turn == 0), source.schema, file)
    return Source(files=(str(file),), schema=source.schema, defaults={})


def _newest(tables: Mapping[str, Rows]) -> Rows:
    """Return one record of each URL; the metadata of older ones lie under that of newer ones."""
    found = ibis.union(*(rows.mutate(crawl=ibis.literal(int(name), "int32")) for name, rows in tables.items()))
    ranked = _ranked(found, found.crawl)
    result = ranked.filter(ranked.turn == 0).drop("turn", "crawl")
    for turn in range(1, len(tables)):
        older = ranked.filter((ranked.turn == turn) & ranked.metadata.notnull())
        older = older.select(again="url", under="metadata")
        joined = result.left_join(older, result.url == older.again)
        result = joined.mutate(metadata=map_concat(joined.under, joined.metadata)).drop("again", "under")
    return result


def _ranked(rows: Rows, at_last: Any) -> Rows:
    """Number the records of each URL, the newest first."""
    order = [_last_fetch(rows).desc(), rows.fetch_time.desc(), at_last]
    return rows.mutate(turn=ibis.row_number().over(group_by=rows.url, order_by=order))


def _last_fetch(rows: Rows) -> Any:
    """Return when a URL was last fetched, as ``core.schedule.last_fetch`` has it."""
    epoch = ibis.literal(EPOCH, "timestamp('UTC', 6)")
    return (rows.status == _UNFETCHED).ifelse(epoch, rows.fetch_time - rows.interval.as_interval("s"))
