"""The watchdog of a running fetch: looks at its progress once a second and decides whether it should go on.

- Time limit reached, or too few pages per second for some seconds: drop what is queued, finish the rest (*drain*).
- No new request for a long time: something hangs; drop everything and end (*abort*).
- Bandwidth target: adjust the number of workers from time to time.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from scoter.config.sections.fetch import FetchSettings


class WatchdogReading(Struct, frozen=True, kw_only=True):
    """Totals since the start of the fetch, its number of workers, and how many could have something to do.

    ``next_in``: seconds until the next slot if no request is in progress, otherwise ``None``.
    ``waits_for_others``: the source has nothing to fetch, or the sink is behind.
    """

    requests: int
    pages: int
    bytes: int
    workers: int
    useful_workers: int
    next_in: float | None = None
    waits_for_others: bool = False


class WatchdogAction(StrEnum):
    """What the fetch should do."""

    GO_ON = "go_on"
    DRAIN = "drain"
    ABORT = "abort"


class WatchdogAdvice(Struct, frozen=True, kw_only=True):
    """What to do, why, and with how many workers."""

    action: WatchdogAction = WatchdogAction.GO_ON
    reason: str = ""
    workers: int


class Watchdog:
    """Checks one fetch from its start against the limits in its settings; it asks to drain only once."""

    def __init__(self, settings: FetchSettings, now: float) -> None:
        self._settings = settings
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
        return f"Watchdog({'draining' if self._draining else 'running'}, below the floor for {self._low:.0f} s)"

    def tick(self, reading: WatchdogReading, now: float) -> WatchdogAdvice:
        """Return what to do; call it about once a second."""
        longest = self._settings.hung_after.total_seconds()
        waits_long = reading.next_in is not None and longest < reading.next_in <= self.time_left(now)
        if reading.requests != self._requests or reading.waits_for_others or waits_long:
            self._requests, self._last_request = reading.requests, now
        silent = now - self._last_request
        # Waiting for a host that is on hold is not hanging, but no slot is waited for forever.
        is_waiting = reading.next_in is not None and reading.next_in <= longest
        if silent >= longest * (2 if is_waiting else 1):
            return WatchdogAdvice(
                action=WatchdogAction.ABORT, reason=f"no new request for {silent:.0f} s", workers=reading.workers
            )
        reason = self._too_late(now) or self._too_slow(reading, now)
        self._last_tick, self._pages = now, reading.pages
        workers = self._fit(reading, now)
        if reason and not self._draining:
            self._draining = True
            return WatchdogAdvice(action=WatchdogAction.DRAIN, reason=reason, workers=workers)
        return WatchdogAdvice(workers=workers)

    def time_left(self, now: float) -> float:
        """Return the seconds until the time limit; 0 if there is none."""
        limit = self._settings.time_limit
        return 0.0 if limit is None else max(self._start + limit.total_seconds() - now, 0.0)

    def _too_late(self, now: float) -> str:
        limit = self._settings.time_limit
        if limit is None or now - self._start < limit.total_seconds():
            return ""
        return f"the time limit of {limit} was reached"

    def _too_slow(self, reading: WatchdogReading, now: float) -> str:
        floor, passed = self._settings.throughput_threshold_pages, now - self._last_tick
        ignored = self._settings.throughput_threshold_check_after.total_seconds()
        if floor is None or passed <= 0 or now - self._start < ignored:
            return ""
        rate = (reading.pages - self._pages) / passed
        self._low = self._low + passed if rate < floor else 0.0
        if self._low < max(self._settings.throughput_threshold_retries, 1) - 0.5:  # ticks come a little early or late
            return ""
        return f"fewer than {floor:g} pages/s for {self._low:.0f} s"

    def _fit(self, reading: WatchdogReading, now: float) -> int:
        """Return how many workers would meet the target at the current rate per worker."""
        target, passed = self._settings.bandwidth_target, now - self._fitted
        if target is None or passed < self._settings.bandwidth_target_check_every.total_seconds():
            return reading.workers
        rate = (reading.bytes - self._bytes) / passed
        self._fitted, self._bytes = now, reading.bytes
        if rate <= 0:
            return reading.workers
        wanted = max(1, min(round(reading.workers * target / rate), self._settings.max_num_threads))
        if wanted <= reading.workers:
            return wanted
        # More workers than there are slots would only wait.
        return max(reading.workers, min(wanted, reading.useful_workers))
