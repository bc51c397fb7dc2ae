"""sql: read-only queries over the tables of a crawl."""
# mypy: disable-error-code="import-untyped"
# ruff: noqa: S608 - builds SQL; all texts in it are quoted

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import segment_sources
from scoter.engine.session import SqlSession, add_view, open_session, view_query
from scoter.store.disk import scratch_of_reader
from scoter.store.tables import Table
from scoter.store.tables.versions import CURRENT

_SEGMENTS = pa.schema(
    [
        ("segment", pa.utf8()),
        ("created", schemas.TIME),
        ("lists", pa.int32()),
        ("urls", pa.int64()),
        ("made_by", pa.utf8()),
        ("partition", pa.utf8()),
        ("is_fetched", pa.bool_()),
        ("is_parsed", pa.bool_()),
        ("is_applied", pa.bool_()),
    ]
)
_SEGMENT = {"segment": "parse_path(_file)[-3]"}  # .../SEGMENT/table/part.parquet


@contextmanager
def sql(crawl: CrawlDir, *, memory_limit: int) -> Iterator[SqlSession]:
    """Open a session with the views crawldb, linkdb, segments, fetches, pages and outlinks."""
    with ExitStack() as stack:
        spill = scratch_of_reader(crawl.scratch, "sql")
        stack.callback(spill.close)
        yield stack.enter_context(
            open_session(
                lambda connection: _make_views(connection, crawl, stack), spill=spill.path, memory_limit=memory_limit
            )
        )


def _make_views(connection: Any, crawl: CrawlDir, stack: ExitStack) -> list[str]:
    """Create the views and return the files behind them."""
    applied: Sequence[str] = ()
    files: list[str] = []
    for name, path, schema in (
        ("crawldb", crawl.crawldb, schemas.CRAWLDB),
        ("linkdb", crawl.linkdb, schemas.LINKDB),
    ):
        found: tuple[str, ...] = ()
        if (path / CURRENT).exists():  # otherwise there is no finished version
            table = stack.enter_context(Table.open(path))
            found = table.files
            applied = table.manifest.applied if name == "crawldb" else applied
        add_view(connection, name, view_query(connection, found, schema))
        files += found
    segments = crawl.all_segments()
    parts = segment_sources(segments)
    for name, source in (("fetches", parts.fetch), ("outlinks", parts.links)):
        add_view(connection, name, view_query(connection, source.files, source.schema, _SEGMENT))
    data, text = (
        view_query(connection, each.files, each.schema, _SEGMENT) for each in (parts.parse_data, parts.parse_text)
    )
    # A URL may be both a page and a feed entry: each row has its own text.
    beside = "t.segment = d.segment AND t.url = d.url AND t.part_of IS NOT DISTINCT FROM d.part_of"
    columns = ", ".join(f"t.{name}" for name in ("text", "main_text", "markdown"))
    joined = f"({data}) AS d LEFT JOIN ({text}) AS t ON {beside}"
    add_view(connection, "pages", f"SELECT d.*, {columns} FROM {joined}")
    for source in (parts.fetch, parts.links, parts.parse_data, parts.parse_text):
        files += source.files
    _segments_table(connection, crawl, applied)
    return files


def _segments_table(connection: Any, crawl: CrawlDir, applied: Sequence[str]) -> None:
    known = []
    for segment in crawl.all_segments():
        info = segment.info()
        facts = (info.created, info.lists, info.urls, info.made_by, info.partition)
        known.append((segment.name, *facts, segment.is_fetched, segment.is_parsed, segment.is_in(applied)))
    columns = [list(column) for column in zip(*known, strict=True)] or [[] for _ in _SEGMENTS]
    table = pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _SEGMENTS, strict=True)], schema=_SEGMENTS
    )
    connection.register("known", table)
    connection.execute("CREATE TABLE segments AS SELECT * FROM known")
    connection.unregister("known")
