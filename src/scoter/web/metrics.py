"""Counters, gauges and histograms, and their text for Prometheus (format 0.0.4)."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from scoter.api import StageTimes, Statistics
from scoter.core.reply import Failed, Gone
from scoter.live.context import Context
from scoter.web.keys import AccessControl

Labels: TypeAlias = tuple[str, ...]
Sorted: TypeAlias = tuple[list[int], float]
"""How many durations fell into each bucket, and their sum."""

MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MOST_SERIES: Final = 1_000
_OTHER: Final = "other"


class Metric(Protocol):
    """Something that has lines to show."""

    def lines(self) -> Iterator[str]: ...


class Counter:
    """Counts up. Beyond a bound, new combinations of labels are counted as one."""

    def __init__(self, name: str, told: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.told = told
        self._labels = tuple(labels)
        self.values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count one more, or ``by``."""
        if labels not in self.values and len(self.values) >= MOST_SERIES:
            labels = (_OTHER,) * len(self._labels)
        self.values[labels] = self.values.get(labels, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.told, "counter")
        for labels, value in self.values.items():
            yield f"{self.name}{_braces(zip(self._labels, labels, strict=True))} {_number(value)}"


class Gauge:
    """Shows what is the case when it is asked."""

    def __init__(self, name: str, told: str, label: str, ask: Callable[[], Mapping[str, float]]) -> None:
        self.name = name
        self.told = told
        self._label = label
        self.ask = ask

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.told, "gauge")
        for value_of, value in self.ask().items():
            labels = [(self._label, value_of)] if self._label else []
            yield f"{self.name}{_braces(labels)} {_number(value)}"


class Histogram:
    """Sorts durations into buckets, by one label."""

    def __init__(self, name: str, told: str, label: str, bounds: Sequence[float] = BOUNDS) -> None:
        self.name = name
        self.told = told
        self._label = label
        self._bounds = tuple(bounds)
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, label: str, seconds: float) -> None:
        """Note one duration."""
        buckets = self._buckets.get(label)
        if buckets is None:
            if len(self._buckets) >= MOST_SERIES:
                label = _OTHER
            buckets = self._buckets.setdefault(label, [0] * (len(self._bounds) + 1))
        buckets[bisect_left(self._bounds, seconds)] += 1
        self._sums[label] = self._sums.get(label, 0.0) + seconds

    def sorted(self) -> Mapping[str, Sorted]:
        """Return all of it by label, for ``add``."""
        return {label: (buckets, self._sums[label]) for label, buckets in self._buckets.items()}

    def add(self, sorted_elsewhere: Mapping[str, Sorted]) -> None:
        """Add what another of the same bounds has sorted."""
        for label, (more, total) in sorted_elsewhere.items():
            buckets = self._buckets.setdefault(label, [0] * (len(self._bounds) + 1))
            for at, count in enumerate(more):
                buckets[at] += count
            self._sums[label] = self._sums.get(label, 0.0) + total

    def labels(self) -> Sequence[str]:
        return list(self._buckets)

    def count(self, label: str) -> int:
        return sum(self._buckets[label])

    def within(self, label: str, share: float) -> float | None:
        """Return the least bound that so great a share stayed within; none where that is beyond the last bound."""
        buckets = self._buckets[label]
        wanted, seen = share * sum(buckets), 0
        for bound, count in zip(self._bounds, buckets, strict=False):
            seen += count
            if seen >= wanted:
                return bound
        return None

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.told, "histogram")
        for label, buckets in self._buckets.items():
            total = 0
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), buckets, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces([(self._label, label), ('le', bound)])} {total}"
            yield f"{self.name}_sum{_braces([(self._label, label)])} {_number(self._sums[label])}"
            yield f"{self.name}_count{_braces([(self._label, label)])} {total}"


