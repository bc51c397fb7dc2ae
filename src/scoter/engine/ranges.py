"""How the embedded engine keeps within its memory.

DuckDB spills, but a join of tens of millions of URLs outgrows a small limit all the same. A job over tables that
share a key can be run range by range instead: the crawldb lies sorted by key, so that a range of it is read without the
rest; what is not sorted is dealt out to ranges once, into temporary files. Measured with 10 million URLs, 1 million
fetched and 20 million links: all at once DuckDB 1.5 gives up at 4 GB; in 8 ranges it takes 61 CPU seconds and 1.4 GB,
in 24 ranges 76 CPU seconds and 0.7 GB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST_RANGES = 256
GROWTH = 16
"""Bytes of the limit for each byte of zstd Parquet that a job reads.

A range needs 4 to 6 times its size, and some come out longer than others. What fits well is also done sooner than what
spills: 10 million URLs at 4 GB took 105 CPU seconds in 2 ranges, 89 in 12.
"""
_MOST_KEYS = 10_000
_LEAST_SHARE = 1_000


def how_many(stored_bytes: int, memory_limit: int) -> int:
    """Return the number of ranges in which a job over so many bytes of Parquet stays within its memory."""
    return max(1, min(MOST_RANGES, math.ceil(stored_bytes * GROWTH / memory_limit)))


def one_key_in(rows: int) -> int:
    """Return which share of so many keys to look at: enough to cut evenly, however few or many there are.

    >>> one_key_in(500), one_key_in(30_000_000)
    (1, 1000)
    """
    return max(1, min(_LEAST_SHARE, rows // _MOST_KEYS))


def cuts(keys: Sequence[str], ranges: int) -> list[str]:
    """Return the keys at which to cut, out of a sample of keys: fewer than ``ranges`` of them, in order.

    >>> cuts(["a", "b", "c", "d"], 2)
    ['c']
    """
    ordered = sorted(keys)
    picked = {ordered[len(ordered) * number // ranges] for number in range(1, ranges)} if ordered else set()
    return sorted(picked - {ordered[0]} if ordered else picked)
