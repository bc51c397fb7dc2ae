"""Holds that outlive a fetch: a host that asked to be left alone for a day must not be asked by the next fetch.

The workbench reports every hold. A long one, such as a Retry-After or a back-off, is stored at once. The short ones,
mostly the delay after each request, are stored once a second and at the end, unless they are over by then, so that the
first request of the next fetch keeps the delay after the last request of this one, however short it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

LONG: Final = 30.0  # seconds


class HoldStore(Protocol):
    """Keeps holds in Unix time, by the keys of the queues."""

    def until(self, host: str) -> float:
        """Return until when a host is on hold; 0 if it is not."""

    def put(self, holds: Iterable[tuple[str, float, float]]) -> None:
        """Store holds: the host, until when, and its usual delay in seconds. A hold never becomes shorter."""


class KeptHolds:
    """Converts between the workbench's clock and the store's, and decides when to write."""

    def __init__(
        self, store: HoldStore, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._clock = clock
        self._wall = wall
        self._short: dict[str, tuple[float, float]] = {}
        self.deferred: dict[str, float] = {}
        """The hosts whose requests were handed back, with the Unix time until which they are on hold."""

    def until(self, key: str) -> float:
        """Return until when a host is on hold, by the workbench's clock; 0 if it is not."""
        until = self._store.until(key)
        return until - self._wall() + self._clock() if until else 0.0

    def note(self, key: str, until: float, delay: float) -> None:
        """Note that a host is on hold; ``delay`` is its usual delay, if a fetch waits for that at any rate."""
        left = until - self._clock()
        if left < LONG:
            if left > 0:
                self._short[key] = (until, delay)
        else:
            self._short.pop(key, None)
            self._store.put([(key, self._unix(until), delay)])

    def defer(self, held: dict[str, float]) -> None:
        """Note that the requests of hosts were handed back, because they are on hold until the given times."""
        self.deferred.update((key, self._unix(until)) for key, until in held.items())

    def save(self) -> None:
        """Store the short holds that are not over."""
        if self._short:
            now, unix = self._clock(), self._wall()
            rows = [(key, until - now + unix, delay) for key, (until, delay) in self._short.items() if until > now]
            self._short.clear()
            if rows:
                self._store.put(rows)

    def _unix(self, moment: float) -> float:
        return moment - self._clock() + self._wall()
