"""How much work a test does: examples of properties, and CPU time in seconds of a reference machine.

For ``seconds_of``, a fixed piece of work is timed just before and just after, and the result is scaled by how much
slower it was than on the reference machine. A limit then detects a quadratic algorithm and not a busy machine.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

_USUAL = 0.020
"""Seconds of the fixed work on an idle reference machine (two virtual CPUs of 2024)."""


def examples(number: int) -> int:
    """Return how many of so many examples the profile of this run tries: all of them, or a quarter."""
    profile = settings.default
    assert profile is not None
    return max(2, number * profile.max_examples // 100)


def seconds_of(act: Callable[[], object]) -> float:
    """Run a function once and return its CPU time in seconds of the reference machine."""
    before = _fixed_work()
    began = time.process_time()
    act()
    took = time.process_time() - began
    return took * _USUAL / max(before, _fixed_work(), _USUAL)


def _fixed_work() -> float:
    """Do half Python loops, half hashing in C, like the code under test."""
    began = time.process_time()
    words: dict[str, int] = {}
    for number in range(40_000):
        word = str(number % 5_000)
        words[word] = words.get(word, 0) + 1
    hashlib.md5(bytes(6_000_000), usedforsecurity=False).digest()
    return time.process_time() - began
