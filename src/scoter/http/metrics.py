"""Metrics of the service and of lookup processes, in the Prometheus text format (0.0.4).

Lookup processes report to the core about once a second, so counting a request costs only an addition; what was not
reported is lost if a process is killed. In return a process learns how many requests others admitted per key, and
charges the key for them: within one process a key can use its rate, across all of them it gets its rate on average.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from scoter.core.reply import Failed, Gone
from scoter.errors import Unavailable
from scoter.http.access import AccessControl
from scoter.live.api.records import StageTimes, Statistics
from scoter.live.pipeline.context import Context
from scoter.live.records import Event, UrlRecord
from scoter.live.sqlite.health import DatabaseHealth
from scoter.live.tenants import tenant_of

Labels: TypeAlias = tuple[str, ...]
Buckets: TypeAlias = tuple[list[int], float]
"""The number of durations in each bucket, and their sum."""

MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MAX_SERIES: Final = 1_000
_TENANT_SERIES: Final = 10_000  # more than there are keys, and states or outcomes of each
_OTHER: Final = "other"
# The statuses of what ``protocol`` answers by itself, by the reason for which it closes the connection.
_REFUSALS: Final = {"not_http": "400", "head_too_slow": "408", "head_too_large": "431", "crowded": "503"}


class Metric(Protocol):
    """Something with lines in the text format."""

    @property
    def name(self) -> str: ...

    @property
    def help_text(self) -> str: ...

    def lines(self) -> Iterator[str]: ...


class Counter(Struct):
    """A counter. Beyond a bound, new combinations of labels are counted together."""

    name: str
    help_text: str
    labels: Labels = ()
    values: dict[Labels, float] = {}
    most: int = MAX_SERIES

    def __post_init__(self) -> None:
        if not self.labels:
            self.values[()] = 0.0

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Increase the counter of a combination of labels."""
        if labels not in self.values and len(self.values) >= self.most:
            labels = (_OTHER,) * len(self.labels)
        self.values[labels] = self.values.get(labels, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "counter")
        for labels, value in self.values.items():
            yield f"{self.name}{_braces(zip(self.labels, labels, strict=True))} {_number(value)}"


class Reading(Struct, frozen=True):
    """A value that is read on demand, or one for each value of a label. A name in ``_total`` makes it a counter."""

    name: str
    help_text: str
    ask: Callable[[], float | Mapping[str, float]]
    label: str = ""

    @property
    def labels(self) -> Labels:
        return (self.label,) if self.label else ()

    def values(self) -> Mapping[Labels, float]:
        """Return the current values by their labels; none if they cannot be read, as from a damaged database."""
        try:
            found = self.ask()
        except Unavailable:
            return {}
        return {(of,): value for of, value in found.items()} if isinstance(found, Mapping) else {(): found}

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "counter" if self.name.endswith("_total") else "gauge")
        for labels, value in self.values().items():
            yield f"{self.name}{_braces(zip(self.labels, labels, strict=True))} {_number(value)}"


class Histogram(Struct):
    """Durations in buckets, by one label."""

    name: str
    help_text: str
    label: str
    bounds: tuple[float, ...] = BOUNDS
    _buckets: dict[str, list[int]] = {}
    _sums: dict[str, float] = {}

    def observe(self, label: str, seconds: float) -> None:
        """Record one duration."""
        buckets = self._buckets.get(label)
        if buckets is None:
            if len(self._buckets) >= MAX_SERIES:
                label = _OTHER
            buckets = self._buckets.setdefault(label, [0] * (len(self.bounds) + 1))
        buckets[bisect_left(self.bounds, seconds)] += 1
        self._sums[label] = self._sums.get(label, 0.0) + seconds

    def buckets(self) -> Mapping[str, Buckets]:
        """Return the buckets by label, for ``add``."""
        return {label: (buckets, self._sums[label]) for label, buckets in self._buckets.items()}

    def add(self, others: Mapping[str, Buckets]) -> None:
        """Add the buckets of a histogram with the same bounds."""
        for label, (more, total) in others.items():
            buckets = self._buckets.setdefault(label, [0] * (len(self.bounds) + 1))
            for at, count in enumerate(more):
                buckets[at] += count
            self._sums[label] = self._sums.get(label, 0.0) + total

    def labels(self) -> Sequence[str]:
        return list(self._buckets)

    def count(self, label: str) -> int:
        return sum(self._buckets[label])

    def within(self, label: str, share: float) -> float | None:
        """Return the smallest bound that covers a share of the durations; ``None`` if it is beyond the last bound."""
        return share_within(self.bounds, self._buckets[label], share)

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "histogram")
        for label, buckets in self._buckets.items():
            total = 0
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), buckets, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces([(self.label, label), ('le', bound)])} {total}"
            yield f"{self.name}_sum{_braces([(self.label, label)])} {_number(self._sums[label])}"
            yield f"{self.name}_count{_braces([(self.label, label)])} {total}"


