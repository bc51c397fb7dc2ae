"""Disk errors a person can act on, durable renames, file locks and temporary folders."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from scoter.errors import UsageError, UserError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LOCK_NAME = "HELD"


@contextmanager
def disk_errors(doing: str, path: object) -> Iterator[None]:
    """Raise an ``OSError`` as a message that says what could not be done, and where."""
    try:
        yield
    except OSError as failure:
        raise disk_error(doing, path, failure) from failure


def disk_error(doing: str, path: object, failure: OSError) -> UserError:
    """Return the error for a disk failure; a full disk is not a wrong argument of the caller."""
    message = f"cannot {doing}: {failure.strerror or failure}"
    if failure.errno in _FULL:
        hint = "Make room on the disk; what was written before is intact."
        return UserError(message, where=str(path), hint=hint)
    hint = ""
    if failure.errno == errno.EACCES:
        hint = f"This runs as user {os.geteuid()}, group {os.getegid()}: give one of them access."
    return UsageError(message, where=str(path), hint=hint)


def check_utf8_path(folder: str | Path) -> None:
    """Raise if the absolute path of a folder is not valid UTF-8: engines and libraries accept nothing else."""
    try:
        str(Path(folder).absolute()).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "the path of a directory must be UTF-8",
            where=str(folder),
            hint="Rename the directory or its parent, or choose another one.",
        ) from error


def sync_file(path: Path) -> None:
    """Make the content of a file survive a power failure."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make new and changed names in a folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems do not support it, and there is no alternative
            os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Make all files and folders below a folder survive a power failure, whoever wrote them."""
    for path, _, files in os.walk(folder):
        for name in files:
            sync_file(Path(path, name))
        sync_folder(Path(path))


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its missing parents, so that their names survive a power failure."""
    new = [each for each in folder.parents if not each.exists()]
    folder.mkdir(mode, parents=True, exist_ok=True)
    for each in (folder, *new):
        sync_folder(each.parent)


def try_lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file for this process; return ``False`` if another one holds it."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: the operator ensures that there is only one writer
        return True
    return True


class Closing:
    """A resource that is closed at the end of a ``with`` block."""

    def close(self) -> None:
        """Release what the resource holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Scratch(Closing):
    """A temporary folder, removed on ``close``. A lock in it distinguishes it from those that killed processes left."""

    def __init__(self, inside: Path, prefix: str) -> None:
        with disk_errors("create a folder for temporary files", inside):
            inside.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=inside))
            self._handle = os.open(self.path / _LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
        try_lock(self._handle)

    def __repr__(self) -> str:
        return f"Scratch({self.path})"

    def close(self) -> None:
        """Remove the folder and its content."""
        shutil.rmtree(self.path, ignore_errors=True)
        handle, self._handle = self._handle, -1  # close it only once: the descriptor may soon be reused
        if handle >= 0:
            os.close(handle)


def scratch_of_reader(inside: Path, prefix: str) -> Scratch:
    """Return a temporary folder for a reader: in the system's temporary folder if ``inside`` is not writable."""
    try:
        return Scratch(inside, prefix)
    except UserError:
        return Scratch(Path(tempfile.gettempdir()), f"scoter-{prefix}")


def sweep(inside: Path) -> list[str]:
    """Remove the folders that killed processes left, and return their names; those in use stay."""
    removed = []
    for folder in sorted(inside.iterdir()) if inside.is_dir() else ():
        if not _is_held(folder):
            _remove(folder)
            removed.append(folder.name)
    return removed


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_held(folder: Path) -> bool:
    try:
        file = (folder / _LOCK_NAME).open("r+b")
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True  # in use, or on a file system without locks, where that is unknown
    return False
