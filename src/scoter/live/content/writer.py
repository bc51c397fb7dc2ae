"""The thread that writes the archive: what waits when it comes round is written in one go, and told in one call.

A record is the kernel's when ``keep`` returns: a kill loses none. The disk has it a second later at the latest, so that
a power failure may lose the last second; what was lost is told as such when somebody asks for it.
"""

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
from typing import Final

from scoter.core.reply import Exchange
from scoter.errors import ContentUnavailable, ScoterError, UserError
from scoter.live.settling import Asked, settle
from scoter.store.warc import ArchiveInfo, Facts, Location, WarcWriter, recover
from scoter.store.warc.part import WarcPart

_TOGETHER: Final = 64  # calls that are told at once: the first waits for the last
_WAKE: Final = 1.0  # seconds in which an open file is looked after, busy or quiet

_log = logging.getLogger(__name__)


class Archive(WarcWriter):
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


class Work(Asked):
    """Exchanges of one call on their way into the archive; where they lie, or why not, goes to the call's future."""

    __slots__ = ("exchanges",)

    def __init__(self, exchanges: Sequence[tuple[Exchange, Facts]], future: asyncio.Future[Sequence[Location]]) -> None:
        super().__init__(future)
        self.exchanges = exchanges
        self.result: list[Location] = []


class ArchiveThread:
    """Writes what it is given, in order, until it is closed."""

    def __init__(self, archive: Archive, *, timer: Callable[[], float] = time.monotonic) -> None:
        self._archive = archive
        self._timer = timer
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._synced = timer()
        self._is_dirty = False
        self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
        self._thread.start()

    def put(self, work: Work) -> None:
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
            settle(batch)
            self._look_after()
        try:
            self._archive.close()
        except UserError as error:  # the next start finishes it
            _log.warning("the archive was left unfinished: %s", error)
            self._archive.abandon()

    def _gather(self) -> tuple[list[Work], bool]:
        """Wait a while for work, and take all that is there by then."""
        batch: list[Work] = []
        try:
            while len(batch) < _TOGETHER:
                work = self._queue.get_nowait() if batch else self._queue.get(timeout=_WAKE)
                if work is None:
                    return batch, False
                batch.append(work)
        except Empty:
            pass
        return batch, True

    def _write(self, work: Work) -> None:
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
            _log.warning("the archive cannot be looked after: %s", error)


def recover_all(drafts: Sequence[Path]) -> list[Path]:
    """Finish the files that a killed writer left; return those that now have a name. What cannot be is left."""
    named = []
    for draft in drafts:
        try:
            found = recover(draft).path
        except Exception as error:  # whatever is wrong with one file, the others are to be had
            _log.warning("an archive could not be recovered: %s", error)
            continue
        if found is not None:
            named.append(found)
    return named
