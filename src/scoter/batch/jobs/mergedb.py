"""mergedb: merge crawldbs. The record fetched last wins; metadata is merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import scoring_columns, table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.host_counts import record_host_counts
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.config import Config
from scoter.core.datum import EPOCH, DbStatus, short_name
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows, save_source
from scoter.engine.portable import collect_sorted, timestamp
from scoter.errors import UsageError
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.tables import Table

_UNFETCHED = short_name(DbStatus.UNFETCHED)


class MergedbResult(Struct, frozen=True, kw_only=True):
    """The number of records read, and of URLs written."""

    records: int
    urls: int


def mergedb(
    out: CrawlDir,
    crawls: Sequence[CrawlDir],
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    filter: bool = False,
    normalize: bool = False,
) -> MergedbResult:
    """Write the crawldb of a crawl that has none, from those of others.

    If records of a URL were fetched at the same time, the later due time wins, then the crawl named first. The segments
    applied to any of the crawldbs count as applied to the new one.
    """
    check_new(out, out.crawldb, "crawldb")
    extra = scoring_columns(config)
    chains = UrlChains.from_config(config, "crawldb", filter=filter, normalize=normalize)
    with ExitStack() as stack:
        tables = [stack.enter_context(Table.open(each.crawldb, schemas.CRAWLDB, extra=extra)) for each in crawls]
        folder = stack.enter_context(Scratch(out.scratch, "mergedb")).path
        sources = [source_of(each, is_sorted=True) for each in tables]
        if chains.filters or chains.normalizers:
            sources = [
                _rewrite_records(engine, each, chains, folder / f"{n}.parquet") for n, each in enumerate(sources)
            ]
        inputs = {str(number): each for number, each in enumerate(sources)}
        new = stack.enter_context(
            Table.write(out.crawldb, schemas.CRAWLDB, extra=extra, writer="mergedb", clock=lambda: now)
        )
        engine.write(_newest, inputs, new)
        manifest = new.commit(applied={name for each in tables for name in each.manifest.applied})
        record_host_counts(out, engine)
        return MergedbResult(records=sum(each.manifest.rows for each in tables), urls=manifest.rows)


def check_new(out: CrawlDir, table: Path, name: str) -> None:
    """Raise if a crawl already has the table."""
    if table_exists(table):
        raise UsageError(f"this crawl already has a {name}", where=str(out.path), hint="Pass a new directory.")


def _rewrite_records(engine: Engine, source: TableSource, chains: UrlChains, file: Path) -> TableSource:
    """Return the records of a crawldb with their URLs changed, and a column with the old URL."""
    rows = engine.read(source)
    changes = url_changes(engine, rows, chains)
    schema = source.schema.append(pa.field("was", pa.utf8()))
    return save_source(engine, rewrite_urls(rows.mutate(was=rows.url), changes, derived=DERIVED), schema, file)


def _newest(tables: Mapping[str, Rows]) -> Rows:
    """Return one record per URL; newer metadata overrides older metadata."""
    found = ibis.union(*(rows.mutate(crawl=ibis.literal(int(name), "int32")) for name, rows in tables.items()))
    if "was" not in found.columns:
        found = found.mutate(was=found.url)
    order = [_last_fetch(found).desc(), found.fetch_time.desc(), found.crawl, found.was]
    ranked = found.mutate(
        rank=ibis.row_number().over(group_by=found.url, order_by=order), records=found.count().over(group_by=found.url)
    )
    newest = ranked.filter(ranked.rank == 0).drop("rank", "records", "crawl", "was")
    laid = _merge_metadata(ranked.filter((ranked.records > 1) & ranked.metadata.notnull()))
    joined = newest.left_join(laid, newest.url == laid.again)
    return joined.mutate(metadata=joined.laid.fill_null(joined.metadata)).drop("again", "laid")


def _merge_metadata(records: Rows) -> Rows:
    """Return the metadata of each URL's records as one map; the newest value of each name wins."""
    each = records.select("url", "rank", "metadata", name=records.metadata.keys()).unnest("name")
    each = each.mutate(value=each.metadata.get(each.name))
    chosen = each.group_by(["url", "name"]).agg(value=each.value.argmin(each.rank))
    lists = collect_sorted(chosen, ["url"], "entries", {"name": chosen.name, "value": chosen.value})
    names, values = (lists.entries.map(lambda entry, field=field: entry[field]) for field in ("name", "value"))
    return lists.select(again="url", laid=ibis.map(names, values))


def _last_fetch(rows: Rows) -> Any:
    """Return when a URL was last fetched, like ``core.schedule.last_fetch``."""
    return (rows.status == _UNFETCHED).ifelse(timestamp(EPOCH), rows.fetch_time - rows.interval.as_interval("s"))
