"""Deterministic pseudo-random numbers.

The synthetic web stores nothing. Each page is computed from the seed, its host and its number whenever it is requested,
so ten million pages need no more memory than ten.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from hashlib import shake_128

_MASK = 0xFFFFFFFFFFFFFFFF


def mix(*parts: int) -> int:
    """Hash the given numbers to 64 bits.

    >>> mix(1, 2) == mix(1, 2), mix(1, 2) == mix(2, 1)
    (True, False)
    """
    # The finaliser of splitmix64 (Steele, Lea, Flood 2014): cheap, and every bit depends on every other.
    state = 0x9E3779B97F4A7C15
    for part in parts:
        state = (state + part * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


def random_ints(count: int, *parts: int) -> tuple[int, ...]:
    """Return ``count`` 32-bit numbers derived from the given parts."""
    name = struct.pack(f"<{len(parts)}Q", *[part & _MASK for part in parts])
    digest = shake_128(name).digest(4 * count)
    return _layout(count).unpack(digest)


@lru_cache(maxsize=1024)
def _layout(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}I")


def fraction(bits: int) -> float:
    """Map 32 bits to a number in [0, 1)."""
    return (bits & 0xFFFFFFFF) / 4294967296.0
