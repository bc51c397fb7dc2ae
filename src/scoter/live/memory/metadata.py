"""What is known of URLs, in memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from scoter.live.ports import StoredRecord

MOST: Final = 100_000


class MemoryMetadata:
    """Records by URL; beyond ``most`` the one that was put longest ago goes."""

    def __init__(self, clock: Callable[[], datetime], *, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._rows: dict[str, StoredRecord] = {}

    def get(self, url: str) -> StoredRecord | None:
        """Return what is known of a URL."""
        row = self._rows.get(url)
        return row if row is not None and row.expires_at > self._clock() else None

    def get_many(self, urls: Sequence[str]) -> Mapping[str, StoredRecord]:
        """Return what is known of at most 300 URLs."""
        return {url: row for url in urls if (row := self.get(url)) is not None}

    async def put(self, rows: Sequence[StoredRecord]) -> None:
        """Keep records. One that is an alias, or was fetched before, never replaces a direct one that holds."""
        self.keep(rows)

    def keep(self, rows: Sequence[StoredRecord]) -> None:
        """Keep records, as part of a larger step."""
        now = self._clock()
        for row in rows:
            there = self.get(row.url)
            # What was fetched after now is from before the clock was set back: it must not stay for that.
            is_older = there is not None and row.fetched_at < there.fetched_at <= now
            if there is None or not there.is_direct or (row.is_direct and not is_older):
                self._rows.pop(row.url, None)
                self._rows[row.url] = row
        while len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]

    async def expire(self, most: int) -> int:
        """Remove at most so many records that are past their time; return how many."""
        now = self._clock()
        past = [row for row in self._rows.values() if row.expires_at <= now]
        for row in (gone := heapq.nsmallest(most, past, key=lambda row: row.expires_at)):
            del self._rows[row.url]
        return len(gone)
