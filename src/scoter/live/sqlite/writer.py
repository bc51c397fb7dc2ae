"""The one thread that writes: what is waiting when it comes round is one transaction (group commit).

A commit that must outlive a power failure waits for the disk, some milliseconds. While it does, further writes gather,
and share the next one: the busier the service, the fewer waits for each.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct

from scoter.errors import Defect, ScoterError, StoreUnavailable
from scoter.live.threaded_calls import ThreadedCall, deliver_results

T = TypeVar("T")
Change: TypeAlias = Callable[[sqlite3.Connection], T]

_TOGETHER: Final = 512  # writes in a transaction: the first of them waits for the last
_TROUBLED: Final = 10.0  # seconds for which a failure is told
_CHECKPOINT_IDLE: Final = 100  # commits after which the log is brought into the file, when nobody waits for it


class WriterCounts(Struct):
    """What the writer has done since it was opened."""

    writes: int = 0
    commits: int = 0
    failures: int = 0


class _QueuedChange(ThreadedCall):
    """A change on its way: what it gave, or why it failed, goes to its future."""

    __slots__ = ("change", "durable")

    def __init__(self, change: Change[Any], durable: bool, future: asyncio.Future[Any]) -> None:
        super().__init__(future)
        self.change = change
        self.durable = durable


class DatabaseWriter:
    """Carries out changes in the order in which they come; each happens wholly or not at all."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, most_waiting: int, apart: float) -> None:
        """Transactions begin ``apart`` seconds from each other at least; after a pause one begins at once."""
        self._connection = connection
        self._path = path
        self._queue: SimpleQueue[_QueuedChange | None] = SimpleQueue()
        self._room = asyncio.Semaphore(most_waiting)
        self._closed = False
        self._closing = threading.Lock()
        self._durable = True
        self._unchecked = 0
        self._apart = apart
        self._began = 0.0
        self.counts = WriterCounts()
        self._trouble: tuple[float, str] | None = None
        self._thread = threading.Thread(target=self._run, name=f"writer of {path.name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    @property
    def trouble(self) -> str:
        """Why the last write failed, if that was a moment ago; by later on nobody knows whether it still would."""
        trouble = self._trouble
        return trouble[1] if trouble is not None and time.monotonic() - trouble[0] < _TROUBLED else ""

    async def write(self, change: Change[T], *, durable: bool = True) -> T:
        """Carry out a change and return what it gives, once that is committed. It may be carried out twice before.

        ``durable`` waits for the disk; without it a kill loses nothing, a power failure may. A caller that is cancelled
        cannot know whether it happened.
        """
        async with self._room:
            future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            with self._closing:
                if self._closed:
                    raise Defect(f"{self._path}: a write after closing")
                self._queue.put(_QueuedChange(change, durable, future))
            return await future

    def close(self) -> None:
        """Carry out what is waiting, then end. Blocks until that is done."""
        with self._closing:  # nothing comes after the end, which may be told by another thread
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._gather()
            if batch:
                self._carry_out(batch)
                deliver_results(batch)
        self._connection.close()

    def _gather(self) -> tuple[list[_QueuedChange], bool]:
        """Wait for a write, and take all that are there by the time when the next transaction may begin."""
        batch: list[_QueuedChange] = []
        try:
            while len(batch) < _TOGETHER:
                write = self._queue.get_nowait() if batch else self._next()
                if not batch:
                    self._keep_apart()
                if write is None:
                    return batch, False
                batch.append(write)
        except Empty:
            pass
        return batch, True

    def _next(self) -> _QueuedChange | None:
        if self._unchecked >= _CHECKPOINT_IDLE and self._queue.empty():
            self._unchecked = 0
            with suppress(sqlite3.Error):  # the next one does it
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return self._queue.get()

    def _keep_apart(self) -> None:
        wait = self._began + self._apart - time.monotonic()
        if wait > 0 and not self._closed:
            time.sleep(wait)
        self._began = time.monotonic()

    def _carry_out(self, batch: Sequence[_QueuedChange]) -> None:
        self.counts.writes += len(batch)
        try:
            self._be_durable(any(write.durable for write in batch))
            self._connection.execute("BEGIN IMMEDIATE")
            before = self._connection.total_changes
            if not self._all_at_once(batch):
                self._each_for_itself(batch)
            self._connection.execute("COMMIT")
            if self._connection.total_changes > before:  # one that changes nothing needs no room
                self._trouble = None
            self.counts.commits += 1
            self._unchecked += 1
        except Exception as error:
            self._abandon()
            for write in batch:
                write.error = self._told(error)
        self.counts.failures += sum(1 for write in batch if write.error is not None)

    def _all_at_once(self, batch: Sequence[_QueuedChange]) -> bool:
        """Carry out changes without a savepoint each, which would cost as much as some of them; tell if none failed."""
        try:
            for write in batch:
                write.result = write.change(self._connection)
        except Exception:
            self._abandon()
            self._connection.execute("BEGIN IMMEDIATE")
            return False
        return True

    def _each_for_itself(self, batch: Sequence[_QueuedChange]) -> None:
        """Carry out changes once more, so that one that fails fails alone: they depend on nothing but the tables."""
        connection = self._connection
        for write in batch:
            connection.execute("SAVEPOINT one")
            try:
                write.result = write.change(connection)
            except Exception as error:
                if not connection.in_transaction:  # on a full disk SQLite takes the whole transaction back by itself
                    raise
                connection.execute("ROLLBACK TO one")
                write.error = self._told(error)
            connection.execute("RELEASE one")

    def _abandon(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _be_durable(self, durable: bool) -> None:
        # In WAL mode the log is written in order: a commit that waits for the disk takes those before it along.
        if durable != self._durable:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def _told(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error):
            return error
        told = store_error(error, self._path)
        told.__cause__ = error
        if isinstance(told, StoreUnavailable):
            self._trouble = time.monotonic(), told.message
        return told


_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def store_error(error: sqlite3.Error, path: Path) -> ScoterError:
    """Return what an error of SQLite means to whoever asked."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bits are details of it
    where = str(path)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        # On a full disk SQLite cannot always map the memory that it shares, and calls that an I/O error.
        hint = "Free disk space if the disk is full; accepted messages are safe, and work resumes by itself."
        return StoreUnavailable(f"disk error: {error}", where=where, hint=hint)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        hint = "Stop the other process that writes to the file; work resumes by itself."
        return StoreUnavailable(f"another process has locked the database: {error}", where=where, hint=hint)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StoreUnavailable(
            f"cannot be written: {error}", where=where, hint="Check the owner and permissions of the file."
        )
    if code in _BROKEN:
        hint = "Stop the service and restore a backup."
        return StoreUnavailable(f"is damaged, or not a database: {error}", where=where, hint=hint)
    return Defect(f"{path}: {error}")
