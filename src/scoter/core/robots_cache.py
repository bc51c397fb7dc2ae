"""The robots.txt cache that crawler processes share: its record, its port, and the in-memory implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from scoter.core.bounded import BoundedMap

V = TypeVar("V")


class StoredRobots(Struct, frozen=True):
    """A robots.txt file and when it expires (Unix time); ``body`` is ``None`` if everything is allowed."""

    body: bytes | None
    expires: float

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.body or b"")


class RobotsCache(Protocol):
    """Shares robots.txt files between crawlers. Origins are scheme, host and port (RFC 9309 2.3)."""

    async def get(self, origin: str) -> StoredRobots | None: ...
    async def put(self, origin: str, stored: StoredRobots) -> None: ...


class RobotsMap(Generic[V]):
    """What is known about the robots.txt of each origin until it expires, bounded by count and bytes.

    Evicts the least recently used entry.
    """

    def __init__(self, entries: int, size: int, clock: Callable[[], float]) -> None:
        """``clock`` returns Unix time."""
        self._clock = clock
        self._known: BoundedMap[str, tuple[float, V]] = BoundedMap(entries, max_weight=size)

    def __repr__(self) -> str:
        return f"RobotsMap({len(self._known)} entries, {self._known.weight:,} bytes)"

    def __len__(self) -> int:
        return len(self._known)

    def get(self, origin: str) -> V | None:
        """Return the value of an origin unless it has expired."""
        found = self._known.get(origin)
        if found is None:
            return None
        if found[0] <= self._clock():
            self._known.pop(origin)
            return None
        return found[1]

    def put(self, origin: str, value: V, expires: float, size: int) -> None:
        """Store the value of an origin, which takes ``size`` bytes."""
        self._known.put(origin, (expires, value), size)


class MemoryRobotsCache:
    """A robots.txt cache for one process."""

    def __init__(self, *, entries: int, size: int, clock: Callable[[], float]) -> None:
        self._files: RobotsMap[StoredRobots] = RobotsMap(entries, size, clock)

    def __repr__(self) -> str:
        return f"MemoryRobotsCache({self._files!r})"

    async def get(self, origin: str) -> StoredRobots | None:
        """Return the file of an origin unless it has expired."""
        return self._files.get(origin)

    async def put(self, origin: str, stored: StoredRobots) -> None:
        """Store the file of an origin."""
        self._files.put(origin, stored, stored.expires, len(origin) + stored.size)
