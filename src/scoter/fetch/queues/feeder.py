"""The feeder: reads a source ahead of the workbench, within bounds, so that no host crowds out the others.

A source may hold millions of items of one host before the first of another. So the feeder reads on while the workbench
has space in memory. When a host has used its share, its further items go to a temporary file, and come back
as the host's items are handed out. The order of a host's items does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoter.fetch.queues.holds import KeptHolds
from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.scheduler import Entry, size_of
from scoter.fetch.queues.slots import Capacity, QueueRefusal
from scoter.fetch.queues.spill import Spill
from scoter.fetch.queues.workbench import Workbench

# A host's share is at most this fraction of the memory: 16 KiB of 64 MiB, some fifty URLs, which last for minutes. With
# a larger share the first few hundred hosts of a sorted source would fill the memory, and all others would wait.
SHARES: Final = 4_096
SPILL_FACTOR: Final = 16


class Feeder:
    """Fills ``bench``, the workbench.

    ``capacity`` bounds the memory, ``spill_limit`` the bytes on disk (by default 16 times as much). No file is created
    before the first host needs one.
    """

    def __init__(
        self,
        policy_of: Callable[[str], Policy],
        capacity: Capacity,
        folder: Path,
        spill_limit: int | None = None,
        holds: KeptHolds | None = None,
    ) -> None:
        self._capacity = capacity
        self._spill = Spill(folder)
        self._spill_limit = spill_limit if spill_limit is not None else SPILL_FACTOR * capacity.bytes
        self._max_share = max(capacity.bytes // SHARES, 1)
        self.bench: Workbench[Entry] = Workbench(policy_of, size_of, capacity, overflow=self, holds=holds)
        self.spill_error = ""
        """Why the last write to disk failed; empty after one that succeeded."""

    def __repr__(self) -> str:
        return f"Feeder({self.bench!r}, {self._spill!r})"

    @property
    def queued(self) -> int:
        """Items in memory and on disk."""
        return self.bench.queued + self._spill.records

    @property
    def share(self) -> int:
        """Bytes of memory that one host may use now."""
        return min(self._capacity.bytes // max(self.bench.occupied, 1), self._max_share)

    def wants_more(self) -> bool:
        """Tell whether to read more of the source."""
        return not (self.bench.draining or self.bench.full or self._spill.bytes >= self._spill_limit)

    def offer(self, key: str, item: bytes, now: float) -> QueueRefusal | None:
        """Queue an item; return ``None``, or why it was refused. If the refusal is ``FULL``, offer it again later."""
        if key not in self._spill and not self._beyond_share(key, len(item)):
            return self.bench.add(key, item, now)
        refusal = self.bench.refusal(key)
        if refusal is not None:
            return refusal
        if self._spill.bytes >= self._spill_limit:
            return QueueRefusal.FULL
        try:
            self._spill.push(key, item)
        except OSError as error:
            # A full disk makes the feeder wait, as full memory does; it must not end the crawl.
            self.spill_error = str(error)
            return QueueRefusal.FULL if key in self._spill else self.bench.add(key, item, now)
        self.spill_error = ""
        self.bench.note_overflow(key, now)
        return None

    def left_over(self) -> bytes | None:
        """Remove and return an item that was still on disk when the workbench was drained."""
        return self._spill.pop_any() if self.bench.draining else None

    def close(self) -> None:
        """Delete the items on disk; read them with ``left_over`` first."""
        self._spill.close()

    # The workbench's overflow

    def refill(self, key: str, items: int, size: int) -> list[bytes]:
        share, is_full = self.share, self.bench.full
        if size * 2 > share or (items and is_full):
            return []
        # A host must not starve because others have filled the memory: always return one item.
        room = 0 if is_full else share - size
        found: list[bytes] = []
        while not found or room > 0:
            item = self._spill.pop(key)
            if item is None:
                break
            found.append(item)
            room -= len(item)
        return found

    def holds(self, key: str) -> bool:
        return key in self._spill

    def release(self, key: str) -> list[bytes]:
        found: list[bytes] = []
        while (item := self._spill.pop(key)) is not None:
            found.append(item)
        return found

    def _beyond_share(self, key: str, size: int) -> bool:
        bench = self.bench
        if bench.queued < self._capacity.least:
            return False
        items, queued = bench.depth(key)
        return items > 0 and queued + size > self.share
