"""A map of bounded size that forgets what was used least recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """An LRU map, bounded by the number of its entries and optionally by their total weight.

    ``get`` and ``put`` mark an entry as used; ``in``, ``peek`` and iteration do not. Iteration starts at the entry that
    would be evicted next.

    >>> pages: BoundedMap[str, bytes] = BoundedMap(100, max_weight=6)
    >>> pages.put("/a", b"...", weight=3)
    >>> pages.put("/b", b"...", weight=3)
    >>> pages.get("/a")
    b'...'
    >>> pages.put("/c", b"..", weight=2)
    >>> list(pages), pages.weight
    (['/a', '/c'], 5)
    """

    __slots__ = ("_entries", "max_entries", "max_weight", "weight")

    def __init__(self, max_entries: int, *, max_weight: int | None = None) -> None:
        self.max_entries = max_entries
        self.max_weight = max_weight
        self.weight = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __repr__(self) -> str:
        return f"BoundedMap({len(self._entries)} of {self.max_entries} entries, weight {self.weight})"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        """Return the value of a key and mark the entry as used."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def peek(self, key: K) -> V | None:
        """Return the value of a key without marking the entry as used."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: K, value: V, weight: int = 0) -> None:
        """Set the value of a key, then evict entries until the bounds hold.

        An entry that alone exceeds the maximum weight is not stored, and its key is removed.
        """
        self.pop(key)
        if self.max_weight is not None and weight > self.max_weight:
            return
        self._entries[key] = (value, weight)
        self.weight += weight
        while len(self._entries) > self.max_entries or (self.max_weight is not None and self.weight > self.max_weight):
            _, evicted = self._entries.popitem(last=False)
            self.weight -= evicted[1]

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value, or ``None`` if it is not there."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.weight -= entry[1]
        return entry[0]

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self.weight = 0
