"""The folder of an export: its plan, which shards are finished, and the manifest.

```
OUT/
  pages-00000.jsonl …   the shards
  manifest.json         counts, options, and size and digest of every file; written last
  .export/              while the export is unfinished
    plan.json           the options of the export
    selection.parquet   the selected pages
    pages/              their fields, sorted
    ready.json          the two are complete
    shards.jsonl        a line per finished shard
    drafts/             files that are being written
```
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec
from msgspec import Struct

from scoter.errors import UsageError, UserError, typed
from scoter.store.disk import Closing, check_utf8_path, disk_errors, make_folder, sync_folder, try_lock

MANIFEST = "manifest.json"
WORK = ".export"
FORMAT = "scoter-export"
_PLAN, _READY, _SHARDS, _DRAFTS, _LOCK = "plan.json", "ready.json", "shards.jsonl", "drafts", "LOCK"
_CHUNK = 2**20
MAX_NAMED = 100
"""Skipped pages that a manifest names."""


class ExportedFile(Struct, frozen=True, kw_only=True):
    """A file of an export."""

    name: str
    size: int
    sha256: str
    pages: int


class SkippedPage(Struct, frozen=True):
    """A page that could not be exported, and why."""

    url: str
    reason: str


class FinishedShard(Struct, frozen=True, kw_only=True):
    """What a shard holds."""

    number: int
    pages: int
    files: tuple[ExportedFile, ...] = ()
    skipped: int = 0
    named: tuple[SkippedPage, ...] = ()
    counts: Mapping[str, int] = {}


class ExportPlan(Struct, frozen=True, kw_only=True):
    """What an export was started with."""

    options: Mapping[str, Any]
    created: datetime
    scoter: str


class ExportManifest(Struct, frozen=True, kw_only=True):
    """The content of ``manifest.json``; ``counts`` has the numbers that only some formats have."""

    type: str
    scoter: str
    created: datetime
    options: Mapping[str, Any]
    pages: int
    bytes: int
    skipped: int
    skipped_pages: tuple[SkippedPage, ...]
    counts: Mapping[str, Any]
    files: tuple[ExportedFile, ...]


class ExportFolder(Closing):
    """An export on disk, open for one process."""

    def __init__(self, path: Path, plan: ExportPlan, manifest: ExportManifest | None) -> None:
        self.path = path
        self.plan = plan
        self.manifest = manifest
        self.work = path / WORK
        self.drafts = self.work / _DRAFTS
        self._lock = -1

    @classmethod
    def open(cls, path: Path, plan: ExportPlan) -> Self:
        """Open the folder of a new export, or of one that was started with the same options."""
        check_utf8_path(path)
        with disk_errors("open the folder of the export", path):
            if path.exists() and not path.is_dir():
                raise UsageError(
                    "is not a directory", where=str(path), hint="Name a directory that does not exist yet."
                )
            manifest = _decoded(path / MANIFEST, ExportManifest)
            if manifest is not None and manifest.type == FORMAT:
                _check_same(path, manifest.options, plan.options)
                shutil.rmtree(path / WORK, ignore_errors=True)  # left by a process that was killed at its very end
                return cls(path, plan, manifest)
            if path.exists() and {each.name for each in path.iterdir()} - {WORK} and not (path / WORK / _PLAN).exists():
                hint = "Name a directory that does not exist yet, or one that an export was written to."
                raise UsageError("not empty, and not an export", where=str(path), hint=hint)
            opened = cls(path, plan, None)
            make_folder(opened.work)
            opened._hold()
            try:
                opened._continue_or_begin()
            except BaseException:
                opened.close()
                raise
        return opened

    def _continue_or_begin(self) -> None:
        known = _decoded(self.work / _PLAN, ExportPlan)
        if self.ready() is None:
            self._clear()
            self._store(_PLAN, self.plan)
        else:
            _check_same(self.path, known.options, self.plan.options)
            self.plan = known
        shutil.rmtree(self.drafts, ignore_errors=True)
        self.drafts.mkdir()

    def discard(self) -> None:
        """Remove an export that has no shards yet."""
        if not self.finished():
            shutil.rmtree(self.work, ignore_errors=True)
            with suppress(OSError):  # it is not empty
                self.path.rmdir()

    def _clear(self) -> None:
        for each in self.work.iterdir():
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            elif each.name != _LOCK:
                each.unlink()

    def _hold(self) -> None:
        self._lock = os.open(self.work / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
        if not try_lock(self._lock):
            self.close()
            raise UsageError("another process is writing this export", where=str(self.path), hint="Wait until it ends.")

    def close(self) -> None:
        handle, self._lock = self._lock, -1
        if handle >= 0:
            os.close(handle)

    def ready(self) -> Mapping[str, Any] | None:
        """Return what was recorded when the rows were complete, or ``None``."""
        found: Mapping[str, Any] | None = _decoded(self.work / _READY, dict)
        return found

    def set_ready(self, facts: Mapping[str, Any]) -> None:
        """Record that the rows of the export are complete."""
        self._store(_READY, facts)

    def finished(self) -> list[FinishedShard]:
        """Return the finished shards."""
        file = self.work / _SHARDS
        with disk_errors("read the state of the export", file):
            lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
        found = []
        for line in lines:
            if not line.endswith(b"\n"):  # the process was killed while it wrote the line
                break
            try:
                found.append(msgspec.json.decode(line, type=FinishedShard))
            except msgspec.DecodeError as failure:
                raise UserError(f"the file is damaged: {failure}", where=str(file)) from failure
        if sum(map(len, lines)) > (size := sum(map(len, lines[: len(found)]))):
            os.truncate(file, size)
        return found

    def add(self, shard: FinishedShard) -> None:
        """Record a finished shard, durably."""
        file = self.work / _SHARDS
        with disk_errors("write the state of the export", file), file.open("ab") as out:
            out.write(msgspec.json.encode(shard) + b"\n")
            out.flush()
            os.fsync(out.fileno())

    def finish(
        self, shards: list[FinishedShard], more: tuple[ExportedFile, ...], counts: Mapping[str, Any]
    ) -> ExportManifest:
        """Write the manifest, which makes the export complete, and remove the temporary files."""
        files = (*(file for shard in shards for file in shard.files), *more)
        named = tuple(page for shard in shards for page in shard.named)
        summed: dict[str, Any] = {**counts}
        for shard in shards:
            for name, number in shard.counts.items():
                summed[name] = summed.get(name, 0) + number
        made = ExportManifest(
            type=FORMAT,
            scoter=self.plan.scoter,
            created=self.plan.created,
            options=self.plan.options,
            pages=sum(shard.pages for shard in shards),
            bytes=sum(file.size for file in files),
            skipped=sum(shard.skipped for shard in shards),
            skipped_pages=named[:MAX_NAMED],
            counts=summed,
            files=files,
        )
        text = msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"
        draft = self.drafts / MANIFEST
        with disk_errors("write the manifest", self.path):
            _write_durably(draft, text)
            draft.replace(self.path / MANIFEST)
            sync_folder(self.path)
            shutil.rmtree(self.work, ignore_errors=True)
        return made

    @contextmanager
    def new_file(self, name: str) -> Iterator[HashedFile]:
        """Write a file that gets its name when it is complete; a name may contain folders."""
        target, draft = self.path / name, self.drafts / "file"
        with disk_errors("write the export", target):
            with draft.open("wb") as out:
                hashed = HashedFile(out)
                yield hashed
                out.flush()
                os.fsync(out.fileno())
            self.adopt(draft, name)

    def adopt(self, draft: Path, name: str) -> None:
        """Give a complete draft its name."""
        target = self.path / name
        with disk_errors("write the export", target):
            make_folder(target.parent)
            draft.replace(target)
            sync_folder(target.parent)

    def _store(self, name: str, content: Any) -> None:
        draft = self.work / f"{name}.new"
        with disk_errors("write the state of the export", draft):
            _write_durably(draft, msgspec.json.encode(content) + b"\n")
            draft.replace(self.work / name)
            sync_folder(self.work)


class HashedFile:
    """A file that knows the size and digest of what was written to it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._digest = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        """Write bytes."""
        self._out.write(data)
        self._digest.update(data)
        number = memoryview(data).nbytes
        self.size += number
        return number

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._out.flush()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """Do nothing: the owner of the file closes it."""

    def described(self, name: str, pages: int) -> ExportedFile:
        """Return the description of the file for the manifest."""
        return ExportedFile(name=name, size=self.size, sha256=self._digest.hexdigest(), pages=pages)


def described_file(path: Path, name: str, pages: int) -> ExportedFile:
    """Return the description of a file on disk for the manifest."""
    with disk_errors("read the export", path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.seek(0, os.SEEK_END)
    return ExportedFile(name=name, size=size, sha256=digest, pages=pages)


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _decoded(file: Path, kind: Any) -> Any:
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except msgspec.DecodeError as failure:
        if kind is ExportManifest:
            return None  # the manifest of something else
        raise UserError(f"the file is damaged: {failure}", where=str(file)) from failure


def _check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in (*now, *before):
        if before.get(name) != now.get(name):
            shown = f"{name} was {_shown(before.get(name))}, not {_shown(now.get(name))}"
            hint = f"Use the same options to continue it, another directory, or delete it: rm -r {typed(path)}"
            raise UsageError(f"holds an export with other options: {shown}", where=str(path), hint=hint)


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
