"""Answers as they came, in WARC files under the service's directory (``ports.ContentStore``)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from scoter.api import Archived
from scoter.core.reply import Exchange
from scoter.errors import Defect, UsageError, UserError
from scoter.live.content.writer import Archive, ArchiveThread, Work, recover_all
from scoter.store.disk import disk_errors
from scoter.store.warc import ArchivedResponse, ArchiveInfo, Location, WarcReader, timing_facts, unfinished
from scoter.store.warc.part import OPEN, SUFFIX
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
        self._thread = ArchiveThread(Archive(folder, prefix, about, size=size, age=age, now=clock))

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
                raise Defect(f"{self.folder}: something is archived after closing")
            future: asyncio.Future[Sequence[Location]] = asyncio.get_running_loop().create_future()
            self._thread.put(Work(wanted, future))
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
        raise UsageError(f"{name!r} is not the name of an archive", where=str(folder))
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
    hint = "live.content_for and live.content_size say how long answers are kept."
    raise UserError("the answer is not kept any more", where=f"{folder / name} byte {archived.offset}", hint=hint)
