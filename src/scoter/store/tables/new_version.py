"""Writing a new version of a table.

Everything is written to the folder of the new version, which no reader opens; then its manifest; and last ``CURRENT``,
which makes it the current version. A kill before that leaves the table as it was, a kill after it changes nothing.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from scoter.errors import Defect, UsageError, UserError
from scoter.plugins import Column
from scoter.store.disk import disk_errors
from scoter.store.objects.client import is_url
from scoter.store.tables.local import storage_at
from scoter.store.tables.parquet import OpenPart, PartLimits, PartWriter, checksum, key_range
from scoter.store.tables.replaced import count_positions
from scoter.store.tables.schema import defaults_of, missing, with_columns
from scoter.store.tables.storage import Holder, StorageLock, TableStorage, this_process
from scoter.store.tables.versions import (
    CURRENT,
    FORMAT,
    KEEP,
    LOCK,
    MANIFEST,
    PLAIN_FORMAT,
    REPLACED,
    Manifest,
    ReplacedRows,
    StoredPart,
    current_manifest,
    current_version,
    encode,
    no_table,
    part_name,
    refuse_foreign,
    stored_columns,
    sweep,
    version_name,
)

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class NewVersion:
    """The result of ``Table.write``: accepts parts, and becomes the current version on commit."""

    def __init__(
        self,
        path: str | Path | TableStorage,
        schema: Any,
        *,
        extra: Sequence[Column] = (),
        writer: str = "",
        keep: int = KEEP,
        bounds: PartLimits | None = None,
        clock: Clock = utc_now,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if keep < 1:
            raise Defect(f"a table keeps at least one version before the current one, not {keep}")
        self.schema = with_columns(schema, extra)
        self.previous: Manifest | None = None
        self.version = 0
        self._place = storage_at(path, options)
        self._extra = tuple(extra)
        self._defaults = defaults_of(extra)
        self._writer = writer
        self._keep = keep
        self._bounds = bounds or PartLimits()
        self._clock = clock
        self._lock: StorageLock | None = None
        self._numbers = itertools.count(1)
        self._parts: dict[str, StoredPart] = {}
        self._shared: dict[str, StoredPart] = {}
        self._replaced: list[ReplacedRows] = []
        self.adds_delta = False
        """Whether the files adopted from now on are delta parts."""
        self._writing: set[PartWriter] = set()
        self._workspace: Path | None = None
        self._has_guests = False
        """Whether other machines may have written files to the version's folder."""
        self._announced = self._committed = False

    def __repr__(self) -> str:
        state = "committed" if self._committed else "open" if self._lock else "closed"
        return f"NewVersion({self._place.location(self.name)}, {len(self._parts)} parts, {state})"

    @property
    def name(self) -> str:
        """The version's folder."""
        return version_name(self.version)

    def __enter__(self) -> Self:
        # Checked first: a folder that is not a table is not even locked.
        refuse_foreign(self._place)
        self._place.make()
        self._lock = self._place.lock(LOCK, this_process(self._writer, self._clock()), guards=(CURRENT,))
        try:
            self.previous = current_manifest(self._place)
            _, highest = sweep(self._place, self.previous, self._keep, check_lock=self._check_lock)
            # Numbers are never reused, so that a name never changes its meaning.
            self.version = max(highest, self.previous.version if self.previous else 0) + 1
            self._place.make(self.name)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for writer in tuple(self._writing):
                writer.discard()
            if not self._committed:
                self._roll_back()
        finally:
            self._end()

    @property
    def added(self) -> tuple[str, ...]:
        """The paths or URLs of the files that this version has added so far."""
        return tuple(map(self._place.location, sorted(self._parts)))

    def part(self) -> PartWriter:
        """Return a writer of record batches; several may be used in parallel, each by one thread at a time."""
        self._check_open()
        made = PartWriter(
            lambda: OpenPart(self._place, self._new_name(), self.schema, self._defaults, self._bounds),
            self._bounds.part_bytes,
            finished=self._parts.__setitem__,
            closed=self._writing.discard,
        )
        self._writing.add(made)
        return made

    @property
    def workspace(self) -> Path:
        """A local folder in which other processes can write files for ``adopt``."""
        self._check_open()
        if self._workspace is None:
            self._workspace = self._place.draft(f"{self.name}/workspace")
            with disk_errors("create the folder", self._workspace):
                self._workspace.mkdir(parents=True, exist_ok=True)
        return self._workspace

    def adopt(self, file: str | Path) -> StoredPart:
        """Add a finished Parquet file, from any writer, to this version; the file is moved."""
        self._check_open()
        path = Path(file)
        with disk_errors("read the file", path), path.open("rb") as opened:
            try:
                found = pq.ParquetFile(opened)
                rows, stored = found.metadata.num_rows, found.schema_arrow
                lowest, highest = key_range(found)
            except pa.ArrowException as failure:
                raise UserError(f"this is not a complete Parquet file: {failure}", where=str(path)) from None
            absent = missing(stored, self.schema, self._defaults, str(path))
            if absent:
                raise UsageError(f"the column {min(absent)} is missing", where=str(path))
            opened.seek(0)
            digest = checksum(opened)
            size = opened.tell()
        name = self._new_name()
        self._place.finish(name, path)
        part = StoredPart(name.rsplit("/", 1)[-1], size, rows, digest, lowest, highest, self.adds_delta)
        self._parts[name] = part
        return part

    @property
    def is_local(self) -> bool:
        """Whether the version is in a folder of this machine."""
        return not is_url(self._place.location())

    def reserve(self) -> tuple[str, str]:
        """Return the URL of the version's folder, and how the names of files must start that other machines add to it.

        What is not registered before the commit is removed then.
        """
        self._check_open()
        self._has_guests = True
        return self._place.location(self.name), part_name(next(self._numbers)).partition(".")[0]

    def register(self, parts: Iterable[StoredPart]) -> None:
        """Add files that other machines wrote to the version's folder, with all columns of the table."""
        self._check_open()
        for part in parts:
            self._parts[f"{self.name}/{part.name}"] = replace(part, is_delta=self.adds_delta)

    def extend(self, version: int) -> None:
        """Start with the parts of the previous version, which stay where they are; further ones are delta parts.

        ``version`` is the version that the new rows were made from, and must still be the current one.
        """
        self._check_open()
        before = self.previous
        if before is None or before.version != version:
            hint = "Nothing was changed. Run this again."
            raise UsageError("another process has changed the table meanwhile", where=self._place.location(), hint=hint)
        if before.columns != stored_columns(self.schema):
            raise Defect(f"{self._place.location(self.name)} has other columns than the version before")
        self._share(before.parts)
        self._replaced = [replace(each, name=before.path(each)) for each in before.replaced]
        self.adds_delta = True

    def replace_rows(self, file: Path) -> int:
        """Leave out rows of shared parts, whose positions are in a file; return their number. The file is moved."""
        self._check_open()
        counts = count_positions(file)
        for path, rows in counts.items():
            part = self._shared.get(path)
            if part is None or part.replaced + rows > part.rows:
                raise Defect(f"positions of {rows} rows of {path}, which has fewer")
            self._shared[path] = replace(part, replaced=part.replaced + rows)
        if counts:
            self._add_positions(file, sum(counts.values()), tuple(sorted(counts)))
        return sum(counts.values())

    def drop(self, paths: Collection[str]) -> None:
        """Leave out shared parts."""
        for path in paths:
            del self._shared[path]

    def merge_positions(self, file: Path) -> None:
        """Replace all files of positions by one that has the same content for the parts that remain."""
        self._check_open()
        counts = count_positions(file)
        if counts != {path: part.replaced for path, part in self._shared.items() if part.replaced}:
            raise Defect("the merged positions differ from the replaced rows")
        self._replaced = []
        if counts:
            self._add_positions(file, sum(counts.values()), tuple(sorted(counts)))

    def _add_positions(self, file: Path, rows: int, parts: tuple[str, ...]) -> None:
        with disk_errors("read the file", file), file.open("rb") as opened:
            digest = checksum(opened)
            size = opened.tell()
        name = f"{self.name}/{REPLACED}/{part_name(next(self._numbers))}"
        self._place.finish(name, file)
        self._replaced.append(ReplacedRows(name, size, rows, digest, parts))

    def keep(self, files: Sequence[str], parts: Sequence[StoredPart]) -> None:
        """Add the files of the previous version without copying or reading them.

        On a disk the files get another name, by hard links if possible; in an object store they stay where they are.
        """
        if not self._place.lasting_names:
            self._share(parts)
            return
        for file, part in zip(files, parts, strict=True):
            kept = self.workspace / "kept.parquet"
            with disk_errors("keep the file", Path(file)):
                try:
                    os.link(file, kept)
                except OSError:
                    shutil.copyfile(file, kept)
            name = self._new_name()
            self._place.finish(name, kept)
            self._parts[name] = StoredPart(name.rsplit("/", 1)[-1], part.size, part.rows, part.xxh3_128)

    def _share(self, parts: Sequence[StoredPart]) -> None:
        self._check_open()
        before = self.previous
        if before is None or set(parts) - set(before.parts):
            raise Defect(f"{self._place.location(self.name)} keeps parts that the version before does not have")
        self._shared |= {before.path(part): replace(part, name=before.path(part)) for part in parts}

    def commit(
        self,
        applied: Collection[str] = (),
        *,
        forget: Collection[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> Manifest:
        """Make this version current, and return its manifest.

        ``applied`` names the newly applied segments; those in ``forget`` are no longer listed. A segment cannot be
        applied twice. ``properties`` are recorded with the version.
        """
        self._check_open()
        if self._writing:
            raise Defect(f"{self._place.location(self.name)} is committed while a part of it is being written")
        if isinstance(applied, str) or isinstance(forget, str):
            raise Defect("segments are given as a list of names, not as one name")
        known = self.previous.applied if self.previous else ()
        twice = sorted(set(applied) & set(known))
        if twice:
            raise UsageError(f"the segment {twice[0]} was already applied", where=self._place.location())
        shared = {path: part for path, part in self._shared.items() if part.replaced < part.rows}
        if not self._parts and not shared:
            self._write_empty()
        parts = (*shared.values(), *(self._parts[name] for name in sorted(self._parts)))
        positions = tuple(each for each in self._replaced if not shared.keys().isdisjoint(each.parts))
        manifest = Manifest(
            format=FORMAT if shared else PLAIN_FORMAT,
            version=self.version,
            previous=self.previous.version if self.previous else None,
            created=self._clock(),
            writer=self._writer,
            rows=sum(part.rows - part.replaced for part in parts),
            columns=stored_columns(self.schema),
            plugin_columns=self._extra,
            applied=tuple(sorted({*known, *applied} - set(forget))),
            parts=parts,
            properties=properties or {},
            replaced=positions,
        )
        self._remove_workspace()
        self._remove_unregistered()
        self._announce(manifest)
        with suppress(UserError):  # the version is current by now; the next writer removes the rest
            sweep(self._place, manifest, self._keep, check_lock=self._check_lock)
        return manifest

    def _announce(self, manifest: Manifest) -> None:
        self._place.replace(f"{self.name}/{MANIFEST}", encode(manifest))
        self._place.sync()  # sync the folder's name before anything refers to it
        self._check_lock()
        self._announced = True
        self._place.replace(CURRENT, f"{self.name}\n".encode())
        self._committed = True

    def _remove_unregistered(self) -> None:
        """Remove files of failed or repeated tasks of other machines: tools that read the folder would see them."""
        if self._has_guests:
            for name in self._place.entries(self.name) or {}:
                path = f"{self.name}/{name}"
                if name.endswith(".parquet") and path not in self._parts:
                    self._place.remove(path)

    def _new_name(self) -> str:
        return f"{self.name}/{part_name(next(self._numbers))}"

    def _write_empty(self) -> None:
        # Other tools cannot open a table without files; an empty one gives them the columns.
        with self.part() as part:
            part.write(pa.RecordBatch.from_pylist([], schema=self.schema))

    def _roll_back(self) -> None:
        """Remove what was written, unless it became current or still may."""
        self._remove_workspace()
        if self._announced and not self._place.lasting_names:
            return  # the store may still execute the unanswered request; the next writer cleans up
        if current_version(self._place) != self.version:
            self._place.remove(self.name)

    def _remove_workspace(self) -> None:
        if self._workspace is not None:
            shutil.rmtree(self._workspace, ignore_errors=True)
            self._workspace = None

    def _check_lock(self) -> None:
        if self._lock is not None:
            self._lock.check()

    def _check_open(self) -> None:
        if self._lock is None or self._committed:
            raise Defect(f"{self!r} is not open for writing")

    def _end(self) -> None:
        lock, self._lock = self._lock, None
        try:
            if lock is not None:
                lock.release()
        finally:
            self._place.close()


def clean(path: str | Path | TableStorage, *, keep: int = KEEP, options: Mapping[str, Any] | None = None) -> list[str]:
    """Remove stray and outdated versions of a table, and return their names.

    Never removes the current version, the ``keep`` before it, or one that is open on this machine.
    """
    place = storage_at(path, options)
    if current_version(place) is None:
        raise no_table(place)
    lock = place.lock(LOCK, this_process("clean", utc_now()))
    try:
        removed, _ = sweep(place, current_manifest(place), keep, check_lock=lock.check)
        return removed
    finally:
        lock.release()


def break_lock(path: str | Path | TableStorage, *, options: Mapping[str, Any] | None = None) -> Holder | None:
    """Remove the lock that a killed writer left in an object store, and return its holder.

    If that writer is still alive, it notices before it makes its version current, and gives up.
    """
    return storage_at(path, options).break_lock(LOCK)
