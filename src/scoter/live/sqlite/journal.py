"""Accepted messages until each of their URLs is done (``ports.Intake``).

The life of an entry: *accepted* with its message, it waits; *opened*, it is lent to a reader until a moment of the
machine's clock; *renewed*, that moment moves; *aborted*, or past that moment, it waits again, in its old place. It is
closed by the ledger with what came of it, or here, as failed, when it was opened too often without an outcome. A late
reader has its entries until somebody asks for more: with one reader, being late alone costs nobody his work.

Of one domain and priority so many entries are lent or waiting, and no more; the others are *parked*, and take the
places of those that end (see ``schema``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import msgspec

from scoter.live.memory.journal import domain_of
from scoter.live.memory.turns import MOST_MESSAGES, MOST_TRIES, PATIENCE, WINDOW, Turns, given_up
from scoter.live.ports import Accepted, Entry
from scoter.live.records import Message, Priority
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.entries import COLUMNS, announce, close, entry_of
from scoter.live.sqlite.moments import micros, moment

KEPT: Final = timedelta(days=1)
# Nobody else inserts meanwhile, so that the entries of a message have numbers in a row.
_NEW_MESSAGE: Final = (
    "INSERT INTO messages (id, urls, force, callback, accepted, open, done, first)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'entries'))"
    " ON CONFLICT (id) DO NOTHING RETURNING number, first"
)
_NEW_ENTRY: Final = (
    "INSERT INTO entries (id, message, url, domain, priority, accepted, parked) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
    " coalesce((SELECT ready >= ?7 FROM backlog WHERE domain = ?4 AND priority = ?5), 0))"
)
_WAITING: Final = "e.reader IS NULL AND e.parked = 0"
_NEXT: Final = f"SELECT {COLUMNS} WHERE {_WAITING} ORDER BY e.priority, e.id LIMIT ?"
_FIRST_OF: Final = f"SELECT {COLUMNS} WHERE {_WAITING} AND e.priority = ? ORDER BY e.id LIMIT ?"
_decode = msgspec.json.Decoder(list[str]).decode


class SqliteJournal:
    """The journal in the service's database."""

    def __init__(
        self,
        db: ServiceDb,
        *,
        kept: timedelta = KEPT,
        most_messages: int = MOST_MESSAGES,
        patience: timedelta = PATIENCE,
        most_tries: int = MOST_TRIES,
        window: int = WINDOW,
    ) -> None:
        """Messages are known for ``kept`` after they were done, and not when ``most_messages`` came after them.

        An entry is lent ``most_tries`` times at most, and of one domain and priority ``window`` at a time.
        """
        self._db = db
        self._window = window
        self._is_window_set = False
        self._kept = kept
        self._most_messages = most_messages
        self._turns = Turns(patience)
        self._most_tries = most_tries

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Keep messages with the URLs found in them for good, before this returns."""
        prepared = [(message, [(url, domain_of(url)) for url in dict.fromkeys(urls)]) for message, urls in messages]

        def change(connection: sqlite3.Connection) -> list[Accepted]:
            return [self._accept(connection, message, urls) for message, urls in prepared]

        return await self._db.write(change)

    def _accept(self, connection: sqlite3.Connection, message: Message, urls: list[tuple[str, str]]) -> Accepted:
        accepted = micros(message.received)
        done = None if urls else micros(self._db.clock())
        texts = msgspec.json.encode([url for url, _ in urls])
        row = (message.id, texts, message.force, message.callback, accepted, len(urls), done)
        new = connection.execute(_NEW_MESSAGE, row).fetchall()
        if not new:
            known = connection.execute("SELECT urls, first FROM messages WHERE id = ?", (message.id,)).fetchone()
            entries = {url: known[1] + place for place, url in enumerate(_decode(known[0]))}
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

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[Entry]:
        """Lend entries to a reader; those it does not close in time are lent again, to whoever asks."""

        def change(connection: sqlite3.Connection) -> list[Entry]:
            now = self._db.ticks()
            if not self._is_window_set:  # it holds for whatever ends from now on
                connection.execute("UPDATE tallies SET n = ? WHERE name = 'window'", (self._window,))
            connection.execute(
                "UPDATE entries SET reader = NULL, until = NULL WHERE reader IS NOT NULL AND until <= ?", (now,)
            )
            lent = self._chosen(connection, most)
            connection.executemany(
                "UPDATE entries SET reader = ?, until = ?, tries = tries + 1 WHERE id = ?",
                [(reader, now + lease.total_seconds(), entry.id) for entry in lent],
            )
            return lent

        # A lease that a power failure undoes is one that ended with its reader.
        lent = await self._db.write(change, durable=False)
        self._is_window_set = True
        return lent

    def _chosen(self, connection: sqlite3.Connection, most: int) -> list[Entry]:
        """Return the next entries; those that were tried often enough are ended instead."""
        chosen = []
        for row in self._next_rows(connection, most):
            entry = entry_of(row)
            if entry.tries < self._most_tries:
                chosen.append(entry)
            else:
                now = self._db.clock()
                close(connection, entry.id, None, now)
                announce(connection, entry, given_up(entry, now), now)
        return sorted(chosen, key=lambda entry: (entry.priority, entry.id))

    def _next_rows(self, connection: sqlite3.Connection, most: int) -> list[Any]:
        rows: dict[int, Any] = {}
        if share := self._turns.for_the_patient(most):
            now = self._db.clock()
            before, ahead = micros(now - self._turns.patience), micros(now)
            waited: list[Any] = []
            for priority in (Priority.NORMAL, Priority.BULK):
                waited += connection.execute(_FIRST_OF, (priority, share)).fetchall()
            waited.sort(key=lambda row: row[0])
            # What came at a time that is yet to come has waited since before the clock was set back.
            rows = {row[0]: row for row in [row for row in waited if not before < row[6] <= ahead][:share]}
        for row in connection.execute(_NEXT, (most,)):
            if len(rows) >= most:
                break
            rows[row[0]] = row
        return list(rows.values())

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        """Prolong leases; return those entries that the reader still has."""

        def change(connection: sqlite3.Connection) -> list[int]:
            until = self._db.ticks() + lease.total_seconds()
            update = "UPDATE entries SET until = ? WHERE id = ? AND reader = ?"
            return [entry for entry in entries if connection.execute(update, (until, entry, reader)).rowcount]

        return await self._db.write(change, durable=False)

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        """Give entries back at once, as if they had not been opened."""

        def change(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE entries SET reader = NULL, until = NULL, tries = tries - 1 WHERE id = ? AND reader = ?",
                [(entry, reader) for entry in entries],
            )

        await self._db.write(change, durable=False)

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Forget at most so many messages that were done before too many others or, if ``by_age``, long ago."""
        before = micros(self._db.clock() - self._kept)

        def change(connection: sqlite3.Connection) -> int:
            gone = 0
            if by_age:
                old = "SELECT number FROM messages WHERE done IS NOT NULL AND done <= ? ORDER BY done LIMIT ?"
                gone = connection.execute(f"DELETE FROM messages WHERE number IN ({old})", (before, most)).rowcount  # noqa: S608
            (newest,) = connection.execute("SELECT coalesce(max(number), 0) FROM messages").fetchone()
            many = "SELECT number FROM messages WHERE number <= ? AND done IS NOT NULL ORDER BY number LIMIT ?"
            surplus = (newest - self._most_messages, most - gone)
            return gone + connection.execute(f"DELETE FROM messages WHERE number IN ({many})", surplus).rowcount  # noqa: S608

        return await self._db.write(change, durable=False)

    def depth(self) -> Mapping[Priority, int]:
        """Return how many entries are not closed."""
        rows = dict(self._db.reader.all("SELECT name, n FROM tallies"))
        return {priority: rows[f"open{int(priority)}"] for priority in Priority}

    def waiting(self) -> int:
        """Return how many entries are not closed, of all priorities."""
        return sum(self.depth().values())

    def waiting_of(self, domain: str) -> int:
        """Return how many entries of a registered domain are not closed."""
        row = self._db.reader.one("SELECT coalesce(sum(n), 0) FROM backlog WHERE domain = ?", (domain,))
        return int(row[0])

    def oldest(self) -> timedelta | None:
        """Return how long the oldest open entry has been there, if there is one."""
        row = self._db.reader.one("SELECT accepted FROM entries ORDER BY id LIMIT 1")
        return max(self._db.clock() - moment(row[0]), timedelta()) if row else None

    def is_done(self, message: str) -> bool | None:
        """Tell whether all URLs of a message are done; nothing for one that is not known, or not any more."""
        row = self._db.reader.one("SELECT open FROM messages WHERE id = ?", (message,))
        return row[0] == 0 if row else None
