"""URLs of each host by status, stored with a version of the crawldb.

The web interface shows them, and must not read a large crawldb for it. A job that has changed the crawldb counts them
and stores them beside the parts of the new version. An update starts from the counts of the version before, so that its
cost does not depend on the size of the crawldb. Other jobs count all rows, a few CPU seconds for 10 million of them.
A small crawldb has no stored counts: counting its rows takes as long as reading them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.schemas import DB_STATUSES
from scoter.engine import Engine, source_of
from scoter.engine.port import Rows, save_source
from scoter.engine.sources import arrow_source
from scoter.errors import UserError
from scoter.plugins.recorded import ibis
from scoter.store.disk import scratch_of_reader
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.versions import version_name

FILE: Final = "_hosts.parquet"
MIN_ROWS: Final = 100_000
"""Rows of a crawldb whose counts are stored."""
_MAX_HOSTS: Final = 2_000_000
"""Hosts whose counts are stored; more are counted when somebody looks."""
_COUNTS: Final = ("urls", *DB_STATUSES)
HOST_COUNTS: Final = pa.schema(
    [("host", pa.utf8()), *((name, pa.int64()) for name in _COUNTS), ("best_score", pa.float64())]
)
"""The columns: a count for each status, the number of all URLs, and the highest score."""
_READ: Final = ("host", "status", "score")


def record_host_counts(crawl: CrawlDir, engine: Engine) -> None:
    """Store the counts of the current version, unless it has them or is small.

    A crawl works without them, so a failure to write them is no error. In an object store there is nobody to read them.
    """
    if isinstance(crawl.path, StorePath) or not table_exists(crawl.crawldb):
        return
    with Table.open(crawl.crawldb) as table, suppress(UserError):
        if table.manifest.rows >= MIN_ROWS and not _path(crawl, table).exists():
            _count_all(crawl, engine, table, most=0)


def update_host_counts(crawl: CrawlDir, engine: Engine, before: int, replaced: Rows) -> None:
    """Store the counts of the current version: those of a version before, without replaced rows, with the new ones.

    ``replaced`` has the hosts, statuses and scores of replaced rows. Nothing is stored if there are no counts to start
    from, or if the highest score of a host has become lower; then all rows must be counted.
    """
    if isinstance(crawl.path, StorePath):
        return
    known = crawl.crawldb / version_name(before) / FILE
    with Table.open(crawl.crawldb) as table, suppress(UserError):
        own = f"{table.manifest.name}/"
        parts = zip(table.manifest.parts, table.files, strict=True)
        added = tuple(file for part, file in parts if table.manifest.path(part).startswith(own))
        counts = _known(known)
        if counts is None or table.manifest.rows < MIN_ROWS:
            return
        source = source_of(table, _READ)
        with scratch_of_reader(crawl.scratch, "hosts") as scratch:
            # Spark ignores files whose names start with an underscore.
            stored = engine.read(arrow_source(counts, scratch.path / "known.parquet"))
            # Stored, because both are read twice.
            old = _saved_counts(engine, replaced, scratch.path / "old.parquet")
            added_rows = engine.read(replace(source, files=added, changed=frozenset()))
            new = _saved_counts(engine, added_rows, scratch.path / "new.parquet")
            if not _is_lower(engine, stored, old, new):
                taken = old.mutate(**{name: -old[name] for name in _COUNTS}, best_score=ibis.null("float64"))
                names = HOST_COUNTS.names
                rows = ibis.union(stored.select(*names), taken.select(*names), new.select(*names))
                sums = {name: rows[name].sum().cast("int64") for name in _COUNTS}
                found = rows.group_by("host").agg(**sums, best_score=rows.best_score.max())
                _store(crawl, engine, table, found.filter(found.urls > 0), most=0)


def _is_lower(engine: Engine, stored: Rows, old: Rows, new: Rows) -> bool:
    """Return whether a replaced row had the highest score of its host, which no new row has."""
    was = old.select("host", replaced_score=old.best_score)
    both = was.join(stored.select("host", "best_score"), "host")
    both = both.left_join(new.select("host", new_score=new.best_score), "host")
    lost = both.filter((both.replaced_score >= both.best_score) & ~(both.new_score >= both.best_score).fill_null(False))
    return any(batch.num_rows for batch in engine.batches(lost.limit(1)))


def current_host_counts(crawl: CrawlDir, engine: Engine, most: int) -> Any:
    """Return the counts of about ``most`` hosts of the current version, sorted; store all of them if it has none."""
    with Table.open(crawl.crawldb) as table:
        found = stored_host_counts(crawl, table, most)
        return _count_all(crawl, engine, table, most) if found is None else found


def _count_all(crawl: CrawlDir, engine: Engine, table: Table, most: int) -> Any:
    """Count the hosts of a version, store the counts if possible, and return those of about ``most`` hosts."""
    return _store(crawl, engine, table, _counted(engine.read(source_of(table, _READ))), most)


def _saved_counts(engine: Engine, rows: Rows, file: Path) -> Rows:
    return engine.read(save_source(engine, _counted(rows).select(*HOST_COUNTS.names), HOST_COUNTS, file))


def _counted(rows: Rows) -> Rows:
    # By status first: comparing the status of every row with each name took more than twice as long.
    found = rows.group_by("host", "status").agg(urls=rows.count(), best_score=rows.score.max())
    counts = {name: (found.status == name).ifelse(found.urls, 0).sum() for name in DB_STATUSES}
    return found.group_by("host").agg(urls=found.urls.sum(), **counts, best_score=found.best_score.max())


def _store(crawl: CrawlDir, engine: Engine, table: Table, found: Rows, most: int) -> Any:
    """Store counts if there are not too many, and return those of about ``most`` hosts."""
    with scratch_of_reader(crawl.scratch, "hosts") as scratch:
        file = scratch.path / "hosts.parquet"
        if engine.save(found.select(*HOST_COUNTS.names), HOST_COUNTS, file, ["host"]) <= _MAX_HOSTS:
            with suppress(UserError):
                LocalStorage(crawl.crawldb).replace(f"{version_name(table.version)}/{FILE}", file.read_bytes())
        return _read(file, most)


def carry_host_counts(crawl: CrawlDir, before: int, version: int) -> None:
    """Store the counts of a version with a later one that has the same rows."""
    if not isinstance(crawl.path, StorePath):
        with suppress(UserError):
            found = LocalStorage(crawl.crawldb).read(f"{version_name(before)}/{FILE}")
            if found is not None:
                LocalStorage(crawl.crawldb).replace(f"{version_name(version)}/{FILE}", found)


def stored_host_counts(crawl: CrawlDir, table: Table, most: int | None = None) -> Any:
    """Return the counts of a version, sorted by host, or ``None``; of many hosts, only about the first ``most``."""
    return _known(_path(crawl, table), most)


def _known(path: Path, most: int | None = None) -> Any:
    try:
        return _read(path, most)
    except (OSError, ValueError, pa.ArrowException):  # there are none, they are damaged, or have other columns
        return None


def _read(path: Path, most: int | None) -> Any:
    with pq.ParquetFile(path) as file:
        groups, rows = [], 0
        for number in range(file.metadata.num_row_groups):
            if most is None or rows < most:
                groups.append(number)
                rows += file.metadata.row_group(number).num_rows
        # Spark says that counts are never null.
        return file.read_row_groups(groups).cast(HOST_COUNTS) if groups else HOST_COUNTS.empty_table()


def count_hosts(table: Table) -> Any:
    """Count the rows of a small table without an engine."""
    rows = pa.Table.from_batches(table.scan(_READ), pa.schema([table.schema.field(name) for name in _READ]))
    return _grouped(rows).sort_by("host").cast(HOST_COUNTS)


def _path(crawl: CrawlDir, table: Table) -> Path:
    return crawl.crawldb / table.manifest.name / FILE


def _grouped(rows: Any) -> Any:
    """Return the counts of some rows."""
    by_status = rows.cast(_PLAIN).group_by(["host", "status"]).aggregate([("score", "max"), ([], "count_all")])
    columns = {"host": by_status["host"], "urls": by_status["count_all"], "best_score": by_status["score_max"]}
    for name in DB_STATUSES:
        is_it = pc.fill_null(pc.equal(by_status["status"], name), False)
        columns[name] = pc.if_else(is_it, by_status["count_all"], 0)
    return _summed(pa.table(columns))


def _summed(counts: Any) -> Any:
    sums = [*((name, "sum") for name in _COUNTS), ("best_score", "max")]
    found = counts.group_by("host").aggregate(sums)
    return pa.table([found[name if name == "host" else _of(name)] for name in HOST_COUNTS.names], schema=HOST_COUNTS)


def _of(name: str) -> str:
    return f"{name}_max" if name == "best_score" else f"{name}_sum"


_PLAIN: Final = pa.schema([("host", pa.utf8()), ("status", pa.utf8()), ("score", pa.float64())])
