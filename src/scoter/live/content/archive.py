"""Answers as they came, in WARC files under the service's directory (``ports.ContentStore``)."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Self

from scoter.api import Archived
from scoter.core.reply import Exchange
from scoter.errors import ContentUnavailable, Defect, ScoterError, UsageError, UserError
from scoter.live.threaded_calls import ThreadedCall, deliver_results
from scoter.store.disk import disk_errors
from scoter.store.warc import (
    ArchivedResponse,
    ArchiveInfo,
    Facts,
    Location,
    WarcReader,
    WarcWriter,
    recover,
    timing_facts,
    unfinished,
)
from scoter.store.warc.part import OPEN, SUFFIX, WarcPart
from scoter.store.warc.reader import BODY_LIMIT
from scoter.store.warc.writer import utc_now

PREFIX: Final = "live"
MOST_WAITING: Final = 256


class WarcContent:
    """Archives exchanges by a thread of its own; at most ``most_waiting`` calls wait for it, others before it."""

    def __init__(
        self,
        folder: Path,
        about: ArchiveInfo,
        *,
        size: int,
        age: timedelta,
        prefix: str = PREFIX,
        clock: Callable[[], datetime] = utc_now,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """A file is finished when it has ``size`` bytes or is of that ``age``.

        Files that a killed service left are finished meanwhile; their contents can be read at any time.
        """
        self.folder = folder
        with disk_errors("create the folder of the archive", folder):
            folder.mkdir(parents=True, exist_ok=True)
            left = unfinished(folder)
        self._room = asyncio.Semaphore(most_waiting)
        self._closed = False
        self._recovery = threading.Thread(target=recover_all, args=(left,), name="recovery", daemon=True)
        self._recovery.start()
        self._thread = ArchiveThread(LiveWarcWriter(folder, prefix, about, size=size, age=age, now=clock))

    def __repr__(self) -> str:
        return f"WarcContent({self.folder})"

    async def keep(self, exchanges: Sequence[Exchange], *, message: str, fetch: str) -> Sequence[Archived | None]:
        """Archive exchanges of one fetch; return where each lies.

        On a full disk it raises ``ContentUnavailable``, of the exchange that did not fit nothing is left, and the next
        call may succeed. A caller that is cancelled cannot know what was kept.
        """
        if not exchanges:
            return ()
        about = (("messageId", message), ("fetchId", fetch))
        wanted = [(exchange, (*about, *timing_facts(exchange))) for exchange in exchanges]
        async with self._room:
            if self._closed:
                raise Defect(f"{self.folder}: archived after closing")
            future: asyncio.Future[Sequence[Location]] = asyncio.get_running_loop().create_future()
            self._thread.put(ArchiveJob(wanted, future))
            found = await future
        return [Archived(each.file, each.offset, each.length) for each in found]

    async def read(self, archived: Archived, limit: int = BODY_LIMIT) -> ArchivedResponse:
        """Return what was archived, at most ``limit`` bytes of its body."""
        return await asyncio.to_thread(read, self.folder, archived, limit)

    def close(self) -> None:
        """Write what is waiting and finish the open file. Blocks for as long as that takes."""
        self._closed = True
        self._thread.close()
        self._recovery.join()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


def read(folder: Path, archived: Archived, limit: int = BODY_LIMIT) -> ArchivedResponse:
    """Return what lies in an archive; other processes may ask, too."""
    name = archived.file
    if "/" in name or name.startswith(".") or not name.endswith(SUFFIX):
        raise UsageError(f"{name!r} is not the name of an archive file", where=str(folder))
    # The last once more: it may have got its name between the first look and the second.
    for each in (name, name + OPEN, name):
        path = folder / each
        if path.exists():
            try:
                reader = WarcReader(path, limit)
            except UserError as error:
                if isinstance(error.__cause__, FileNotFoundError):
                    continue
                raise
            with reader:
                return reader.at(archived.offset)
    hint = "See live.content_for and live.content_size for how long responses are kept."
    raise UserError(
        "the response is no longer in the archive", where=f"{folder / name} byte {archived.offset}", hint=hint
    )


_TOGETHER: Final = 64  # calls that are told at once: the first waits for the last
_WAKE: Final = 1.0  # seconds in which an open file is looked after, busy or quiet

_log = logging.getLogger(__name__)


class LiveWarcWriter(WarcWriter):
    """A writer of WARC files that can leave a file as it is, for recovery to finish.

    A file's age is that by the machine's own clock, too: after the wall's was set back it would stay open for as long.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        about: ArchiveInfo,
        *,
        size: int,
        age: timedelta,
        now: Callable[[], datetime],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(folder, prefix, about, size=size, age=age, now=now)
        self._timer = timer
        self._since: tuple[WarcPart | None, float] = (None, 0.0)

    def finish_if_due(self) -> Path | None:
        part = self._part
        if part is None:
            return None
        if self._since[0] is not part:
            self._since = part, self._timer()
        # One that is sealed takes nothing more: it could not be given its name before.
        if part.is_sealed or self._timer() - self._since[1] >= self._age.total_seconds():
            return self.finish()
        return super().finish_if_due()

    def abandon(self) -> None:
        """Let go of the open file."""
        part, self._part = self._part, None
        if part is not None:
            part.close()
            with suppress(ScoterError):  # on a disk that is still full the next start does it
                recover(part.draft)


