"""Find the rows of a stream that no earlier row equals, by hashes in arrays.

For 110 million rows with 10 million distinct URLs, this takes half the time of DuckDB's grouping and a third of the
memory, which grouping cannot bound.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.int64]

BITS = 63
"""Bits of a hash: it is a number from 0 on."""
_FIRST_BITS = 16
_MAX_LOAD = 0.8
_BLOCK = 2**16  # fits into the cache of a processor
_NONE = np.zeros(0, np.intp)


class HashCollision(Exception):
    """Two values have the same hash."""


class SeenHashes:
    """The hashes of the rows so far.

    An array has two places for each hash; those that found both taken are in a sorted array. A second hash of each row,
    of 32 bits, tells two values with the same hash apart.
    """

    def __init__(self) -> None:
        self._resize(_FIRST_BITS)
        self._rest = np.zeros(0, np.int64)
        self._rest_checks = np.zeros(0, np.int32)
        self.count = 0

    def add(self, hashes: Hashes, checks: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the rows, in order, whose hashes are new; raise ``HashCollision`` if a known one has another check."""
        hashes = np.maximum(hashes, 1)  # zero is a free place
        blocks = range(0, len(hashes), _BLOCK)
        rows = np.concatenate([_NONE, *(self._unknown(hashes, checks, first) for first in blocks)])
        if len(self._rest) and len(rows):
            at = np.minimum(np.searchsorted(self._rest, hashes[rows]), len(self._rest) - 1)
            is_known = self._rest[at] == hashes[rows]
            _compare(self._rest_checks[at[is_known]], checks[rows[is_known]])
            rows = rows[~is_known]
        if not len(rows):
            return rows
        new, first, group = np.unique(hashes[rows], return_index=True, return_inverse=True)
        firsts = rows[first]
        _compare(checks[firsts][group], checks[rows])
        self._insert(new, checks[firsts])
        firsts.sort()
        return firsts

    def _unknown(self, hashes: Hashes, checks: NDArray[np.int32], first: int) -> NDArray[np.intp]:
        """Return the rows of a block that have none of their places."""
        hashes, checks = hashes[first : first + _BLOCK], checks[first : first + _BLOCK]
        at = self._places(hashes, 0)
        is_other = self._hashes[at] != hashes
        if not (is_other | (self._checks[at] == checks)).all():
            raise HashCollision
        rows = np.flatnonzero(is_other)
        at = self._places(hashes[rows], 1)
        is_known = self._hashes[at] == hashes[rows]
        _compare(self._checks[at[is_known]], checks[rows[is_known]])
        unknown: NDArray[np.intp] = rows[~is_known] + first
        return unknown

    def _resize(self, bits: int) -> None:
        self._bits = bits
        self._hashes = np.zeros(1 << bits, np.int64)
        self._checks = np.zeros(1 << bits, np.int32)

    def _places(self, hashes: Hashes, which: int) -> NDArray[np.int64]:
        return hashes >> (BITS - self._bits) if which == 0 else hashes & ((1 << self._bits) - 1)

    def _insert(self, hashes: Hashes, checks: NDArray[np.int32]) -> None:
        self.count += len(hashes)
        if self.count > _MAX_LOAD * len(self._hashes):
            is_used = self._hashes > 0
            hashes = np.concatenate([self._hashes[is_used], self._rest, hashes])
            checks = np.concatenate([self._checks[is_used], self._rest_checks, checks])
            self._rest, self._rest_checks = self._rest[:0], self._rest_checks[:0]
            self._resize(int(self.count / _MAX_LOAD).bit_length())
        for which in (0, 1):
            at = self._places(hashes, which)
            is_free = self._hashes[at] == 0
            self._hashes[at[is_free]] = hashes[is_free]  # of several for one place, the last is stored
            is_left = self._hashes[at] != hashes
            self._checks[at[~is_left]] = checks[~is_left]
            hashes, checks = hashes[is_left], checks[is_left]
        if len(hashes):
            rest = np.concatenate([self._rest, hashes])
            order = np.argsort(rest)
            self._rest = rest[order]
            self._rest_checks = np.concatenate([self._rest_checks, checks])[order]


def _compare(known: NDArray[np.int32], given: NDArray[np.int32]) -> None:
    if (known != given).any():
        raise HashCollision
