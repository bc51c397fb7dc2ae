"""Announcements on their way to callbacks (``ports.Deliveries``), until they were received or given up.

Each holds its event itself, which may be pruned before a callback answers. One that is taken is not due for as long as
its lease; if it was neither delivered nor failed by then, somebody else takes it, under the same id. Only what failed
counts as a try: a lease that ran out, or a delivery that was put off, tells nothing of the callback.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from scoter.live.memory.announcing import GivenUp
from scoter.live.memory.turns import MOST_GIVEN_UP
from scoter.live.ports import Delivery
from scoter.live.records import Event
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.moments import micros, moment

KEPT: Final = timedelta(days=7)
_NEVER: Final = -(2**63)
_decode = msgspec.json.Decoder(Event).decode


class SqliteDeliveries:
    """The deliveries in the service's database."""

    def __init__(self, db: ServiceDb, *, kept: timedelta = KEPT, most_given_up: int = MOST_GIVEN_UP) -> None:
        """Those given up are shown for ``kept``, and at most so many of them."""
        self._db = db
        self._kept = kept
        self._most_given_up = most_given_up

    async def due(self, most: int, lease: timedelta) -> Sequence[Delivery]:
        """Take deliveries whose time has come, longest due first."""

        def change(connection: sqlite3.Connection) -> list[Delivery]:
            now = self._db.ticks()
            query = (
                "SELECT number, id, callback, event, tries FROM deliveries"
                " WHERE due IS NOT NULL AND due <= ? ORDER BY due, number LIMIT ?"
            )
            rows = connection.execute(query, (now, most)).fetchall()
            connection.executemany(
                "UPDATE deliveries SET lent = 1, due = ? WHERE number = ?",
                [(now + lease.total_seconds(), row[0]) for row in rows],
            )
            return [_delivery(row[1:]) for row in rows]

        return await self._db.write(change, durable=False)

    async def delivered(self, ids: Sequence[str]) -> None:
        """Forget what was received."""

        def change(connection: sqlite3.Connection) -> None:
            connection.executemany("DELETE FROM deliveries WHERE id = ?", [(each,) for each in ids])

        await self._db.write(change)

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        """Try again later; none gives up."""

        def change(connection: sqlite3.Connection) -> None:
            if again_in is None:
                due, ended = None, micros(self._db.clock())
            else:
                due, ended = self._db.ticks() + again_in.total_seconds(), None
            update = (
                "UPDATE deliveries SET lent = 0, tries = tries + 1, due = ?, ended = ?, why = ?"
                " WHERE id = ? AND due IS NOT NULL"
            )
            connection.execute(update, (due, ended, why, delivery))

        await self._db.write(change, durable=again_in is None)

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        """Give deliveries back that were not tried."""

        def change(connection: sqlite3.Connection) -> None:
            now = self._db.ticks()
            update = "UPDATE deliveries SET lent = 0, due = ? WHERE id = ? AND due IS NOT NULL"
            connection.executemany(update, [(now + pause.total_seconds(), each) for each, pause in again_in.items()])

        await self._db.write(change, durable=False)

    def given_up(self, most: int) -> Sequence[GivenUp]:
        """Return those that were given up last, the newest first."""
        query = (
            "SELECT id, callback, event, tries, why, ended FROM deliveries"
            " WHERE ended IS NOT NULL ORDER BY ended DESC, number DESC LIMIT ?"
        )
        rows = self._db.reader.all(query, (most,))
        return [GivenUp(delivery=_delivery(row[:4]), why=row[4], at=moment(row[5])) for row in rows]

    def waiting(self, most: int) -> int:
        """Return how many were neither received nor given up; of more than ``most``, that."""
        counted = "SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE due IS NOT NULL LIMIT ?)"
        found: int = self._db.reader.one(counted, (most,))[0]
        return found

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Forget at most so many that were given up before too many others or, if ``by_age``, long ago."""
        before = micros(self._db.clock() - self._kept) if by_age else _NEVER

        def change(connection: sqlite3.Connection) -> int:
            newest_first = "SELECT ended FROM deliveries WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1 OFFSET ?"
            surplus = connection.execute(newest_first, (self._most_given_up,)).fetchone()
            delete = (
                "DELETE FROM deliveries WHERE number IN (SELECT number FROM deliveries"
                " WHERE ended IS NOT NULL AND ended <= ? ORDER BY ended LIMIT ?)"
            )
            return connection.execute(delete, (max(before, surplus[0] if surplus else before), most)).rowcount

        return await self._db.write(change, durable=False)


def _delivery(row: tuple[str, str, bytes, int]) -> Delivery:
    number, callback, event, tries = row
    return Delivery(id=number, callback=callback, event=_decode(event), tries=tries)
