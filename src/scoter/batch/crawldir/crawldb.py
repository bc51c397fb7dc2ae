"""Open the crawldb and the linkdb of a crawl, or read them as they are now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.config import Config
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.sources import read_footer, read_row_groups
from scoter.errors import UsageError, typed
from scoter.plugins import Column, chain
from scoter.store.objects.path import StorePath
from scoter.store.tables import Manifest, Table, clean
from scoter.store.tables.local import storage_at
from scoter.store.tables.schema import defaults_of, with_columns
from scoter.store.tables.versions import CURRENT


class TableSnapshot(Struct, frozen=True):
    """The version of a table that a job started from: its rows and their number, and what its manifest records."""

    source: TableSource
    rows: int = 0
    applied: frozenset[str] = frozenset()
    version: int = 0
    properties: Mapping[str, str] = {}
    manifest: Manifest | None = None


def table_exists(path: Path) -> bool:
    """Return whether a table has a finished version."""
    return storage_at(path).read(CURRENT) is not None


def scoring_columns(config: Config) -> tuple[Column, ...]:
    """Return the crawldb columns of the active scoring plug-ins."""
    return schemas.plugin_columns(chain("scoring", config))


def open_crawldb(crawl: CrawlDir, config: Config) -> Table:
    """Open the crawldb, including the columns of the active plug-ins."""
    if not table_exists(crawl.crawldb):
        raise no_crawldb(crawl)
    return Table.open(crawl.crawldb, schemas.CRAWLDB, extra=scoring_columns(config))


def no_crawldb(crawl: CrawlDir) -> UsageError:
    """Return the error for a crawl without a crawldb."""
    hint = f"Add seed URLs first: scoter inject {typed(crawl.path)} https://www.example.org/"
    return UsageError("there is no crawldb yet", where=str(crawl.path), hint=hint)


def open_linkdb(crawl: CrawlDir) -> Table:
    """Open the linkdb."""
    if not table_exists(crawl.linkdb):
        hint = f"Build it from parsed segments: scoter invertlinks {typed(crawl.path)}"
        raise UsageError("there is no linkdb yet", where=str(crawl.path), hint=hint)
    return Table.open(crawl.linkdb, schemas.LINKDB)


def crawldb_snapshot(crawl: CrawlDir, extra: Sequence[Column]) -> Any:
    """Hold the current version of the crawldb while the context is open; a missing crawldb is empty."""
    return table_snapshot(crawl.crawldb, schemas.CRAWLDB, extra)


def linkdb_snapshot(crawl: CrawlDir) -> Any:
    """Hold the current version of the linkdb while the context is open; a missing linkdb is empty."""
    return table_snapshot(crawl.linkdb, schemas.LINKDB)


def indexdb_snapshot(crawl: CrawlDir) -> Any:
    """Hold the current version of the indexdb while the context is open; a missing indexdb is empty."""
    return table_snapshot(crawl.indexdb, schemas.INDEXDB)


@contextmanager
def table_snapshot(path: Path, schema: Any, extra: Sequence[Column] = ()) -> Iterator[TableSnapshot]:
    """Hold the current version of a table while the context is open; a missing table is empty."""
    if not table_exists(path):
        columns = with_columns(schema, extra)
        yield TableSnapshot(TableSource(files=(), schema=columns, defaults=defaults_of(extra), is_sorted=True))
        return
    with Table.open(path, schema, extra=extra) as table:
        manifest = table.manifest
        yield TableSnapshot(
            source_of(table, is_sorted=True),
            manifest.rows,
            frozenset(manifest.applied),
            manifest.version,
            manifest.properties,
            manifest,
        )


STATUSES = "statuses"
"""The property of a crawldb version that has its number of URLs by status, if an update recorded it."""


def count_by_status(crawl: CrawlDir, engine: Engine) -> dict[str, int]:
    """Return the number of URLs in each crawldb status; empty if there is no crawldb."""
    if not table_exists(crawl.crawldb):
        return {}
    with Table.open(crawl.crawldb, schemas.CRAWLDB) as crawldb:
        known = recorded_statuses(crawldb.manifest)
        return count_statuses(engine, source_of(crawldb)) if known is None else known


def count_statuses(engine: Engine, source: TableSource) -> dict[str, int]:
    """Return the number of rows with each status."""
    if not source.changed and sum(read_footer(file).num_rows for file in source.files) <= _FEW_ROWS:
        groups = (group for file in source.files for group in read_row_groups(file, ("status",)))
        found = Counter(status for group in groups for status in group["status"].to_pylist())
        return dict(sorted(found.items(), key=lambda each: (each[0] is None, each[0])))
    rows = engine.read(source_of(source, ("status",)))
    counts = rows.group_by("status").agg(urls=rows.count()).order_by("status")
    return {row["status"]: row["urls"] for row in iter_rows(engine.batches(counts))}


_FEW_ROWS = 10_000
"""Rows that are counted without an engine, in less time than it takes to plan a query."""


def recorded_statuses(manifest: Manifest) -> dict[str, int] | None:
    """Return the number of URLs by status that a version records, if it does."""
    try:
        found = msgspec.json.decode(manifest.properties.get(STATUSES, ""), type=dict[str, int])
    except msgspec.DecodeError:
        return None
    return found if sum(found.values()) == manifest.rows else None


def changed_statuses(
    before: Mapping[str, int], replaced: Mapping[str, int], added: Mapping[str, int]
) -> Mapping[str, str]:
    """Return the property for a version with other numbers of URLs than the one before."""
    counts = Counter(before)
    counts.subtract(replaced)
    counts.update(added)
    if None in counts:  # other tools may have written such records
        return {}
    return {STATUSES: msgspec.json.encode(dict(sorted((+counts).items()))).decode()}


def remove_backup(table: Path, config: Config) -> None:
    """Remove the previous version of a table unless ``db.preserve_backup`` is set or somebody is reading it.

    In an object store it stays until the next version is written: nobody knows who is reading it.
    """
    if not isinstance(table, StorePath) and not config.db.preserve_backup and table_exists(table):
        clean(table, keep=0)
