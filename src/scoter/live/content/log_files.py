"""The files of the log.

```
log/
  EXPORTED                                                the number of the last exported event
  2026-11-05/
    07-1-000000000001-000000001200.parquet                a finished hour
    08-1-000000001201-000000001300.parquet.part           a part of the current hour
```

A name contains the hour (in UTC), the generation, and the numbers of the first and last event in the file. A file
appears by a rename, and its name says which events need not be exported again, so a crash never exports an event
twice. When an hour is over its parts are merged into one file. Parts that a crash leaves behind are within the range
of that file, and are ignored. A new generation begins with another database, whose events are numbered differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scoter.errors import UserError
from scoter.live.content.log_rows import LOG
from scoter.store.disk import disk_errors, make_folder, sync_file, sync_folder

PART: Final = ".part"
OPEN: Final = ".open"
STATE: Final = "EXPORTED"
HOUR: Final = timedelta(hours=1)
_SUFFIX: Final = ".parquet"
_NAME: Final = re.compile(r"(\d\d)-(\d+)-(\d+)-(\d+)\.parquet(\.part)?")
_ROWS: Final = 5_000  # rows per row group, which a merge keeps in memory: about 20 MB


class LogState(msgspec.Struct, frozen=True):
    """The last exported event."""

    generation: int = 1
    number: int = 0


class LogFile(msgspec.Struct, frozen=True):
    """A file of the log."""

    hour: datetime
    generation: int
    first: int
    last: int
    is_part: bool

    def path(self, folder: Path) -> Path:
        """Return its path in the folder of the log."""
        numbers = f"{self.generation}-{self.first:012d}-{self.last:012d}"
        name = f"{self.hour:%H}-{numbers}{_SUFFIX}{PART * self.is_part}"
        return folder / f"{self.hour:%Y-%m-%d}" / name


def pieces(folder: Path) -> list[LogFile]:
    """Return the files of the log in order, without parts that have been merged."""
    found = sorted(_all(folder), key=lambda piece: (piece.hour, piece.generation, piece.first, piece.is_part))
    whole: dict[tuple[datetime, int], list[LogFile]] = {}
    for piece in found:
        if not piece.is_part:
            whole.setdefault((piece.hour, piece.generation), []).append(piece)
    return [
        piece
        for piece in found
        if not (piece.is_part and _is_within(piece, whole.get((piece.hour, piece.generation), ())))
    ]


def tidy(folder: Path) -> None:
    """Remove what a crash left: unfinished files, and parts that have been merged."""
    with disk_errors("tidy the log", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for draft in (*folder.glob(f"*{OPEN}"), *folder.glob(f"*/*{OPEN}")):
            draft.unlink(missing_ok=True)
        counted = set(pieces(folder))
        for piece in _all(folder):
            if piece not in counted:
                piece.path(folder).unlink(missing_ok=True)


def read_state(folder: Path) -> LogState:
    """Return the last exported event according to the state file and the names of the files."""
    path = folder / STATE
    try:
        with disk_errors("read the log's state", path):
            noted = msgspec.json.decode(path.read_bytes(), type=LogState) if path.exists() else LogState()
    except msgspec.DecodeError as error:
        hint = "Remove the file: Scoter can derive it from the names of the log files."
        raise UserError(f"the file is damaged: {error}", where=str(path), hint=hint) from error
    found = (LogState(piece.generation, piece.last) for piece in _all(folder))
    return max((noted, *found), key=lambda each: (each.generation, each.number))


def write_state(folder: Path, state: LogState) -> None:
    """Store the last exported event."""
    path = folder / STATE
    with _replacing(path) as draft:
        draft.write_bytes(msgspec.json.encode(state) + b"\n")


def write_part(folder: Path, piece: LogFile, tables: Sequence[Any]) -> None:
    """Write rows to a new file, which appears once it is durable."""
    with _replacing(piece.path(folder)) as draft:
        pq.write_table(pa.concat_tables(tables), draft, compression="zstd")


def merge(folder: Path, parts: Sequence[LogFile]) -> LogFile:
    """Merge the parts of an hour into one file; the caller removes the parts later, since they may be in use."""
    first, last = parts[0], parts[-1]
    whole = LogFile(first.hour, first.generation, first.first, last.last, is_part=False)
    with (
        _replacing(whole.path(folder)) as draft,
        pq.ParquetWriter(draft, LOG, compression="zstd", write_page_index=True) as writer,
    ):
        for group in _grouped(_read(part.path(folder)) for part in parts):
            writer.write_table(group, row_group_size=_ROWS)
    return whole


def older(folder: Path, before: datetime) -> list[LogFile]:
    """Return all files of hours that ended before a time, merged parts included."""
    return [piece for piece in _all(folder) if piece.hour + HOUR <= before]


def remove(folder: Path, gone: Iterable[LogFile]) -> None:
    """Remove files, and folders of days that are empty afterwards."""
    with disk_errors("remove files of the log", folder):
        for piece in gone:
            path = piece.path(folder)
            path.unlink(missing_ok=True)
            with suppress(OSError):  # other hours of the day are still there
                path.parent.rmdir()


def hour_of(moment: datetime) -> datetime:
    """Return the start of the hour of a time.

    >>> hour_of(datetime(2026, 11, 5, 7, 8, 9, tzinfo=UTC))
    datetime.datetime(2026, 11, 5, 7, 0, tzinfo=datetime.timezone.utc)
    """
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _all(folder: Path) -> Iterator[LogFile]:
    with disk_errors("list the log", folder):
        names = [(path.parent.name, path.name) for path in folder.glob(f"*/*{_SUFFIX}*")]
    for day, name in names:
        found = _NAME.fullmatch(name)
        if found is None:
            continue
        hour, generation, first, last, part = found.groups()
        try:
            begun = datetime.strptime(f"{day} {hour}", "%Y-%m-%d %H").replace(tzinfo=UTC)
        except ValueError:
            continue
        yield LogFile(begun, int(generation), int(first), int(last), part is not None)


def _is_within(piece: LogFile, whole: Iterable[LogFile]) -> bool:
    return any(each.first <= piece.first and piece.last <= each.last for each in whole)


def _read(path: Path) -> Any:
    """Return a part with the current columns, even if an older version wrote it."""
    try:
        with disk_errors("read the log", path):
            table = pq.ParquetFile(path, pre_buffer=False).read(use_threads=False)  # each thread would take memory
    except pa.ArrowInvalid as error:
        raise UserError(f"the file is damaged: {error}", where=str(path)) from error
    if table.schema.equals(LOG):
        return table
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in LOG
    ]
    return pa.Table.from_arrays(columns, schema=LOG)


def _grouped(tables: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= _ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a draft, which replaces ``path`` once it is durable."""
    draft = path.with_name(path.name + OPEN)
    with disk_errors("write the log", path):
        try:
            make_folder(path.parent)
            yield draft
            sync_file(draft)
            draft.replace(path)
            sync_folder(path.parent)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
