"""The parts of a segment: each is written under a working name, and counts once it gets its final name.

``seal`` and ``publish`` are separate steps, so that a part can be published together with its archive.
"""

from __future__ import annotations

import os
import re
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scoter.errors import UsageError, UserError
from scoter.plugins import Column
from scoter.store.disk import disk_errors, try_lock
from scoter.store.tables.local import LocalStorage, storage_at
from scoter.store.tables.parquet import BATCH_ROWS, OpenPart, PartLimits, batches, count_rows, dataset_of
from scoter.store.tables.schema import defaults_of, with_columns
from scoter.store.tables.storage import TableStorage
from scoter.store.tables.versions import OPEN, PARQUET, part_name

_NUMBERED = re.compile(rf"part-(\d+)(?:-[0-9a-f]+)?{re.escape(PARQUET)}(?:{re.escape(OPEN)})?")


class PartSet:
    """A folder of finished parts, written by any number of processes and read as one."""

    def __init__(
        self,
        folder: str | Path | TableStorage,
        schema: Any,
        *,
        extra: Sequence[Column] = (),
        bounds: PartLimits | None = None,
        bulky: Collection[str] = (),
        valid: Callable[[list[str]], list[str]] = lambda parts: parts,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """``bulky`` columns hold long distinct texts: they get no dictionary and no statistics.

        ``valid`` returns which of the finished parts belong to the set; by default, all do.
        """
        self._bulky = tuple(bulky)
        self._valid = valid
        self.schema = with_columns(schema, extra)
        self._place = storage_at(folder, options)
        self.defaults = defaults_of(extra)
        self._bounds = bounds or PartLimits()

    def __repr__(self) -> str:
        return f"PartSet({self._place.location()})"

    def part(self, name: str = "") -> OpenPart:
        """Open a part with the given name (``part-00001``) or the next free number."""
        self._place.make()
        if name:
            return self._open(name + PARQUET)
        number = max(self._numbers(), default=0)
        if not isinstance(self._place, LocalStorage):
            # Drafts on other machines are invisible, so a number alone might be used twice.
            return self._open(f"part-{number + 1:05d}-{secrets.token_hex(4)}{PARQUET}")
        while True:
            number += 1
            try:
                return self._open(part_name(number))
            except UsageError as failure:
                # Another process was faster and has this number; the next one may be free.
                if not isinstance(failure.__cause__, FileExistsError):
                    raise

    def finished(self) -> list[str]:
        """Return the names of the finished parts, in order."""
        return self._valid(sorted(name for name in self._place.entries() or () if name.endswith(PARQUET)))

    @property
    def files(self) -> tuple[str, ...]:
        """The paths or URLs of the finished parts, for engines that read them directly."""
        return tuple(map(self.location, self.finished()))

    def location(self, name: str) -> str:
        """Return the path or URL of a part."""
        return self._place.location(name)

    def recover(self) -> list[str]:
        """Remove unfinished parts that killed processes left, and return their names; those being written stay."""
        if not isinstance(self._place, LocalStorage):
            return []  # drafts of a remote set are on the machine that wrote them
        left = sorted(name for name in self._place.entries() or () if name.endswith(PARQUET + OPEN))
        return [name for name in left if _remove_if_left(self._place.root / name)]

    def dataset(self) -> Any:
        """Return all finished parts as one Arrow dataset of the wanted columns."""
        files = [(name, self._stored(name)) for name in self.finished()]
        return dataset_of(self._place, files, self.schema, self.defaults)

    def scan(self, columns: Sequence[str] | None = None, where: Any = None) -> Iterator[Any]:
        """Yield record batches of some columns, of the rows that pass a filter (an Arrow expression)."""
        return batches(self.dataset(), columns, where, self._explain)

    def count(self, where: Any = None) -> int:
        """Return the number of rows in finished parts, or of those that pass a filter."""
        return count_rows(self.dataset(), where, self._explain)

    def close(self) -> None:
        """Remove unfinished drafts of this process that are stored elsewhere."""
        self._place.close()

    def _open(self, name: str) -> OpenPart:
        part = OpenPart(self._place, name, self.schema, self.defaults, self._bounds, self._bulky)
        # Checked once the draft is ours: another writer of this name may have finished in between.
        if not self._place.refuses_names and name in (self._place.entries() or ()):
            part.discard()
            taken = UsageError("a part of this name already exists", where=self._place.location(name))
            raise taken from FileExistsError(name)
        return part

    def _numbers(self) -> Iterator[int]:
        for name in self._place.entries() or ():
            if found := _NUMBERED.fullmatch(name):
                yield int(found[1])

    def _stored(self, name: str) -> Any:
        try:
            return pq.read_schema(self._place.arrow_path(name), filesystem=self._place.filesystem)
        except (OSError, pa.ArrowException) as failure:
            raise self._damaged(name, failure) from failure

    def _explain(self, failure: Exception) -> UserError:
        for name in self.finished():
            try:
                with pq.ParquetFile(self._place.arrow_path(name), filesystem=self._place.filesystem) as file:
                    deque(file.iter_batches(BATCH_ROWS), maxlen=0)
            except (OSError, pa.ArrowException) as found:
                return self._damaged(name, found)
        return UserError(f"cannot read the parts: {failure}", where=self._place.location())

    def _damaged(self, name: str, failure: Exception) -> UserError:
        text = str(failure).partition("\n")[0]
        hint = "Remove it; its content is fetched or parsed again."
        return UserError(f"the file is damaged: {text}", where=self._place.location(name), hint=hint)


def _remove_if_left(path: Path) -> bool:
    with disk_errors("remove the unfinished part", path):
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False  # finished in between
        try:
            if not try_lock(handle):
                return False
            # Its writer may have finished meanwhile: then this descriptor belongs to the finished part.
            same = path.exists() and os.fstat(handle).st_ino == path.stat().st_ino
            if same:
                path.unlink()
            return same
        finally:
            os.close(handle)
