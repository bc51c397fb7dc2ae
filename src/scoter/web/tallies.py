"""What a lookup process counts, for the core to add to its own: requests, times, refusals, uses of keys.

It is told about once a second, so that a request costs no more than an addition; what was not told when a process is
killed is lost. In return a process hears how often each key was let in elsewhere, and takes that off what the key has
left here: in a process a key may do what its rate allows, in all of them together as much on average.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct

from scoter.web.keys import Gate
from scoter.web.metrics import Counter, Histogram, Sorted


class Tally(Struct, frozen=True, kw_only=True):
    """What a process has counted since it last told; ``admitted`` are requests by key, of keys that have a rate."""

    requests: list[tuple[tuple[str, ...], float]] = []
    seconds: Mapping[str, Sorted] = {}
    refused: list[tuple[tuple[str, ...], float]] = []
    uses: Mapping[str, datetime] = {}
    admitted: Mapping[str, int] = {}


class Counts:
    """The counters of a process that only looks up."""

    def __init__(
        self,
        gate: Gate,
        take_uses: Callable[[], Mapping[str, datetime]] = dict,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self._gate = gate
        self._take_uses = take_uses
        self._begin()

    def _begin(self) -> None:
        self._requests = Counter("requests", "", ("route", "status"))
        self._seconds = Histogram("seconds", "", "route")
        self._refused = Counter("refused", "", ("reason",))

    def answered(self, route: str, status: int, began: float) -> None:
        """Note a request that was answered here."""
        self._requests.add(route, str(status))
        self._seconds.observe(route, self.clock() - began)

    def refused(self, reason: str) -> None:
        """Note a connection that was turned away or ended."""
        self._refused.add(reason)

    def take(self) -> Tally:
        """Return what was counted, and begin anew."""
        tally = Tally(
            requests=list(self._requests.values.items()),
            seconds=self._seconds.sorted(),
            refused=list(self._refused.values.items()),
            uses=self._take_uses(),
            admitted=self._gate.take_admitted(),
        )
        self._begin()
        return tally
