"""sql: read-only queries over the tables of a crawl."""
# ruff: noqa: S608 - builds SQL; all texts in it are quoted

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import SegmentSources
from scoter.batch.fetchlists.traps import trap_names
from scoter.batch.graph.views import VIEWS as GRAPH_VIEWS
from scoter.batch.graph.views import add_graph_views
from scoter.batch.hosts.columns import HIDDEN
from scoter.batch.site.tables import PROBLEMS, SiteFolder
from scoter.engine.session import SqlSession, add_view, open_session, view_query
from scoter.engine.sql import rows_sql
from scoter.store.disk import scratch_of_reader
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table

_SEGMENTS = pa.schema(
    [
        ("segment", pa.utf8()),
        ("created", schemas.TIME),
        ("lists", pa.int32()),
        ("urls", pa.int64()),
        *schemas.texts("made_by", "partition"),
        *((name, pa.bool_()) for name in ("is_fetched", "is_parsed", "is_applied")),
    ]
)
_TRAPS = pa.schema(schemas.texts("host", "pattern"))
_SEGMENT = {"segment": "parse_path(_file)[-3]"}  # .../SEGMENT/table/part.parquet


# Queries that contain one of these may list the views.
_TEXTS = ("text", "main_text", "markdown", "main_text_kept", "main_text_doubtful")
NAMES = ("crawldb", "linkdb", "hosts", "fetches", "outlinks", "pages", "segments", "problems", "traps", *GRAPH_VIEWS)
_CATALOGUES = ("information_schema", "duckdb_", "pg_", "sqlite_", "show", "describe", "pragma")


@contextmanager
def sql(
    crawl: CrawlDir,
    *,
    memory_limit: int,
    spill: Path | None = None,
    spill_limit: int | None = None,
    query: str | None = None,
) -> Iterator[SqlSession]:
    """Open a session with the views of a crawl: its tables, its segments and its link graph.

    Temporary files go to the folder ``spill``, or to one that is made for the session, and are at most ``spill_limit``.
    If a query is given, only the views whose names occur in it are created, which is most of the cost of a short query.
    """
    text = None if query is None else query.lower()
    is_all = text is None or any(each in text for each in _CATALOGUES)
    with ExitStack() as stack:
        spill = spill or stack.enter_context(scratch_of_reader(crawl.scratch, "sql")).path
        views = partial(_make_views, crawl, stack, None if is_all else text)
        session = open_session(
            views, spill=spill, memory_limit=memory_limit, spill_limit=spill_limit, names=sorted(NAMES)
        )
        yield stack.enter_context(session)


def _make_views(crawl: CrawlDir, stack: ExitStack, query: str | None, connection: Any) -> list[str]:
    """Create the views that a query may name, all if it is ``None``, and return the files behind them."""

    def has(*names: str) -> bool:
        return query is None or any(name in query for name in names)

    if isinstance(crawl.path, StorePath):
        from scoter.store.objects.query_files import QueryFiles  # fsspec is slow to import, and most crawls are local

        connection.register_filesystem(QueryFiles(crawl.path.client))
    applied: Sequence[str] = ()
    files: list[str] = []
    for name, path, schema in (("crawldb", crawl.crawldb, schemas.CRAWLDB), ("linkdb", crawl.linkdb, schemas.LINKDB)):
        if not has(name) and not (name == "crawldb" and has("segments")):
            continue
        found: tuple[str, ...] = ()
        replaced: tuple[str, ...] = ()
        if table_exists(path):
            table = stack.enter_context(Table.open(path))
            found, replaced = table.files, table.replaced
            applied = table.manifest.applied if name == "crawldb" else applied
        if has(name):
            add_view(connection, name, view_query(connection, found, schema, replaced=replaced))
            files += (*found, *replaced)
    if has("hosts"):
        files += _hosts_view(connection, crawl, stack)
    if has("fetches", "outlinks", "pages"):
        files += _segment_views(connection, crawl, has)
    if has(*GRAPH_VIEWS):
        files += add_graph_views(crawl, stack, connection)
    if has("segments"):
        _segments_table(connection, crawl, applied)
    if has("problems"):
        found = tuple(SiteFolder(crawl).problem_files())
        add_view(connection, "problems", view_query(connection, found, PROBLEMS))
        files += found
    if has("traps"):
        _traps_table(connection, crawl)
    return files


def _segment_views(connection: Any, crawl: CrawlDir, has: Callable[[str], bool]) -> Iterator[str]:
    """Create the views of what segments contain, and yield the files behind them."""
    parts = SegmentSources(crawl.all_segments())
    for name, source in (("fetches", parts.fetch), ("outlinks", parts.links)):
        if has(name):
            add_view(connection, name, view_query(connection, source.files, source.schema, _SEGMENT))
            yield from source.files
    if not has("pages"):
        return
    data, text = (
        view_query(connection, each.files, each.schema, _SEGMENT) for each in (parts.parse_data, parts.parse_text)
    )
    # A URL may be both a page and a feed entry: each row has its own text.
    beside = "t.segment = d.segment AND t.url = d.url AND t.part_of IS NOT DISTINCT FROM d.part_of"
    columns = ", ".join(f"t.{name}" for name in _TEXTS)
    joined = f"({data}) AS d LEFT JOIN ({text}) AS t ON {beside}"
    add_view(connection, "pages", f"SELECT d.*, {columns} FROM {joined}")
    yield from parts.parse_data.files
    yield from parts.parse_text.files


def _hosts_view(connection: Any, crawl: CrawlDir, stack: ExitStack) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    if table_exists(crawl.hostdb):
        found = stack.enter_context(Table.open(crawl.hostdb)).files
    hidden = ", ".join(sorted({*HIDDEN, "url"}))
    rows = view_query(connection, found, schemas.HOSTDB)
    add_view(connection, "hosts", f"SELECT url AS host, * EXCLUDE ({hidden}) FROM ({rows})")
    return found


def _segments_table(connection: Any, crawl: CrawlDir, applied: Sequence[str]) -> None:
    known = [
        {
            "segment": each.name,
            **msgspec.structs.asdict(each.info()),
            "is_fetched": each.is_fetched,
            "is_parsed": each.is_parsed,
            "is_applied": each.is_in(applied),
        }
        for each in crawl.all_segments()
    ]
    connection.execute(f"CREATE TABLE segments AS {rows_sql(known, _SEGMENTS)}")


def _traps_table(connection: Any, crawl: CrawlDir) -> None:
    rows = [{"host": name.partition("/")[0], "pattern": name} for name in trap_names(crawl)]
    connection.execute(f"CREATE TABLE traps AS {rows_sql(rows, _TRAPS)}")
