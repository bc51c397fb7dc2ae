"""Events (``ports.Events``) and their delivery to callbacks (``ports.Deliveries``)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from scoter.live.clock import from_micros, to_micros
from scoter.live.ports import Delivery, DeliveryStatus, FailedDelivery
from scoter.live.records import Event, UrlRecord
from scoter.live.sqlite.database import ServiceDb
from scoter.live.tenants import announcement

_GIVEN_UP_FOR: Final = timedelta(days=7)
_decode_record = msgspec.json.Decoder(UrlRecord).decode


class SqliteEvents:
    """The events in the service's database, numbered in commit order, so that readers miss none."""

    def __init__(self, db: ServiceDb, *, most: int, kept: timedelta) -> None:
        """``prune`` leaves at most ``most`` events, none older than ``kept``."""
        self._db = db
        self._most = most
        self._kept = kept

    async def since(self, number: int, most: int) -> Sequence[Event]:
        """Return at most ``most`` events after a number."""
        query = "SELECT number, message, url, at, record FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return [
            announcement(number, message, url, from_micros(at), _decode_record(record))
            for number, message, url, at, record in self._db.reader.all(query, (number, most))
        ]

    def last(self) -> int:
        """Return the number of the newest event, 0 before the first."""
        row = self._db.reader.one("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
        return row[0] if row else 0

    def first(self) -> int:
        """Return the number of the oldest stored event; the next number if there is none."""
        row = self._db.reader.one("SELECT min(number) FROM events")
        return row[0] if row[0] is not None else self.last() + 1

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Remove at most ``most`` events beyond the limit or, if ``by_age``, too old; return how many."""
        before = to_micros(self._db.clock() - self._kept) if by_age else None

        def change(connection: sqlite3.Connection) -> int:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
            surplus = (row[0] if row else 0) - self._most
            upto = 0
            # Stop at the first event to keep, so that no gaps appear even if the clock was set back.
            for number, at in connection.execute("SELECT number, at FROM events ORDER BY number LIMIT ?", (most,)):
                if number > surplus and (before is None or at > before):
                    break
                upto = number
            return connection.execute("DELETE FROM events WHERE number <= ?", (upto,)).rowcount

        return await self._db.write(change, durable=False)


_NEVER: Final = -(2**63)
_decode_event = msgspec.json.Decoder(Event).decode


class SqliteDeliveries:
    """The deliveries in the service's database."""

    def __init__(self, db: ServiceDb, most_given_up: int) -> None:
        """Keep deliveries that were given up for a week, at most ``most_given_up``."""
        self._db = db
        self._most_given_up = most_given_up

    async def due(self, most: int, claim: timedelta) -> Sequence[Delivery]:
        """Claim due deliveries, longest due first; those that are not finished in time are due again."""

        def change(connection: sqlite3.Connection) -> list[Delivery]:
            now = self._db.steady_clock()
            query = (
                "SELECT number, id, callback, event, tries FROM deliveries"
                " WHERE due IS NOT NULL AND due <= ? ORDER BY due, number LIMIT ?"
            )
            rows = connection.execute(query, (now, most)).fetchall()
            connection.executemany(
                "UPDATE deliveries SET lent = 1, due = ? WHERE number = ?",
                [(now + claim.total_seconds(), row[0]) for row in rows],
            )
            return [_delivery(row[1:]) for row in rows]

        return await self._db.write(change, durable=False)

    async def delivered(self, ids: Sequence[str]) -> None:
        """Remove deliveries that were received."""

        def change(connection: sqlite3.Connection) -> None:
            connection.executemany("DELETE FROM deliveries WHERE id = ?", [(each,) for each in ids])

        await self._db.write(change)

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        """Schedule a retry; give up if ``again_in`` is ``None``."""

        def change(connection: sqlite3.Connection) -> None:
            if again_in is None:
                due, ended = None, to_micros(self._db.clock())
            else:
                due, ended = self._db.steady_clock() + again_in.total_seconds(), None
            update = (
                "UPDATE deliveries SET lent = 0, tries = tries + 1, due = ?, ended = ?, why = ?"
                " WHERE id = ? AND due IS NOT NULL"
            )
            connection.execute(update, (due, ended, why, delivery))

        await self._db.write(change, durable=again_in is None)

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        """Reschedule deliveries that were not attempted."""

        def change(connection: sqlite3.Connection) -> None:
            now = self._db.steady_clock()
            update = "UPDATE deliveries SET lent = 0, due = ? WHERE id = ? AND due IS NOT NULL"
            connection.executemany(update, [(now + pause.total_seconds(), each) for each, pause in again_in.items()])

        await self._db.write(change, durable=False)

    def given_up(self, most: int) -> Sequence[FailedDelivery]:
        """Return the deliveries given up last, newest first."""
        query = (
            "SELECT id, callback, event, tries, why, ended FROM deliveries"
            " WHERE ended IS NOT NULL ORDER BY ended DESC, number DESC LIMIT ?"
        )
        rows = self._db.reader.all(query, (most,))
        return [FailedDelivery(delivery=_delivery(row[:4]), why=row[4], at=from_micros(row[5])) for row in rows]

    async def unfinished(self, most: int, tenant: str | None = None) -> Sequence[DeliveryStatus]:
        """Return deliveries that are pending or were given up, newest first: those of one tenant, or all."""
        chosen, values = ("", (most,)) if tenant is None else ("WHERE tenant = ?", (tenant, most))
        query = (
            f"SELECT id, callback, event, tries, why, due, ended FROM deliveries {chosen}"  # noqa: S608 - two literals
            " ORDER BY number DESC LIMIT ?"
        )
        now = self._db.steady_clock()
        return [
            DeliveryStatus(
                delivery=_delivery(row[:4]),
                why=row[4],
                again_in=None if row[5] is None else timedelta(seconds=max(0.0, row[5] - now)),
                given_up=None if row[6] is None else from_micros(row[6]),
            )
            for row in self._db.reader.all(query, values)
        ]

    async def resend(self, delivery: str, tenant: str | None = None) -> bool:
        """Make a delivery due now, even one that was given up, unless it is under way."""

        def change(connection: sqlite3.Connection) -> bool:
            known = connection.execute("SELECT tenant FROM deliveries WHERE id = ?", (delivery,)).fetchone()
            if known is None or tenant not in (None, known[0]):
                return False
            update = "UPDATE deliveries SET due = ?, ended = NULL WHERE id = ? AND lent = 0"
            connection.execute(update, (self._db.steady_clock(), delivery))
            return True

        return await self._db.write(change)

    def waiting(self, most: int, tenant: str | None = None) -> int:
        """Return how many deliveries are pending, of one tenant or of all, counting up to ``most``."""
        chosen, values = ("", (most,)) if tenant is None else ("AND tenant = ?", (tenant, most))
        pending = f"SELECT 1 FROM deliveries WHERE due IS NOT NULL {chosen} LIMIT ?"  # noqa: S608 - two literals
        found: int = self._db.reader.one(f"SELECT count(*) FROM ({pending})", values)[0]  # noqa: S608
        return found

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Remove at most ``most`` given-up deliveries beyond the limit or, if ``by_age``, too old."""
        before = to_micros(self._db.clock() - _GIVEN_UP_FOR) if by_age else _NEVER

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
    return Delivery(id=number, callback=callback, event=_decode_event(event), tries=tries)
