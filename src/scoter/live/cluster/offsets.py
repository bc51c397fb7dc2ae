"""Which offsets of a partition are done: a position, and a bitmap of what is done after it.

Work ends in another order than it arrived. Kafka stores one position per partition, with a short text. The text holds
the offsets after the position that are done, so that the next owner of the partition does not repeat them.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import deque
from collections.abc import Iterable
from typing import Final

_FORMAT: Final = "1:"
MOST_TEXT: Final = 3 * 1024
"""Characters of the text; Kafka accepts 4,096 by default (offset.metadata.max.bytes)."""
_MOST_BITS: Final = 64 * 1024 * 8
_LEVEL: Final = 6


class PartitionOffsets:
    """The offsets of one partition that were received, and those that are done."""

    def __init__(self, position: int, text: str = "") -> None:
        """Continue at a committed position with its text."""
        self._next = position
        self._order: deque[int] = deque()  # received and perhaps done, in order
        self._open: set[int] = set()
        self._done: set[int] = set()
        self._skipped = {position + each for each in decoded_offsets(text)}

    def __repr__(self) -> str:
        return f"PartitionOffsets(at {self.position}, {len(self._open)} open, {len(self._done)} done)"

    def __len__(self) -> int:
        """Return the number of received offsets that are not done."""
        return len(self._open)

    def __contains__(self, offset: int) -> bool:
        """Return whether an offset was received and is not done."""
        return offset in self._open

    def receive(self, offset: int) -> bool:
        """Note that an offset was received; return whether it must be processed."""
        if offset < self._next:  # repeated, after a seek
            return False
        self._next = offset + 1
        self._order.append(offset)
        if offset in self._skipped:
            self._skipped.discard(offset)
            self._done.add(offset)
            self._advance()
            return False
        self._open.add(offset)
        return True

    def finish(self, offset: int) -> None:
        """Note that an offset is done."""
        if offset in self._open:
            self._open.discard(offset)
            self._done.add(offset)
            self._advance()

    def without(self, offsets: Iterable[int]) -> tuple[int, str]:
        """Return the position and its text if these offsets were done too; nothing is changed."""
        more = set(offsets) & self._open
        done = self._done | more | self._skipped
        position = next((each for each in self._order if each not in done), self._next)
        return position, encoded_offsets(each - position for each in done if each > position)

    @property
    def position(self) -> int:
        """The first offset that is not done."""
        return self._order[0] if self._order else self._next

    def committed(self) -> tuple[int, str]:
        """Return what to commit: the position and its text."""
        return self.without(())

    def _advance(self) -> None:
        while self._order and self._order[0] in self._done:
            self._done.discard(self._order.popleft())


def encoded_offsets(offsets: Iterable[int]) -> str:
    """Return distances from a position as a text; the largest are left out if it would be too long.

    >>> decoded_offsets(encoded_offsets([1, 5, 900]))
    [1, 5, 900]
    """
    found = sorted(each for each in offsets if each < _MOST_BITS)
    while found:
        bits = bytearray(found[-1] // 8 + 1)
        for each in found:
            bits[each >> 3] |= 1 << (each & 7)
        text = _FORMAT + base64.b85encode(zlib.compress(bytes(bits), _LEVEL)).decode()
        if len(text) <= MOST_TEXT:
            return text
        del found[len(found) // 2 :]  # what is left out may be done twice, and is recorded once all the same
    return ""


def decoded_offsets(text: str) -> list[int]:
    """Return the distances in a text; none if it cannot be read, which only repeats work."""
    if not text.startswith(_FORMAT):
        return []
    try:
        stream = zlib.decompressobj()
        bits = stream.decompress(base64.b85decode(text.removeprefix(_FORMAT)), _MOST_BITS // 8)
    except (ValueError, binascii.Error, zlib.error):
        return []
    return [at * 8 + bit for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]
