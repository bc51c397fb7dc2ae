"""Accepted messages until all their URLs are done (``ports.Intake``), and the recording of outcomes.

The life of an entry: once *accepted* with its message it waits. When *opened* it is leased to a reader; *renew* extends
the lease. If it is *aborted*, or its lease expires, it waits again at its old place. Recording the outcome closes it;
an entry that was opened too often without an outcome is closed as failed. An expired lease ends only when some reader
opens more entries, so a single reader that is late loses no work.

A limited number of entries per domain and priority are waiting or leased. The others are *parked*, and replace those
that end (see ``schema``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final
from uuid import uuid4

import msgspec

from scoter.config.sections.live import LiveSettings
from scoter.live.clock import from_micros, to_micros
from scoter.live.intake.journal_rules import AgedEntryShare, domain_of, failed_record, is_conflict
from scoter.live.pipeline.retries import retry_message
from scoter.live.ports import Accepted, JournalEntry, UrlOutcome
from scoter.live.records import Event, Message, Priority, UrlRecord
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.metadata import put_records
from scoter.live.tenants import announcement, tenant_of

# Only this transaction inserts, so the entries of a message have consecutive numbers.
_NEW_MESSAGE: Final = (
    "INSERT INTO messages (id, urls, force, callback, accepted, open, done, digest, first)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'entries'))"
    " ON CONFLICT (id) DO NOTHING RETURNING number, first"
)
_NEW_ENTRY: Final = (
    "INSERT INTO entries (id, message, url, domain, priority, accepted, parked) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
    " coalesce((SELECT ready >= ?7 FROM backlog WHERE domain = ?4 AND priority = ?5), 0))"
)
_ENTRY_COLUMNS: Final = (
    "e.id, m.id, e.url, e.priority, m.force, m.callback, e.accepted, e.tries"
    " FROM entries e JOIN messages m ON m.number = e.message"
)
_WAITING: Final = "e.reader IS NULL AND e.parked = 0"
_NEXT: Final = f"SELECT {_ENTRY_COLUMNS} WHERE {_WAITING} ORDER BY e.priority, e.id LIMIT ?"
_FIRST_OF: Final = f"SELECT {_ENTRY_COLUMNS} WHERE {_WAITING} AND e.priority = ? ORDER BY e.id LIMIT ?"
_decode_urls = msgspec.json.Decoder(list[str]).decode


class SqliteJournal:
    """The journal in the service's database."""

    def __init__(self, db: ServiceDb, live: LiveSettings = LiveSettings()) -> None:  # noqa: B008 - frozen
        """Remember finished messages for ``messages_for``, and at most the last ``messages_most``.

        An entry is opened at most ``tries`` times. At most ``in_flight_per_domain`` entries per domain and priority are
        waiting or leased; the others are parked.
        """
        self._db = db
        self._live = live
        self._window = live.in_flight_per_domain
        self._is_window_set = False
        self._turns = AgedEntryShare(live.patience)

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Store messages with their URLs durably before returning."""
        prepared = [(message, [(url, domain_of(url)) for url in dict.fromkeys(urls)]) for message, urls in messages]

        def change(connection: sqlite3.Connection) -> list[Accepted]:
            return [self._accept(connection, message, urls) for message, urls in prepared]

        return await self._db.write(change)

    def _accept(self, connection: sqlite3.Connection, message: Message, urls: list[tuple[str, str]]) -> Accepted:
        accepted = to_micros(message.received)
        done = None if urls else to_micros(self._db.clock())
        texts = msgspec.json.encode([url for url, _ in urls])
        row = (message.id, texts, message.force, message.callback, accepted, len(urls), done, message.digest)
        new = connection.execute(_NEW_MESSAGE, row).fetchall()
        if not new:
            query = "SELECT urls, first, digest FROM messages WHERE id = ?"
            known = connection.execute(query, (message.id,)).fetchone()
            if is_conflict(message, known[2]):
                return Accepted(message=message.id, entries={}, is_new=False, is_conflict=True)
            entries = {url: known[1] + place for place, url in enumerate(_decode_urls(known[0]))}
            return Accepted(message=message.id, entries=entries, is_new=False)
        ((number, first),) = new
        connection.executemany(
            _NEW_ENTRY,
            [
                (first + place, number, url, domain, message.priority, accepted, self._window)
                for place, (url, domain) in enumerate(urls)
            ],
        )
        return Accepted(message=message.id, entries={url: first + place for place, (url, _) in enumerate(urls)})

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        """Lease entries to a reader; entries whose lease expires may be leased to any reader."""

        def change(connection: sqlite3.Connection) -> list[JournalEntry]:
            now = self._db.steady_clock()
            if not self._is_window_set:  # the triggers read it when an entry ends
                connection.execute("UPDATE tallies SET n = ? WHERE name = 'window'", (self._window,))
            connection.execute(
                "UPDATE entries SET reader = NULL, until = NULL WHERE reader IS NOT NULL AND until <= ?", (now,)
            )
            leased = self._chosen(connection, most)
            connection.executemany(
                "UPDATE entries SET reader = ?, until = ?, tries = tries + 1 WHERE id = ?",
                [(reader, now + lease.total_seconds(), entry.id) for entry in leased],
            )
            return leased

        # Not durable: a power failure also ends the reader.
        leased = await self._db.write(change, durable=False)
        self._is_window_set = True
        return leased

    def _chosen(self, connection: sqlite3.Connection, most: int) -> list[JournalEntry]:
        """Return the next entries; close those that were tried too often."""
        chosen = []
        for row in self._next_rows(connection, most):
            entry = entry_of(row)
            if entry.tries < self._live.tries:
                chosen.append(entry)
            else:
                now = self._db.clock()
                close_entry(connection, entry.id, None, now)
                announce(connection, entry, failed_record(entry, now), now)
        return sorted(chosen, key=lambda entry: (entry.priority, entry.id))

    def _next_rows(self, connection: sqlite3.Connection, most: int) -> list[Any]:
        rows: dict[int, Any] = {}
        if share := self._turns.reserved(most):
            now = self._db.clock()
            before, ahead = to_micros(now - self._turns.patience), to_micros(now)
            first = chain.from_iterable(
                connection.execute(_FIRST_OF, (priority, share)) for priority in (Priority.NORMAL, Priority.BULK)
            )
            # A time in the future dates from before the clock was set back: the entry has waited since then.
            rows = dict(sorted((row[0], row) for row in first if not before < row[6] <= ahead)[:share])
        for row in connection.execute(_NEXT, (most,)):
            if len(rows) >= most:
                break
            rows[row[0]] = row
        return list(rows.values())

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        """Renew leases; return the entries that the reader still holds."""

        def change(connection: sqlite3.Connection) -> list[int]:
            until = self._db.steady_clock() + lease.total_seconds()
            update = "UPDATE entries SET until = ? WHERE id = ? AND reader = ?"
            return [entry for entry in entries if connection.execute(update, (until, entry, reader)).rowcount]

        return await self._db.write(change, durable=False)

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        """Return entries at once; this does not count as a try."""

        def change(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE entries SET reader = NULL, until = NULL, tries = tries - 1 WHERE id = ? AND reader = ?",
                [(entry, reader) for entry in entries],
            )

        await self._db.write(change, durable=False)

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Remove at most ``most`` finished messages beyond the limit or, if ``by_age``, too old; return how many."""
        before = to_micros(self._db.clock() - self._live.messages_for)

        def change(connection: sqlite3.Connection) -> int:
            gone = 0
            if by_age:
                old = "SELECT number FROM messages WHERE done IS NOT NULL AND done <= ? ORDER BY done LIMIT ?"
                gone = connection.execute(f"DELETE FROM messages WHERE number IN ({old})", (before, most)).rowcount  # noqa: S608
            (newest,) = connection.execute("SELECT coalesce(max(number), 0) FROM messages").fetchone()
            many = "SELECT number FROM messages WHERE number <= ? AND done IS NOT NULL ORDER BY number LIMIT ?"
            surplus = (newest - self._live.messages_most, most - gone)
            return gone + connection.execute(f"DELETE FROM messages WHERE number IN ({many})", surplus).rowcount  # noqa: S608

        return await self._db.write(change, durable=False)

    async def accept_retries(self, most: int) -> int:
        """Turn at most ``most`` retries that are due into messages, each in the same write; return how many."""
        now = self._db.clock()
        due = to_micros(now)
        if self._db.reader.one("SELECT 1 FROM retries WHERE due <= ? LIMIT 1", (due,)) is None:
            return 0
        if self.waiting() >= self._live.backlog:  # they stay due
            return 0

        def change(connection: sqlite3.Connection) -> int:
            query = "SELECT url, tenant FROM retries WHERE due <= ? ORDER BY due LIMIT ?"
            found = connection.execute(query, (due, most)).fetchall()
            connection.executemany("DELETE FROM retries WHERE url = ?", [(url,) for url, _ in found])
            for url, tenant in found:
                self._accept(connection, retry_message(url, tenant, now), [(url, domain_of(url))])
            return len(found)

        return await self._db.write(change)

    def retries(self) -> int:
        """Return the number of URLs that will be fetched again."""
        (found,) = self._db.reader.one("SELECT count(*) FROM retries")
        return int(found)

    def depth(self) -> Mapping[Priority, int]:
        """Return the number of open entries by priority."""
        rows = dict(self._db.reader.all("SELECT name, n FROM tallies"))
        return {priority: rows[f"open{int(priority)}"] for priority in Priority}

    def waiting(self) -> int:
        """Return the number of open entries."""
        (found,) = self._db.reader.one("SELECT sum(n) FROM tallies WHERE name BETWEEN 'open0' AND 'open2'")
        return int(found)

    def waiting_of(self, domain: str) -> int:
        """Return the number of open entries of a registered domain."""
        row = self._db.reader.one("SELECT coalesce(sum(n), 0) FROM backlog WHERE domain = ?", (domain,))
        return int(row[0])

    def waiting_for(self, tenant: str) -> int:
        """Return the number of open entries of a tenant."""
        row = self._db.reader.one("SELECT n FROM tenants WHERE name = ?", (tenant,))
        return int(row[0]) if row else 0

    def oldest(self) -> timedelta | None:
        """Return the age of the oldest open entry, if any."""
        row = self._db.reader.one("SELECT accepted FROM entries ORDER BY id LIMIT 1")
        return max(self._db.clock() - from_micros(row[0]), timedelta()) if row else None

    def is_done(self, message: str) -> bool | None:
        """Return whether all URLs of a message are done; ``None`` if the message is unknown."""
        row = self._db.reader.one("SELECT open FROM messages WHERE id = ?", (message,))
        return row[0] == 0 if row else None


