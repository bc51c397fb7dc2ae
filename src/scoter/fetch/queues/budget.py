"""How many retries a process may make: a share of its requests, so that an outage is not met with a storm.

Learnt from Finagle's retry budget: over a sliding window the retries stay below a ratio of the requests, and a small
number a second is always free, so that a process that has only begun can retry at all.
"""

from __future__ import annotations

from collections import deque
from typing import Final

_SLICES: Final = 10


class RetryBudget:
    """Told of every request; asked before every retry.

    >>> budget = RetryBudget(ratio=0.5, floor=0.0)
    >>> budget.request(now=0.0)
    >>> budget.request(now=0.0)
    >>> budget.try_retry(now=0.0), budget.try_retry(now=0.0)
    (True, False)
    """

    def __init__(self, ratio: float, floor: float = 1.0, window: float = 10.0) -> None:
        """Allow ``ratio`` retries a request and ``floor`` a second, both counted over ``window`` seconds."""
        self._ratio = ratio
        self._free = floor * window
        self._slice = window / _SLICES
        self._counts: deque[list[int]] = deque()  # slice number, requests, retries
        self.requests = 0
        self.retries = 0
        self.refused = 0

    def __repr__(self) -> str:
        return f"RetryBudget({self.retries} retries for {self.requests} requests lately, {self.refused} refused)"

    def request(self, now: float) -> None:
        """Note a request that is no retry."""
        counts = self._counts
        current = counts[-1] if counts and counts[-1][0] == now // self._slice else self._current(now)
        current[1] += 1
        self.requests += 1

    def try_retry(self, now: float) -> bool:
        """Tell whether one more retry is within the budget, and count it if so."""
        current = self._current(now)
        # A hair's breadth for 0.1 + 0.2: the third of three allowed retries must not be lost to rounding.
        if self.retries + 1 > self._ratio * self.requests + self._free + 1e-9:
            self.refused += 1
            return False
        current[2] += 1
        self.retries += 1
        return True

    def _current(self, now: float) -> list[int]:
        number = int(now // self._slice)
        counts = self._counts
        while counts and counts[0][0] <= number - _SLICES:
            _, requests, retries = counts.popleft()
            self.requests -= requests
            self.retries -= retries
        if not counts or counts[-1][0] != number:
            counts.append([number, 0, 0])
        return counts[-1]
