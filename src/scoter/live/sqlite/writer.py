"""The writer thread of the database. All queued writes share one transaction (group commit).

A durable commit waits some milliseconds for the disk. Meanwhile further writes queue up and share the next commit: the
busier the service, the fewer commits per write.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from scoter.errors import StoreUnavailable
from scoter.live.sqlite.health import DatabaseHealth, store_error
from scoter.live.threaded_calls import BatchThread, ThreadedCall

T = TypeVar("T")
Change: TypeAlias = Callable[[sqlite3.Connection], T]

_TOGETHER: Final = 512  # writes per transaction: the first waits for the last
_GATHER: Final = 0.0005  # seconds after the first write of a transaction, in which others join: a commit costs more
_TROUBLED: Final = 10.0  # seconds for which a failure is reported
_CHECKPOINT_IDLE: Final = 100  # commits after which an idle writer makes a checkpoint


class WriterCounts(Struct):
    """Counters of the writer since it was opened."""

    writes: int = 0
    commits: int = 0
    failures: int = 0


class DatabaseWriter(BatchThread):
    """Applies changes in order; each is applied completely or not at all."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, health: DatabaseHealth, *, most_waiting: int, apart: float
    ) -> None:
        """Start transactions at least ``apart`` seconds from each other; after an idle time at once."""
        super().__init__(f"writer of {path.name}", most_waiting=most_waiting, together=_TOGETHER)
        self._connection = connection
        self._path = path
        self._health = health
        self._durable = True
        self._unchecked = 0
        self._apart = apart
        self._began = 0.0
        self.counts = WriterCounts()
        self._trouble: tuple[float, str] | None = None
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many writes are queued."""
        return self._queue.qsize()

    @property
    def trouble(self) -> str:
        """Why the last write failed, for a few seconds after the failure; empty otherwise."""
        trouble = self._trouble
        return trouble[1] if trouble is not None and time.monotonic() - trouble[0] < _TROUBLED else ""

    async def write(self, change: Change[T], *, durable: bool = True) -> T:
        """Apply a change and return its result after the commit. The change may run twice, if the first run rolls back.

        ``durable`` waits for the disk; without it a power failure may lose the change, but a kill does not. If the
        caller is cancelled, the change may or may not be applied. A damaged database is not written.
        """
        self._health.require_sound()
        found: T = await self._call((change, durable))
        return found

    def _finish(self) -> None:
        self._connection.close()

    def _wait(self) -> ThreadedCall | None:
        """Return the next write when the next transaction may start."""
        if self._unchecked >= _CHECKPOINT_IDLE and self._queue.empty():
            self._unchecked = 0
            with suppress(sqlite3.Error):  # the next checkpoint does it
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        first = self._queue.get()
        wait = max(self._began + self._apart - time.monotonic(), _GATHER)
        if not self._closed:
            time.sleep(wait)
        self._began = time.monotonic()
        return first

    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        self.counts.writes += len(batch)
        try:
            self._set_durable(any(durable for _, durable in (write.work for write in batch)))
            self._connection.execute("BEGIN IMMEDIATE")
            before = self._connection.total_changes
            if not self._all_at_once(batch):
                self._each_for_itself(batch)
            self._connection.execute("COMMIT")
            if self._connection.total_changes > before:  # an empty transaction needs no disk space
                self._trouble = None
            self.counts.commits += 1
            self._unchecked += 1
        except Exception as error:
            self._roll_back()
            for write in batch:
                write.error = self._translated(error)
        self.counts.failures += sum(1 for write in batch if write.error is not None)

    def _all_at_once(self, batch: Sequence[ThreadedCall]) -> bool:
        """Apply changes without savepoints, which are expensive; return false and roll back if one fails."""
        try:
            for write in batch:
                write.result = write.work[0](self._connection)
        except Exception:
            self._roll_back()
            self._connection.execute("BEGIN IMMEDIATE")
            return False
        return True

    def _each_for_itself(self, batch: Sequence[ThreadedCall]) -> None:
        """Apply changes again with a savepoint each, so that a failing change fails alone."""
        connection = self._connection
        for write in batch:
            connection.execute("SAVEPOINT one")
            try:
                write.result = write.work[0](connection)
            except Exception as error:
                if not connection.in_transaction:  # on a full disk SQLite rolls back the whole transaction
                    raise
                connection.execute("ROLLBACK TO one")
                write.error = self._translated(error)
            connection.execute("RELEASE one")

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _set_durable(self, durable: bool) -> None:
        # The WAL is written in order, so a durable commit makes those before it durable too.
        if durable != self._durable:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def _translated(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error):
            return error
        translated = self._health.note(store_error(error, self._path))
        translated.__cause__ = error
        if isinstance(translated, StoreUnavailable):
            self._trouble = time.monotonic(), translated.message
        return translated
