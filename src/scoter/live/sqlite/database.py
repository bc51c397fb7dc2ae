"""``service.sqlite``: everything that the live service must not lose, in one file.

The service holds a lock file next to it, which ends with its process. Schedulers in several processes may share the
database instead (``shared``). Readers need no lock: see ``metadata.open_readonly``.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from scoter.errors import UsageError
from scoter.live.clock import boot_id, steady_now, utc_now
from scoter.live.sqlite.health import DatabaseHealth, require_file, store_error
from scoter.live.sqlite.schema import FORMAT, WrongDatabase, check, free_leases, prepare
from scoter.live.sqlite.writer import Change, DatabaseWriter
from scoter.store.disk import disk_errors, make_folder, sync_file, sync_folder

T = TypeVar("T")

BUSY: Final = 5.0  # seconds that a write waits for another process
_WAITING: Final = 10_000
APART: Final = 0.005
_HOLDER_SIZE: Final = 4096
_LOG_PAGES: Final = 4_000  # 16 MB of WAL, after which a commit makes a checkpoint
_WRITER_CACHE: Final = 32 * 1024  # KiB
_READER_CACHE: Final = 8 * 1024


class ServiceDb:
    """The database of a service: one thread writes, reads happen in the calling thread."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], datetime] = utc_now,
        steady_clock: Callable[[], float] = steady_now,
        boot: str | None = None,
        shared: bool = False,
        traces: tuple[Path, ...] = (),
        most_waiting: int = _WAITING,
        busy: float = BUSY,
        apart: float = APART,
    ) -> None:
        """Open or create the database; ``traces`` prove that there was one (see ``require_file``).

        ``clock`` is wall time, ``steady_clock`` the clock of leases. Writes wait ``busy`` seconds for another process's
        lock. Commits start at least ``apart`` seconds from each other, so that writes share them.
        """
        self.path = path
        self.clock = clock
        self.steady_clock = steady_clock
        with disk_errors("create the folder", path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(path, clock(), shared=shared)
        self.health = DatabaseHealth(path)
        try:
            require_file(path, traces)
            connection = _opened(path, busy, boot_id() if boot is None else boot, alone=not shared)
            self.reader = DatabaseReader(path, health=self.health)
        except BaseException:
            os.close(self._lock)
            raise
        self.writer = DatabaseWriter(connection, path, self.health, most_waiting=most_waiting, apart=apart)

    def __repr__(self) -> str:
        return f"ServiceDb({self.path}, {self.writer.counts.writes} writes in {self.writer.counts.commits} commits)"

    @property
    def log_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    async def write(self, change: Change[T], *, durable: bool = True) -> T:
        """Apply a change completely or not at all; see ``DatabaseWriter.write``."""
        return await self.writer.write(change, durable=durable)

    def close(self) -> None:
        """Apply queued writes and close the file. Blocks until done."""
        self.writer.close()
        self.reader.close()
        if self._lock >= 0:
            with suppress(OSError):  # the next holder overwrites the name in it
                os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = -1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.to_thread(self.close)


class DatabaseReader:
    """A read-only connection. Queries take microseconds, so they run in the calling thread."""

    def __init__(self, path: Path, *, mapped: int = 0, health: DatabaseHealth | None = None) -> None:
        """Map ``mapped`` bytes of the file into memory; they count towards the RSS of the process.

        ``health`` is told about failed reads.
        """
        self._path = path
        self._health = health or DatabaseHealth(path)
        hint = "Start the service with this folder first, or pass the folder of a service."
        try:
            # Not mode=ro: if no other process has the WAL open, a reader must create its index file.
            self._connection = _connect(path, BUSY, mode="rw")
            try:
                self._connection.execute("PRAGMA query_only = 1")
                self._connection.execute(f"PRAGMA mmap_size = {mapped}")
                self._connection.execute(f"PRAGMA cache_size = -{_READER_CACHE}")
                version = check(self._connection, where=str(path))
                if version == 0:
                    raise WrongDatabase("has no tables of a live service")
                if version < FORMAT:
                    raise WrongDatabase("is of an older Scoter; a service that is started with it brings it up to date")
            except BaseException:
                self._connection.close()
                raise
        except WrongDatabase as error:
            raise UsageError(str(error), where=str(path), hint=hint) from None
        except sqlite3.Error as error:
            if not path.exists():
                raise UsageError("no live service database found", where=str(path), hint=hint) from None
            raise store_error(error, path) from error

    def all(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query."""
        try:
            return self._connection.execute(query, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._health.note_read(store_error(error, self._path)) from error

    def one(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first row of a query, or ``None``."""
        try:
            return self._connection.execute(query, parameters).fetchone()
        except sqlite3.Error as error:
            raise self._health.note_read(store_error(error, self._path)) from error

    def close(self) -> None:
        self._connection.close()


def _opened(path: Path, busy: float, boot: str, *, alone: bool) -> sqlite3.Connection:
    """Return the writing connection; create the tables in a new file."""
    try:
        connection = _connect(path, busy, mode="rwc")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # Accepted messages must survive a power failure: FULL waits for the disk at each commit, NORMAL does not.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA temp_store = MEMORY")  # for the pages that savepoints save
            connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {64 * 2**20}")
            prepare(connection, where=str(path))
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                free_leases(connection, boot, alone=alone)
        except BaseException:
            connection.close()
            raise
    except WrongDatabase as error:
        raise UsageError(str(error), where=str(path), hint="Choose another folder, or use that version.") from None
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    return connection


def _connect(path: Path, busy: float, *, mode: str) -> sqlite3.Connection:
    # Only one thread uses a connection: the writer thread, or that of the event loop.
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=busy, isolation_level=None, check_same_thread=False)


def _lock(path: Path, now: datetime, *, shared: bool) -> int:
    """Take the lock. It is a separate file, because closing any handle of the database drops SQLite's own locks."""
    # Imported here: it needs pyarrow, whose import takes half a second that readers should not pay.
    from scoter.store.tables.storage import decode_holder, encode_holder, refusal, this_process

    file = path.with_name(path.name + ".lock")
    with disk_errors("lock the database", file):
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            found = decode_holder(os.pread(handle, _HOLDER_SIZE, 0))
            os.close(handle)
            raise refusal(found, str(path), "Wait until it ends, or stop that process.") from None
        except OSError:
            os.close(handle)
            raise
        with suppress(OSError):  # on a full disk the lock works without the name of its holder
            os.ftruncate(handle, 0)
            os.pwrite(handle, encode_holder(this_process("", now)), 0)
    return handle


def back_up(source: Path, target: Path) -> int:
    """Write a consistent copy of the database; return its bytes.

    The service continues to write, but makes no checkpoints meanwhile. The copy appears under its name once it is
    complete and durable; a service can be started with it.
    """
    with disk_errors("look for the copy", target):
        if target.exists():
            raise UsageError("the target already exists", where=str(target), hint="Choose another target.")
    DatabaseReader(source).close()  # raises if it is not the database of a service
    draft = target.with_name(target.name + ".part")
    with disk_errors("write the copy", draft):
        # Private, like the service's own directory, which the folder of the copy may become.
        make_folder(draft.parent, mode=0o700)
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)  # VACUUM INTO accepts an empty file
        try:
            with closing(sqlite3.connect(source, timeout=BUSY, isolation_level=None)) as connection:
                connection.execute("VACUUM INTO ?", (str(draft),))
            sync_file(draft)
            draft.rename(target)
            sync_folder(target.parent)
        except sqlite3.Error as error:
            draft.unlink(missing_ok=True)
            raise store_error(error, draft) from error
        return target.stat().st_size
