"""Domain rules and holds (``ports.DomainRuleStore``, ``DomainHoldStore``), and API keys (``http.api_keys.ApiKeys``)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from scoter.core.reply import LONGEST_RETRY_AFTER
from scoter.http.api_keys import ApiKey, key_id_in, new_key, token_matches
from scoter.live.api.records import DomainRule
from scoter.live.clock import from_micros, to_micros, utc_now
from scoter.live.sqlite.database import BUSY, DatabaseReader, ServiceDb
from scoter.live.sqlite.health import store_error
from scoter.live.sqlite.writer import Change

_decode_rule = msgspec.json.Decoder(DomainRule).decode


class SqliteRules:
    """The rules in the service's database."""

    def __init__(self, db: ServiceDb) -> None:
        self._db = db

    def get(self, domain: str) -> DomainRule | None:
        """Return the rule of a registered domain, if any."""
        row = self._db.reader.one("SELECT value FROM rules WHERE domain = ?", (domain,))
        return _decode_rule(row[0]) if row else None

    def all(self) -> Sequence[DomainRule]:
        """Return all rules, sorted by domain."""
        return [_decode_rule(value) for (value,) in self._db.reader.all("SELECT value FROM rules ORDER BY domain")]

    async def put(self, rule: DomainRule) -> None:
        """Replace the rule of a domain; a rule without settings removes it."""

        def change(connection: sqlite3.Connection) -> None:
            if rule == DomainRule(domain=rule.domain):
                connection.execute("DELETE FROM rules WHERE domain = ?", (rule.domain,))
            else:
                value = msgspec.json.encode(rule)
                connection.execute("INSERT OR REPLACE INTO rules VALUES (?, ?)", (rule.domain, value))

        await self._db.write(change)


class SqliteHolds:
    """The long holds of domains in the service's database."""

    def __init__(self, db: ServiceDb) -> None:
        self._db = db

    def all(self) -> Mapping[str, timedelta]:
        """Return how much longer each domain is on hold."""
        now = self._db.clock()
        rows = self._db.reader.all("SELECT domain, until FROM holds WHERE until > ?", (to_micros(now),))
        # At most a day, even if the clock was set back.
        return {domain: min(from_micros(until) - now, LONGEST_RETRY_AFTER) for domain, until in rows}

    async def put(self, domain: str, hold: timedelta) -> None:
        """Store the hold of a domain, which begins now; it replaces an earlier one."""
        now = self._db.clock()

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM holds WHERE until <= ?", (to_micros(now),))
            connection.execute("INSERT OR REPLACE INTO holds VALUES (?, ?)", (domain, to_micros(now + hold)))

        await self._db.write(change, durable=False)


T = TypeVar("T")
_decode_key = msgspec.json.Decoder(ApiKey).decode


class SqliteKeyReader:
    """Checks API keys, in any process; a revoked key is refused at once."""

    def __init__(self, reader: DatabaseReader, clock: Callable[[], datetime] = utc_now) -> None:
        self._reader = reader
        self._clock = clock
        self._uses: dict[str, datetime] = {}  # the last use of each key, if it is not stored yet

    def check(self, token: str) -> ApiKey | None:
        """Return the key of a token, or ``None`` if the token is invalid."""
        return self._used(key) if (key := self._stored(key_id_in(token))) and token_matches(key, token) else None

    def find(self, key: str) -> ApiKey | None:
        """Return the key with an id, for a session that its token has opened; ``None`` if it was revoked."""
        return self._used(found) if (found := self._stored(key)) else None

    def _stored(self, key: str) -> ApiKey | None:
        row = self._reader.one("SELECT value, used FROM keys WHERE id = ?", (key,))
        return None if row is None else _key(row)

    def _used(self, key: ApiKey) -> ApiKey:
        self._uses[key.id] = self._clock()
        return key

    def all(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""
        return [_key(row) for row in self._reader.all("SELECT value, used FROM keys ORDER BY rowid")]

    def take_uses(self) -> Mapping[str, datetime]:
        """Return and clear the uses that are not stored yet, to send them to another process."""
        taken, self._uses = self._uses, {}
        return taken


class KeyDatabase(Protocol):
    """The database that keys are written to: the service's own, or ``ExternalDatabase``."""

    reader: DatabaseReader
    clock: Callable[[], datetime]

    async def write(self, change: Change[T], *, durable: bool = True) -> T: ...


class SqliteKeys(SqliteKeyReader):
    """The API keys in the service's database."""

    def __init__(self, db: KeyDatabase) -> None:
        super().__init__(db.reader, db.clock)
        self._db = db

    async def create(
        self, name: str, scopes: Sequence[str], rate: float | None = None, tenant: str = ""
    ) -> tuple[ApiKey, str]:
        """Create a key; return it with its token, which cannot be shown again."""
        key, token = new_key(name, scopes, rate, self._clock(), tenant)

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO keys (id, value) VALUES (?, ?)", (key.id, msgspec.json.encode(key)))

        await self._db.write(change)
        return key, token

    async def revoke(self, key: str) -> bool:
        """Remove a key at once; return whether it existed."""
        return await self._db.write(
            lambda connection: connection.execute("DELETE FROM keys WHERE id = ?", (key,)).rowcount > 0
        )

    def add_uses(self, uses: Mapping[str, datetime]) -> None:
        """Add uses that another process has seen."""
        for key, at in uses.items():
            self._uses[key] = max(at, self._uses.get(key, at))

    async def note_uses(self) -> None:
        """Store when each key was last used."""
        used = self.take_uses()
        if used:
            # Keep the later time: the clock may have been set back.
            rows = [(to_micros(at), key) for key, at in used.items()]
            await self._db.write(
                lambda connection: connection.executemany(
                    "UPDATE keys SET used = max(coalesce(used, 0), ?) WHERE id = ?", rows
                ),
                durable=False,
            )


class ExternalDatabase:
    """Writes to the database of a service that may be running, for rare changes by its administrator.

    SQLite allows one writing process at a time: this waits for the service's writes, and the service for this.
    """

    clock = staticmethod(utc_now)

    def __init__(self, path: Path, busy: float = BUSY) -> None:
        self._path = path
        self.reader = DatabaseReader(path)
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=busy, isolation_level=None
        )

    async def write(self, change: Change[T], *, durable: bool = True) -> T:
        """Apply a change completely or not at all; it is durable when this returns."""
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
