"""Folders for what a process needs while it runs; what killed ones leave is told from what is in use by a lock."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from scoter.errors import UserError
from scoter.store.disk import telling

_HELD = "HELD"


class Scratch:
    """A folder of one's own, gone when it is closed."""

    def __init__(self, inside: Path, prefix: str) -> None:
        with telling("create a folder for temporary files", inside):
            inside.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=inside))
            self._handle = os.open(self.path / _HELD, os.O_CREAT | os.O_RDWR, 0o600)
        with suppress(OSError):  # a file system without locks: nobody sweeps what it cannot tell apart
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __repr__(self) -> str:
        return f"Scratch({self.path})"

    def close(self) -> None:
        """Remove the folder with all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        handle, self._handle = self._handle, -1  # closed once: its number may soon be another file's
        if handle >= 0:
            os.close(handle)


def scratch_of_reader(inside: Path, prefix: str) -> Scratch:
    """Return a folder for one who only reads: elsewhere, where nothing can be written beside what is read."""
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
        handle = os.open(folder / _HELD, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
