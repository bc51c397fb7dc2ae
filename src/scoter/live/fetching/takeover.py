"""How a core makes sure that nobody whom an earlier one started still asks, and until when they may have asked.

Each fetcher holds a lock on a file that is named for its process and lies in the service's folder, from before it says
hello until the operating system has buried it. Into the file it writes until when it may ask, before it does. So a new
core reads what the dead have promised, ends the living, and knows a time after which nobody has asked anything. That it
is the only core itself is seen to by whoever starts it: the service's own lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from scoter.errors import UsageError
from scoter.live.fetching import clock

_NAME: Final = re.compile(r"fetcher-([0-9]+)\.lock")
_WIDTH: Final = 80
_ASK_NICELY: Final = 1.0  # seconds that a fetcher has to end by itself
_LOOK: Final = 0.02
_GIVE_UP: Final = 10.0


class Pledge:
    """A fetcher's own lock, with its promise to ask nothing after a certain time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"fetcher-{os.getpid()}.lock"
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._boot = clock.boot()
        self.promise(clock.now())

    def promise(self, until: float) -> None:
        """Say that nothing is asked after a time, which may be infinite; to be said before asking up to then."""
        os.pwrite(self._file, f"{until!r} {self._boot}".ljust(_WIDTH).encode(), 0)

    def close(self) -> None:
        """Leave nothing behind but the promise, which the next core reads."""
        os.close(self._file)


async def take_over(folder: Path, now: Callable[[], float] = clock.now) -> float:
    """End all fetchers of earlier cores, and return a time after which none of them has asked anything."""
    since = 0.0
    for path, pid in _locks(folder):
        was_alive = await _ended(path, pid)
        since = max(since, now() if was_alive else min(_promised(path), now()))
        path.unlink(missing_ok=True)
        path.with_suffix(".sock").unlink(missing_ok=True)
    return since


def _locks(folder: Path) -> list[tuple[Path, int]]:
    found = ((path, _NAME.fullmatch(path.name)) for path in sorted(folder.glob("fetcher-*.lock")))
    return [(path, int(match[1])) for path, match in found if match is not None]


async def _ended(path: Path, pid: int) -> bool:
    """Wait until nobody holds a lock, and see to it; tell whether somebody did."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if _is_free(file):
            return False
        for sign, seconds in ((signal.SIGTERM, _ASK_NICELY), (signal.SIGKILL, _GIVE_UP)):
            # Whoever holds the lock is the process that the file is named for: nobody else ever opens it to lock it.
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
            for _ in range(int(seconds / _LOOK)):
                if _is_free(file):
                    return True
                await asyncio.sleep(_LOOK)
    finally:
        os.close(file)
    raise UsageError(
        f"process {pid} fetches for an earlier run and cannot be ended",
        where=str(path),
        hint="End it, and start again.",
    )


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _promised(path: Path) -> float:
    """Return until when a dead fetcher may have asked; before this start of the machine is time zero."""
    words = path.read_text(errors="replace").split()
    try:
        until = float(words[0])
    except (IndexError, ValueError):
        return math.inf
    return until if (words[1] if len(words) > 1 else "") == clock.boot() else 0.0
