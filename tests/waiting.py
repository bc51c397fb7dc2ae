"""Waiting for what other tasks, threads and processes do: for a condition, with a deadline.

A test that is about time simulates it instead (``tests/simulated.py``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
WITHIN: Final = 60.0
"""Seconds: long enough for a busy machine. Only a test that fails waits for so long."""
_LOOK: Final = 0.005


async def until(is_so: Callable[[], T], within: float = WITHIN) -> T:
    """Let other tasks run until a function returns something true, and return that."""
    deadline = time.monotonic() + within
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"not so within {within:g} seconds"
        await asyncio.sleep(_LOOK)
    return found


def wait_until(is_so: Callable[[], T], within: float = WITHIN) -> T:
    """Wait until a function returns something true, and return that."""
    deadline = time.monotonic() + within
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"not so within {within:g} seconds"
        time.sleep(_LOOK)
    return found
