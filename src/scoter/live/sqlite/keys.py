"""API keys, kept as hashes (``memory.access`` says of what, and why)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from scoter.live.memory.access import ApiKey, fits, id_in, new_key
from scoter.live.sqlite.database import Reader, ServiceDb
from scoter.live.sqlite.moments import micros, moment, utc_now

_decode = msgspec.json.Decoder(ApiKey).decode


class KeyReader:
    """Keys for those who only check them; one that was revoked is refused at once, in every process."""

    def __init__(self, reader: Reader, clock: Callable[[], datetime] = utc_now) -> None:
        self._reader = reader
        self._clock = clock
        self._used: dict[str, datetime] = {}

    def check(self, token: str) -> ApiKey | None:
        """Return whose token it is, if anyone's."""
        row = self._reader.one("SELECT value, used FROM keys WHERE id = ?", (id_in(token),))
        if row is None or not fits(key := _key(row), token):
            return None
        self._used[key.id] = self._clock()
        return key

    def all(self) -> Sequence[ApiKey]:
        """Return every key, in the order of their making."""
        return [_key(row) for row in self._reader.all("SELECT value, used FROM keys ORDER BY rowid")]


class SqliteKeys(KeyReader):
    """The keys in the service's database."""

    def __init__(self, db: ServiceDb) -> None:
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

    async def note_uses(self) -> None:
        """Keep when each key was last used."""
        used, self._used = self._used, {}
        if used:
            rows = [(micros(at), key) for key, at in used.items()]
            await self._db.write(
                lambda connection: connection.executemany("UPDATE keys SET used = ? WHERE id = ?", rows), durable=False
            )


def _key(row: tuple[bytes, int | None]) -> ApiKey:
    key = _decode(row[0])
    return key if row[1] is None else replace(key, last_used=moment(row[1]))