_encode_json = msgspec.json.Encoder().encode


def entry_of(row: Sequence[Any]) -> JournalEntry:
    """Return the entry of a row of ``_ENTRY_COLUMNS``."""
    return JournalEntry(
        id=row[0],
        message=row[1],
        url=row[2],
        priority=Priority(row[3]),
        force=bool(row[4]),
        callback=row[5],
        accepted=from_micros(row[6]),
        tries=row[7],
    )


def close_entry(connection: sqlite3.Connection, entry: int, reader: str | None, now: datetime) -> bool:
    """Close an entry that ``reader`` holds (``None``: that waits); return whether it was there."""
    delete = "DELETE FROM entries WHERE id = ? AND reader IS ? RETURNING message"
    found = connection.execute(delete, (entry, reader)).fetchall()
    if not found:
        return False
    update = "UPDATE messages SET open = open - 1, done = CASE WHEN open = 1 THEN ? END WHERE number = ?"
    connection.execute(update, (to_micros(now), *found[0]))
    return True


def announce(connection: sqlite3.Connection, entry: JournalEntry, record: UrlRecord, now: datetime) -> Event:
    """Add the event of an outcome, and its delivery if the message has a callback."""
    at, text = to_micros(now), _encode_json(record)
    insert = "INSERT INTO events (message, url, at, record) VALUES (?, ?, ?, ?)"
    number = connection.execute(insert, (entry.message, entry.url, at, text)).lastrowid
    assert number is not None  # noqa: S101 - an INSERT of a row has one
    event = announcement(number, entry.message, entry.url, from_micros(at), record)
    if entry.callback:
        insert = "INSERT INTO deliveries (id, callback, event, due, tenant) VALUES (?, ?, ?, 0, ?)"
        connection.execute(insert, (uuid4().hex, entry.callback, _encode_json(event), event.tenant))
    return event


