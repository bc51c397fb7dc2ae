"""Sketches of texts, which show whether two texts are nearly the same.

A sketch has the smallest hashes of a text's sentences. The share of them that two sketches have in common is about the
share of sentences that the texts have in common, however long they are. A simhash would take ten times as long.
"""

from __future__ import annotations

from struct import Struct as Layout
from struct import pack
from typing import Final
from zlib import crc32

_HASHES: Final = 8
_SHORTEST: Final = 20  # bytes of a sentence; shorter ones are mostly menus
_LONGEST: Final = 2**16  # bytes of a text
_FULL_STOP: Final = "。".encode()
_ALIKE: Final = 0.6
_HASH: Final = Layout("<I")


def sketch_of(text: bytes) -> bytes:
    """Return the sketch of a text in UTF-8, empty if it has hardly any sentences.

    >>> len(sketch_of(b"Grey seals rest on the beach in winter. Young seals are white. They are fed for three weeks."))
    12
    """
    text = b"\n".join(text[:_LONGEST].split(b". "))  # faster than replace()
    if not text.isascii():
        text = text.replace(_FULL_STOP, b"\n")
    lines = text.rstrip(b". \n").split(b"\n")
    hashes = sorted(set(map(crc32, [line for line in lines if len(line) >= _SHORTEST])))[:_HASHES]
    return pack(f"<{len(hashes)}I", *hashes) if len(hashes) > 1 else b""


def are_alike(one: bytes, two: bytes) -> bool:
    """Return whether the texts of two sketches have most sentences in common.

    >>> first = b"Grey seals rest on the beach. Young seals are white in winter. They are fed for three weeks."
    >>> are_alike(sketch_of(first), sketch_of(first + b" This page was printed yesterday."))
    True
    """
    if one == two:
        return bool(one)
    common = {each for (each,) in _HASH.iter_unpack(one)} & {each for (each,) in _HASH.iter_unpack(two)}
    return len(common) * _HASH.size >= _ALIKE * max(len(one), len(two)) and len(common) > 1
