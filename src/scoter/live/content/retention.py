"""Removes old archives, log files, records and events, and watches the free disk space.

One sweep removes a bounded number of records and events, so that it never blocks the database writer for long; a
service sweeps about every minute. Events that are not in the log yet are kept.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from scoter.config.sections.live import LiveSettings
from scoter.errors import ScoterError
from scoter.live.content.log import FetchLog
from scoter.live.ports import Events, MetadataStore
from scoter.store.disk import disk_errors
from scoter.store.warc.part import OPEN, SUFFIX
from scoter.store.warc.writer import utc_now

AT_ONCE: Final = 5_000
_INDEX: Final = ".cdxj"


class SweepResult(Struct, frozen=True, kw_only=True):
    """What a sweep removed."""

    archives: int = 0
    archived_bytes: int = 0
    log_files: int = 0
    records: int = 0
    events: int = 0


class Retention:
    """Removes data that is past its retention limit: ``content_for``, ``content_size`` or ``log_for``."""

    def __init__(
        self,
        keeping: LiveSettings,
        *,
        content: Path,
        log: FetchLog,
        metadata: MetadataStore,
        events: Events,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._keeping = keeping
        self._content = content
        self._log = log
        self._metadata = metadata
        self._events = events
        self._clock = clock

    async def sweep(self, *, by_age: bool = True) -> SweepResult:
        """Remove data past its limit; at most ``AT_ONCE`` records and events.

        Without ``by_age``, for when the clock cannot be trusted, only the limits on number and size apply. A failure in
        one step, as on a full disk, does not stop the other steps; the first one is raised at the end.
        """
        now, keeping = self._clock(), self._keeping
        before = now - keeping.content_for if by_age and keeping.content_for is not None else None
        problems: list[ScoterError] = []
        archives = size = log_files = records = events = 0
        with _noting(problems):
            archives, size = await asyncio.to_thread(expire_archives, self._content, before, keeping.content_size)
        with _noting(problems):
            if by_age and keeping.log_for is not None:
                log_files = await self._log.expire(now - keeping.log_for)
        with _noting(problems):
            if by_age:
                records = await self._metadata.expire(AT_ONCE)
        with _noting(problems):
            # Pruning removes the oldest events first; this limit protects those that are not logged yet.
            logged = self._log.number - self._events.first() + 1
            if logged > 0:
                events = await self._events.prune(min(AT_ONCE, logged), by_age=by_age)
        if problems:
            raise problems[0]
        return SweepResult(archives=archives, archived_bytes=size, log_files=log_files, records=records, events=events)


@contextmanager
def _noting(problems: list[ScoterError]) -> Iterator[None]:
    try:
        yield
    except ScoterError as error:
        problems.append(error)


def expire_archives(folder: Path, before: datetime | None, most: int | None) -> tuple[int, int]:
    """Remove finished archives older than ``before``, then the oldest until at most ``most`` bytes are left.

    Return the number of removed archives and their bytes. The open archive is kept, but counts towards ``most``.
    """
    with disk_errors("remove old archives", folder):
        found = sorted(_archives(folder))
        total = sum(size for _, _, size in found)
        archives = removed = 0
        for written, path, size in found:
            is_old = before is not None and written < before
            if path.name.endswith(OPEN) or not (is_old or (most is not None and total > most)):
                continue
            # The index goes last: every finished archive must have one.
            path.unlink(missing_ok=True)
            _index_of(path).unlink(missing_ok=True)
            archives, removed, total = archives + 1, removed + size, total - size
        for index in folder.glob(f"*{_INDEX}"):
            if not _has_archive(index):
                index.unlink(missing_ok=True)
    return archives, removed


def _archives(folder: Path) -> Iterator[tuple[datetime, Path, int]]:
    """Yield the time, path and size of each archive."""
    for path in folder.glob(f"*{SUFFIX}*"):
        with suppress(FileNotFoundError):  # it was just renamed; the next sweep sees it
            found = path.stat()
            yield datetime.fromtimestamp(found.st_mtime, UTC), path, found.st_size


def _index_of(archive: Path) -> Path:
    return archive.with_name(archive.name.removesuffix(SUFFIX) + _INDEX)


def _has_archive(index: Path) -> bool:
    archive = index.with_name(index.name.removesuffix(_INDEX) + SUFFIX)
    # The open name first: the file may be renamed between the two checks.
    return archive.with_name(archive.name + OPEN).exists() or archive.exists()


READ_EVERY: Final = 1.0


class DiskFloor:
    """Checks the free disk space for every message, reading it at most once per second."""

    def __init__(
        self,
        path: Path,
        floor: int,
        *,
        every: float = READ_EVERY,
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
        """The free bytes at the last reading; 0 if the disk cannot be read."""
        now = self._timer()
        if self._read_at is None or not 0 <= now - self._read_at < self._every:
            try:
                self._free = self._read(self._path)
            except OSError:  # the disk is gone
                self._free = 0
            self._read_at = now
        return self._free

    def has_room(self) -> bool:
        """Return whether messages may be accepted."""
        return self.free >= self.floor
