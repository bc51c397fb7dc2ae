"""Many beginnings or endings at once: one look-up for each length that occurs, however many there are."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Affixes(Struct, frozen=True):
    """Texts with the line each came from, and their lengths from the shortest."""

    lines: Mapping[str, int]
    lengths: tuple[int, ...]

    def start(self, text: str) -> str | None:
        """Return the shortest that the text starts with."""
        for length in self.lengths:
            if text[:length] in self.lines:
                return text[:length]
        return None

    def end(self, text: str) -> str | None:
        """Return the shortest that the text ends with."""
        for length in self.lengths:
            if text[-length:] in self.lines:
                return text[-length:]
        return None


def affixes(lines: Mapping[str, int]) -> Affixes:
    """Make the look-up.

    >>> affixes({".gif": 1, ".jpeg": 2}).end("http://a.example/x.jpeg")
    '.jpeg'
    """
    return Affixes(lines, tuple(sorted({len(text) for text in lines})))
