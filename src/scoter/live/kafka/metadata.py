"""Records by URL in Cassandra (``ports.MetadataStore``).

The timestamp of a write is the time of the fetch, so the newest fetch wins in whatever order writes arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from struct import Struct as Layout
from typing import Final

from scoter.core.bounded import BoundedMap
from scoter.live.clock import from_micros, steady_now, to_micros, utc_now
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.ports import StoredRecord

_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = 1_000_000
_LONGEST_TTL: Final = 20 * 365 * 86_400  # Cassandra's limit
_TOGETHER: Final = 50  # URLs of one query: enough to save requests, few enough not to burden one node
_PUT: Final = "INSERT INTO records (url, value) VALUES (?, ?) USING TIMESTAMP ? AND TTL ?"
_GET: Final = "SELECT url, value FROM records WHERE url = ?"
_MANY: Final = "SELECT url, value FROM records WHERE url IN ?"
# One cell holds a whole record: of two writes with the same timestamp, one wins and they never mix.
_HEAD: Final = Layout("!qqq")  # in microseconds: fetched, expires, stale for


class CassandraMetadata:
    """The records of a service. Reads see what any process has written at a quorum."""

    def __init__(self, session: CassandraSession, clock: Callable[[], datetime] = utc_now) -> None:
        self._session = session
        self._clock = clock

    async def get(self, url: str) -> StoredRecord | None:
        """Return the record of a URL, if any."""
        return await self._first(url, is_stale_allowed=False)

    async def last(self, url: str) -> StoredRecord | None:
        """Return the record of a URL, even if it expired less than its ``stale_for`` ago."""
        return await self._first(url, is_stale_allowed=True)

    async def value(self, url: str) -> bytes | None:
        """Return the JSON of a URL's record."""
        found = await self.get(url)
        return None if found is None else found.value

    async def values(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        """Return the JSON of the records of at most 300 URLs."""
        now = to_micros(self._clock())
        wanted = list(dict.fromkeys(urls))
        chunks = [wanted[start : start + _TOGETHER] for start in range(0, len(wanted), _TOGETHER)]
        found: dict[str, bytes] = {}
        for rows in await asyncio.gather(*(self._session.run(_MANY, chunk) for chunk in chunks)):
            found |= {
                url: value[_HEAD.size :]
                for url, value in rows
                if _is_readable(url, value) and _HEAD.unpack_from(value)[1] > now
            }
        return found

    async def put(self, rows: Sequence[StoredRecord]) -> None:
        """Store records; an older record never replaces one that has not expired."""
        now = self._clock()
        latest = {row.url: row for row in sorted(rows, key=lambda row: row.fetched_at)}.values()
        packed = [_packed(row, now) for row in latest]
        await self._session.run_all(_PUT, [row for row in packed if row[-1] > 0])

    async def expire(self, most: int) -> int:
        """Return 0: Cassandra removes expired records by itself."""
        return 0

    async def _first(self, url: str, *, is_stale_allowed: bool) -> StoredRecord | None:
        now = self._clock()
        for _, value in await self._session.run(_GET, url):
            stored = _unpacked(url, value) if _is_readable(url, value) else None
            # The TTL counts whole seconds of Cassandra's clock; the record knows better.
            if stored is not None and now < stored.expires_at + stored.stale_for * is_stale_allowed:
                return stored
        return None


def _packed(row: StoredRecord, now: datetime) -> tuple[str, bytes, int, int]:
    fetched, expires = to_micros(row.fetched_at), to_micros(row.expires_at)
    stale = row.stale_for // _MICROSECOND
    lives = -((to_micros(now) - expires - stale) // _SECOND)
    return row.url, _HEAD.pack(fetched, expires, stale) + row.value, fetched, min(lives, _LONGEST_TTL)


def _is_readable(url: str, value: bytes | None) -> bool:
    """Return whether a row has a record; an unreadable one is like none, so the URL is fetched again."""
    if not value:
        return False
    if len(value) > _HEAD.size:
        return True
    FAULTS.note("cassandra", FaultKind.UNREADABLE, f"the record of {url!r} is unreadable", about=f"record {url}")
    return False


def _unpacked(url: str, value: bytes) -> StoredRecord:
    fetched, expires, stale = _HEAD.unpack_from(value)
    return StoredRecord(
        url=url,
        value=value[_HEAD.size :],
        fetched_at=from_micros(fetched),
        expires_at=from_micros(expires),
        stale_for=stale * _MICROSECOND,
    )


async def read_all(session: CassandraSession) -> AsyncIterator[StoredRecord]:
    """Yield every record."""
    async for rows in session.pages("SELECT url, value FROM records"):
        for url, value in rows:
            if _is_readable(url, value):
                yield _unpacked(url, value)


class CachedRecords:
    """The JSON of records, kept for a second: popular URLs cost an api process one read per second."""

    def __init__(
        self, records: CassandraMetadata, entries: int, *, seconds: float = 1.0, now: Callable[[], float] = steady_now
    ) -> None:
        self._records = records
        self._seconds = seconds
        self._now = now
        self._known: BoundedMap[str, tuple[float, bytes]] | None = BoundedMap(entries) if entries else None

    async def value(self, url: str) -> bytes | None:
        """Return the JSON of a URL's record."""
        return (await self.values([url])).get(url)

    async def values(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        """Return the JSON of the records of at most 300 URLs."""
        known = self._known
        if known is None:
            return await self._records.values(urls)
        now, found = self._now(), {}
        for url in urls:
            cached = known.get(url)
            if cached is not None and now - cached[0] < self._seconds:
                found[url] = cached[1]
        missing = [url for url in urls if url not in found]
        if missing:
            more = await self._records.values(missing)
            for url, value in more.items():
                known.put(url, (now, value))
            found |= more
        return found

    def forget(self, url: str) -> None:
        """Read a URL again next time: it has a new record."""
        if self._known is not None:
            self._known.pop(url)
