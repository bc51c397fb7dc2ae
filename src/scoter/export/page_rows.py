"""The rows of an export, sorted and saved before the first shard is written.

The texts of a segment are stored in the order in which pages were fetched, and the newest versions of pages are spread
over many segments. Reading the pages of every shard from there would mean reading all segments for every shard.
Instead, one job joins the selected pages with their texts and saves the result sorted by key, within the memory limit
of the engine. A shard is then a range of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.crawldb import linkdb_snapshot, open_crawldb
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.pages import owner_of
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.main_text.job import NOT_KEPT, MainTextProgress, make_main_text
from scoter.config import Config
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.factory import memory_limit
from scoter.engine.port import Rows
from scoter.errors import UsageError, UserError, typed
from scoter.export.fields import fields_of_expression, from_origin, schema_of
from scoter.export.folder import ExportFolder
from scoter.export.selection import (
    PageFilter,
    PageTables,
    host_of,
    part_of,
    save_urls,
    select_captures,
    select_pages,
    selection_schema,
    text_columns,
    text_value,
)
from scoter.plugins.recorded import ibis
from scoter.store.tables import Table

BATCH = 512
"""Rows that are in memory at once: texts may be large."""
_WANTED = "wanted"


def stage_pages(
    engine: Engine,
    segments: Sequence[Segment],
    selection: TableSource,
    linkdb: TableSource,
    fields: Sequence[str],
    folder: Path,
    now: datetime,
) -> None:
    """Save the fields of selected pages to a table, sorted by key."""
    data, texts = from_origin(fields, "data"), from_origin(fields, "text")
    inputs: dict[str, TableSource | datetime] = {_WANTED: selection}
    for number, segment in enumerate(segments):
        stored = SegmentSources([segment])
        if data:
            columns = dict.fromkeys(["url", "key", "part_of", "parse_status", *(field.column for field in data)])
            inputs[f"data_{number}"] = source_of(stored.parse_data, tuple(columns))
        if texts:
            columns = dict.fromkeys(["url", "key", "part_of", *text_columns(texts)])
            inputs[f"text_{number}"] = source_of(stored.parse_text, tuple(columns))
    if "inlinks" in fields:
        inputs["linkdb"] = linkdb

    def job(tables: Mapping[str, Rows]) -> Rows:
        rows = tables[_WANTED]
        rows = rows.mutate(host=host_of(rows.url), part_of=part_of(rows))
        if data:
            rows = _joined(rows, _all(tables, "data", segments), {field.name: field.column for field in data}, "inner")
        if texts:
            rows = _joined(rows, _all(tables, "text", segments), {field.name: field.column for field in texts}, "left")
        if "linkdb" in tables:
            links = tables["linkdb"].select(link_url="url", inlinks="inlinks")
            rows = rows.left_join(links, rows.url == links.link_url)
        return rows.select(*schema.names)

    schema = schema_of(dict.fromkeys(("url", "key", *fields)))
    with Table.write(folder, schema, writer="export", clock=lambda: now) as new:
        engine.write(job, inputs, new)
        new.commit()


def _all(tables: Mapping[str, Rows], name: str, segments: Sequence[Segment]) -> Rows:
    """Return the rows of all segments, with the segment and the URL that was fetched for them."""
    found = []
    for number, segment in enumerate(segments):
        rows = tables[f"{name}_{number}"]
        if name == "data":
            rows = rows.filter(rows.parse_status == "success")
        found.append(rows.mutate(in_segment=ibis.literal(segment.name), of=owner_of(rows)))
    return ibis.union(*found)


def _joined(rows: Rows, stored: Rows, columns: Mapping[str, str], how: str) -> Rows:
    made = {name: text_value(stored, column) for name, column in columns.items()}
    stored = stored.select(stored_url="url", in_segment="in_segment", of="of", **made)
    same = [rows.url == stored.stored_url, rows.segment == stored.in_segment, rows.owner == stored.of]
    return rows.join(stored, same, how=how).drop("stored_url", "in_segment", "of")


class RowFiles(Struct, frozen=True):
    """Parquet files whose rows are numbered through."""

    files: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return sum(_opened(file).metadata.num_rows for file in self.files)

    def batches(self, start: int, stop: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows from one number to another, as small record batches."""
        for file in self.files:
            with _opened(file) as opened:
                for group in range(opened.metadata.num_row_groups):
                    size = opened.metadata.row_group(group).num_rows
                    if start < size and stop > 0:
                        yield from _slices(opened, group, max(start, 0), min(stop, size), columns)
                    start, stop = start - size, stop - size
                    if stop <= 0:
                        return

    def pick(self, numbers: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows with given numbers, an ascending array; only row groups that hold one of them are read."""
        at = 0
        for file in self.files:
            with _opened(file) as opened:
                for group in range(opened.metadata.num_row_groups):
                    end = at + opened.metadata.row_group(group).num_rows
                    if np.searchsorted(numbers, at) < np.searchsorted(numbers, end):
                        yield from _picked(opened, group, numbers, at, columns)
                    at = end


def _picked(opened: Any, group: int, numbers: Any, at: int, columns: Sequence[str] | None) -> Iterator[Any]:
    for batch in opened.iter_batches(BATCH, row_groups=[group], columns=columns):
        low, high = np.searchsorted(numbers, [at, at + batch.num_rows])
        if low < high:
            yield batch.take(pa.array(numbers[low:high] - at))
        at += batch.num_rows


def _slices(opened: Any, group: int, start: int, stop: int, columns: Sequence[str] | None) -> Iterator[Any]:
    for batch in opened.iter_batches(BATCH, row_groups=[group], columns=columns):
        if start < batch.num_rows and stop > 0:
            yield batch.slice(max(start, 0), min(stop, batch.num_rows) - max(start, 0))
        start, stop = start - batch.num_rows, stop - batch.num_rows
        if stop <= 0:
            return


def _opened(file: str) -> Any:
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as failure:
        hint = "Delete the folder of the export and start it again."
        raise UserError(f"cannot read the rows of the export: {failure}", where=file, hint=hint) from failure


class ExportSource(Struct, frozen=True):
    """What pages are exported from; ``on_main_text`` and ``on_message`` tell of main text that has to be made first."""

    crawl: CrawlDir
    engine: Engine
    config: Config
    on_main_text: MainTextProgress = lambda done, total: None
    on_message: Callable[[str], None] = lambda text: None

    def segments(self, *, is_archived: bool) -> list[Segment]:
        """Return the fetched or parsed segments; raise if there are none."""
        found = [each for each in self.crawl.all_segments() if (each.is_fetched if is_archived else each.is_parsed)]
        if not found:
            state = "fetched" if is_archived else "parsed"
            hint = f"Run: scoter crawl {typed(self.crawl.path)}"
            raise UsageError(f"there are no {state} segments", where=str(self.crawl.segments), hint=hint)
        return found


def staged_rows(
    source: ExportSource, folder: ExportFolder, wanted: PageFilter, fields: Sequence[str], *, is_archived: bool
) -> RowFiles:
    """Return the rows of an export; they are made once, and kept until it is finished."""
    selection, pages = folder.work / "selection.parquet", folder.work / "pages"
    if folder.ready() is None:
        try:
            _make_rows(source, folder, wanted, fields, is_archived=is_archived)
        except UserError:
            folder.discard()
            raise
        folder.set_ready({})
    if is_archived:
        return RowFiles((str(selection),))
    with Table.open(pages) as table:
        return RowFiles(table.files)


def _make_main_text(source: ExportSource, folder: ExportFolder, wanted: PageFilter, fields: Sequence[str]) -> None:
    """Make the main text or the Markdown that an export needs, of pages whose crawl did not store it."""
    expression = wanted.expression()
    needed = {*fields, *(fields_of_expression(expression) if expression is not None else ())}
    if not needed & {"content", "main_text", "markdown", "main_text_kept", "main_text_doubtful"}:
        return
    made = make_main_text(
        source.crawl, source.config, folder.work, markdown="markdown" in needed, progress=source.on_main_text
    )
    if not made.is_kept:
        source.on_message(NOT_KEPT)


def _make_rows(
    source: ExportSource, folder: ExportFolder, wanted: PageFilter, fields: Sequence[str], *, is_archived: bool
) -> None:
    crawl, engine, config = source.crawl, source.engine, source.config
    selection, pages = folder.work / "selection.parquet", folder.work / "pages"
    if not is_archived:
        _make_main_text(source, folder, wanted, fields)
    now, segments = folder.plan.created, source.segments(is_archived=is_archived)
    urls: TableSource | None = None
    if wanted.sql:
        urls = save_urls(crawl, wanted.sql, folder.work / "urls.parquet", memory_limit=memory_limit(config))
    with open_crawldb(crawl, config) as crawldb, linkdb_snapshot(crawl) as linkdb:
        tables = PageTables(segments=segments, crawldb=source_of(crawldb), urls=urls)
        if is_archived:
            select_captures(engine, tables, wanted, fields, now, selection)
            return
        select_pages(engine, tables, wanted, fields, now, selection)
        chosen = TableSource(files=(str(selection),), schema=selection_schema(fields), defaults={}, is_sorted=True)
        stage_pages(engine, segments, chosen, linkdb.source, fields, pages, now)
    selection.unlink()
