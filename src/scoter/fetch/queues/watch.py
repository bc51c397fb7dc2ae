"""The watch over a running fetch, told once a second how far it is, and answering whether it should go on.

- The time limit, or too few pages a second for some seconds: what is queued is dropped (*drain*), the rest ends.
- No new request for a long time: something hangs; everything is dropped and the fetch ends (*abort*).
- A bandwidth target: every so often the number of workers is fitted to it.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from scoter.config.sections.fetch import FetchSettings


class Pulse(Struct, frozen=True, kw_only=True):
    """How far a fetch is: totals since its start, and how many workers there are and could have something to do.

    ``next_in`` is the seconds until the next turn if nothing is under way; none otherwise, or if no turn will come.
    ``waits_for_others`` says that it is not for the fetch to go on: the source has nothing, or the sink is behind.
    """

    requests: int
    pages: int
    bytes: int
    workers: int
    useful_workers: int
    next_in: float | None = None
    waits_for_others: bool = False


class Order(StrEnum):
    """What the fetch should do now."""

    GO_ON = "go_on"
    DRAIN = "drain"
    ABORT = "abort"


class Advice(Struct, frozen=True, kw_only=True):
    """What to do, why, and with how many workers."""

    order: Order = Order.GO_ON
    reason: str = ""
    workers: int


class Limits(Struct, frozen=True, kw_only=True):
    """What the watch looks at; none switches a check off."""

    time_limit: timedelta | None = None
    hung_after: timedelta = timedelta(minutes=5)
    floor: float | None = None
    floor_seconds: int = 5
    floor_after: timedelta = timedelta(minutes=5)
    bandwidth: int | None = None
    bandwidth_every: timedelta = timedelta(seconds=30)
    most_workers: int = 125


def limits_of(settings: FetchSettings) -> Limits:
    """Return what the section ``[fetch]`` says of time and throughput."""
    return Limits(
        time_limit=settings.time_limit,
        hung_after=settings.hung_after,
        floor=settings.throughput_threshold_pages,
        floor_seconds=settings.throughput_threshold_retries,
        floor_after=settings.throughput_threshold_check_after,
        bandwidth=settings.bandwidth_target,
        bandwidth_every=settings.bandwidth_target_check_every,
        most_workers=settings.max_num_threads,
    )


class Watch:
    """One for each fetch, from its start; an order to drain is given once."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._start = now
        self._last_tick = now
        self._last_request = now
        self._requests = 0
        self._pages = 0
        self._low = 0.0
        self._fitted = now
        self._bytes = 0
        self._draining = False

    def __repr__(self) -> str:
        return f"Watch({'draining' if self._draining else 'going on'}, below the floor for {self._low:.0f} s)"

    def tick(self, pulse: Pulse, now: float) -> Advice:
        """Return what to do; to be asked about once a second."""
        if pulse.requests != self._requests or pulse.waits_for_others:
            self._requests, self._last_request = pulse.requests, now
        silent, longest = now - self._last_request, self._limits.hung_after.total_seconds()
        # Who waits for a host that was deferred or asked for a pause does not hang; but no turn is waited for forever.
        is_waiting = pulse.next_in is not None and pulse.next_in <= longest
        if silent >= longest * (2 if is_waiting else 1):
            return Advice(order=Order.ABORT, reason=f"no new request for {silent:.0f} s", workers=pulse.workers)
        reason = self._too_late(now) or self._too_slow(pulse, now)
        self._last_tick, self._pages = now, pulse.pages
        workers = self._fit(pulse, now)
        if reason and not self._draining:
            self._draining = True
            return Advice(order=Order.DRAIN, reason=reason, workers=workers)
        return Advice(workers=workers)

    def _too_late(self, now: float) -> str:
        limit = self._limits.time_limit
        if limit is None or now - self._start < limit.total_seconds():
            return ""
        return f"the time limit of {limit} is over"

    def _too_slow(self, pulse: Pulse, now: float) -> str:
        limits, passed = self._limits, now - self._last_tick
        if limits.floor is None or passed <= 0 or now - self._start < limits.floor_after.total_seconds():
            return ""
        rate = (pulse.pages - self._pages) / passed
        self._low = self._low + passed if rate < limits.floor else 0.0
        if self._low < max(limits.floor_seconds, 1) - 0.5:  # ticks come a little early or late
            return ""
        return f"fewer than {limits.floor:g} pages a second for {self._low:.0f} s"

    def _fit(self, pulse: Pulse, now: float) -> int:
        """Return the number of workers that would meet the target at the rate of the present ones."""
        target, passed = self._limits.bandwidth, now - self._fitted
        if target is None or passed < self._limits.bandwidth_every.total_seconds():
            return pulse.workers
        rate = (pulse.bytes - self._bytes) / passed
        self._fitted, self._bytes = now, pulse.bytes
        if rate <= 0:
            return pulse.workers
        wanted = max(1, min(round(pulse.workers * target / rate), self._limits.most_workers))
        if wanted <= pulse.workers:
            return wanted
        # More workers than turns to be had would only wait.
        return max(pulse.workers, min(wanted, pulse.useful_workers))
