"""What an engine reads: Parquet files, the columns wanted of them, and what to put where a file lacks one."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.errors import UserError
from scoter.store.tables import Defaults
from scoter.store.tables.schema import missing


class Stored(Protocol):
    """A table or a set of parts."""

    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def schema(self) -> Any: ...
    @property
    def defaults(self) -> Defaults: ...


class Source(Struct, frozen=True, kw_only=True):
    """Files of rows.

    ``is_sorted``: the rows lie by their key, so that a range of keys is found without reading the rest. ``weight``: how
    many times as much memory as usual a job takes for each of its bytes, such as one that gathers rows into lists.
    """

    files: tuple[str, ...]
    schema: Any
    defaults: Defaults
    is_sorted: bool = False
    weight: float = 1.0


def source_of(stored: Stored, columns: Sequence[str] | None = None, *, is_sorted: bool = False) -> Source:
    """Return a table or a set of parts as a source, with all of its columns or some."""
    schema = stored.schema if columns is None else _only(stored.schema, columns)
    return Source(files=stored.files, schema=schema, defaults=stored.defaults, is_sorted=is_sorted)


def _only(schema: Any, columns: Sequence[str]) -> Any:
    return pa.schema([schema.field(name) for name in columns])


KEY = "key"
_GROUPS_READ = 32
_CLOSE = 4
"""Row groups of a sorted source for each range; with fewer, their first keys alone would cut unevenly."""


class Alike(Struct, frozen=True):
    """Files that hold the same columns, and the values of those that they lack."""

    files: tuple[str, ...]
    absent: Mapping[str, Any] = {}


class RowGroup(Struct, frozen=True):
    """Rows that lie together in a file; ``lowest`` is their first key where the file says it."""

    file: str
    number: int
    rows: int
    lowest: str | None


class Survey(Struct, frozen=True):
    """A source, measured: ``size`` is what the columns wanted of it take on disk."""

    source: Source
    alike: tuple[Alike, ...]
    groups: tuple[RowGroup, ...]
    size: int

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)


def survey(source: Source) -> Survey:
    """Read the footers of a source's files; say which file is damaged, or holds something else than is wanted."""
    names = set(source.schema.names)
    kinds: dict[tuple[tuple[str, str], ...], tuple[list[str], Mapping[str, Any]]] = {}
    groups: list[RowGroup] = []
    size = 0
    for file in source.files:
        metadata = footer(file)
        stored = metadata.schema.to_arrow_schema()
        spelled = tuple((field.name, str(field.type)) for field in stored)
        if spelled not in kinds:
            absent = missing(stored, source.schema, source.defaults, file)
            kinds[spelled] = ([], {name: value.as_py() for name, value in absent.items()})
        kinds[spelled][0].append(file)
        columns = [metadata.schema.column(at).path.partition(".")[0] for at in range(metadata.num_columns)]
        wanted = [at for at, name in enumerate(columns) if name in names]
        key = columns.index(KEY) if KEY in columns else None
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            size += sum(group.column(at).total_compressed_size for at in wanted)
            groups.append(RowGroup(file, number, group.num_rows, _lowest(group, key)))
    alike = tuple(Alike(tuple(files), absent) for files, absent in kinds.values())
    return Survey(source, alike, tuple(groups), size)


def sample(survey: Survey, one_in: int, ranges: int) -> list[str]:
    """Return about one key in so many, of all rows alike, to cut ``ranges`` ranges by."""
    groups = survey.groups
    if survey.source.is_sorted and len(groups) >= _CLOSE * ranges:
        firsts = [(group, group.lowest) for group in groups if group.lowest is not None]
        return [key for group, key in firsts for _ in range(max(1, group.rows // one_in))]
    step = max(1, math.ceil(len(groups) / _GROUPS_READ))
    return [key for group in groups[::step] for key in _every(group, max(1, one_in // step))]


def _lowest(group: Any, key: int | None) -> str | None:
    statistics = group.column(key).statistics if key is not None else None
    # A writer may leave the statistics of long texts out.
    return str(statistics.min) if statistics is not None and statistics.has_min_max else None


def _every(group: RowGroup, step: int) -> Iterator[str]:
    with _opened(group.file) as file:
        keys = file.read_row_group(group.number, columns=[KEY])[KEY]
    yield from keys.take(list(range(0, len(keys), step))).drop_null().to_pylist()


def footer(file: str) -> Any:
    """Return what the end of a file says of it; a file that is damaged is named."""
    with _opened(file) as opened:
        return opened.metadata


def _opened(file: str) -> Any:
    try:
        if "://" not in file:
            return pq.ParquetFile(file)
        import fsspec

        filesystem, path = fsspec.core.url_to_fs(file)
        return pq.ParquetFile(path, filesystem=filesystem)
    except pa.ArrowInvalid as failure:
        text = str(failure).partition("\n")[0]
        raise UserError(f"the file is damaged: {text}", where=file) from failure
    except OSError as failure:
        raise UserError(f"cannot read the file: {failure.strerror or failure}", where=file) from failure


MOST_RANGES = 256
GROWTH = 16
"""Bytes of the limit for each byte of zstd Parquet that a job reads.

A range needs 4 to 6 times its size, and some come out longer than others. What fits well is also done sooner than what
spills: 10 million URLs at 4 GB took 105 CPU seconds in 2 ranges, 89 in 12.
"""
_MOST_KEYS = 10_000
_LEAST_SHARE = 1_000


def how_many(stored_bytes: int, memory_limit: int) -> int:
    """Return the number of ranges in which a job over so many bytes of Parquet stays within its memory."""
    return max(1, min(MOST_RANGES, math.ceil(stored_bytes * GROWTH / memory_limit)))


def one_key_in(rows: int) -> int:
    """Return which share of so many keys to look at: enough to cut evenly, however few or many there are.

    >>> one_key_in(500), one_key_in(30_000_000)
    (1, 1000)
    """
    return max(1, min(_LEAST_SHARE, rows // _MOST_KEYS))


def cuts(keys: Sequence[str], ranges: int) -> list[str]:
    """Return the keys at which to cut, out of a sample of keys: fewer than ``ranges`` of them, in order.

    >>> cuts(["a", "b", "c", "d"], 2)
    ['c']
    """
    ordered = sorted(keys)
    picked = {ordered[len(ordered) * number // ranges] for number in range(1, ranges)} if ordered else set()
    return sorted(picked - {ordered[0]} if ordered else picked)
