"""Near-duplicates among many texts: MinHash signatures, compared band by band.

A text is a set of sequences of words. For every hash function, the smallest hash of its sequences is kept; two texts
have equal smallest hashes with a probability that is the share of sequences that they have in common (Broder 1997). The
hashes are divided into bands. Texts with an equal band are near-duplicates, directly or through others; of each such
group one is kept, the one with the highest rank (groups as in FineWeb's pipeline). Bands also match by chance, and a
group may be a long chain, so a text is compared with the one that is kept before it counts as a repetition of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from scoter.export.corpus.quality import shingles

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
        if len(tokens) < self._size:
            return []
        table = self.signature(tokens).reshape(self._bands, self._rows)
        return [signed(xxhash.xxh3_64_intdigest(row.tobytes())) for row in table]

    @property
    def size(self) -> int:
        """The number of hashes of a signature."""
        return len(self._factors)

    def signature(self, tokens: Any) -> Any:
        """Return the smallest hashes of a text; the share of equal ones estimates what two texts have in common."""
        found = np.unique(shingles(tokens, self._size))
        least = np.full(len(self._factors), np.iinfo(np.uint64).max, np.uint64)
        for start in range(0, len(found), _CHUNK):
            # Multiply-shift hashing: the upper half of the product.
            made = (found[start : start + _CHUNK, None] * self._factors + self._offsets) >> np.uint64(32)
            np.minimum(least, made.min(axis=0), out=least)
        return least.astype(np.uint32)


def signed(number: int) -> int:
    """Return an unsigned 64-bit number as a signed one, which every engine has.

    >>> signed(2**64 - 1), signed(7)
    (-1, 7)
    """
    return number - 2**64 if number >= 2**63 else number


class DuplicateGroups:
    """Groups rows that are linked, and finds the best of each group; a disjoint-set forest over rows.

    The best row has the highest rank; among equal ranks it is the first.
    """

    def __init__(self, ranks: Any) -> None:
        self._ranks = ranks
        self._parents = np.arange(len(ranks), dtype=np.int64)

    def link(self, batches: Iterable[Any]) -> None:
        """Link the rows ``one`` and ``other`` of record batches."""
        for batch in batches:
            pairs = [batch.column(name).to_pylist() for name in ("one", "other")]
            for one, other in zip(*pairs, strict=True):
                self._join(self._root(one), self._root(other))

    def _root(self, row: int) -> int:
        parents = self._parents
        while (parent := int(parents[row])) != row:
            parents[row] = row = int(parents[parent])
        return row

    def _join(self, one: int, other: int) -> None:
        if one != other:
            best, lost = sorted((one, other), key=lambda row: (-self._ranks[row], row))
            self._parents[lost] = best

    def best(self) -> Any:
        """Return the best row of the group of every row; a row that repeats no other is its own."""
        while not np.array_equal(found := self._parents[self._parents], self._parents):
            self._parents = found
        return self._parents.copy()
