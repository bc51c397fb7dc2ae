"""What was met lately, within a bound."""

from __future__ import annotations

import xxhash


class Seen:
    """Remembers the last texts, by their hashes.

    >>> seen = Seen(2)
    >>> seen.add("a"), seen.add("a"), seen.add("b"), seen.add("c"), seen.add("a")
    (True, False, True, True, True)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[int, None] = {}

    def add(self, text: str) -> bool:
        """Remember a text; false when it was remembered."""
        hashed = xxhash.xxh3_64_intdigest(text.encode())
        if hashed in self._known:
            return False
        if len(self._known) >= self._most > 0:
            del self._known[next(iter(self._known))]
        if self._most:
            self._known[hashed] = None
        return True
