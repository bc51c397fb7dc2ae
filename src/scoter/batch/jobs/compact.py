"""compact: merge the delta parts of the crawldb into its base, one key range at a time.

A base part is the unit. It is rewritten, with the delta rows of its key range, when its replaced rows and these delta
rows exceed a share of its rows (``db.compaction_share``). The share bounds what a reader reads in vain, and how often a
row is written again. Many small delta parts are merged with each other. Each pass is an ordinary new version: a kill
leaves the version before, and readers keep theirs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from itertools import pairwise
from operator import or_
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import write_positions
from scoter.batch.crawldir.crawldb import no_crawldb, remove_backup, table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.host_counts import carry_host_counts, record_host_counts
from scoter.config import Config
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows
from scoter.engine.sources import file_key_range, sample_keys, sample_step, survey
from scoter.store.disk import Scratch
from scoter.store.tables import NewVersion, StoredPart, Table
from scoter.store.tables.replaced import POSITIONS

PART_ROWS = 1_000_000
PART_BYTES = 2**28
"""Rows of a part that compaction writes, and their bytes in memory."""
MAX_DELTAS = 16
"""Delta parts, and files of positions; with more, the smallest are merged until half as many are left."""


class CompactResult(Struct, frozen=True, kw_only=True):
    """The parts of the crawldb before and after, and the rows that were written and left out."""

    parts_before: int
    parts: int
    ranges: int
    """Base parts that were rewritten."""
    written: int
    replaced: int
    """Replaced rows that are no longer stored."""


class _KeyRange(Struct, frozen=True):
    """A base part and the keys of the delta rows that belong to it; ``None`` means no limit."""

    path: str
    file: str
    part: StoredPart
    low: str | None
    high: str | None

    def holds(self, rows: Rows) -> Any:
        """Return the condition for a row to belong to the range."""
        return _between(rows, self.low, self.high)


def settle(crawl: CrawlDir, engine: Engine, config: Config, *, now: datetime) -> None:
    """Finish a change of the crawldb: count its hosts, compact it where due, remove the backup if none is wanted."""
    if table_exists(crawl.crawldb):
        record_host_counts(crawl, engine)
        compact(crawl, engine, config, now=now, only_due=True)
    remove_backup(crawl.crawldb, config)


def compact(
    crawl: CrawlDir, engine: Engine, config: Config, *, now: datetime, only_due: bool = False
) -> CompactResult | None:
    """Merge delta parts into the base: all of them, or only where they exceed their share.

    Returns ``None`` if there is nothing to do.
    """
    if not table_exists(crawl.crawldb):
        raise no_crawldb(crawl)
    done = None
    for _ in range(3):  # key ranges, then delta parts, then positions; each pass reads the version of the last one
        found = _pass(crawl, engine, config, now, only_due)
        if found is None:
            break
        done = found if done is None else _joined(done, found)
    return done


def _pass(crawl: CrawlDir, engine: Engine, config: Config, now: datetime, only_due: bool) -> CompactResult | None:
    with Table.open(crawl.crawldb) as table, Scratch(crawl.scratch, "compact") as scratch:
        manifest = table.manifest
        deltas = [part for part in manifest.parts if part.is_delta]
        if not deltas and not manifest.replaced:
            return None
        ranges = _key_ranges(table)
        share = config.db.compaction_share if only_due else None
        due = [] if ranges is None else _due(table, ranges, share)
        is_crowded = max(len(deltas), len(manifest.replaced)) > MAX_DELTAS
        is_over = ranges is None and (share is None or _surplus(manifest.parts) > share)
        if not due and not is_crowded and not is_over:
            return None
        own = [field for field in table.stored if field.name not in schemas.column_names(manifest.plugin_columns)]
        extra = manifest.plugin_columns
        with Table.write(crawl.crawldb, pa.schema(own), extra=extra, writer="compact", clock=lambda: now) as new:
            if ranges is None:
                engine.write(_all_rows, {"rows": source_of(table, is_sorted=True)}, new)
            elif due:
                _merge_ranges(engine, table, ranges, due, new, scratch.path)
            else:
                _merge_deltas(engine, table, new, scratch.path)
            made = new.commit(properties=manifest.properties)
        carry_host_counts(crawl, manifest.version, made.version)
        stored = sum(part.replaced for part in manifest.parts)
        return CompactResult(
            parts_before=len(manifest.parts),
            parts=len(made.parts),
            ranges=len(due),
            written=sum(part.rows for part in made.parts if made.path(part).startswith(f"{made.name}/")),
            replaced=stored - sum(part.replaced for part in made.parts),
        )


def _joined(one: CompactResult, two: CompactResult) -> CompactResult:
    return CompactResult(
        parts_before=one.parts_before,
        parts=two.parts,
        ranges=one.ranges + two.ranges,
        written=one.written + two.written,
        replaced=one.replaced + two.replaced,
    )


def _key_ranges(table: Table) -> list[_KeyRange] | None:
    """Return the base parts with their key ranges; ``None`` if they are not in order."""
    manifest = table.manifest
    found = [
        (part, manifest.path(part), file)
        for part, file in zip(manifest.parts, table.files, strict=True)
        if not part.is_delta
    ]
    lows: list[str] = []
    highs: list[str] = []
    for part, _, file in found:
        low, high = (part.lowest, part.highest) if part.lowest is not None else file_key_range(file)
        if low is None or high is None:
            return None
        lows.append(low)
        highs.append(high)
    order = sorted(range(len(found)), key=lows.__getitem__)
    if not found or any(highs[one] > lows[two] for one, two in pairwise(order)):
        return None
    ranges = []
    for place, number in enumerate(order):
        part, path, file = found[number]
        low = lows[number] if place else None
        high = lows[order[place + 1]] if place + 1 < len(order) else None
        ranges.append(_KeyRange(path, file, part, low, high))
    return ranges


def _due(table: Table, ranges: Sequence[_KeyRange], share: float | None) -> list[_KeyRange]:
    """Return the ranges to compact: those above a share, or all that have replaced or delta rows."""
    deltas = [part for part in table.manifest.parts if part.is_delta]
    if share is None:
        return [each for each in ranges if each.part.replaced or any(_overlap(each, delta) for delta in deltas)]
    rows = _count_delta_rows(table, ranges)
    return [
        each for each, number in zip(ranges, rows, strict=True) if each.part.replaced + number > share * each.part.rows
    ]


def _surplus(parts: Sequence[StoredPart]) -> float:
    """Return the replaced and delta rows of a table as a share of the rows of its base."""
    base = sum(part.rows for part in parts if not part.is_delta)
    return sum(part.rows if part.is_delta else part.replaced for part in parts) / max(base, 1)


def _overlap(one: _KeyRange, delta: StoredPart) -> bool:
    is_below = one.high is not None and delta.lowest is not None and delta.lowest >= one.high
    is_above = one.low is not None and delta.highest is not None and delta.highest < one.low
    return not is_below and not is_above


def _count_delta_rows(table: Table, ranges: Sequence[_KeyRange]) -> list[float]:
    """Return about how many delta rows belong to each range, from a sample of their keys."""
    counts = [0.0] * len(ranges)
    found = survey(_delta_source(table))
    if found.rows:
        keys = sample_keys(found, sample_step(found.rows), len(ranges))
        lows = [each.low or "" for each in ranges]
        for key in keys:
            counts[max(bisect_right(lows, key) - 1, 0)] += found.rows / len(keys)
    return counts


def _delta_source(table: Table, chosen: Sequence[StoredPart] | None = None) -> TableSource:
    parts = table.manifest.parts if chosen is None else chosen
    wanted = {table.manifest.path(part) for part in parts if part.is_delta}
    pairs = zip(table.files, table.manifest.parts, strict=True)
    files = tuple(file for file, part in pairs if table.manifest.path(part) in wanted)
    return _only(source_of(table), files)


def _only(source: TableSource, files: tuple[str, ...]) -> TableSource:
    return replace(source, files=files, changed=source.changed & set(files))


def _merge_ranges(
    engine: Engine, table: Table, ranges: Sequence[_KeyRange], due: Sequence[_KeyRange], new: NewVersion, folder: Path
) -> None:
    """Write the live rows of base parts and the delta rows of their ranges as new base parts."""
    new.extend(table.version)
    new.adds_delta = False
    whole, deltas = source_of(table), _delta_source(table)
    added = engine.read(deltas)
    for each in due:
        base = _only(whole, (each.file,))
        known = engine.read(base)
        edges = _edges(base)
        for low, high in zip([None, *edges], [*edges, None], strict=True):
            # The rows of the part itself need no limit: if a key is in two parts, each writes its own rows.
            own = known.filter(_between(known, low, high)) if edges else known
            more = added.filter(_between(added, low or each.low, high or each.high))
            file = new.workspace / "range.parquet"
            if engine.save(own.union(more), new.schema, file, order=("key", "url")):
                new.adopt(file)
            else:
                file.unlink()
        new.drop([each.path])
    if len(due) == len(ranges):
        new.drop([path for path, part in _paths(table) if part.is_delta])
    else:
        placed = engine.read(deltas, positions=True)
        consumed = placed.filter(reduce(or_, (each.holds(placed) for each in due)))
        new.replace_rows(write_positions(engine, consumed, deltas, folder / "positions.parquet"))


def _merge_deltas(engine: Engine, table: Table, new: NewVersion, folder: Path) -> None:
    """Merge the smallest delta parts into one, and the files of positions."""
    new.extend(table.version)
    deltas = sorted(
        (part for part in table.manifest.parts if part.is_delta), key=lambda part: part.rows - part.replaced
    )
    chosen = deltas[: len(deltas) - MAX_DELTAS // 2 + 1] if len(deltas) > MAX_DELTAS else []
    dropped = {table.manifest.path(part) for part in chosen}
    if chosen:
        engine.write(_all_rows, {"rows": replace(_delta_source(table, chosen), is_sorted=True)}, new)
        new.drop(dropped)
    left = [path for path, part in _paths(table) if part.replaced and path not in dropped]
    positions = engine.read(TableSource(files=table.replaced, schema=POSITIONS, defaults={}))
    file = folder / "positions.parquet"
    engine.save(positions.filter(positions.part.isin(left)), POSITIONS, file, order=("part", "row"))
    new.merge_positions(file)


def _paths(table: Table) -> list[tuple[str, StoredPart]]:
    return [(table.manifest.path(part), part) for part in table.manifest.parts]


def _all_rows(inputs: Any) -> Rows:
    return inputs["rows"]


def _edges(base: TableSource) -> list[str]:
    """Return the keys at which to cut a large part, from its row groups."""
    found = survey(base)
    edges: list[str] = []
    rows = 0
    most = max(1, min(PART_ROWS, PART_BYTES // max(found.row_bytes, 1)))
    for group in found.groups:
        if rows and rows + group.rows > most and group.lowest is not None:
            edges.append(group.lowest)
            rows = 0
        rows += group.rows
    first = found.groups[0].lowest if found.groups else None
    return sorted({edge for edge in edges if first is not None and edge > first})


def _between(rows: Rows, low: str | None, high: str | None) -> Any:
    if low is None and high is None:
        return rows.key.notnull()
    if low is None:
        return rows.key < high
    return rows.key >= low if high is None else (rows.key >= low) & (rows.key < high)
