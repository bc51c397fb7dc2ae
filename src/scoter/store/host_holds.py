"""Until when hosts must be left alone, in a SQLite file that outlives the fetch which learned it.

All processes of a crawl share the file. A put has reached the kernel when it returns, so a killed process loses
nothing. The file is bounded: holds that are over are deleted, and beyond the limit those that end first.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from scoter.store.disk import Closing
from scoter.store.sqlite_file import SqliteKind, open_sqlite

ENTRIES = 200_000
LONGEST = 86_400.0
"""Seconds that a hold may last."""
_SLACK = 3_600.0  # an entry that lasts longer than this beyond LONGEST is from a clock that was wrong

_SCHEMA = """
CREATE TABLE IF NOT EXISTS holds (
  host TEXT PRIMARY KEY, until REAL NOT NULL, delay REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS holds_by_end ON holds (until);
"""
_KIND = SqliteKind(
    name="file of host holds",
    application=0x5C07_401D,
    schema=_SCHEMA,
    hint="Move the file away; hosts that asked to be left alone may then be requested earlier than they asked for.",
)
_PUT = """
INSERT INTO holds (host, until, delay) VALUES (?, ?, ?)
ON CONFLICT (host) DO UPDATE SET until = max(until, excluded.until), delay = excluded.delay
"""
_EXPIRE = "DELETE FROM holds WHERE until <= ? OR until > ?"
_TRIM = """
DELETE FROM holds WHERE host IN (
  SELECT host FROM holds ORDER BY until LIMIT max(0, (SELECT count(*) FROM holds) - ?)
)
"""
_GET = "SELECT until FROM holds WHERE host = ? AND until > ? AND until <= ?"
_CURRENT = "SELECT host, until, delay FROM holds WHERE until > ? AND until <= ? ORDER BY until"


class HostHold(Struct, frozen=True):
    """A host that must be left alone until a Unix time; ``delay`` is the delay in seconds that a fetch waits for."""

    host: str
    until: float
    delay: float


class SqliteHostHolds(Closing):
    """The holds of a crawl. Hosts are named by the keys of their queues."""

    def __init__(self, path: Path, *, entries: int = ENTRIES, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._entries = entries
        self._clock = clock
        self._puts = 0
        self.failures = 0
        self._file = open_sqlite(path, _KIND)

    def __repr__(self) -> str:
        return f"SqliteHostHolds({self._path}, {self.failures} failures)"

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def until(self, host: str) -> float:
        """Return the Unix time until which a host is on hold; 0 if it is not."""
        try:
            row = self._file.execute(_GET, (host, *self._span())).fetchone()
        except sqlite3.Error:
            self.failures += 1
            return 0.0
        return 0.0 if row is None else float(row[0])

    def put(self, holds: Iterable[tuple[str, float, float]]) -> None:
        """Store holds: host, Unix time of its end, and the host's usual delay. A hold never becomes shorter."""
        rows = list(holds)
        if not rows:
            return
        latest = self._clock() + LONGEST
        try:
            self._file.execute("BEGIN IMMEDIATE")
            self._file.execute(_EXPIRE, self._span())
            self._file.executemany(_PUT, [(host, min(until, latest), delay) for host, until, delay in rows])
            self._puts += len(rows)
            if self._puts > self._entries // 16:
                self._puts = 0
                self._file.execute(_TRIM, (self._entries,))
            self._file.execute("COMMIT")
        except sqlite3.Error:  # the disk is full, say: the running fetch still remembers its holds
            self.failures += 1
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")

    def current(self) -> list[HostHold]:
        """Return the holds that are not over, those that end first first."""
        return [HostHold(*row) for row in self._file.execute(_CURRENT, self._span())]

    def _span(self) -> tuple[float, float]:
        """Return the times between which a hold may end."""
        now = self._clock()
        return now, now + LONGEST + _SLACK
