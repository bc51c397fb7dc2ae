"""What was met lately, within a bound."""

from __future__ import annotations

import time
from collections.abc import Callable

import xxhash


class Seen:
    """Remembers the last texts, by their hashes.

    >>> seen = Seen(2)
    >>> seen.add("a"), seen.add("a"), seen.add("b"), seen.add("c"), seen.add("a")
    (True, False, True, True, True)
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._known: dict[int, float] = {}

    def add(self, text: str, within: float | None = None) -> bool:
        """Remember a text; false when it was remembered, and not longer ago than so many seconds."""
        hashed = xxhash.xxh3_64_intdigest(text.encode())
        now = self._clock()
        since = self._known.get(hashed)
        if since is not None:
            if within is None or now - since <= within:
                return False
            del self._known[hashed]
        if len(self._known) >= self._most > 0:
            del self._known[next(iter(self._known))]
        if self._most:
            self._known[hashed] = now
        return True
