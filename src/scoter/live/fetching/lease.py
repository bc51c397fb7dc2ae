"""What a worker may request now: the shards it holds, its lease, and the lock file that outlives it."""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import re
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from scoter.errors import UsageError
from scoter.live import clock


class ShardLease:
    """The shards that a worker holds, and until when it may request their domains.

    Losing the core does not end a lease. Only a core moves shards, and a new core first ends all workers of the old
    one. So ``orphaned`` removes the time limit: until this process is told to end, nobody else can hold its shards.
    """

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self.until = -math.inf

    def __repr__(self) -> str:
        return f"ShardLease({len(self._since)} shards until {self.until:.1f})"

    def __contains__(self, shard: int) -> bool:
        return shard in self._since

    def __len__(self) -> int:
        return len(self._since)

    def granted(self, shards: Iterable[int], since: float) -> None:
        """Add shards; nobody has requested their domains after ``since``."""
        for shard in shards:
            self._since[shard] = since

    def renewed(self, until: float) -> None:
        """Extend the lease."""
        self.until = max(self.until, until)

    def recalled(self, shards: Iterable[int]) -> None:
        """Remove shards."""
        for shard in shards:
            self._since.pop(shard, None)

    def orphaned(self) -> None:
        """Keep the shards for as long as this process lives."""
        self.until = math.inf

    def may_ask(self, shard: int, now: float) -> bool:
        """Return whether this process owns a shard now, so that requests to its domains may start."""
        return shard in self._since and now < self.until

    def since(self, shard: int) -> float:
        """Return the time after which nobody else requested the shard's domains; their delay counts from it."""
        return self._since.get(shard, -math.inf)


# The name that workers had at first: a core also ends the workers that a core of an older version has left.
_NAME: Final = re.compile(r"fetcher-([0-9]+)\.lock")
_WIDTH: Final = 80
_ASK_NICELY: Final = 1.0  # seconds that a worker has to end by itself
_LOOK: Final = 0.02
_GIVE_UP: Final = 10.0

GRACE: Final = 2.0
"""Seconds that a server may still be busy with a request whose worker was killed, in addition to the delay."""


class WorkerLock:
    """The lock file of a worker, with its promise to make no requests after a certain time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"fetcher-{os.getpid()}.lock"
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._boot = clock.boot_id()
        self.promise(clock.steady_now())

    def promise(self, until: float) -> None:
        """Write the time after which no requests are made, possibly infinite; call it before extending the lease."""
        os.pwrite(self._file, f"{until!r} {self._boot}".ljust(_WIDTH).encode(), 0)

    def close(self) -> None:
        """Release the lock; the file remains, because the next core reads the promise."""
        os.close(self._file)


async def take_over(folder: Path, now: Callable[[], float] = clock.steady_now) -> float:
    """End all workers of earlier cores, and return a time after which none of their requests is under way."""
    since = 0.0
    for path, pid in _locks(folder):
        was_alive = await _ended(path, pid)
        ended, promised = now(), _promised(path)
        since = max(since, min(max(promised, ended), ended + GRACE) if was_alive else min(promised, ended))
        path.unlink(missing_ok=True)
        path.with_suffix(".sock").unlink(missing_ok=True)
    return since


def _locks(folder: Path) -> list[tuple[Path, int]]:
    found = ((path, _NAME.fullmatch(path.name)) for path in sorted(folder.glob("fetcher-*.lock")))
    return [(path, int(match[1])) for path, match in found if match is not None]


async def _ended(path: Path, pid: int) -> bool:
    """End the process that holds a lock; return whether there was one."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if _is_free(file):
            return False
        for sign, seconds in ((signal.SIGTERM, _ASK_NICELY), (signal.SIGKILL, _GIVE_UP)):
            # Only the process that the file is named after ever locks it.
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
            for _ in range(int(seconds / _LOOK)):
                if _is_free(file):
                    return True
                await asyncio.sleep(_LOOK)
    finally:
        os.close(file)
    raise UsageError(
        f"cannot end process {pid}, a worker of an earlier run",
        where=str(path),
        hint="Kill it, then start the service again.",
    )


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _promised(path: Path) -> float:
    """Return until when a dead worker may have made requests; 0 if it was before the last boot."""
    words = path.read_text(errors="replace").split()
    try:
        until = float(words[0])
    except (IndexError, ValueError):
        return math.inf
    return until if (words[1] if len(words) > 1 else "") == clock.boot_id() else 0.0
