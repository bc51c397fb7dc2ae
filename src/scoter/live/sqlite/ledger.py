"""Outcomes, recorded once (``ports.Ledger``): records, event, delivery and the entry's end, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from scoter.live.ports import Done
from scoter.live.records import Event
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.entries import announce, close
from scoter.live.sqlite.metadata import key_of, put


class SqliteLedger:
    """The ledger in the service's database."""

    def __init__(self, db: ServiceDb, key: Callable[[str], int] = key_of) -> None:
        self._db = db
        self._key = key

    async def record(self, reader: str, done: Sequence[Done]) -> Sequence[Event | None]:
        """Store, announce and close; none for an entry that the reader no longer has, of which nothing is kept."""

        def change(connection: sqlite3.Connection) -> list[Event | None]:
            return [self._record(connection, reader, each) for each in done]

        return await self._db.write(change)

    def _record(self, connection: sqlite3.Connection, reader: str, done: Done) -> Event | None:
        now = self._db.clock()
        if not close(connection, done.entry.id, reader, now):
            return None
        put(connection, done.rows, now, self._key)
        return announce(connection, done.entry, done.record, now)
