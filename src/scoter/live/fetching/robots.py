"""The robots.txt files that fetchers share, in the core's memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from scoter.core.robots_records import StoredRobots

_MOST: Final = 50_000
_MOST_BYTES: Final = 32 * 2**20


class MemoryRobots:
    """Keeps what was used last, within a bound of entries and bytes; what has expired is for the reader to see."""

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._known: OrderedDict[str, StoredRobots] = OrderedDict()
        self._bytes = 0

    def __repr__(self) -> str:
        return f"MemoryRobots({len(self._known)} files, {self._bytes} bytes)"

    async def get(self, origin: str) -> StoredRobots | None:
        found = self._known.get(origin)
        if found is not None:
            self._known.move_to_end(origin)
        return found

    async def put(self, origin: str, stored: StoredRobots) -> None:
        self._bytes += _size(stored) - _size(self._known.pop(origin, None))
        self._known[origin] = stored
        while len(self._known) > self._most or self._bytes > self._most_bytes:
            _, lost = self._known.popitem(last=False)
            self._bytes -= _size(lost)


def _size(stored: StoredRobots | None) -> int:
    return len(stored.body or b"") if stored is not None else 0