def share_within(bounds: Sequence[float], buckets: Sequence[int], share: float) -> float | None:
    """Return the smallest bound that covers a share of the durations; ``None`` if it is beyond the last bound."""
    wanted, seen = share * sum(buckets), 0
    for bound, count in zip(bounds, buckets, strict=False):
        seen += count
        if seen >= wanted:
            return bound
    return None


def render(metrics: Iterable[Metric]) -> bytes:
    """Return metrics in the Prometheus text format."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines()).encode()


def _head(name: str, help_text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"


def _braces(labels: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _named(name: str, values: Mapping[Labels, float]) -> dict[str, float]:
    """Return values under the names that they have in statistics, such as ``urls.ok`` for ``scoter_urls_total``."""
    name = name.removeprefix("scoter_").removesuffix("_total")
    return {".".join((name, *labels)): value for labels, value in values.items()}


def counts_of(tenant: str, counts: Mapping[str, float]) -> dict[str, float]:
    """Return the counts of one tenant, under the names that those of the service have.

    >>> counts_of("acme", {"urls.ok": 5.0, "tenant_urls.acme.ok": 2.0, "tenant_urls.other-one.ok": 3.0})
    {'urls.ok': 2.0}
    """
    found = {}
    for name, value in counts.items():
        kind, _, rest = name.partition(".")
        of, _, label = rest.partition(".")
        if kind.startswith(_TENANT) and of == tenant:
            found[f"{kind.removeprefix(_TENANT)}.{label}"] = value
    return found


_TENANT = "tenant_"
_ROBOTS = ("robots_denied", "robots_unreachable", "crawl_delay")


def _by_tenant(name: str, help_text: str, label: str) -> Counter:
    return Counter(f"scoter_tenant_{name}_total", help_text, ("tenant", label), most=_TENANT_SERIES)


class ServiceMetrics:
    """All metrics of the service; ``readings`` are values that other components keep."""

    def __init__(self, readings: Sequence[Reading] = ()) -> None:
        self._began = time.monotonic()
        self.requests = Counter("scoter_http_requests_total", "Requests answered.", ("route", "status"))
        self.request_seconds = Histogram("scoter_http_request_seconds", "Time to answer a request.", "route")
        self.messages = Counter("scoter_messages_total", "Messages received.", ("outcome",))
        self.refusals = Counter("scoter_refusals_total", "Messages refused because a queue was full.", ("of",))
        self.urls = Counter("scoter_urls_total", "Finished URLs.", ("state",))
        self.robots = Counter("scoter_robots_total", "URLs not fetched because of robots.txt.", ("reason",))
        self.errors = Counter("scoter_fetch_errors_total", "URLs that could not be fetched.", ("reason",))
        self.bytes = Counter("scoter_fetched_bytes_total", "Bytes of bodies received.")
        self.stages = Histogram("scoter_stage_seconds", "Time in each stage of the pipeline.", "stage")
        self.deliveries = Counter("scoter_deliveries_total", "Attempts to deliver to webhooks.", ("outcome",))
        self.refused = Counter(
            "scoter_connections_refused_total", "Connections refused or closed because of their clients.", ("reason",)
        )
        # Only for tenants with a name: without tenants, they would repeat the counts above.
        self.tenant_messages = _by_tenant("messages", "Messages of a tenant.", "outcome")
        self.tenant_urls = _by_tenant("urls", "Finished URLs of a tenant.", "state")
        self.tenant_deliveries = _by_tenant("deliveries", "Attempts to deliver to a tenant.", "outcome")
        self._readings = readings

    def received(self, tenant: str, outcome: str) -> None:
        """Count a message."""
        self.messages.add(outcome)
        if tenant:
            self.tenant_messages.add(tenant, outcome)

    def refuse(self, reason: str) -> None:
        """Count a connection that was refused or closed, and the response to it if there was one."""
        self.refused.add(reason)
        if reason in _REFUSALS:
            self.requests.add("none", _REFUSALS[reason])

    def delivered(self, tenant: str, outcome: str) -> None:
        """Count an attempt to deliver."""
        self.deliveries.add(outcome)
        if tenant:
            self.tenant_deliveries.add(tenant, outcome)

    def done(self, context: Context) -> None:
        """Count a URL that went through the pipeline (for ``Scheduler.on_done``)."""
        if context.record is not None:
            self._finished(tenant_of(context.entry.message), context.record)
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

    def announced(self, event: Event) -> None:
        """Count a URL that another process has finished, by its event."""
        record = event.record
        self._finished(event.tenant, record)
        if record.reason:
            (self.robots if record.reason in _ROBOTS else self.errors).add(record.reason)

    def _finished(self, tenant: str, record: UrlRecord) -> None:
        self.urls.add(record.state.value)
        if tenant:
            self.tenant_urls.add(tenant, record.state.value)

    def add(self, report: MetricsReport) -> None:
        """Add the report of a lookup process."""
        for labels, count in report.requests:
            self.requests.add(*labels, by=count)
        for labels, count in report.refused:
            self.refused.add(*labels, by=count)
        self.request_seconds.add(report.seconds)

    def metrics(self) -> list[Metric]:
        counters = (self.requests, self.messages, self.refusals, self.urls, self.robots, self.errors, self.bytes)
        tenants = (self.tenant_messages, self.tenant_urls, self.tenant_deliveries)
        others = (self.refused, self.deliveries, self.request_seconds, self.stages)
        return [*counters, *others, *tenants, *self._readings]

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return render(self.metrics())

    def statistics(self) -> Statistics:
        """Return all metrics as a record."""
        counts: dict[str, float] = {}
        gauges: dict[str, float] = {}
        for metric in self.metrics():
            if isinstance(metric, Counter):
                counts |= _named(metric.name, metric.values)
            elif isinstance(metric, Reading):
                into = counts if metric.name.endswith("_total") else gauges
                into |= _named(metric.name, metric.values())
        return Statistics(
            uptime=time.monotonic() - self._began,
            counts=counts,
            gauges=gauges,
            stages={
                stage: StageTimes(
                    self.stages.count(stage), self.stages.within(stage, 0.5), self.stages.within(stage, 0.99)
                )
                for stage in self.stages.labels()
            },
        )


class MetricsReport(Struct, frozen=True, kw_only=True):
    """What a process counted since its last report.

    ``admitted`` are requests by key, for keys with a rate limit; ``damage`` is what is wrong with the database.
    """

    requests: list[tuple[tuple[str, ...], float]] = []
    seconds: Mapping[str, Buckets] = {}
    refused: list[tuple[tuple[str, ...], float]] = []
    uses: Mapping[str, datetime] = {}
    admitted: Mapping[str, int] = {}
    read_failures: int = 0
    damage: str = ""


class LookupMetrics:
    """The counters of a lookup process."""

    clock = staticmethod(time.perf_counter)

    def __init__(
        self,
        access: AccessControl,
        take_uses: Callable[[], Mapping[str, datetime]] = dict,
        health: DatabaseHealth | None = None,
    ) -> None:
        self._access = access
        self._health = health
        self._reported_failures = 0
        self._take_uses = take_uses
        self._begin()

    def _begin(self) -> None:
        self._requests = Counter("requests", "", ("route", "status"))
        self._seconds = Histogram("seconds", "", "route")
        self._refused = Counter("refused", "", ("reason",))

    def answered(self, route: str, status: int, began: float) -> None:
        """Count a request that was answered here."""
        self._requests.add(route, str(status))
        self._seconds.observe(route, self.clock() - began)

    def refused(self, reason: str) -> None:
        """Count a connection that was refused or closed, and the response to it if there was one."""
        self._refused.add(reason)
        if reason in _REFUSALS:
            self._requests.add("none", _REFUSALS[reason])

    def take(self) -> MetricsReport:
        """Return the counts and reset them."""
        failures = self._health.read_failures if self._health is not None else 0
        report = MetricsReport(
            requests=list(self._requests.values.items()),
            seconds=self._seconds.buckets(),
            refused=list(self._refused.values.items()),
            uses=self._take_uses(),
            admitted=self._access.take_admitted(),
            read_failures=failures - self._reported_failures,
            damage=self._health.damage if self._health is not None else "",
        )
        self._reported_failures = failures
        self._begin()
        return report
