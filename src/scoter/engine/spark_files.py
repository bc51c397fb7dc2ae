"""The Parquet files through which Spark's executors and this process pass rows to each other.

Executors read and write files of a folder that all machines see with Spark's own functions. Spark itself cannot read
object stores: it would need hadoop-aws with half a gigabyte of further packages, its own credentials and, for other
stores, other packages. So the Python processes of the executors read and write objects, with the same client and
credentials as every other process of Scoter. They upload each file whole, under a name of its own, and the driver uses
only those that successful tasks report; what a failed or repeated task has left there is removed.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.engine.batches import cast_batch
from scoter.engine.row_functions import Mapper, sent
from scoter.engine.sources import KEY, RowGroup, SourceSurvey, open_parquet, stored_name
from scoter.errors import UserError
from scoter.store.disk import disk_errors
from scoter.store.objects.path import StorePath
from scoter.store.tables import NewVersion
from scoter.store.tables.parquet import OpenPart, PartLimits
from scoter.store.tables.remote import ObjectStorage
from scoter.store.tables.versions import StoredPart

PART, ROW = "part_of_row", "row_of_part"
"""Columns with the position of a row: the name of its file within its table, and its number in the file."""
_BATCH_BYTES = 16 * 2**20
_MAX_BATCH = 65_536
_MIN_PIECE, _MAX_PIECE = 4 * 2**20, 64 * 2**20
"""Bytes, without compression, that a task reads."""
_REPORT = "part long, report binary"
_MARKER = ".used"
_MAX_AGE = 7 * 86_400.0  # seconds after which a folder in a store was left by a killed process


class SparkFiles(Protocol):
    """A place for files of rows."""

    def scan(self, found: SourceSurvey, files: Sequence[str], schema: Any, *, positions: bool) -> Any:
        """Return some files of a source, which have all columns of a schema, as a frame; its types may differ."""
        ...

    def store(self, frame: Any, schema: Any) -> list[str]:
        """Write a frame to temporary files and return them in row order."""
        ...

    def add(self, frame: Any, new: NewVersion) -> None:
        """Write a frame, which is sorted and has the columns of the table, to a new version."""
        ...

    def move(self, files: Sequence[str], folder: Path) -> list[Path]:
        """Move temporary files to a folder of this machine."""
        ...

    def remove(self, files: Sequence[str]) -> None:
        """Remove temporary files."""
        ...

    def close(self) -> None:
        """Remove everything temporary."""
        ...


class FolderFiles:
    """Files in a folder that all machines see under the same path."""

    def __init__(self, folder: Path, session: Any) -> None:
        self._folder = folder
        self._session = session
        self._numbers = itertools.count(1)

    def scan(self, found: SourceSurvey, files: Sequence[str], schema: Any, *, positions: bool) -> Any:
        from pyspark.sql import functions as sql

        # Recursive lookup keeps Spark from taking a folder's name for a partition column.
        stored = self._session.read.option("recursiveFileLookup", "true").parquet(*map(_escaped, files))
        if not positions:
            return stored
        return stored.select(
            "*",
            sql.regexp_extract("_metadata.file_path", "[^/]+/[^/]+$", 0).alias(PART),
            sql.col("_metadata.row_index").alias(ROW),
        )

    def store(self, frame: Any, schema: Any) -> list[str]:
        folder = self._folder / f"rows-{next(self._numbers)}"
        frame.write.parquet(str(folder))
        return [str(file) for file in _parts(folder)]

    def add(self, frame: Any, new: NewVersion) -> None:
        folder = new.workspace / f"rows-{next(self._numbers)}"
        frame.write.parquet(str(folder))
        for file in _parts(folder):
            if pq.read_metadata(file).num_rows:
                new.adopt(file)

    def move(self, files: Sequence[str], folder: Path) -> list[Path]:
        with disk_errors("write the file", folder):
            moved = [Path(shutil.move(file, folder / f"{uuid4().hex}.parquet")) for file in files]
        self.remove(files)
        return moved

    def remove(self, files: Sequence[str]) -> None:
        for folder in {Path(file).parent for file in files}:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: the folder belongs to the engine."""


