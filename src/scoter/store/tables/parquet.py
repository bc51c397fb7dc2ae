"""Write Parquet files of bounded size, and read several as one Arrow dataset.

A draft is locked while it is written, which distinguishes it from one that a killed process left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash
from msgspec import Struct

from scoter.errors import Defect, UsageError, UserError, nearest
from scoter.store.disk import disk_error, disk_errors, try_lock
from scoter.store.tables.schema import Defaults, conform, guarantee, missing
from scoter.store.tables.storage import TableStorage
from scoter.store.tables.versions import StoredPart

_CHUNK = 2**20
KEY = "key"
"""The column by which tables are sorted."""


class PartLimits(Struct, frozen=True, kw_only=True):
    """Size limits of row groups and files.

    A file is closed after the row group that brings it to ``part_bytes``. Rows wait in memory for their row group, at
    most ``row_group_bytes`` and one batch.
    """

    row_group_rows: int = 122_880  # the unit of work of a DuckDB thread
    row_group_bytes: int = 64 * 2**20
    part_bytes: int = 512 * 2**20
    level: int = 3
    page_index: bool = True  # takes 13 KB of memory per row group of eight columns until the file is closed


class OpenPart:
    """A Parquet file that accepts record batches until it is finished.

    Columns are matched by name; missing ones get their defaults.
    """

    def __init__(
        self,
        place: TableStorage,
        name: str,
        schema: Any,
        defaults: Defaults,
        bounds: PartLimits,
        bulky: Collection[str] = (),
    ) -> None:
        """``bulky`` columns hold long distinct texts: they get no dictionary and no statistics."""
        self.name = name
        self.rows = 0
        self._place = place
        self._schema = schema
        self._defaults = defaults
        self._bounds = bounds
        self._path = path = place.draft(name)
        self._pending: list[Any] = []
        self._pending_rows = self._pending_bytes = 0
        self._sealed: StoredPart | None = None
        self._done = False
        with disk_errors("open the file", path):
            self._lock = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            try_lock(self._lock)
            with disk_errors("write the file", path):  # opening already writes some bytes
                self._sink = pa.OSFile(str(path), "wb")
                others = [name for name in schema.names if name not in bulky] if bulky else True
                self._writer = pq.ParquetWriter(
                    self._sink,
                    schema,
                    compression="zstd",
                    compression_level=bounds.level,
                    write_page_index=bounds.page_index and not bulky,
                    use_dictionary=others,
                    write_statistics=others,
                )
        except BaseException:
            os.close(self._lock)
            path.unlink(missing_ok=True)
            raise
        self._open = True

    def __repr__(self) -> str:
        return f"OpenPart({self._place.location(self.name)}, {self.rows} rows)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: object) -> None:
        if kind is not None:
            self.discard()
        elif not self._done:
            self.finish()

    @property
    def size(self) -> int:
        """The bytes written to the file, without rows that wait for their row group."""
        return int(self._sink.tell()) if self._open else self._path.stat().st_size

    def write(self, batch: Any) -> None:
        """Write a record batch."""
        if not self._open:
            raise Defect(f"{self._path} is written to after it was closed")
        batch = conform(batch, self._schema, self._defaults, self._place.location(self.name))
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, self._bounds.row_group_rows - self._pending_rows)
            at += piece.num_rows
            self._pending.append(piece)
            self._pending_rows += piece.num_rows
            self._pending_bytes += piece.nbytes
            full = self._pending_rows >= self._bounds.row_group_rows
            if full or self._pending_bytes >= self._bounds.row_group_bytes:
                self._flush()
        self.rows += batch.num_rows

    def seal(self) -> StoredPart:
        """Sync the part to disk under its working name; nothing can be added afterwards."""
        if self._sealed is None:
            self._flush()
            try:
                self._writer.close()
                self._sink.close()
                self._open = False
                os.fsync(self._lock)
            except (OSError, pa.ArrowException) as failure:
                raise self._failed(failure) from failure
            with disk_errors("read the file", self._path), self._path.open("rb") as file:
                self._sealed = StoredPart(PurePath(self.name).name, self.size, self.rows, checksum(file))
        return self._sealed

    def publish(self) -> StoredPart:
        """Give a sealed part its final name: from now on it counts."""
        if self._sealed is None:
            raise Defect(f"{self!r} is published before it is sealed")
        self._place.finish(self.name, self._path)
        self._close()
        self._done = True
        return self._sealed

    def finish(self) -> StoredPart:
        """Seal and publish."""
        self.seal()
        return self.publish()

    def discard(self) -> None:
        """Remove the part, unless it is finished."""
        if not self._done:
            self._close()
            self._path.unlink(missing_ok=True)
            self._done = True

    def _close(self) -> None:
        """Close the file as it is."""
        self._pending.clear()
        if self._open:
            self._open = False
            self._writer.is_open = False  # otherwise it would write the footer when garbage-collected
            with suppress(OSError, pa.ArrowException):
                self._sink.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _flush(self) -> None:
        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending, self._schema)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        try:
            self._writer.write_table(table, row_group_size=self._bounds.row_group_rows)
        except (OSError, pa.ArrowException) as failure:
            raise self._failed(failure) from failure

    def _failed(self, failure: Exception) -> UserError:
        self._close()
        if isinstance(failure, OSError):
            return disk_error("write the file", self._path, failure)
        return UserError(f"cannot write the file: {failure}", where=str(self._path))


class PartWriter:
    """Writes record batches to as many files as their size requires."""

    def __init__(
        self,
        open_part: Callable[[], OpenPart],
        largest: int,
        *,
        finished: Callable[[str, StoredPart], None],
        closed: Callable[[PartWriter], None],
    ) -> None:
        self._open_part = open_part
        self._largest = largest
        self._finished = finished
        self._closed = closed
        self._part: OpenPart | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: object) -> None:
        self.close() if kind is None else self.discard()

    def write(self, batch: Any) -> None:
        """Write a record batch."""
        if self._part is None:
            self._part = self._open_part()
        self._part.write(batch)
        if self._part.size >= self._largest:
            self._finish()

    def close(self) -> None:
        """Finish the last file."""
        try:
            self._finish()
        finally:
            self.discard()

    def discard(self) -> None:
        """Discard the file being written; finished ones stay."""
        if self._part is not None:
            self._part.discard()
            self._part = None
        self._closed(self)

    def _finish(self) -> None:
        if self._part is not None:
            self._finished(self._part.name, self._part.finish())
            self._part = None


class RowGroupWriter:
    """Writes record batches with a schema to a file, in row groups of ``group_rows``; a failure removes the file.

    Only texts and integers get dictionaries, and not ``plain`` columns, whose values are distinct.
    """

    def __init__(self, file: Path, schema: Any, group_rows: int, plain: Collection[str] = ()) -> None:
        self.rows = 0
        self._file = file
        self._schema = schema
        self._group_rows = group_rows
        self._pending: list[Any] = []
        self._pending_rows = 0
        with disk_errors("open the file", file):
            repeated = [
                field.name
                for field in schema
                if (pa.types.is_string(field.type) or pa.types.is_int32(field.type)) and field.name not in plain
            ]
            self._writer = pq.ParquetWriter(
                file, schema, compression="zstd", compression_level=1, use_dictionary=repeated or False
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: object) -> None:
        try:
            if kind is None:
                self.end_group()
        finally:
            with suppress(OSError) if kind is not None else disk_errors("write the file", self._file):
                self._writer.close()
            if kind is not None:
                self._file.unlink(missing_ok=True)

    def write(self, batch: Any) -> None:
        """Write a record batch."""
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, self._group_rows - self._pending_rows)
            at += piece.num_rows
            self._pending.append(piece)
            self._pending_rows += piece.num_rows
            if self._pending_rows == self._group_rows:
                self.end_group()
        self.rows += batch.num_rows

    def end_group(self) -> None:
        """Write the rows that wait as a row group."""
        if self._pending:
            table = pa.Table.from_batches(self._pending, self._schema)
            self._pending, self._pending_rows = [], 0
            with disk_errors("write the file", self._file):
                self._writer.write_table(table, row_group_size=self._group_rows)


def write_batches(file: Path, schema: Any, found: Iterable[Any]) -> None:
    """Write record batches to a temporary file."""
    with disk_errors("write temporary rows", file), pq.ParquetWriter(file, schema, compression="lz4") as writer:
        for batch in found:
            writer.write_batch(batch)


def key_range(file: Any) -> tuple[str | None, str | None]:
    """Return the lowest and the highest key of an open Parquet file, if it has keys."""
    names = file.schema_arrow.names
    if KEY not in names or not file.metadata.num_rows:
        return None, None
    column = next(at for at in range(file.metadata.num_columns) if file.schema.column(at).path == KEY)
    lows, highs = [], []
    for group in range(file.metadata.num_row_groups):
        known = file.metadata.row_group(group).column(column).statistics
        if known is not None and known.has_min_max:
            low, high = str(known.min), str(known.max)
        else:  # writers may leave out the statistics of long texts
            found = pc.min_max(file.read_row_group(group, columns=[KEY])[KEY]).as_py()
            low, high = found["min"], found["max"]
        if low is not None:
            lows.append(low)
            highs.append(high)
    return (min(lows), max(highs)) if lows else (None, None)


def checksum(file: BinaryIO) -> str:
    """Return the 128-bit XXH3 of a file's bytes, in hexadecimal."""
    state = xxhash.xxh3_128()
    while chunk := file.read(_CHUNK):
        state.update(chunk)
    return state.hexdigest()


