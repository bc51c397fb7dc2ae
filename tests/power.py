"""A model of a disk that loses power: what was synced survives, everything else may be lost.

A file survives if its content was synced after its last change and if every folder on the way to it was synced after it
got the name in it. This is what POSIX promises; most file systems keep more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest


class SyncedDisk:
    """Records what this process syncs below a folder, and what would be lost at each rename."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.lost_at_rename: dict[str, list[str]] = {}
        """For each name that a rename created, what else would have been lost with it just before."""
        self.synced: list[str] = []
        self._content: dict[int, tuple[int, int]] = {}
        self._names: dict[int, dict[str, int]] = {}
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._recording(getattr(os, name)))
        for name in ("replace", "rename"):
            monkeypatch.setattr(os, name, self._watching(getattr(os, name)))

    def lost(self, paths: Iterable[Path] | None = None) -> list[str]:
        """Return the files that a power failure would lose now; by default, of all below the root."""
        chosen = self.root.rglob("*") if paths is None else paths
        return sorted(path.relative_to(self.root).as_posix() for path in chosen if not self._survives(path))

    def unsynced(self, path: Path) -> bool:
        """Return whether the content of a file would be lost, whatever becomes of its name."""
        found = path.stat()
        return path.is_file() and self._content.get(found.st_ino) != (found.st_size, found.st_mtime_ns)

    def comes_back(self, path: Path) -> bool:
        """Return whether a name that was removed would be there again."""
        return path.name in self._names.get(path.parent.stat().st_ino, {})

    def _survives(self, path: Path) -> bool:
        if self.unsynced(path):
            return False
        while path != self.root:
            names = self._names.get(path.parent.stat().st_ino, {})
            if names.get(path.name) != path.stat().st_ino:
                return False
            path = path.parent
        return True

    def _recording(self, sync: Callable[[int], None]) -> Callable[[Any], None]:
        def record(file: Any) -> None:
            handle = file if isinstance(file, int) else file.fileno()
            sync(handle)
            found = os.fstat(handle)
            path = Path(f"/proc/self/fd/{handle}").readlink()
            self.synced.append(path.name)
            if path.is_dir():
                self._names[found.st_ino] = {each.name: each.inode() for each in os.scandir(path)}
            else:
                self._content[found.st_ino] = (found.st_size, found.st_mtime_ns)

        return record

    def _watching(self, rename: Callable[..., None]) -> Callable[..., None]:
        def watch(source: Any, target: Any, **options: Any) -> None:
            if Path(target).is_relative_to(self.root):
                self.lost_at_rename[Path(target).name] = self.lost()
                if Path(source).is_file() and self.unsynced(Path(source)):
                    self.lost_at_rename[Path(target).name].append(Path(target).name)
            rename(source, target, **options)

        return watch