class _Span(Struct, frozen=True):
    """Consecutive row groups of a file, and the number of their first row."""

    file: str
    first: int
    groups: int
    row: int


class StoreFiles:
    """Files in an object store: temporary ones in a folder of their own, which a later process removes after a kill."""

    def __init__(self, url: str, session: Any, spelled: Callable[[Any], str], module_path: Sequence[str]) -> None:
        """``spelled`` returns an Arrow schema as Spark writes it."""
        self._session = session
        self._spelled = spelled
        self._module_path = tuple(module_path)
        self._base = StorePath.of(url) / "spark"
        self._folder = self._base / uuid4().hex
        self._numbers = itertools.count(1)
        self._uploaded: dict[tuple[str, int, int], str] = {}
        self._sweep()
        self._folder.client.put((self._folder / _MARKER).key, b"")

    def __repr__(self) -> str:
        return f"StoreFiles({self._folder})"

    def scan(self, found: SourceSurvey, files: Sequence[str], schema: Any, *, positions: bool) -> Any:
        wanted = set(files)
        groups = [self._shared(each) for each in found.groups if each.file in wanted and each.rows]
        returned = pa.schema([*schema, (PART, pa.string()), (ROW, pa.int64())]) if positions else schema
        if not groups:
            return self._session.createDataFrame([], self._spelled(returned))
        tasks = self._session.sparkContext.defaultParallelism
        pieces = _pieces(groups, found.row_bytes, min(_MAX_PIECE, max(_MIN_PIECE, found.raw // (2 * tasks))))
        function = row_reader(pieces, schema, max(1, min(_MAX_BATCH, _BATCH_BYTES // (found.row_bytes + 1))), positions)
        numbers = self._session.range(0, len(pieces), 1, len(pieces))
        return numbers.mapInArrow(sent(function, self._module_path), self._spelled(returned))

    def store(self, frame: Any, schema: Any) -> list[str]:
        folder = self._folder / f"rows-{next(self._numbers)}"
        return [str(folder / part.name) for part in self._write(frame, schema, str(folder), "part")]

    def add(self, frame: Any, new: NewVersion) -> None:
        if new.is_local:
            for file in self.move(self.store(frame, new.schema), new.workspace):
                new.adopt(file)
        else:
            new.register(self._write(frame, new.schema, *new.reserve()))

    def move(self, files: Sequence[str], folder: Path) -> list[Path]:
        moved = []
        for file in files:
            path = StorePath.of(file)
            moved.append(folder / f"{uuid4().hex}.parquet")
            if not path.client.download(path.key, moved[-1]):
                raise UserError("a temporary file is missing", where=file, hint="Run this again.")
            self._remember(moved[-1], file)
        return moved

    def remove(self, files: Sequence[str]) -> None:
        self._folder.client.delete([StorePath.of(file).key for file in files])

    def close(self) -> None:
        with suppress(UserError):  # left to a later process
            self._folder.client.delete([*self._folder.client.tree(self._folder.key)])

    def _write(self, frame: Any, schema: Any, folder: str, name: str) -> list[StoredPart]:
        writer = sent(part_writer(folder, name, schema), self._module_path)
        rows = sorted(frame.mapInArrow(writer, _REPORT).collect(), key=lambda row: row[0])
        return [msgspec.msgpack.decode(bytes(row[1]), type=StoredPart) for row in rows]

    def _shared(self, group: RowGroup) -> RowGroup:
        """Return a row group in a file that executors can read; one of this machine is uploaded."""
        return msgspec.structs.replace(group, file=self._url_of(group.file))

    def _url_of(self, file: str) -> str:
        if "://" in file:
            return file
        path = Path(file)
        stat = path.stat()
        known = self._uploaded.get((file, stat.st_size, stat.st_mtime_ns))
        if known is None:
            # A row's position has the last two names.
            target = self._folder / f"here-{next(self._numbers)}" / path.parent.name / path.name
            target.client.upload(target.key, path)
            known = self._remember(path, str(target))
        return known

    def _remember(self, file: Path, url: str) -> str:
        stat = file.stat()
        self._uploaded[str(file), stat.st_size, stat.st_mtime_ns] = url
        return url

    def _sweep(self) -> None:
        """Remove what killed processes left."""
        client = self._base.client
        for name, size in client.entries(self._base.key).items():
            marker = client.get((self._base / name / _MARKER).key) if size is None else None
            if marker is not None and marker.age is not None and marker.age > _MAX_AGE:
                client.delete([*client.tree((self._base / name).key)])


def row_reader(pieces: Sequence[Sequence[_Span]], schema: Any, rows: int, positions: bool) -> Mapper:
    """Return a function that reads the pieces whose numbers it gets, in batches of ``rows`` rows."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for span in pieces[number]:
                    yield from _rows_of(span, schema, rows, positions)

    return read


def _rows_of(span: _Span, schema: Any, rows: int, positions: bool) -> Iterator[Any]:
    row = span.row
    with open_parquet(span.file) as file:
        groups = list(range(span.first, span.first + span.groups))
        for found in file.iter_batches(rows, row_groups=groups, columns=schema.names):
            batch = cast_batch(found.select(schema.names), schema)
            if positions:
                batch = batch.append_column(PART, pa.repeat(stored_name(span.file), len(batch)))
                batch = batch.append_column(ROW, pa.array(range(row, row + len(batch)), pa.int64()))
            row += len(batch)
            yield batch


def part_writer(folder: str, name: str, schema: Any) -> Mapper:
    """Return a function that writes the rows of a partition to one object in a folder, and reports it.

    The name of the object starts with ``name`` and the number of the partition.
    """

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        place = ObjectStorage(StorePath.of(folder))
        bounds: list[str] = []
        part: OpenPart | None = None
        try:
            for found in batches:
                if not found.num_rows:
                    continue
                batch = cast_batch(found, schema)
                if part is None:
                    # A repeated task gets another name.
                    part = OpenPart(place, f"{name}-{number:05d}-{uuid4().hex}.parquet", schema, {}, PartLimits())
                part.write(batch)
                if KEY in schema.names:
                    ends = pc.min_max(batch.column(schema.get_field_index(KEY))).as_py()
                    bounds = [min([*bounds, ends["min"]]), max([*bounds, ends["max"]])] if ends["min"] else bounds
            if part is not None:
                lowest, highest = bounds or (None, None)
                report = msgspec.structs.replace(part.finish(), lowest=lowest, highest=highest)
                yield pa.RecordBatch.from_pylist([{"part": number, "report": msgspec.msgpack.encode(report)}])
        finally:
            if part is not None:
                part.discard()
            place.close()

    return write


def _pieces(groups: Sequence[RowGroup], row_bytes: int, most: int) -> list[list[_Span]]:
    """Return row groups as pieces of about ``most`` bytes."""
    starts: dict[str, int] = {}
    pieces: list[list[_Span]] = []
    room = 0
    for group in groups:
        start = starts.get(group.file, 0)
        starts[group.file] = start + group.rows
        if room <= 0:
            pieces.append([])
            room = most
        room -= group.rows * (row_bytes + 1)
        last = pieces[-1][-1] if pieces[-1] else None
        if last is not None and last.file == group.file and last.first + last.groups == group.number:
            pieces[-1][-1] = msgspec.structs.replace(last, groups=last.groups + 1)
        else:
            pieces[-1].append(_Span(group.file, group.number, 1, start))
    return pieces


def _parts(folder: Path) -> list[Path]:
    """Return the files that Spark wrote, in row order."""
    return sorted(folder.glob("part-*.parquet"))


def _escaped(file: str) -> str:
    """Return a path with its wildcards escaped."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", file)