BATCH_ROWS = 32_768

Explain = Callable[[Exception], UserError]


def dataset_of(place: TableStorage, files: Iterable[tuple[str, Any]], want: Any, defaults: Defaults) -> Any:
    """Return files, each with its own schema, as one dataset of the wanted columns."""
    # Imported late: it loads pandas, which costs half a second that processes that only write can save.
    import pyarrow.dataset as ds

    form, filesystem = ds.ParquetFileFormat(), place.filesystem
    fragments = []
    for name, have in files:
        known = guarantee(missing(have, want, defaults, place.location(name)))
        path = place.arrow_path(name)
        fragments.append(form.make_fragment(path, filesystem=filesystem, partition_expression=known))
    return ds.FileSystemDataset(fragments, want, form, filesystem)


def batches(
    dataset: Any, columns: Sequence[str] | None, where: Any, explain: Explain, *, rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Yield the rows that pass a filter, in file order, with little read-ahead; ``explain`` describes read errors."""
    known = dataset.schema.names
    for name in columns or ():
        if name not in known:
            near = nearest(name, known)
            hint = f"Did you mean {near}?" if near else f"The columns are {', '.join(known)}."
            raise UsageError(f"there is no column {name}", hint=hint)
    try:
        chosen = list(columns) if columns is not None else None
        scanner = dataset.scanner(
            columns=chosen, filter=where, batch_size=rows, batch_readahead=4, fragment_readahead=1
        )
    except (pa.ArrowException, TypeError) as failure:
        raise UsageError(f"the filter does not match the columns: {_first_line(failure)}") from failure
    try:
        yield from scanner.to_batches()
    except (OSError, pa.ArrowException) as failure:
        raise explain(failure) from failure


def count_rows(dataset: Any, where: Any, explain: Explain) -> int:
    """Return the number of rows that pass a filter."""
    try:
        return int(dataset.count_rows(filter=where))
    except pa.ArrowNotImplementedError as failure:
        raise UsageError(f"the filter does not match the columns: {_first_line(failure)}") from failure
    except (OSError, pa.ArrowException) as failure:
        raise explain(failure) from failure


def _first_line(failure: Exception) -> str:
    return str(failure).partition("\n")[0]
