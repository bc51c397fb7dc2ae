"""What every format of an export has in common, and the formats of rows: JSON lines, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from isal import isal_zlib
from msgspec import Struct

from scoter.batch.crawldir.export import iter_rows, json_line, text_value
from scoter.core.csv_cells import csv_cell
from scoter.export.fields import schema_of
from scoter.export.folder import ExportedFile, ExportFolder, FinishedShard, HashedFile

Compression: TypeAlias = Literal["none", "gzip", "zstd"]
SUFFIXES: Mapping[str, str] = {"none": "", "gzip": ".gz", "zstd": ".zst"}
_GZIP = 31  # window bits: a gzip header, which has no time, so that equal content gives equal files
_ROW_GROUP = 4_096
_ROW_GROUP_BYTES = 64 * 2**20
_STEP = 256  # rows after which the size of a row group is checked


class Shard(Struct, frozen=True):
    """A part of an export: its number, and how many rows it is made from."""

    number: int
    rows: int

    def name(self, suffix: str) -> str:
        """Return the name of the shard's file."""
        return f"pages-{self.number:05d}{suffix}"


class ExportFormat(Protocol):
    """Writes shards. ``fields`` are those it needs; ``is_archived``: it is made of captures, not of parsed pages."""

    fields: tuple[str, ...]
    is_archived: bool

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        """Write a shard from record batches; writing it again gives the same files."""
        ...

    def finish(self) -> tuple[ExportedFile, ...]:
        """Write what belongs to all shards."""
        ...


class RowFormat:
    """One file per shard, written batch by batch."""

    is_archived = False

    def __init__(
        self,
        folder: ExportFolder,
        fields: tuple[str, ...],
        suffix: str,
        encode: Callable[[Sequence[str], Any], bytes],
        *,
        head: bytes = b"",
        compression: Compression = "none",
    ) -> None:
        self.fields = fields
        self._folder = folder
        self._suffix = suffix + SUFFIXES[compression]
        self._encode = encode
        self._head = head
        self._compression: Compression = compression

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        name = shard.name(self._suffix)
        with self._folder.new_file(name) as file, CompressedOutput(file, self._compression) as out:
            out.write(self._head)
            number = 0
            for batch in rows:
                out.write(self._encode(self.fields, batch))
                number += batch.num_rows
        return one_file(shard, file.described(name, number))

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()


def jsonl_format(folder: ExportFolder, fields: tuple[str, ...], compression: Compression) -> RowFormat:
    """Return the format with a JSON object per line."""
    return RowFormat(folder, fields, ".jsonl", _json_lines, compression=compression)


def csv_format(
    folder: ExportFolder, fields: tuple[str, ...], compression: Compression, *, exact: bool = False
) -> RowFormat:
    """Return the format of RFC 4180, with a header line; nested values are JSON. No cell is a formula, if not exact."""
    lines = partial(_csv_lines, exact=exact)
    return RowFormat(folder, fields, ".csv", lines, head=_csv([fields]), compression=compression)


def one_file(shard: Shard, file: ExportedFile) -> FinishedShard:
    """Return the result of a shard that is one file."""
    return FinishedShard(number=shard.number, pages=file.pages, files=(file,))


def _json_lines(fields: Sequence[str], batch: Any) -> bytes:
    return b"".join(map(json_line, iter_rows([batch.select(list(fields))])))


def _csv_lines(fields: Sequence[str], batch: Any, *, exact: bool) -> bytes:
    rows = iter_rows([batch.select(list(fields))])
    return _csv(
        [
            repr(value) if isinstance(value, float) else csv_cell(value, text_value(value), exact=exact)
            for value in row.values()
        ]
        for row in rows
    )


def _csv(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


class CompressedOutput:
    """Compresses what is written to a file."""

    def __init__(self, file: HashedFile, compression: Compression) -> None:
        self._file = file
        self._engine: Any = None
        if compression == "gzip":
            self._engine = isal_zlib.compressobj(2, isal_zlib.DEFLATED, _GZIP)
        elif compression == "zstd":
            self._engine = zstandard.ZstdCompressor(level=3).compressobj()

    def __enter__(self) -> CompressedOutput:
        return self

    def __exit__(self, kind: object, _: object, __: object) -> None:
        if self._engine is not None and kind is None:
            self._file.write(self._engine.flush())

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self._file.write(data if self._engine is None else self._engine.compress(data))


class ParquetFormat:
    """A Parquet file per shard."""

    is_archived = False

    def __init__(self, folder: ExportFolder, fields: tuple[str, ...]) -> None:
        self.fields = fields
        self._folder = folder

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        name, schema = shard.name(".parquet"), schema_of(self.fields)
        with self._folder.new_file(name) as file:
            number = write_parquet(file, schema, (batch.select(list(self.fields)) for batch in rows))
        return one_file(shard, file.described(name, number))

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()


def write_parquet(file: HashedFile, schema: Any, batches: Iterable[Any]) -> int:
    """Write record batches in row groups of a fixed number of rows, fewer if they are large; return the rows."""
    number = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in _row_groups(schema, batches):
            writer.write_table(table, row_group_size=table.num_rows)
            number += table.num_rows
    return number


def _row_groups(schema: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Collect rows into row groups; where they end depends on the rows alone, not on how they are batched."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        cast = batch.cast(schema)
        at = 0
        while at < cast.num_rows:
            piece = cast.slice(at, _STEP - rows % _STEP)
            waiting.append(piece)
            at, rows, size = at + piece.num_rows, rows + piece.num_rows, size + piece.nbytes
            if rows % _STEP == 0 and (rows >= _ROW_GROUP or size >= _ROW_GROUP_BYTES):
                yield pa.Table.from_batches(waiting, schema)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)
