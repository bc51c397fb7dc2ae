"""A robots.txt cache that several processes share through a SQLite file.

It drops expired entries, and the oldest ones when it is full. A put has reached the kernel when it returns, so a
killed process loses nothing; puts of the same few milliseconds share one transaction in one thread. It is only a cache:
if the disk fails, lookups find nothing and the crawl continues.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from scoter.core.robots_cache import StoredRobots
from scoter.store.disk import Closing
from scoter.store.sqlite_file import SqliteKind, connect, open_sqlite

ENTRIES = 200_000
BYTES = 256 * 2**20
_WAIT = 0.005  # seconds in which puts are collected

_SCHEMA = """
CREATE TABLE IF NOT EXISTS robots (
  id INTEGER PRIMARY KEY, origin TEXT NOT NULL UNIQUE, expires REAL NOT NULL, size INTEGER NOT NULL, body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS robots_by_expiry ON robots (expires, size);
"""
_KIND = SqliteKind(
    name="robots.txt cache",
    application=0x5C07_0B07,
    schema=_SCHEMA,
    hint="Choose another file, or delete this one: a cache fills up again.",
)
# Replacing a row gives it a new, highest id, so ids reflect the order of puts.
_PUT = "INSERT OR REPLACE INTO robots (origin, expires, size, body) VALUES (?, ?, ?, ?)"
_GET = "SELECT body, expires FROM robots WHERE origin = ? AND expires > ?"
_LAST = "SELECT body, expires FROM robots WHERE origin = ?"
_ALL = "SELECT origin, body, expires FROM robots ORDER BY origin"
_EXPIRE = "DELETE FROM robots WHERE expires <= ?"
_TOTAL = "SELECT count(*), coalesce(sum(size), 0) FROM robots"
_OLDEST = "SELECT id, size FROM robots ORDER BY id LIMIT 1000"


class SqliteRobotsCache(Closing):
    """Shares robots.txt files with every process that opens the same file.

    Reads run in the event loop: they take a few microseconds, because readers never wait in WAL mode. Writes run in a
    thread, because they may wait for another process. The limits are enforced from time to time, so each process may
    exceed them by a sixteenth.
    """

    def __init__(
        self, path: Path, *, entries: int = ENTRIES, size: int = BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._entries = entries
        self._size = size
        self._clock = clock
        self._writing = threading.Lock()
        self._collected: list[tuple[str, StoredRobots]] = []
        self._write: asyncio.Task[None] | None = None
        self._puts = 0
        self._put_bytes = 0
        self.failures = 0
        # Safe across threads: the writer is guarded by the lock, the reader only used by the event loop.
        self._writer = open_sqlite(path, _KIND)
        self._reader = connect(path)

    def __repr__(self) -> str:
        return f"SqliteRobotsCache({self._path}, {self.failures} failures)"

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        with self._writing:
            self._writer.close()

    async def get(self, origin: str) -> StoredRobots | None:
        """Return the unexpired entry of an origin, from any process."""
        try:
            row = self._reader.execute(_GET, (origin, self._clock())).fetchone()
        except sqlite3.Error:
            self.failures += 1
            return None
        return None if row is None else StoredRobots(*row)

    def all(self) -> Iterator[tuple[str, StoredRobots]]:
        """Yield every entry with its origin, also those that have expired but were not deleted yet."""
        for origin, body, expires in self._reader.execute(_ALL):
            yield origin, StoredRobots(body, expires)

    async def put(self, origin: str, stored: StoredRobots) -> None:
        """Store the entry of an origin for all processes."""
        self._collected.append((origin, stored))
        if self._write is None:
            self._write = asyncio.create_task(self._write_collected())
        await asyncio.shield(self._write)

    async def _write_collected(self) -> None:
        try:
            await asyncio.sleep(_WAIT)
        finally:
            entries, self._collected, self._write = self._collected, [], None
        await asyncio.to_thread(self._put, entries)

    def _put(self, entries: Sequence[tuple[str, StoredRobots]]) -> None:
        rows = [(origin, each.expires, len(origin) + each.size, each.body) for origin, each in entries]
        with self._writing:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                self._writer.executemany(_PUT, rows)
                self._puts += len(rows)
                self._put_bytes += sum(cost for _, _, cost, _ in rows)
                if self._puts > self._entries // 16 or self._put_bytes > self._size // 16:
                    self._tidy()
                self._writer.execute("COMMIT")
            except sqlite3.Error:
                self.failures += 1
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def _tidy(self) -> None:
        """Delete expired entries, then the oldest ones beyond the limits."""
        self._puts = self._put_bytes = 0
        self._writer.execute(_EXPIRE, (self._clock(),))
        count, held = self._writer.execute(_TOTAL).fetchone()
        while count and (count > self._entries or held > self._size):
            upto = 0
            for upto, cost in self._writer.execute(_OLDEST).fetchall():  # noqa: B007 - the last one to delete
                count, held = count - 1, held - cost
                if count <= self._entries and held <= self._size:
                    break
            self._writer.execute("DELETE FROM robots WHERE id <= ?", (upto,))


def read_robots(path: Path, origin: str) -> StoredRobots | None:
    """Return the entry of an origin, even if it has expired, without changing the file; ``None`` if there is none."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as reader:
            row = reader.execute(_LAST, (origin,)).fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else StoredRobots(*row)
