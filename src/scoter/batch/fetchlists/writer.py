"""From picked records to segments on disk.

A segment is made in a folder whose name begins with a dot, which nobody takes for a segment; when all of it is on disk
the folder gets its name. A kill before that leaves no segment.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import INFO_FILE, Segment, SegmentInfo
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.plugins import Column
from scoter.store.disk import disk_errors, sync_folder
from scoter.store.tables import OpenPart
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.schema import with_columns

SORT_ORDER = ("segment", "list", "place", "url")
_ROWS = 16_384


def write_segments(
    crawl: CrawlDir,
    engine: Engine,
    rows: Rows,
    columns: Sequence[Column],
    about: SegmentInfo,
    now: datetime,
    folder: Path,
) -> Mapping[str, int]:
    """Make segments of records that know their segment, list and place, and return how many URLs each has."""
    file = folder / "packed.parquet"
    own = pa.schema([*schemas.CRAWL_GENERATE, ("segment", pa.int32()), ("place", pa.int64())])
    if not engine.save(rows, with_columns(own, columns), file, order=SORT_ORDER):
        return {}
    drafts: dict[int, Segment] = {}
    try:
        counts = _write(crawl, file, columns, about.lists, drafts)
        made = {}
        for number, draft in sorted(drafts.items()):
            data = msgspec.json.encode(msgspec.structs.replace(about, urls=counts[number])) + b"\n"
            LocalStorage(draft.path).replace(INFO_FILE, data)
            name = crawl.new_segment_name(now)
            with disk_errors("name the segment", draft.path):
                draft.path.rename(crawl.segments / name)
                sync_folder(crawl.segments)
            made[name] = counts[number]
        return made
    finally:
        for draft in drafts.values():
            shutil.rmtree(draft.path, ignore_errors=True)


def _write(
    crawl: CrawlDir, file: Path, columns: Sequence[Column], lists: int, drafts: dict[int, Segment]
) -> dict[int, int]:
    counts: dict[int, int] = {}
    for number, of_segment in itertools.groupby(_runs(file), key=lambda run: run[0]):
        draft = drafts[number] = Segment(crawl.segments / f".new-{number}")
        parts, counts[number] = draft.crawl_generate(columns), 0
        empty = pa.RecordBatch.from_pylist([], schema=parts.schema)
        by_list = itertools.groupby(of_segment, key=lambda run: run[1])
        waiting = next(by_list, None)
        for which in range(lists):
            with parts.part(f"list-{which:05d}") as part:
                part.write(empty)
                if waiting is not None and waiting[0] == which:
                    counts[number] += _fill(part, (batch for _, __, batch in waiting[1]))
                    waiting = next(by_list, None)
    return counts


def _fill(part: OpenPart, batches: Iterator[Any]) -> int:
    for batch in batches:
        part.write(batch)
    return part.rows


def _runs(file: Path) -> Iterator[tuple[int, int, Any]]:
    """Yield the rows of a file in stretches of one segment and list."""
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(_ROWS):
            places = list(zip(batch.column("segment").to_pylist(), batch.column("list").to_pylist(), strict=True))
            start = 0
            for (segment, number), run in itertools.groupby(places):
                length = sum(1 for _ in run)
                yield segment, number, batch.slice(start, length)
                start += length
