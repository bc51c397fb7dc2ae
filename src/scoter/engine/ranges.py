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
GROWTH = 8
"""Bytes that a job needs in memory for each byte of zstd Parquet that it reads; measured 4 to 6."""


def how_many(stored_bytes: int, memory_limit: int) -> int:
    """Return the number of ranges in which a job over so many bytes of Parquet stays within its memory."""
    return max(1, min(MOST_RANGES, math.ceil(stored_bytes * GROWTH / memory_limit)))


def cuts(keys: Sequence[str], ranges: int) -> list[str]:
    """Return the keys at which to cut, out of a sample of keys: fewer than ``ranges`` of them, in order.

    >>> cuts(["a", "b", "c", "d"], 2)
    ['c']
    """
    ordered = sorted(keys)
    picked = {ordered[len(ordered) * number // ranges] for number in range(1, ranges)} if ordered else set()
    return sorted(picked - {ordered[0]} if ordered else picked)


def number_sql(cuts: Sequence[str], low: int = 0, high: int | None = None) -> str:
    """Return SQL that gives the number of the range in which ``key`` lies, by halving.

    >>> number_sql(["m"])
    "CASE WHEN key < 'm' THEN 0 ELSE 1 END"
    """
    high = len(cuts) if high is None else high
    if low == high:
        return str(low)
    middle = (low + high) // 2
    below, above = number_sql(cuts, low, middle), number_sql(cuts, middle + 1, high)
    return f"CASE WHEN key < {quoted(cuts[middle])} THEN {below} ELSE {above} END"


def within_sql(cuts: Sequence[str], number: int) -> str:
    """Return SQL that says whether ``key`` lies in a range.

    >>> within_sql(["m"], 1)
    "key >= 'm'"
    """
    limits = []
    if number > 0:
        limits.append(f"key >= {quoted(cuts[number - 1])}")
    if number < len(cuts):
        limits.append(f"key < {quoted(cuts[number])}")
    return " AND ".join(limits) or "true"


def quoted(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
