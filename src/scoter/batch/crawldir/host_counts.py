"""URLs of each host by status, stored with a version of the crawldb.

The web interface shows them, and must not read a large crawldb for it. A job that has changed the crawldb stores the
counts beside the parts of the new version. They are those of the version before, with the rows that were added and
replaced since, so a round that changes few rows reads few. If there are none to start from, all rows are counted.
A small crawldb has no stored counts: counting its rows takes as long as reading them.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.schemas import DB_STATUSES
from scoter.engine import Engine, source_of
from scoter.engine.port import Rows
from scoter.errors import UserError
from scoter.store.disk import scratch_of_reader
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.replaced import load_positions
from scoter.store.tables.versions import Manifest, read_manifest, version_name

FILE: Final = "_hosts.parquet"
MIN_ROWS: Final = 100_000
"""Rows of a crawldb whose counts are stored."""
_COUNTS: Final = ("urls", *DB_STATUSES)
HOST_COUNTS: Final = pa.schema(
    [("host", pa.utf8()), *((name, pa.int64()) for name in _COUNTS), ("best_score", pa.float64())]
)
"""The columns: a count for each status, the number of all URLs, and the highest score."""
_READ: Final = ("host", "status", "score")
_MAX_CHANGED: Final = 0.5
"""Of the rows, those that may be added and replaced one by one; with more, all are counted."""


def record_host_counts(crawl: CrawlDir, engine: Engine) -> None:
    """Store the counts of the current version, unless it has them or is small.

    A crawl works without them, so a failure to write them is no error. In an object store there is nobody to read them.
    """
    if isinstance(crawl.path, StorePath) or not table_exists(crawl.crawldb):
        return
    with Table.open(crawl.crawldb) as table, suppress(UserError):
        if table.manifest.rows >= MIN_ROWS and not _path(crawl, table).exists():
            _counted(crawl, engine, table)


def current_host_counts(crawl: CrawlDir, engine: Engine) -> Any:
    """Return the counts of the current version, sorted by host; store them if it has none."""
    with Table.open(crawl.crawldb) as table:
        found = stored_host_counts(crawl, table)
        return _counted(crawl, engine, table) if found is None else found


def _counted(crawl: CrawlDir, engine: Engine, table: Table) -> Any:
    """Count the hosts of a version, and store the counts if possible."""
    counts = None
    with suppress(UserError):  # the version before may have been removed
        counts = _updated_counts(crawl, table)
    if counts is None:
        with scratch_of_reader(crawl.scratch, "hosts") as scratch:
            counts = _count_all(engine, table, scratch.path / "hosts.parquet")
    with suppress(UserError):
        _store(crawl, table.version, counts)
    return counts


def carry_host_counts(crawl: CrawlDir, before: int, version: int) -> None:
    """Store the counts of a version with a later one that has the same rows."""
    if not isinstance(crawl.path, StorePath):
        with suppress(UserError):
            found = LocalStorage(crawl.crawldb).read(f"{version_name(before)}/{FILE}")
            if found is not None:
                LocalStorage(crawl.crawldb).replace(f"{version_name(version)}/{FILE}", found)


def stored_host_counts(crawl: CrawlDir, table: Table, most: int | None = None) -> Any:
    """Return the counts of a version, sorted by host, or ``None``; of many hosts, only about the first ``most``."""
    path = _path(crawl, table)
    try:
        with pq.ParquetFile(path) as file:
            groups, rows = [], 0
            for number in range(file.metadata.num_row_groups):
                if most is None or rows < most:
                    groups.append(number)
                    rows += file.metadata.row_group(number).num_rows
            found = file.read_row_groups(groups) if groups else HOST_COUNTS.empty_table()
    except (OSError, pa.ArrowException):
        return None
    return found if found.schema.equals(HOST_COUNTS) else None


def count_hosts(table: Table) -> Any:
    """Count the rows of a small table without an engine."""
    rows = pa.Table.from_batches(table.scan(_READ), pa.schema([table.schema.field(name) for name in _READ]))
    return _sorted(_grouped(rows))


def _path(crawl: CrawlDir, table: Table) -> Path:
    return crawl.crawldb / table.manifest.name / FILE


def _store(crawl: CrawlDir, version: int, counts: Any) -> None:
    out = pa.BufferOutputStream()
    pq.write_table(counts, out, compression="zstd", row_group_size=250_000)
    LocalStorage(crawl.crawldb).replace(f"{version_name(version)}/{FILE}", out.getvalue().to_pybytes())


def _count_all(engine: Engine, table: Table, file: Path) -> Any:
    rows: Rows = engine.read(source_of(table, _READ))
    counts = {name: (rows.status == name).cast("int64").sum() for name in DB_STATUSES}
    found = rows.group_by("host").agg(urls=rows.count(), **counts, best_score=rows.score.max())
    engine.save(found.select(*HOST_COUNTS.names), HOST_COUNTS, file, is_temporary=True)
    with pq.ParquetFile(file) as saved:
        return _sorted(saved.read())


def _updated_counts(crawl: CrawlDir, table: Table) -> Any:
    """Return the counts from those of the version before and what has changed since, if that is less work."""
    manifest, place = table.manifest, LocalStorage(crawl.crawldb)
    before = read_manifest(place, manifest.previous) if manifest.previous is not None else None
    if before is None or not (crawl.crawldb / before.name / FILE).exists():
        return None
    old, new = _files(before), _files(manifest)
    if sum(new[path] for path in new.keys() - old.keys()) > _MAX_CHANGED * manifest.rows:
        return None
    removed_rows = dict(_removed(place, before, manifest))
    if sum(map(len, removed_rows.values())) > _MAX_CHANGED * before.rows:
        return None
    with Table.open(crawl.crawldb, version=before.version) as earlier:
        known = stored_host_counts(crawl, earlier)
        if known is None:
            return None
        removed = _grouped(_joined(_rows_at(crawl.crawldb / path, rows) for path, rows in removed_rows.items()))
    added = _grouped(_joined(_rows_of(crawl.crawldb / path) for path in sorted(new.keys() - old.keys())))
    return _combined(known, added, removed, table)


def _files(manifest: Manifest) -> dict[str, int]:
    return {manifest.path(part): part.rows for part in manifest.parts}


def _removed(place: LocalStorage, before: Manifest, manifest: Manifest) -> Iterator[tuple[str, Any]]:
    """Yield the rows of the parts of a version that a later one does not have."""
    was, now = _positions(place, before), _positions(place, manifest)
    new = _files(manifest)
    for path, rows in _files(before).items():
        gone = now.get(path, _NONE) if path in new else np.arange(rows)
        found = np.setdiff1d(gone, was.get(path, _NONE), assume_unique=True)
        if len(found):
            yield path, found


def _positions(place: LocalStorage, manifest: Manifest) -> Mapping[str, Any]:
    return load_positions(place, list(map(manifest.path, manifest.replaced))) if manifest.replaced else {}


def _rows_at(file: Path, rows: Any) -> Iterator[Any]:
    """Yield some rows of a file, given by their sorted numbers; row groups without one are not read."""
    with pq.ParquetFile(file, read_dictionary=["host", "status"]) as parquet:
        start = 0
        for group in range(parquet.metadata.num_row_groups):
            end = start + parquet.metadata.row_group(group).num_rows
            low, high = np.searchsorted(rows, (start, end))
            if high > low:
                yield parquet.read_row_group(group, columns=list(_READ)).take(pa.array(rows[low:high] - start))
            start = end


def _rows_of(file: Path) -> Iterator[Any]:
    with pq.ParquetFile(file) as parquet:
        yield parquet.read(columns=list(_READ))


def _joined(parts: Iterator[Iterator[Any]]) -> Any:
    found = [_plain(each) for part in parts for each in part]
    return pa.concat_tables([_PLAIN.empty_table(), *found])


def _plain(rows: Any) -> Any:
    return rows.select(list(_READ)).cast(_PLAIN)


def _grouped(rows: Any) -> Any:
    """Return the counts of some rows."""
    by_status = _plain(rows).group_by(["host", "status"]).aggregate([("score", "max"), ([], "count_all")])
    columns = {"host": by_status["host"], "urls": by_status["count_all"], "best_score": by_status["score_max"]}
    for name in DB_STATUSES:
        is_it = pc.fill_null(pc.equal(by_status["status"], name), False)
        columns[name] = pc.if_else(is_it, by_status["count_all"], 0)
    return _summed(pa.table(columns))


def _summed(counts: Any) -> Any:
    sums: Sequence[tuple[str, str]] = [*((name, "sum") for name in _COUNTS), ("best_score", "max")]
    found = counts.group_by("host").aggregate(list(sums))
    return pa.table([found[name if name == "host" else _of(name)] for name in HOST_COUNTS.names], schema=HOST_COUNTS)


def _of(name: str) -> str:
    return f"{name}_max" if name == "best_score" else f"{name}_sum"


def _combined(known: Any, added: Any, removed: Any, table: Table) -> Any:
    """Return known counts with those of added rows and without those of removed ones."""
    unknown = pa.nulls(removed.num_rows, pa.float64())
    columns = [removed["host"], *(pc.negate(removed[name]) for name in _COUNTS), unknown]
    lost = pa.table(columns, schema=HOST_COUNTS)
    found = _summed(pa.concat_tables([known, added, lost]))
    found = found.filter(pc.greater(found["urls"], 0))
    uncertain = _uncertain_hosts(known, added, removed)
    if len(uncertain):
        found = _with_scores(found, _best_scores(table, uncertain))
    return _sorted(found)


def _uncertain_hosts(known: Any, added: Any, removed: Any) -> Any:
    """Return the hosts that may have lost the row with their highest score."""
    lost = removed.select(["host", "best_score"]).rename_columns(["host", "lost"])
    had = known.select(["host", "best_score"]).rename_columns(["host", "had"])
    got = added.select(["host", "best_score"]).rename_columns(["host", "got"])
    rows = lost.join(had, "host").join(got, "host")
    is_lost = pc.fill_null(pc.greater_equal(rows["lost"], rows["had"]), False)
    is_found = pc.fill_null(pc.greater_equal(rows["got"], rows["had"]), False)
    return rows.filter(pc.and_(is_lost, pc.invert(is_found)))["host"].combine_chunks()


def _best_scores(table: Table, hosts: Any) -> Any:
    """Return the highest scores of some hosts, from all their rows."""
    found = [_SCORES.empty_table()]
    for batch in table.scan(["host", "score"]):
        chosen = batch.filter(pc.is_in(batch["host"], hosts))
        if chosen.num_rows:
            found.append(pa.Table.from_batches([chosen]).select(["host", "score"]).cast(_SCORES))
    return pa.concat_tables(found).group_by("host").aggregate([("score", "max")])


def _with_scores(counts: Any, scores: Any) -> Any:
    rows = counts.join(scores, "host")
    best = pc.if_else(pc.is_in(rows["host"], scores["host"].combine_chunks()), rows["score_max"], rows["best_score"])
    return rows.set_column(rows.schema.get_field_index("best_score"), "best_score", best).select(HOST_COUNTS.names)


def _sorted(counts: Any) -> Any:
    return counts.sort_by("host").cast(HOST_COUNTS)


_PLAIN: Final = pa.schema([("host", pa.utf8()), ("status", pa.utf8()), ("score", pa.float64())])
_SCORES: Final = pa.schema([("host", pa.utf8()), ("score", pa.float64())])
_NONE: Final = np.zeros(0, np.int64)
