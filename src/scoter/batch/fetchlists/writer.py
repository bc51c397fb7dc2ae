"""Write picked records as segments.

A segment is built in a folder whose name begins with a dot; readers ignore it. The folder gets its final name when
everything is on disk, so a killed job leaves no partial segment.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
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
from scoter.plugins.recorded import ibis
from scoter.store.tables.schema import with_columns

SORT_ORDER = ("segment", "list", "place", "url")
_BATCH_ROWS = 16_384


def write_segments(
    crawl: CrawlDir,
    engine: Engine,
    rows: Rows,
    columns: Sequence[Column],
    info: SegmentInfo,
    folder: Path,
    buckets: Mapping[int, tuple[int, ...]],
) -> Mapping[str, int]:
    """Write records, which have the columns segment, list and place; return the number of URLs of each segment.

    A column ``delay_ms`` with the delays of hosts may be missing. ``buckets``: how hosts are divided among the lists of
    each segment.
    """
    if "delay_ms" not in rows.columns:
        rows = rows.mutate(delay_ms=ibis.literal(None, "int32"))
    file = folder / "packed.parquet"
    schema = pa.schema([*schemas.CRAWL_GENERATE, ("segment", pa.int32()), ("place", pa.int64())])
    if not engine.save(rows, with_columns(schema, columns), file, order=SORT_ORDER):
        return {}
    drafts: dict[int, Segment] = {}
    try:
        counts = _write(crawl, file, columns, info.lists, drafts)
        made = {}
        for number, draft in sorted(drafts.items()):
            own = msgspec.structs.replace(info, urls=counts[number], buckets=buckets.get(number, ()))
            data = msgspec.json.encode(own) + b"\n"
            draft.storage.replace(INFO_FILE, data)
            name = crawl.new_segment_name(info.created)
            crawl.publish_segment(draft, name)
            made[name] = counts[number]
        return made
    finally:
        for draft in drafts.values():
            draft.storage.remove("")


def _write(
    crawl: CrawlDir, file: Path, columns: Sequence[Column], lists: int, drafts: dict[int, Segment]
) -> dict[int, int]:
    counts: dict[int, int] = {}
    for number, segment_runs in itertools.groupby(_runs(file), key=lambda run: run[0]):
        draft = drafts[number] = crawl.draft_segment(f"new-{number}")
        parts, counts[number] = draft.crawl_generate(columns), 0
        empty = pa.RecordBatch.from_pylist([], schema=parts.schema)
        by_list = itertools.groupby(segment_runs, key=lambda run: run[1])
        next_list = next(by_list, None)
        for list_number in range(lists):
            with parts.part(f"list-{list_number:05d}") as part:
                part.write(empty)
                if next_list is not None and next_list[0] == list_number:
                    for _, _, batch in next_list[1]:
                        part.write(batch)
                    next_list = next(by_list, None)
                counts[number] += part.rows
    return counts


def _runs(file: Path) -> Iterator[tuple[int, int, Any]]:
    """Yield the rows of a file in runs of the same segment and list."""
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(_BATCH_ROWS):
            places = list(zip(batch.column("segment").to_pylist(), batch.column("list").to_pylist(), strict=True))
            start = 0
            for (segment, number), run in itertools.groupby(places):
                length = sum(1 for _ in run)
                yield segment, number, batch.slice(start, length)
                start += length
