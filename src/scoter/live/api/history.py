"""The last hour of the service's statistics for its dashboard, in memory and in a file that survives a restart."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from scoter.http.metrics import share_within
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.api.records import HistoryPoint, StageTimes

_log = logging.getLogger(__name__)
INTERVAL: Final = timedelta(seconds=10)
KEPT: Final = timedelta(hours=1)
_STORED_EVERY: Final = 6  # samples
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[HistoryPoint]).decode
# What plots need; everything else is in the current statistics.
_COUNTS: Final = (
    "messages.",
    "refusals.",
    "urls.",
    "robots.",
    "fetch_errors.",
    "fetched_bytes",
    "deliveries.",
    "tenant_",
)
_GAUGES: Final = ("journal_", "pipeline_urls.", "fetch_requests.", "fetch_domains", "fetchers", "writes_waiting")


class StatisticsHistory:
    """Samples the metrics of the service: what happened in each interval, and how long its stages took."""

    def __init__(
        self,
        metrics: ServiceMetrics,
        file: Path | None = None,
        *,
        interval: timedelta = INTERVAL,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._interval = interval.total_seconds()
        self._clock = clock
        self._monotonic = monotonic
        self._points: deque[HistoryPoint] = deque(maxlen=round(KEPT / interval))
        self._counts: Mapping[str, float] = {}
        self._buckets: dict[str, list[int]] = {}
        self._at = monotonic()
        self._file = file
        now = clock()
        self._points.extend(point for point in _read(file) if now - KEPT < point.time <= now)

    async def run(self) -> None:
        """Take samples until cancelled; store them now and then, and at the end."""
        taken = 0
        try:
            while True:
                await asyncio.sleep(self._interval)
                self.sample()
                taken += 1
                if taken % _STORED_EVERY == 0:
                    self.save()
        finally:
            self.save()

    def save(self) -> None:
        """Write all points to the file, at most about 400 KB; what fails is only a gap after the next restart."""
        if self._file is None:
            return
        new = self._file.with_name(self._file.name + ".new")
        try:
            new.write_bytes(_encode(list(self._points)))
            new.replace(self._file)
        except OSError as error:
            _log.warning("cannot store the statistics in %s: %s", self._file, error)

    def sample(self) -> None:
        """Add a point: the changes since the last one."""
        found, now = self._metrics.statistics(), self._monotonic()
        counts = {name: value for name, value in found.counts.items() if name.startswith(_COUNTS)}
        changes = {name: value - self._counts.get(name, 0.0) for name, value in counts.items()}
        self._points.append(
            HistoryPoint(
                time=self._clock(),
                seconds=max(0.001, now - self._at),
                counts={name: value for name, value in changes.items() if value},
                gauges={name: value for name, value in found.gauges.items() if name.startswith(_GAUGES) and value},
                stages=self._stage_times(),
            )
        )
        self._counts, self._at = counts, now

    def _stage_times(self) -> dict[str, StageTimes]:
        """Return the times of the stages that ran since the last sample."""
        histogram, found = self._metrics.stages, {}
        for stage, (buckets, _) in histogram.buckets().items():
            before = self._buckets.get(stage, [0] * len(buckets))
            change = [now - then for now, then in zip(buckets, before, strict=True)]
            self._buckets[stage] = list(buckets)
            if count := sum(change):
                shares = (share_within(histogram.bounds, change, share) for share in (0.5, 0.99))
                found[stage] = StageTimes(count, *shares)
        return found

    def since(self, after: datetime | None) -> list[HistoryPoint]:
        """Return the points after a time, or all of them."""
        return [point for point in self._points if after is None or point.time > after]


def _read(file: Path | None) -> list[HistoryPoint]:
    try:
        return _decode(file.read_bytes()) if file is not None else []
    except (OSError, msgspec.DecodeError):  # none yet, or damaged
        return []