class ArchiveJob(ThreadedCall):
    """Exchanges of one call on their way into the archive; where they lie, or why not, goes to the call's future."""

    __slots__ = ("exchanges",)

    def __init__(self, exchanges: Sequence[tuple[Exchange, Facts]], future: asyncio.Future[Sequence[Location]]) -> None:
        super().__init__(future)
        self.exchanges = exchanges
        self.result: list[Location] = []


class ArchiveThread:
    """Writes what it is given, in order, until it is closed."""

    def __init__(self, archive: LiveWarcWriter, *, timer: Callable[[], float] = time.monotonic) -> None:
        self._archive = archive
        self._timer = timer
        self._queue: SimpleQueue[ArchiveJob | None] = SimpleQueue()
        self._synced = timer()
        self._is_dirty = False
        self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
        self._thread.start()

    def put(self, work: ArchiveJob) -> None:
        self._queue.put(work)

    def close(self) -> None:
        """Write what is waiting, finish the open file, and end. Blocks until that is done."""
        if self._thread.is_alive():
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._gather()
            for work in batch:
                self._write(work)
            deliver_results(batch)
            self._look_after()
        try:
            self._archive.close()
        except UserError as error:  # the next start finishes it
            _log.warning("cannot finish the open archive file: %s", error)
            self._archive.abandon()

    def _gather(self) -> tuple[list[ArchiveJob], bool]:
        """Wait a while for work, and take all that is there by then."""
        batch: list[ArchiveJob] = []
        try:
            while len(batch) < _TOGETHER:
                work = self._queue.get_nowait() if batch else self._queue.get(timeout=_WAKE)
                if work is None:
                    return batch, False
                batch.append(work)
        except Empty:
            pass
        return batch, True

    def _write(self, work: ArchiveJob) -> None:
        try:
            for exchange, facts in work.exchanges:
                work.result.append(self._append(exchange, facts))
                self._is_dirty = True
        except UserError as error:
            told = ContentUnavailable(error.message, where=error.where, hint=error.hint)
            told.__cause__ = error
            work.error = told
        except Exception as error:
            work.error = error

    def _append(self, exchange: Exchange, facts: Facts) -> Location:
        try:
            return self._archive.write(exchange, facts)
        except UserError as error:
            if isinstance(error.__cause__, OSError):
                raise
        # The file was given up when a broken record could not be taken back: the next one begins.
        self._archive.abandon()
        return self._archive.write(exchange, facts)

    def _look_after(self) -> None:
        """Bring what was written to the disk now and then, and finish a file whose time has come."""
        now = self._timer()
        if now - self._synced < _WAKE:
            return
        self._synced = now
        try:
            if self._is_dirty:
                self._archive.sync()
                self._is_dirty = False
            self._archive.finish_if_due()
        except Exception as error:  # the thread must live on: others wait for it
            _log.warning("cannot sync or rotate the archive: %s", error)


def recover_all(drafts: Sequence[Path]) -> list[Path]:
    """Finish the files that a killed writer left; return those that now have a name. What cannot be is left."""
    named = []
    for draft in drafts:
        try:
            found = recover(draft).path
        except Exception as error:  # whatever is wrong with one file, the others are to be had
            _log.warning("cannot recover an archive file: %s", error)
            continue
        if found is not None:
            named.append(found)
    return named