def schedule_retry(connection: sqlite3.Connection, entry: JournalEntry, at: datetime | None, most: int) -> None:
    """Schedule the next fetch of a URL; ``None`` removes a scheduled one. Beyond ``most`` URLs, do nothing."""
    connection.execute("DELETE FROM retries WHERE url = ?", (entry.url,))
    if at is not None:
        insert = "INSERT INTO retries SELECT ?, ?, ? WHERE (SELECT count(*) FROM retries) < ?"
        connection.execute(insert, (entry.url, to_micros(at), tenant_of(entry.message), most))


class SqliteOutcomes:
    """Records outcomes in the service's database (``ports.OutcomeRecorder``)."""

    def __init__(self, db: ServiceDb, live: LiveSettings = LiveSettings()) -> None:  # noqa: B008 - frozen
        self._db = db
        self._most_retries = live.retries_most

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        """Store, announce and close; for an entry that the reader has lost, store nothing and return ``None``."""

        def change(connection: sqlite3.Connection) -> list[Event | None]:
            return [self._record(connection, reader, each) for each in done]

        return await self._db.write(change)

    def _record(self, connection: sqlite3.Connection, reader: str, done: UrlOutcome) -> Event | None:
        now = self._db.clock()
        if not close_entry(connection, done.entry.id, reader, now):
            return None
        put_records(connection, done.rows, now)
        schedule_retry(connection, done.entry, done.record.retry_at, self._most_retries)
        return announce(connection, done.entry, done.record, now)
