"""Which offsets of a partition are done: a position, a bitmap of what is done after it, and a note for the next owner.

Work ends in another order than it arrived. Kafka stores one position per partition, with a short text. The text holds
the offsets after the position that are done, so that the next owner of the partition does not repeat them. It also
tells whether the last owner has returned the partition. If several in a row have not, a message may have killed them.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import deque
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_FORMAT: Final = "1:"
MOST_TEXT: Final = 3 * 1024
"""Characters of the text; Kafka accepts 4,096 by default (offset.metadata.max.bytes)."""
_MOST_BITS: Final = 64 * 1024 * 8
_LEVEL: Final = 6
_NOTE: Final = " "  # separates the note; base85 does not use it
_MOST_SUSPECTS: Final = 500  # offsets behind the position
ENDS: Final = 3
"""Owners in a row that end without returning a partition before its messages are suspected."""


class OwnerNote(Struct, frozen=True):
    """What the owner of a partition leaves to the next one."""

    is_owned: bool = False  # it has not been returned
    ends: int = 0  # owners in a row that did not return it
    limit: int = 0  # they may have seen the messages before this offset
    trial: int = -1  # the suspect that was processed alone last
    trials: int = 0  # and how often

    @property
    def text(self) -> str:
        if self == OwnerNote():
            return ""
        return f"{self.is_owned:d},{self.ends},{self.limit},{self.trial},{self.trials}"

    @classmethod
    def read(cls, text: str) -> OwnerNote:
        """Return the note in a text; an empty one if it cannot be read.

        >>> OwnerNote.read(OwnerNote(True, 2, 150, 7, 1).text)
        OwnerNote(is_owned=True, ends=2, limit=150, trial=7, trials=1)
        """
        try:
            is_owned, ends, limit, trial, trials = map(int, text.split(","))
        except ValueError:
            return cls()
        return cls(bool(is_owned), ends, limit, trial, trials)


class PartitionOffsets:
    """The offsets of one partition that were received, and those that are done."""

    def __init__(self, position: int, text: str = "") -> None:
        """Continue at a committed position with its text."""
        self._next = position
        self._order: deque[int] = deque()  # received and perhaps done, in order
        self._open: set[int] = set()
        self._done: set[int] = set()
        self._skipped = {position + each for each in decoded_offsets(text)}
        self._note = OwnerNote.read(text.partition(_NOTE)[2])

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
        text, note = encoded_offsets(each - position for each in done if each > position), self._note
        if position >= note.limit:  # everything that was suspect is done
            note = OwnerNote(note.is_owned)
        return position, f"{text}{_NOTE}{note.text}" if note.text else text

    @property
    def position(self) -> int:
        """The first offset that is not done."""
        return self._order[0] if self._order else self._next

    def committed(self) -> tuple[int, str]:
        """Return what to commit: the position and its text."""
        return self.without(())

    # Owners

    @property
    def was_abandoned(self) -> bool:
        """Whether the last owner has not returned the partition."""
        return self._note.is_owned

    def take(self, end: int) -> None:
        """Become the owner; ``end`` is the next offset of the partition if it was abandoned."""
        note = self._note
        if note.is_owned:
            seen = min(end, self.position + _MOST_SUSPECTS)
            note = replace(note, ends=note.ends + 1, limit=max(note.limit, seen))
        self._note = replace(note, is_owned=True)

    def give_back(self) -> None:
        """Be the owner no more."""
        self._note = replace(self._note, is_owned=False)

    def ends_of(self, offset: int) -> int:
        """Return how many owners in a row have ended that may have seen a message."""
        return self._note.ends if offset < self._note.limit else 0

    def trials_of(self, offset: int) -> int:
        """Return how often a suspect was processed alone, as far as known."""
        return self._note.trials if offset == self._note.trial else 0

    def begin_trial(self, offset: int) -> None:
        """Note that a suspect is going to be processed alone."""
        self._note = replace(self._note, trial=offset, trials=self.trials_of(offset) + 1)

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
    text = text.partition(_NOTE)[0]
    if not text.startswith(_FORMAT):
        return []
    try:
        stream = zlib.decompressobj()
        bits = stream.decompress(base64.b85decode(text.removeprefix(_FORMAT)), _MOST_BITS // 8)
    except (ValueError, binascii.Error, zlib.error):
        return []
    return [at * 8 + bit for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]
