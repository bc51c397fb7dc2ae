"""Announcements in their order (``ports.Events``), kept for a while."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec

from scoter.live.records import Event, UrlRecord
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.moments import micros, moment

MOST: Final = 1_000_000
KEPT: Final = timedelta(days=7)
_decode = msgspec.json.Decoder(UrlRecord).decode


class SqliteEvents:
    """The events in the service's database, numbered in the order of commits: none turns up behind a reader."""

    def __init__(self, db: ServiceDb, *, most: int = MOST, kept: timedelta = KEPT) -> None:
        """At most ``most`` are kept, and none for longer than ``kept``, whenever ``prune`` was called often enough."""
        self._db = db
        self._most = most
        self._kept = kept

    def since(self, number: int, most: int) -> Sequence[Event]:
        """Return the next events after a number."""
        query = "SELECT number, message, url, at, record FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return [
            Event(number=number, message=message, url=url, at=moment(at), record=_decode(record))
            for number, message, url, at, record in self._db.reader.all(query, (number, most))
        ]

    def last(self) -> int:
        """Return the number of the newest event, 0 before the first."""
        row = self._db.reader.one("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
        return row[0] if row else 0

    def first(self) -> int:
        """Return the oldest number that is still kept; the next one that will be given where none is."""
        row = self._db.reader.one("SELECT min(number) FROM events")
        return row[0] if row[0] is not None else self.last() + 1

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Forget at most so many events that are too many or, if ``by_age``, too old; return how many."""
        before = micros(self._db.clock() - self._kept) if by_age else None

        def change(connection: sqlite3.Connection) -> int:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
            surplus = (row[0] if row else 0) - self._most
            upto = 0
            # From the oldest on, until one is to be kept: what is left has no gaps, even if the clock was set back.
            for number, at in connection.execute("SELECT number, at FROM events ORDER BY number LIMIT ?", (most,)):
                if number > surplus and (before is None or at > before):
                    break
                upto = number
            return connection.execute("DELETE FROM events WHERE number <= ?", (upto,)).rowcount

        return await self._db.write(change, durable=False)
