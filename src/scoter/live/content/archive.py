"""Archives responses in WARC files in the service's directory (``ports.ContentStore``)."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self

from scoter.core.reply import Exchange
from scoter.errors import ContentUnavailable, ScoterError, UsageError, UserError
from scoter.live.api.records import Archived
from scoter.live.tenants import split_id
from scoter.live.threaded_calls import BatchThread, ThreadedCall
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
_TOGETHER: Final = 64  # calls per batch: the first waits for the last
_WAKE: Final = 1.0  # seconds between syncs of the open file

_log = logging.getLogger(__name__)


class WarcContent(BatchThread):
    """Archives exchanges in a separate thread, whose queue holds at most ``most_waiting`` calls."""

    def __init__(
        self,
        folder: Path,
        about: ArchiveInfo,
        *,
        size: int,
        age: timedelta,
        clock: Callable[[], datetime] = utc_now,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """Finish a file at ``size`` bytes or at this ``age``.

        Files that a killed service left are recovered in the background; they can be read at any time.
        """
        self.folder = folder
        with disk_errors("create the folder of the archive", folder):
            folder.mkdir(parents=True, exist_ok=True)
            left = unfinished(folder)
        super().__init__("archive", most_waiting=most_waiting, together=_TOGETHER)
        self._archive = LiveWarcWriter(folder, PREFIX, about, size=size, age=age, now=clock)
        self._synced = time.monotonic()
        self._is_dirty = False
        self._recovery = threading.Thread(target=recover_all, args=(left,), name="recovery", daemon=True)
        self._recovery.start()
        self._thread.start()

    def __repr__(self) -> str:
        return f"WarcContent({self.folder})"

    async def keep(self, exchanges: Sequence[Exchange], *, message: str, fetch: str) -> Sequence[Archived | None]:
        """Archive the exchanges of one fetch; return the location of each.

        Raises ``ContentUnavailable`` on a full disk, without leaving a partial record; the next call may succeed. If
        the caller is cancelled, the exchanges may or may not be archived.
        """
        if not exchanges:
            return ()
        tenant, name = split_id(message)
        about = (("messageId", name), *((("tenant", tenant),) if tenant else ()), ("fetchId", fetch))
        wanted = [(exchange, (*about, *timing_facts(exchange))) for exchange in exchanges]
        found: list[Location] = await self._call(wanted)
        return [Archived(each.file, each.offset, each.length) for each in found]

    def close(self) -> None:
        """Write queued exchanges and finish the open file. Blocks until done."""
        super().close()
        self._recovery.join()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.to_thread(self.close)

    def _wait(self) -> ThreadedCall | None:
        return self._queue.get(timeout=_WAKE)

    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        for call in batch:
            self._write(call)

    def _finish(self) -> None:
        try:
            self._archive.close()
        except UserError as error:  # the next start finishes it
            _log.warning("cannot finish the open archive file: %s", error)
            self._archive.abandon()

    def _write(self, call: ThreadedCall) -> None:
        call.result = []
        try:
            for exchange, facts in call.work:
                call.result.append(self._append(exchange, facts))
                self._is_dirty = True
        except UserError as error:
            translated = ContentUnavailable(error.message, where=error.where, hint=error.hint)
            translated.__cause__ = error
            call.error = translated
        except Exception as error:
            call.error = error

    def _append(self, exchange: Exchange, facts: Facts) -> Location:
        try:
            return self._archive.write(exchange, facts)
        except UserError as error:
            if isinstance(error.__cause__, OSError):
                raise
        # A partial record could not be removed, so the file was given up: start the next one.
        self._archive.abandon()
        return self._archive.write(exchange, facts)

    def _after_batch(self) -> None:
        """Sync the open file every ``_WAKE`` seconds, and finish it when due."""
        now = time.monotonic()
        if now - self._synced < _WAKE:
            return
        self._synced = now
        try:
            if self._is_dirty:
                self._archive.sync()
                self._is_dirty = False
            self._archive.finish_if_due()
        except Exception as error:  # the thread must survive: callers wait for it
            _log.warning("cannot sync or rotate the archive: %s", error)


def read(folder: Path, archived: Archived, limit: int = BODY_LIMIT) -> ArchivedResponse:
    """Return a response from an archive, which another process may be writing."""
    name = archived.file
    if "/" in name or name.startswith(".") or not name.endswith(SUFFIX):
        raise UsageError(f"{name!r} is not the name of an archive file", where=str(folder))
    # The final name comes twice: the file may be renamed between the first look and the second.
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


class LiveWarcWriter(WarcWriter):
    """A WARC writer that can abandon a file for recovery to finish.

    It also measures a file's age with the monotonic clock, so that setting back the wall clock keeps no file open.
    """

    timer: Callable[[], float] = staticmethod(time.monotonic)
    _since: tuple[WarcPart | None, float] = (None, 0.0)

    def finish_if_due(self) -> Path | None:
        part = self._part
        if part is None:
            return None
        if self._since[0] is not part:
            self._since = part, self.timer()
        # A sealed file takes no more records; an earlier attempt to rename it failed.
        if part.is_sealed or self.timer() - self._since[1] >= self._age.total_seconds():
            return self.finish()
        return super().finish_if_due()

    def abandon(self) -> None:
        """Close the open file and recover what it contains."""
        part, self._part = self._part, None
        if part is not None:
            part.close()
            with suppress(ScoterError):  # if the disk is still full, the next start recovers it
                recover(part.draft)


def recover_all(drafts: Sequence[Path]) -> None:
    """Finish the files that a killed writer left; skip damaged ones."""
    for draft in drafts:
        try:
            recover(draft)
        except Exception as error:  # recover the others
            _log.warning("cannot recover an archive file: %s", error)
