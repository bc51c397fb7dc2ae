"""Whether the disk has room for more; below the floor nothing is taken in, so that what was can be finished."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

EVERY: Final = 1.0


class DiskFloor:
    """Tells whether there is room, by a reading that is at most a second old: it is asked for every message."""

    def __init__(
        self,
        path: Path,
        floor: int,
        *,
        every: float = EVERY,
        timer: Callable[[], float] = time.monotonic,
        free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
    ) -> None:
        self.floor = floor
        self._path = path
        self._every = every
        self._timer = timer
        self._read = free
        self._read_at: float | None = None
        self._free = 0

    def __repr__(self) -> str:
        return f"DiskFloor({self._path}, {self.free} of at least {self.floor} bytes free)"

    @property
    def free(self) -> int:
        """The bytes that were free at the last reading; 0 where the disk cannot be asked."""
        now = self._timer()
        if self._read_at is None or not 0 <= now - self._read_at < self._every:
            try:
                self._free = self._read(self._path)
            except OSError:  # a disk that went away has no room
                self._free = 0
            self._read_at = now
        return self._free

    def has_room(self) -> bool:
        """Tell whether intake may go on."""
        return self.free >= self.floor


def has_room(path: Path, floor: int) -> bool:
    """Tell whether at least so many bytes are free, now."""
    return DiskFloor(path, floor).has_room()
