"""Records by URL (``ports.MetadataStore``): JSON, keyed by the 64-bit hash of the canonical URL.

The row contains the URL too. If another URL has the same hash, by chance or on purpose, the record goes to the overflow
table and stays there until it expires: a URL has at most one row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from scoter.live.clock import from_micros, to_micros, utc_now
from scoter.live.ports import StoredRecord
from scoter.live.sqlite.database import DatabaseReader, ServiceDb
from scoter.live.sqlite.health import DatabaseHealth

# Mapped pages count towards RSS. With a million records, mapping 2 GB would make a get only a fifth faster.
MAPPED: Final = 256 * 2**20
_SIGN: Final = 1 << 63
_MICROSECOND: Final = timedelta(microseconds=1)
# Not INSERT OR REPLACE: the trigger that counts rows would count it as a new row.
_PUT: Final = """
INSERT INTO urls (url, fetched, expires, value, stale, key) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET fetched = excluded.fetched, expires = excluded.expires, value = excluded.value,
  stale = excluded.stale
"""
_PUT_OVERFLOW: Final = """
INSERT INTO overflow (url, fetched, expires, value, stale) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET fetched = excluded.fetched, expires = excluded.expires, value = excluded.value,
  stale = excluded.stale
"""
_THERE: Final = (
    "SELECT url, expires, fetched, 0 FROM urls WHERE key = ?"
    " UNION ALL SELECT url, expires, fetched, 1 FROM overflow WHERE url = ?"
)
# ?1 is the key, ?2 the URL, ?3 the time.
_ROW: Final = (
    "SELECT url, value, fetched, expires, stale FROM urls WHERE key = ?1 AND url = ?2 AND expires > ?3"
    " UNION ALL SELECT url, value, fetched, expires, stale FROM overflow WHERE url = ?2 AND expires > ?3"
)
_LAST: Final = _ROW.replace("expires > ?", "expires + stale > ?")
# Lookups find most URLs in the first; two queries cost less than one that joins them.
_VALUE: Final = "SELECT url, value FROM urls WHERE key = ? AND expires > ?"
_OVERFLOW_VALUE: Final = "SELECT url, value FROM overflow WHERE url = ? AND expires > ?"
# One query for any number of keys. CROSS JOIN makes SQLite look up each key, in this order, instead of sorting them.
_VALUES: Final = (
    "SELECT urls.url, urls.value FROM json_each(?) AS asked CROSS JOIN urls ON urls.key = asked.value"
    " WHERE urls.expires > ?"
)


def key_of(url: str) -> int:
    """Return the key of a URL: its hash as a signed 64-bit integer, as SQLite stores them."""
    return xxh3_64_intdigest(url.encode()) - _SIGN


class StoreSize(Struct, frozen=True, kw_only=True):
    """The size of the store. ``records`` includes expired records that are kept or not removed yet."""

    records: int
    collisions: int
    file_bytes: int
    free_bytes: int


class SqliteMetadataReader:
    """Read-only access to the records."""

    def __init__(self, reader: DatabaseReader, clock: Callable[[], datetime]) -> None:
        self._reader = reader
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._reader.close()

    async def get(self, url: str) -> StoredRecord | None:
        """Return the record of a URL, if any."""
        row = self._one(_ROW, url)
        return None if row is None else _stored(row)

    async def last(self, url: str) -> StoredRecord | None:
        """Return the record of a URL, even if it expired less than its ``stale_for`` ago."""
        row = self._one(_LAST, url)
        return None if row is None else _stored(row)

    async def value(self, url: str) -> bytes | None:
        """Return the JSON of a URL's record; cheaper than ``get``."""
        now = to_micros(self._clock())
        row = self._reader.one(_VALUE, (key_of(url), now))
        if row is None or row[0] != url:
            row = self._reader.one(_OVERFLOW_VALUE, (url, now))
        return None if row is None else row[1]

    async def values(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        """Return the JSON of the records of at most 300 URLs."""
        now = to_micros(self._clock())
        asked = dict.fromkeys(urls)
        keys = str([key_of(url) for url in asked])
        found: dict[str, bytes] = dict([row for row in self._reader.all(_VALUES, (keys, now)) if row[0] in asked])
        missing = asked.keys() - found.keys() if len(found) < len(asked) else ()
        if missing and self._reader.one("SELECT 1 FROM overflow LIMIT 1"):
            found |= [row for url in missing if (row := self._reader.one(_OVERFLOW_VALUE, (url, now)))]
        return found

    def _one(self, query: str, url: str) -> Any:
        return self._reader.one(query, (key_of(url), url, to_micros(self._clock())))

    def size(self) -> StoreSize:
        """Return the size of the store."""
        tallies = dict(self._reader.all("SELECT name, n FROM tallies"))
        (page,) = self._reader.one("PRAGMA page_size")
        (pages,) = self._reader.one("PRAGMA page_count")
        (free,) = self._reader.one("PRAGMA freelist_count")
        return StoreSize(
            records=tallies["urls"] + tallies["overflow"],
            collisions=tallies["overflow"],
            file_bytes=pages * page,
            free_bytes=free * page,
        )


class SqliteMetadata(SqliteMetadataReader):
    """The records in the service's database."""

    def __init__(self, db: ServiceDb) -> None:
        super().__init__(db.reader, db.clock)
        self._db = db

    async def put(self, rows: Sequence[StoredRecord]) -> None:
        """Store records; an older record never replaces one that has not expired."""
        await self._db.write(lambda connection: put_records(connection, rows, self._clock()))

    async def expire(self, most: int) -> int:
        """Remove at most ``most`` records that expired more than their ``stale_for`` ago; return how many."""
        now = to_micros(self._clock())

        def change(connection: sqlite3.Connection) -> int:
            gone = connection.execute(
                "DELETE FROM urls WHERE key IN"
                " (SELECT key FROM urls WHERE expires + stale <= ? ORDER BY expires + stale LIMIT ?)",
                (now, most),
            ).rowcount
            more = connection.execute(
                "DELETE FROM overflow WHERE url IN"
                " (SELECT url FROM overflow WHERE expires + stale <= ? ORDER BY expires + stale LIMIT ?)",
                (now, most - gone),
            ).rowcount
            return gone + more

        return await self._db.write(change, durable=False)


def open_readonly(
    path: Path,
    *,
    clock: Callable[[], datetime] = utc_now,
    mapped: int = MAPPED,
    health: DatabaseHealth | None = None,
) -> SqliteMetadataReader:
    """Open the records of a service for lookups, while another process may write them.

    ``mapped`` bytes of the file are mapped into memory; the pages that are read count towards this process's RSS.
    """
    return SqliteMetadataReader(DatabaseReader(path, mapped=mapped, health=health), clock)


def put_records(connection: sqlite3.Connection, rows: Sequence[StoredRecord], now: datetime) -> None:
    """Store records within a transaction."""
    at = to_micros(now)
    for row in rows:
        number = key_of(row.url)
        stale = row.stale_for // _MICROSECOND
        values = (to_micros(row.fetched_at), to_micros(row.expires_at), row.value, stale)
        there = connection.execute(_THERE, (number, row.url)).fetchall()
        own = next((found for found in there if found[0] == row.url), None)
        # A fetch time in the future dates from before the clock was set back: replace such a record.
        if own is not None and own[1] > at and values[0] < own[2] <= at:
            continue
        if own[3] if own is not None else there:
            connection.execute(_PUT_OVERFLOW, (row.url, *values))
        else:
            connection.execute(_PUT, (row.url, *values, number))


def _stored(row: tuple[str, bytes, int, int, int]) -> StoredRecord:
    url, value, fetched, expires, stale = row
    return StoredRecord(
        url=url,
        value=value,
        fetched_at=from_micros(fetched),
        expires_at=from_micros(expires),
        stale_for=stale * _MICROSECOND,
    )
