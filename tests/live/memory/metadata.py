"""Records by URL, in memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from scoter.live.ports import StoredRecord


class MemoryMetadata:
    """The records (``ports.MetadataStore``)."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._rows: dict[str, StoredRecord] = {}

    async def get(self, url: str) -> StoredRecord | None:
        return self.fresh(url)

    def fresh(self, url: str) -> StoredRecord | None:
        row = self._rows.get(url)
        return row if row is not None and row.expires_at > self._clock() else None

    async def last(self, url: str) -> StoredRecord | None:
        row = self._rows.get(url)
        return row if row is not None and row.expires_at + row.stale_for > self._clock() else None

    async def value(self, url: str) -> bytes | None:
        row = self.fresh(url)
        return None if row is None else row.value

    async def values(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        return {url: value for url in urls if (value := await self.value(url)) is not None}

    async def put(self, rows: Sequence[StoredRecord]) -> None:
        self.keep(rows)

    def keep(self, rows: Sequence[StoredRecord]) -> None:
        now = self._clock()
        for row in rows:
            there = self.fresh(row.url)
            # A fetch time in the future dates from before the clock was set back: replace such a record.
            is_older = there is not None and row.fetched_at < there.fetched_at <= now
            if there is None or not is_older:
                self._rows.pop(row.url, None)
                self._rows[row.url] = row

    async def expire(self, most: int) -> int:
        now = self._clock()
        past = [row for row in self._rows.values() if row.expires_at + row.stale_for <= now]
        for row in (gone := heapq.nsmallest(most, past, key=lambda row: row.expires_at + row.stale_for)):
            del self._rows[row.url]
        return len(gone)
