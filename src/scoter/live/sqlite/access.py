"""What was set for domains while the service ran (``ports.DomainRules``)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from scoter.api import DomainRule
from scoter.live.clock import from_micros, to_micros, utc_now
from scoter.live.keys import ApiKey, KeyUses, key_id_in, new_key, token_matches
from scoter.live.sqlite.database import BUSY, DatabaseReader, ServiceDb
from scoter.live.sqlite.writer import Change, store_error

_decode_rule = msgspec.json.Decoder(DomainRule).decode


class SqliteRules:
    """The rules in the service's database."""

    def __init__(self, db: ServiceDb) -> None:
        self._db = db

    def get(self, domain: str) -> DomainRule | None:
        """Return what holds for a registered domain, if anything was set."""
        row = self._db.reader.one("SELECT value FROM rules WHERE domain = ?", (domain,))
        return _decode_rule(row[0]) if row else None

    def all(self) -> Sequence[DomainRule]:
        """Return every rule, by name."""
        return [_decode_rule(value) for (value,) in self._db.reader.all("SELECT value FROM rules ORDER BY domain")]

    async def put(self, rule: DomainRule) -> None:
        """Set a rule in the place of the one before. A rule that says nothing is no rule."""

        def change(connection: sqlite3.Connection) -> None:
            if rule == DomainRule(domain=rule.domain):
                connection.execute("DELETE FROM rules WHERE domain = ?", (rule.domain,))
            else:
                value = msgspec.json.encode(rule)
                connection.execute("INSERT OR REPLACE INTO rules VALUES (?, ?)", (rule.domain, value))

        await self._db.write(change)


T = TypeVar("T")
_decode_key = msgspec.json.Decoder(ApiKey).decode


class SqliteKeyReader:
    """Keys for those who only check them; one that was revoked is refused at once, in every process."""

    def __init__(self, reader: DatabaseReader, clock: Callable[[], datetime] = utc_now) -> None:
        self._reader = reader
        self._clock = clock
        self._uses = KeyUses(clock)

    def check(self, token: str) -> ApiKey | None:
        """Return whose token it is, if anyone's."""
        row = self._reader.one("SELECT value, used FROM keys WHERE id = ?", (key_id_in(token),))
        if row is None or not token_matches(key := _key(row), token):
            return None
        self._uses.see(key.id)
        return key

    def all(self) -> Sequence[ApiKey]:
        """Return every key, in the order of their making."""
        return [_key(row) for row in self._reader.all("SELECT value, used FROM keys ORDER BY rowid")]

    def take_uses(self) -> Mapping[str, datetime]:
        """Return the uses that are not kept yet, and forget them: another process is told."""
        return self._uses.take()


class KeyDatabase(Protocol):
    """What keys are written by: a service's own database, or ``ExternalDatabase``."""

    reader: DatabaseReader
    clock: Callable[[], datetime]

    async def write(self, change: Change[T], *, durable: bool = True) -> T: ...


class SqliteKeys(SqliteKeyReader):
    """The keys in the service's database."""

    def __init__(self, db: KeyDatabase) -> None:
        super().__init__(db.reader, db.clock)
        self._db = db

    async def create(self, name: str, scopes: Sequence[str], rate: float | None = None) -> tuple[ApiKey, str]:
        """Make a key; return it with its token, which cannot be shown again."""
        key, token = new_key(name, scopes, rate, self._clock())

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO keys (id, value) VALUES (?, ?)", (key.id, msgspec.json.encode(key)))

        await self._db.write(change)
        return key, token

    async def revoke(self, key: str) -> bool:
        """Remove a key by its id, from now on; tell whether there was one."""
        return await self._db.write(
            lambda connection: connection.execute("DELETE FROM keys WHERE id = ?", (key,)).rowcount > 0
        )

    def add_uses(self, uses: Mapping[str, datetime]) -> None:
        """Take note of uses that another process saw."""
        self._uses.add(uses)

    async def note_uses(self) -> None:
        """Keep when each key was last used."""
        used = self._uses.take()
        if used:
            # The clock may have been set back: what is known to be later stays.
            rows = [(to_micros(at), key) for key, at in used.items()]
            await self._db.write(
                lambda connection: connection.executemany(
                    "UPDATE keys SET used = max(coalesce(used, 0), ?) WHERE id = ?", rows
                ),
                durable=False,
            )


class ExternalDatabase:
    """A database that a service may have open: for the rare write of somebody who has its folder.

    SQLite lets one process write at a time. The service's own writer waits for the moment that this takes, and this for
    the service's.
    """

    clock = staticmethod(utc_now)

    def __init__(self, path: Path, busy: float = BUSY) -> None:
        self._path = path
        self.reader = DatabaseReader(path)
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=busy, isolation_level=None
        )

    async def write(self, change: Change[T], *, durable: bool = True) -> T:
        """Carry out a change, wholly or not at all; it is on the disk when this returns."""
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                return change(self._connection)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error

    def close(self) -> None:
        self._connection.close()
        self.reader.close()


def _key(row: tuple[bytes, int | None]) -> ApiKey:
    key = _decode_key(row[0])
    return key if row[1] is None else replace(key, last_used=from_micros(row[1]))