def render(metrics: Iterable[Metric]) -> bytes:
    """Return metrics as Prometheus reads them."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines()).encode()


def _head(name: str, told: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"


def _braces(labels: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


_ROBOTS = ("robots_denied", "robots_unreachable", "crawl_delay")


class ServiceMetrics:
    """Everything that is counted; ``gauges`` names what can be asked for at any moment, by group and name."""

    def __init__(
        self,
        gauges: Mapping[str, Callable[[], Mapping[str, float]]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._began = clock()
        self.requests = Counter("scoter_http_requests_total", "Requests answered.", ("route", "status"))
        self.request_seconds = Histogram("scoter_http_request_seconds", "Time to answer a request.", "route")
        self.messages = Counter("scoter_messages_total", "Messages that came in.", ("outcome",))
        self.refusals = Counter("scoter_refusals_total", "Messages that were refused for want of room.", ("of",))
        self.urls = Counter("scoter_urls_total", "URLs that are done.", ("state",))
        self.robots = Counter("scoter_robots_total", "URLs that robots.txt kept us from.", ("reason",))
        self.errors = Counter("scoter_fetch_errors_total", "URLs that could not be had.", ("reason",))
        self.bytes = Counter("scoter_fetched_bytes_total", "Bytes of bodies.")
        self.stages = Histogram("scoter_stage_seconds", "Time in each stage of the pipeline.", "stage")
        self.deliveries = Counter("scoter_deliveries_total", "Webhook deliveries tried.", ("outcome",))
        self.refused = Counter(
            "scoter_connections_refused_total",
            "Connections that were turned away or ended for what their clients did.",
            ("reason",),
        )
        self._gauges = {
            name: Gauge(f"scoter_{name}", f"{name.replace('_', ' ').capitalize()} now.", "of", ask)
            for name, ask in (gauges or {}).items()
        }

    def done(self, context: Context) -> None:
        """Note a URL that went through the pipeline (a face for ``Scheduler.on_done``)."""
        if context.record is not None:
            self.urls.add(context.record.state.value)
        for stage, seconds in context.timings:
            self.stages.observe(stage, seconds)
        total = sum(seconds for _, seconds in context.timings)
        self.stages.observe("turn", context.waited)
        self.stages.observe("remote", context.remote)
        self.stages.observe("own", max(0.0, total - context.waited - context.remote))
        if isinstance(context.reply, Failed | Gone):
            reason = context.reply.reason.value
            (self.robots if reason in _ROBOTS else self.errors).add(reason)
        for exchange in context.exchanges:
            self.bytes.add(by=len(exchange.body))

    def add(self, tally: MetricsReport) -> None:
        """Add what a lookup process has counted."""
        for labels, count in tally.requests:
            self.requests.add(*labels, by=count)
        for labels, count in tally.refused:
            self.refused.add(*labels, by=count)
        self.request_seconds.add(tally.seconds)

    def metrics(self) -> list[Metric]:
        counters = (self.requests, self.messages, self.refusals, self.urls, self.robots, self.errors, self.bytes)
        return [*counters, self.refused, self.deliveries, self.request_seconds, self.stages, *self._gauges.values()]

    def text(self) -> bytes:
        """Return all of it as Prometheus reads it."""
        return render(self.metrics())

    def statistics(self) -> Statistics:
        """Return all of it as a record."""
        counts: dict[str, float] = {}
        for metric in self.metrics():
            if isinstance(metric, Counter):
                name = metric.name.removeprefix("scoter_").removesuffix("_total")
                counts |= {".".join((name, *labels)): value for labels, value in metric.values.items()}
        return Statistics(
            uptime=self._clock() - self._began,
            counts=counts,
            gauges={f"{name}.{of}": value for name, gauge in self._gauges.items() for of, value in gauge.ask().items()},
            stages={
                stage: StageTimes(
                    self.stages.count(stage), self.stages.within(stage, 0.5), self.stages.within(stage, 0.99)
                )
                for stage in self.stages.labels()
            },
        )


class MetricsReport(Struct, frozen=True, kw_only=True):
    """What a process has counted since it last told; ``admitted`` are requests by key, of keys that have a rate."""

    requests: list[tuple[tuple[str, ...], float]] = []
    seconds: Mapping[str, Sorted] = {}
    refused: list[tuple[tuple[str, ...], float]] = []
    uses: Mapping[str, datetime] = {}
    admitted: Mapping[str, int] = {}


class LookupMetrics:
    """The counters of a process that only looks up."""

    def __init__(
        self,
        gate: AccessControl,
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

    def take(self) -> MetricsReport:
        """Return what was counted, and begin anew."""
        tally = MetricsReport(
            requests=list(self._requests.values.items()),
            seconds=self._seconds.sorted(),
            refused=list(self._refused.values.items()),
            uses=self._take_uses(),
            admitted=self._gate.take_admitted(),
        )
        self._begin()
        return tally
