"""Metrics of the live service and of its lookup processes.

Lookup processes report to the core about once a second, so counting a request costs only an addition; what was not
reported is lost if a process is killed. In return a process learns how many requests others admitted per key, and
charges the key for them: within one process a key can use its rate, across all of them it gets its rate on average.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from scoter.core.reply import Failed, Gone
from scoter.http.access import AccessControl
from scoter.http.metrics import Buckets, Counter, Histogram, Labels, Metric, Reading, render
from scoter.live.api.records import StageTimes, Statistics
from scoter.live.pipeline.context import Context
from scoter.live.records import Event, State, UrlRecord
from scoter.live.sqlite.health import DatabaseHealth
from scoter.live.tenants import tenant_of

_TENANT_SERIES: Final = 10_000  # more than there are keys, and states or outcomes of each
# The statuses of what ``protocol`` answers by itself, by the reason for which it closes the connection.
_REFUSALS: Final = {"not_http": "400", "head_too_slow": "408", "head_too_large": "431", "crowded": "503"}
_TENANT = "tenant_"
_ROBOTS = ("robots_denied", "robots_unreachable", "crawl_delay")


class ServiceMetrics:
    """All metrics of the service; ``others`` are those that other components keep."""

    def __init__(self, others: Sequence[Metric] = ()) -> None:
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
        self.refusals.expect("service", "domain", "tenant")
        self.urls.expect(*(state.value for state in State))
        self.deliveries.expect("delivered", "failed", "given_up")
        # Only for tenants with a name: without tenants, they would repeat the counts above.
        self.tenant_messages = _by_tenant("messages", "Messages of a tenant.", "outcome")
        self.tenant_urls = _by_tenant("urls", "Finished URLs of a tenant.", "state")
        self.tenant_deliveries = _by_tenant("deliveries", "Attempts to deliver to a tenant.", "outcome")
        self._others = others

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
        return [*counters, *others, *tenants, *self._others]

    def add_metrics(self, others: Iterable[Metric]) -> None:
        """Add metrics that other components keep."""
        self._others = (*self._others, *others)

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
                if self.stages.count(stage)
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


def _named(name: str, values: Mapping[Labels, float]) -> dict[str, float]:
    """Return values under the names that they have in statistics, such as ``urls.ok`` for ``scoter_urls_total``."""
    name = name.removeprefix("scoter_").removesuffix("_total")
    return {".".join((name, *labels)): value for labels, value in values.items()}


def _by_tenant(name: str, help_text: str, label: str) -> Counter:
    return Counter(f"scoter_tenant_{name}_total", help_text, ("tenant", label), most=_TENANT_SERIES)
