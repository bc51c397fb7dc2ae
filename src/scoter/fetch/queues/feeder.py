"""Between a source of items and the workbench: reads ahead within bounds, and lets no host crowd out the others.

A source may hold millions of items of one host before the first of another. So the feeder reads on as long as the
workbench has room in memory, and a host that has its share of that room goes on in a temporary file, from which the
workbench is refilled as the host's items are handed out. The order of a host's items stays as it was offered.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.spill import Spill
from scoter.fetch.queues.turn import Capacity, Refusal
from scoter.fetch.queues.turnstile import Entry, size_of
from scoter.fetch.queues.workbench import Workbench

# 16 KiB of 64 MiB, some fifty URLs: what a host consumes in minutes. A larger share would let the first few hundred
# hosts of a sorted source fill the memory, and all others would have to wait for them.
SMALLEST_PART: Final = 4_096
SPILL_FACTOR: Final = 16


class Feeder:
    """Offers go in here; everything else is asked of ``bench``.

    ``capacity`` bounds the memory; ``spill_limit`` the bytes on disk, 16 times as much unless it is given. No file is
    made before the first host needs one.
    """

    def __init__(
        self, policy_of: Callable[[str], Policy], capacity: Capacity, folder: Path, spill_limit: int | None = None
    ) -> None:
        self._capacity = capacity
        self._spill = Spill(folder)
        self._spill_limit = spill_limit if spill_limit is not None else SPILL_FACTOR * capacity.bytes
        self._share_most = max(capacity.bytes // SMALLEST_PART, 1)
        self.bench: Workbench[Entry] = Workbench(policy_of, size_of, capacity, reserve=self)
        self.spill_error = ""
        """Why the last item that was to go to disk did not, until one does."""

    def __repr__(self) -> str:
        return f"Feeder({self.bench!r}, {self._spill!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def queued(self) -> int:
        """Items in memory and on disk."""
        return self.bench.queued + self._spill.records

    @property
    def spilled(self) -> int:
        """Items on disk."""
        return self._spill.records

    @property
    def share(self) -> int:
        """Bytes of memory that one host may have now."""
        return min(self._capacity.bytes // max(self.bench.occupied, 1), self._share_most)

    def wants_more(self) -> bool:
        """Tell whether the source should be read on."""
        return not (self.bench.draining or self.bench.full or self._spill.bytes >= self._spill_limit)

    def offer(self, key: str, item: bytes, now: float) -> Refusal | None:
        """Take an item in; the answer is none, or why it was not taken: when full, offer it again later."""
        if key not in self._spill and not self._beyond_share(key, len(item)):
            return self.bench.add(key, item, now)
        refusal = self.bench.refusal(key)
        if refusal is not None:
            return refusal
        if self._spill.bytes >= self._spill_limit:
            return Refusal.FULL
        try:
            self._spill.push(key, item)
        except OSError as error:
            # A full disk makes the feeder wait, as a full memory does; it must not end a crawl.
            self.spill_error = str(error)
            return Refusal.FULL if key in self._spill else self.bench.add(key, item, now)
        self.spill_error = ""
        self.bench.reserve(key, now)
        return None

    def left_over(self) -> bytes | None:
        """Return an item that was still on disk when the workbench was drained, or nothing."""
        return self._spill.pop_any() if self.bench.draining else None

    def close(self) -> None:
        """Remove what is on disk; whoever wants to record it asks for what is left over before."""
        self._spill.close()

    # The workbench's reserve

    def refill(self, key: str, items: int, size: int) -> list[bytes]:
        share, is_full = self.share, self.bench.full
        if size * 2 > share or (items and is_full):
            return []
        # A host must not starve because the others have filled the memory: one item always comes.
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
