"""How much of a processor something takes, in seconds of a usual one: a slow or shared machine fails no test by itself.

The time of a fixed piece of work is taken just before and just after. What is slower now than it usually is counts less
by as much, so that a limit tells a quadratic reader from a busy afternoon.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_USUAL = 0.020
"""Seconds of the fixed work on two virtual processors of 2024 when nothing else runs."""


def seconds_of(act: Callable[[], object]) -> float:
    """Runs it once, and tells the processor time that it took, in seconds of a usual machine."""
    before = _fixed_work()
    began = time.process_time()
    act()
    took = time.process_time() - began
    return took * _USUAL / max(before, _fixed_work(), _USUAL)


def _fixed_work() -> float:
    """Half a loop of Python, half bytes that a library goes over: as what is tested."""
    began = time.process_time()
    words: dict[str, int] = {}
    for number in range(40_000):
        word = str(number % 5_000)
        words[word] = words.get(word, 0) + 1
    hashlib.md5(bytes(6_000_000), usedforsecurity=False).digest()
    return time.process_time() - began
