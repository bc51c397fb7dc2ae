"""What an engine reads: Parquet files, what their footers say, and how their keys are cut into ranges.

DuckDB spills to disk, but a join of tens of millions of URLs outgrows a small memory limit all the same. A job over
tables that share a key can run one key range at a time instead. The crawldb is sorted by key, so one range of it can be
read without the rest; unsorted inputs are first partitioned into temporary files, one per range. Measured with
10 million URLs, 1 million fetches and 20 million links: without ranges, DuckDB 1.5 runs out of memory at 4 GB; 8 ranges
take 61 CPU seconds and 1.4 GB, 24 ranges 76 CPU seconds and 0.7 GB.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from scoter.errors import UserError
from scoter.store.objects.client import is_url
from scoter.store.objects.copies import copied_file, local_file
from scoter.store.objects.registry import client_of
from scoter.store.tables import Defaults, PartSet, Table
from scoter.store.tables.parquet import key_range, write_batches
from scoter.store.tables.replaced import POSITIONS, group_positions
from scoter.store.tables.schema import missing

KEY = "key"
MAX_RANGES = 256
GROWTH = 16
"""Bytes of the memory limit needed for each byte of zstd Parquet that a job reads.

A range needs 4 to 6 times its size, and ranges are uneven. A job that fits easily is also faster than one that spills:
10 million URLs at 4 GB took 105 CPU seconds in 2 ranges and 89 in 12.
"""
_USUAL_RATIO = 5  # between the sizes of a table without and with compression
_MAX_SAMPLED_GROUPS = 32
_MIN_GROUPS_PER_RANGE = 4
"""Row groups of a sorted source per range; with fewer, cutting by their first keys alone would be uneven."""
_SAMPLED_KEYS = 10_000
_MAX_SAMPLE_STEP = 1_000
_MAX_PASSES = 3
"""Times that an unsorted source is read, once for each range, rather than written to one file per range first."""


class TableSource(Struct, frozen=True, kw_only=True):
    """Files of rows, the columns wanted from them, and the values of columns that a file lacks.

    ``is_sorted``: the rows of each file are sorted by key, so that a key range can be read without the rest.
    ``weight``: how many times the usual memory a job needs for each byte, for example because it collects rows into
    lists. ``changed`` are the files that have replaced rows, ``replaced`` those with the positions of these rows.
    ``has_positions``: a job gets the positions of the rows, too, as two more columns (``STORED_FILE``, ``STORED_ROW``).
    """

    files: tuple[str, ...]
    schema: Any
    defaults: Defaults
    is_sorted: bool = False
    weight: float = 1.0
    replaced: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    has_positions: bool = False

    @property
    def columns(self) -> Any:
        """The schema of the rows that a job gets."""
        return with_positions(self.schema) if self.has_positions else self.schema

    def numbers(self) -> dict[str, int] | None:
        """Return the numbers of the files, if positions are wanted."""
        return {file: number for number, file in enumerate(self.files)} if self.has_positions else None


def source_of(
    stored: Table | PartSet | TableSource, columns: Sequence[str] | None = None, *, is_sorted: bool = False
) -> TableSource:
    """Return a table, a set of parts or another source as a source, with all columns or only those named."""
    schema = stored.schema if columns is None else pa.schema([stored.schema.field(name) for name in columns])
    return TableSource(
        files=stored.files,
        schema=schema,
        defaults=stored.defaults,
        is_sorted=is_sorted,
        replaced=() if isinstance(stored, PartSet) else stored.replaced,
        changed=frozenset() if isinstance(stored, PartSet) else stored.changed,
    )


def local_source(source: TableSource) -> TableSource:
    """Return a source whose files are local: those in an object store are copied to this machine."""
    return replace(
        source,
        files=tuple(map(local_file, source.files)),
        replaced=tuple(map(local_file, source.replaced)),
        changed=frozenset(map(local_file, source.changed)),
    )


def file_source(file: Path, schema: Any) -> TableSource:
    """Return one file, which has all columns of a schema, as a source."""
    return TableSource(files=(str(file),), schema=schema, defaults={})


def arrow_source(table: Any, file: Path) -> TableSource:
    """Write a small Arrow table to a temporary file, and return it as a source.

    Unlike that of an ``ibis.memtable``, the query over it can be cached.
    """
    write_batches(file, table.schema, table.to_batches())
    return file_source(file, table.schema)


STORED_FILE, STORED_ROW = "stored_file", "stored_row"
"""Columns with the position of a row: the number of its file in the source, and its number in the file."""


def with_positions(schema: Any) -> Any:
    """Return a schema with the columns of positions."""
    return pa.schema([*schema, (STORED_FILE, pa.int32()), (STORED_ROW, pa.int64())])


def stored_name(file: str) -> str:
    """Return the name of a part within its table.

    >>> stored_name("s3://bucket/crawldb/v000012/part-00001.parquet")
    'v000012/part-00001.parquet'
    """
    return "/".join(file.rsplit("/", 2)[-2:])


def replaced_rows(source: TableSource) -> Mapping[str, Any]:
    """Return the replaced rows of each changed file, in order, as arrays."""
    if not source.changed:
        return {}
    tables = []
    for file in source.replaced:
        with open_parquet(file) as opened:
            tables.append(opened.read())
    by_name = group_positions(pa.concat_tables([each.cast(POSITIONS) for each in tables]))
    return {file: by_name[stored_name(file)] for file in source.changed}


class UniformFiles(Struct, frozen=True):
    """Files with the same columns, the values of the columns that they lack, and the positions of replaced rows."""

    files: tuple[str, ...]
    absent: Mapping[str, Any] = {}
    replaced: tuple[str, ...] = ()


class RowGroup(Struct, frozen=True):
    """A row group of a file, with its lowest and highest key if the file has statistics."""

    file: str
    number: int
    rows: int
    lowest: str | None
    highest: str | None = None


class SourceSurvey(Struct, frozen=True):
    """What the footers of a source's files say.

    ``size`` is the size of the wanted columns on disk, or what it would be if they were no more compressible than
    usual; ``raw`` is their size without compression.
    """

    source: TableSource
    uniform: tuple[UniformFiles, ...]
    groups: tuple[RowGroup, ...]
    size: int
    raw: int

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)

    @property
    def row_bytes(self) -> int:
        """The average size of a row without compression."""
        return self.raw // max(self.rows, 1)

    def is_partitioned(self, ranges: int) -> bool:
        """Return whether a job over so many ranges first writes the rows of each to files of their own."""
        return not self.source.is_sorted and ranges > _MAX_PASSES


def survey(source: TableSource) -> SourceSurvey:
    """Read the footers of a source's files; raise if a file is damaged or has the wrong columns."""
    names = set(source.schema.names)
    by_schema: dict[tuple[tuple[str, str], ...], Mapping[str, Any]] = {}
    alike: dict[tuple[Any, bool], list[str]] = defaultdict(list)
    groups: list[RowGroup] = []
    size = raw = 0
    for file in source.files:
        metadata = read_footer(file)
        stored = metadata.schema.to_arrow_schema()
        fields = tuple((field.name, str(field.type)) for field in stored)
        if fields not in by_schema:
            absent = missing(stored, source.schema, source.defaults, file)
            by_schema[fields] = {name: value.as_py() for name, value in absent.items()}
        alike[fields, file in source.changed].append(file)
        columns = [metadata.schema.column(at).path.partition(".")[0] for at in range(metadata.num_columns)]
        wanted = [at for at, name in enumerate(columns) if name in names]
        key = columns.index(KEY) if KEY in columns else None
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            compressed = sum(group.column(at).total_compressed_size for at in wanted)
            plain = sum(group.column(at).total_uncompressed_size for at in wanted)
            size += max(compressed, plain // _USUAL_RATIO)
            raw += plain
            groups.append(RowGroup(file, number, group.num_rows, *_key_bounds(group, key)))
    uniform = tuple(
        UniformFiles(tuple(files), by_schema[fields], source.replaced if is_changed else ())
        for (fields, is_changed), files in alike.items()
    )
    return SourceSurvey(source, uniform, tuple(groups), size, raw)


def range_count(stored_bytes: int, memory_limit: int) -> int:
    """Return how many ranges a job over ``stored_bytes`` of Parquet needs to stay within its memory limit."""
    return max(1, min(MAX_RANGES, math.ceil(stored_bytes * GROWTH / memory_limit)))


def sample_step(rows: int) -> int:
    """Return the step at which to sample keys: small enough for even ranges, whatever the number of rows.

    >>> sample_step(500), sample_step(30_000_000)
    (1, 1000)
    """
    return max(1, min(_MAX_SAMPLE_STEP, rows // _SAMPLED_KEYS))


def sample_keys(survey: SourceSurvey, step: int, ranges: int) -> list[str]:
    """Return about every ``step``-th key, evenly over all rows, to cut ``ranges`` ranges by."""
    groups = survey.groups
    if survey.source.is_sorted and len(groups) >= _MIN_GROUPS_PER_RANGE * ranges:
        firsts = [(group, group.lowest) for group in groups if group.lowest is not None]
        return [key for group, key in firsts for _ in range(max(1, group.rows // step))]
    group_step = max(1, math.ceil(len(groups) / _MAX_SAMPLED_GROUPS))
    return [key for group in groups[::group_step] for key in _every(group, max(1, step // group_step))]


def range_edges(keys: Sequence[str], ranges: int) -> list[str]:
    """Return the keys at which to cut, chosen from a sample: fewer than ``ranges``, in order.

    >>> range_edges(["a", "b", "c", "d"], 2)
    ['c']
    """
    if not keys:
        return []
    ordered = sorted(keys)
    return sorted({ordered[len(ordered) * number // ranges] for number in range(1, ranges)} - {ordered[0]})


MIN_PRUNED_GROUPS = 256
"""Row groups of a source that is worth pruning; a smaller one is read as a whole."""
_MAX_SPANS = 64
_MAX_PRUNED_SHARE = 0.6


def key_spans(found: SourceSurvey, prefixes: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return the ranges of keys, ends included, of the row groups that may have keys with one of these prefixes.

    ``None`` if that is unknown, or not worthwhile because it is most of the source. After a prefix, keys have a
    bracket or a colon.
    """
    starts, ends = sorted(prefixes), sorted(prefix + ";" for prefix in prefixes)
    bounds: list[tuple[str, str, int]] = []
    for group in found.groups:
        if group.lowest is None or group.highest is None:
            return None
        bounds.append((group.lowest, group.highest, group.rows))
    bounds.sort()
    # Prefixes that start before the end of a group, without those that end before its start.
    hits = [
        place for place, (low, high, _) in enumerate(bounds) if bisect_right(starts, high) > bisect_right(ends, low)
    ]
    gap, spans = 1, _spans(bounds, hits, 1)
    while len(spans) > _MAX_SPANS:
        gap *= 2
        spans = _spans(bounds, hits, gap)
    read = sum(rows for low, high, rows in bounds if any(low <= end and start <= high for start, end in spans))
    return spans if read <= _MAX_PRUNED_SHARE * found.rows else None


def _spans(bounds: Sequence[tuple[str, str, int]], hits: Sequence[int], gap: int) -> list[tuple[str, str]]:
    """Return disjoint ranges that cover the groups that were hit, and up to ``gap - 1`` others between two of them."""
    spans: list[tuple[str, str]] = []
    last = None
    for place in hits:
        low, high, _ = bounds[place]
        if spans and last is not None and (place - last <= gap or low <= spans[-1][1]):
            spans[-1] = (spans[-1][0], max(high, spans[-1][1]))
        else:
            spans.append((low, high))
        last = place
    return spans


def read_footer(file: str) -> Any:
    """Return the metadata of a Parquet file; raise with its name if it is damaged."""
    with open_parquet(file) as opened:
        return opened.metadata


def may_have(source: TableSource, name: str) -> bool:
    """Return whether a column may have a value that is not null, by what the footers of the files say."""
    for file in source.files:
        metadata = read_footer(file)
        names = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
        if name not in names:
            continue
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            statistics = group.column(names.index(name)).statistics
            if statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows:
                return True
    return False


def file_key_range(file: str) -> tuple[str | None, str | None]:
    """Return the lowest and the highest key of a file, if it has keys."""
    with open_parquet(file) as opened:
        return key_range(opened)


def _key_bounds(group: Any, key: int | None) -> tuple[str | None, str | None]:
    statistics = group.column(key).statistics if key is not None else None
    # Writers may leave out the statistics of long texts.
    if statistics is None or not statistics.has_min_max:
        return None, None
    return str(statistics.min), str(statistics.max)


def _every(group: RowGroup, step: int) -> Iterator[str]:
    with open_parquet(group.file) as file:
        keys = file.read_row_group(group.number, columns=[KEY])[KEY]
    yield from keys.take(pa.array(range(0, len(keys), step), pa.int64())).drop_null().to_pylist()


def read_row_groups(file: str, names: Sequence[str]) -> Iterator[Any]:
    """Yield the row groups of a Parquet file, with the columns of these names that it has."""
    with open_parquet(file) as opened:
        wanted = [name for name in names if name in opened.schema_arrow.names]
        for number in range(opened.num_row_groups):
            with _damage(file):
                group = opened.read_row_group(number, columns=wanted)
            yield group


def open_parquet(file: str) -> Any:
    """Open a Parquet file at a path or URL; raise with its name if it is damaged."""
    with _damage(file):
        if not is_url(copied := copied_file(file)):
            return pq.ParquetFile(copied)
        client, key = client_of(file)
        return pq.ParquetFile(client.arrow_path(key), filesystem=client.filesystem)


@contextmanager
def _damage(file: str) -> Iterator[None]:
    """Raise errors of reading a file with its name."""
    try:
        yield
    except pa.ArrowInvalid as failure:
        text = str(failure).partition("\n")[0]
        raise UserError(f"the file is damaged: {text}", where=file) from failure
    except OSError as failure:
        raise UserError(f"cannot read the file: {failure.strerror or failure}", where=file) from failure
