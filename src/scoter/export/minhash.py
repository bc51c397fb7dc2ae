"""Near-duplicates among many texts: MinHash signatures, compared band by band.

A text is a set of sequences of words. For every hash function, the smallest hash of its sequences is kept; two texts
have equal smallest hashes with a probability that is the share of sequences that they have in common (Broder 1997). The
hashes are divided into bands. Texts with an equal band are near-duplicates, directly or through others; of each such
group one is kept, the one with the highest score (groups as in FineWeb's pipeline).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from scoter.export.quality import shingles

BANDS = pa.schema([("row", pa.int64()), ("band", pa.int32()), ("bits", pa.int64())])
"""The bands of texts; band -1 is the digest of the whole text."""
EXACT = -1
_CHUNK = 4_096  # sequences hashed at a time: a few megabytes
_SEED = 20_260_101


class MinHasher:
    """Computes the bands of texts."""

    def __init__(self, bands: int, rows: int, shingle_words: int) -> None:
        self._bands = bands
        self._rows = rows
        self._size = shingle_words
        random = np.random.default_rng(_SEED)
        number = bands * rows
        self._factors = random.integers(0, 2**63, number, np.uint64) * np.uint64(2) + np.uint64(1)
        self._offsets = random.integers(0, 2**63, number, np.uint64)

    def bands(self, tokens: Any) -> list[int]:
        """Return the bands of a text, given the hashes of its words; a shorter text than a sequence has none."""
        found = np.unique(shingles(tokens, self._size))
        if not len(found):
            return []
        least = np.full(len(self._factors), np.iinfo(np.uint64).max, np.uint64)
        for start in range(0, len(found), _CHUNK):
            # Multiply-shift hashing: the upper half of the product.
            made = (found[start : start + _CHUNK, None] * self._factors + self._offsets) >> np.uint64(32)
            np.minimum(least, made.min(axis=0), out=least)
        table = least.astype(np.uint32).reshape(self._bands, self._rows)
        return [signed(xxhash.xxh3_64_intdigest(row.tobytes())) for row in table]


def signed(number: int) -> int:
    """Return an unsigned 64-bit number as a signed one, which every engine has.

    >>> signed(2**64 - 1), signed(7)
    (-1, 7)
    """
    return number - 2**64 if number >= 2**63 else number


class DuplicateGroups:
    """Groups rows that are linked, and keeps the best of each group; a disjoint-set forest over rows.

    The best row has the highest score; among equal scores it is the first.
    """

    def __init__(self, scores: Any) -> None:
        self._scores = scores
        self._parents = np.arange(len(scores), dtype=np.int64)
        self._is_exact = np.zeros(len(scores), bool)

    def link(self, batches: Iterable[Any]) -> None:
        """Link the rows ``one`` and ``other`` of record batches, which share a band."""
        for batch in batches:
            pairs = [batch.column(name).to_numpy() for name in ("one", "other")]
            exact = batch.column("band").to_numpy() == EXACT
            for each in pairs:
                self._is_exact[each[exact]] = True
            for one, other in zip(*(each.tolist() for each in pairs), strict=True):
                self._join(self._root(one), self._root(other))

    def _root(self, row: int) -> int:
        parents = self._parents
        while (parent := int(parents[row])) != row:
            parents[row] = row = int(parents[parent])
        return row

    def _join(self, one: int, other: int) -> None:
        if one != other:
            best, lost = sorted((one, other), key=lambda row: (-self._scores[row], row))
            self._parents[lost] = best

    def lost(self) -> tuple[Any, Any]:
        """Return which rows are left out: those with the text of another, and those with one near it."""
        is_lost = self._parents != np.arange(len(self._parents))
        exact = self._is_exact & is_lost
        return exact, is_lost & ~exact
