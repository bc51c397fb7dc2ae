"""updatehostdb: update the hostdb from the crawldb, new segments, robots.txt files, the host graph and DNS.

``batch/hosts`` says where each fact comes from. The new version of the table also records the segments that it
includes, so that a killed update changes nothing and the next one starts over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import TableSnapshot, open_crawldb, remove_backup, table_exists, table_snapshot
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.segment import Segment
from scoter.batch.fetchlists.traps import trap_names
from scoter.batch.graph.tables import graph_tables
from scoter.batch.hosts import crawldb_facts, records, segment_facts
from scoter.batch.hosts.lookups import HostChecks, due_hosts, save_lookups
from scoter.batch.hosts.processors import save_metadata
from scoter.batch.hosts.robots import save_robots
from scoter.batch.urls.chains import UrlChains
from scoter.config import Config
from scoter.core.domain import reversed_host
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.portable import null_like, timestamp
from scoter.fetch.network.resolver import Resolver
from scoter.plugins import chain
from scoter.store.disk import Scratch
from scoter.store.tables import Table
from scoter.store.tables.parquet import write_batches

_CRAWLDB = "crawldb_version"
"""The property of the table with the version of the crawldb that it was counted from."""
_PERCENTILES = "percentiles"
"""The property of the table with the percentiles that it has."""
_TRAPS = pa.schema([*schemas.texts("url", "key"), ("traps", pa.int64())])


class HostdbResult(Struct, frozen=True, kw_only=True):
    """The size of the hostdb, the segments added to it, and the results of lookups."""

    hosts: int
    hosts_before: int
    segments: tuple[str, ...]
    found: int = 0
    """Names that were looked up and exist."""
    missing: int = 0
    """Names that do not exist."""
    unanswered: int = 0
    """Names about which no name server gave an answer; what was known about them is kept."""
    left: int = 0
    """Hosts that were due for a lookup, but left to the next update (``hostdb.lookup_time_limit``)."""


def pending(crawl: CrawlDir, *, rebuild: bool = False) -> list[Segment]:
    """Return the fetched segments that are not in the hostdb yet, oldest first."""
    done = () if rebuild else applied_segments(crawl.hostdb) or ()
    return [each for each in crawl.all_segments() if each.is_fetched and not each.is_in(done)]


def is_behind(crawl: CrawlDir) -> bool:
    """Return whether the crawldb or a segment is newer than the hostdb."""
    with table_snapshot(crawl.hostdb, schemas.HOSTDB) as hosts:
        return hosts.properties.get(_CRAWLDB, "") != _crawldb_version(crawl) or bool(pending(crawl))


def _crawldb_version(crawl: CrawlDir) -> str:
    with table_snapshot(crawl.crawldb, schemas.CRAWLDB) as found:
        return str(found.version)


def updatehostdb(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    checks: HostChecks | None = None,
    filter: bool | None = None,
    normalize: bool | None = None,
    rebuild: bool = False,
    resolver: Resolver | None = None,
    on_lookup: Callable[[int], None] = lambda done: None,
) -> HostdbResult:
    """Update the hostdb; options that are ``None`` follow the ``hostdb`` settings.

    ``rebuild`` forgets what earlier segments said and reads all segments again; what lookups found is kept.
    """
    settings = config.hostdb
    wanted = checks or HostChecks(
        new=settings.check_new, failed=settings.check_failed, known=settings.check_known, force=settings.force_check
    )
    chains = UrlChains.from_config(
        config,
        "crawldb",
        filter=settings.url_filter if filter is None else filter,
        normalize=settings.url_normalize if normalize is None else normalize,
    )
    processors = chain("hostprocessor", config)
    percentiles = tuple(sorted(set(settings.percentiles)))
    segments = pending(crawl, rebuild=rebuild)
    with ExitStack() as stack:
        old: TableSnapshot = stack.enter_context(table_snapshot(crawl.hostdb, schemas.HOSTDB))
        folder = stack.enter_context(Scratch(crawl.scratch, "updatehostdb")).path
        inputs = _crawldb_inputs(crawl, engine, config, chains, folder, stack)
        if processors:
            with open_crawldb(crawl, config) as table:
                inputs[records.EXTRA] = save_metadata(engine, table, processors, folder / "extra.parquet")
        inputs[records.OLD] = _without_fetches(engine, old.source, folder) if rebuild else old.source
        if segments:
            inputs |= _segment_inputs(engine, segments, folder)
        if (robots := save_robots(crawl, config, folder / "robots.parquet")) is not None:
            inputs[records.ROBOTS] = robots
        inputs |= _graph_inputs(crawl, engine, folder) | _trap_inputs(crawl, folder)
        found = missing = unanswered = left = 0
        if wanted.is_any:
            due = due_hosts(
                engine, inputs[records.COUNTS], old.source, inputs.get(records.FETCHES), wanted, timestamp(now)
            )
            hosts = _names(engine.batches(due))
            file = folder / "checks.parquet"
            answers, counts = save_lookups(hosts, config, file, now=now, resolver=resolver, on_progress=on_lookup)
            inputs[records.CHECKS] = answers
            found, missing, unanswered, left = counts.found, counts.missing, counts.unanswered, counts.left
        shown, version = ",".join(map(str, percentiles)), _crawldb_version(crawl)
        rules = records.HostdbRules(
            percentiles=percentiles,
            numeric_fields=tuple(dict.fromkeys(settings.numeric_fields)),
            recheck_seconds=max(1, int(settings.recheck_interval.total_seconds())),
            purge_after=settings.purge_failed_hosts_threshold,
            is_anew=old.properties.get(_PERCENTILES, shown) != shown,
        )
        with Table.write(crawl.hostdb, schemas.HOSTDB, writer="updatehostdb", clock=lambda: now) as new:
            engine.write(records.host_job(rules), {**inputs, records.NOW: now}, new)
            names = tuple(each.name for each in segments)
            manifest = new.commit(
                applied=[name for name in names if name not in old.applied],
                properties={_PERCENTILES: shown, _CRAWLDB: version},
            )
    remove_backup(crawl.hostdb, config)
    return HostdbResult(
        hosts=manifest.rows,
        hosts_before=old.rows,
        segments=names,
        found=found,
        missing=missing,
        unanswered=unanswered,
        left=left,
    )


def _crawldb_inputs(
    crawl: CrawlDir, engine: Engine, config: Config, chains: UrlChains, folder: Path, stack: ExitStack
) -> dict[str, TableSource]:
    """Return what the crawldb says about hosts."""
    settings = config.hostdb
    table = stack.enter_context(open_crawldb(crawl, config))
    fields = (*settings.numeric_fields, *settings.string_fields)
    columns = ["url", "host", "status", *(["metadata"] if fields else [])]
    rows = crawldb_facts.crawldb_rows(engine, source_of(table, columns), chains)
    inputs = {records.COUNTS: crawldb_facts.save_counts(engine, rows, folder / "counts.parquet")}
    if settings.numeric_fields:
        inputs[records.FIELD_BINS] = crawldb_facts.save_field_bins(
            engine, rows, tuple(dict.fromkeys(settings.numeric_fields)), folder / "field_bins.parquet"
        )
    if settings.string_fields:
        inputs[records.FIELD_VALUES] = crawldb_facts.save_field_values(
            engine, rows, tuple(dict.fromkeys(settings.string_fields)), folder / "field_values.parquet"
        )
    return inputs


def _segment_inputs(engine: Engine, segments: Sequence[Segment], folder: Path) -> dict[str, TableSource]:
    """Return what segments say about hosts."""
    rows = segment_facts.fetch_rows(engine, segments)
    return {
        records.FETCHES: segment_facts.save_fetches(engine, rows, folder / "fetches.parquet"),
        records.BINS: segment_facts.save_bins(engine, rows, folder / "bins.parquet"),
        records.CHAINS: segment_facts.save_chains(engine, rows, folder / "chains.parquet"),
    }


def _without_fetches(engine: Engine, old: TableSource, folder: Path) -> TableSource:
    """Return the old rows without what segments said."""
    rows = engine.read(old)
    forgotten = (*schemas.FETCH_COUNTS, "latency_ms", "page_bytes", "latency_bins", "size_bins")
    cleared = rows.mutate(**{name: null_like(rows[name]) for name in forgotten})
    file = folder / "old.parquet"
    engine.save(cleared, schemas.HOSTDB, file, ("key", "url"))
    return file_source(file, schemas.HOSTDB)


def _graph_inputs(crawl: CrawlDir, engine: Engine, folder: Path) -> dict[str, TableSource]:
    """Return the host graph's counts and ranks, if there is one; one that is out of date has ranks all the same."""
    tables = graph_tables(crawl, "host")
    if not table_exists(tables.nodes) or not table_exists(tables.values):
        return {}
    with (
        Table.open(tables.nodes, tables.node_schema) as nodes,
        Table.open(tables.values, tables.value_schema) as values,
    ):
        names = engine.read(source_of(nodes, ("url", "key", "id")))
        ranks = engine.read(source_of(values, ("id", *records.RANK_COLUMNS)))
        joined = names.inner_join(ranks, "id").select("url", "key", *records.RANK_COLUMNS)
        schema = pa.schema(
            [nodes.schema.field(name) for name in ("url", "key")]
            + [values.schema.field(name) for name in records.RANK_COLUMNS]
        )
        file = folder / "ranks.parquet"
        engine.save(joined, schema, file)
    return {records.RANKS: file_source(file, schema)}


def _trap_inputs(crawl: CrawlDir, folder: Path) -> dict[str, TableSource]:
    """Return the number of possible traps of each host."""
    counts: dict[str, int] = {}
    for name in trap_names(crawl):
        host = name.partition("/")[0]
        counts[host] = counts.get(host, 0) + 1
    if not counts:
        return {}
    file = folder / "traps.parquet"
    rows = [{"url": host, "key": reversed_host(host), "traps": number} for host, number in counts.items()]
    write_batches(file, _TRAPS, [pa.RecordBatch.from_pylist(rows, schema=_TRAPS)])
    return {records.TRAPS: file_source(file, _TRAPS)}


def _names(batches: Iterator[Any]) -> Iterator[str]:
    for batch in batches:
        yield from batch.column("url").to_pylist()
