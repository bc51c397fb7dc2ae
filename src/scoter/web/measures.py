"""What the service counts of itself, for Prometheus and for ``/v1/stats``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from scoter.api import StageTimes, Statistics
from scoter.core.reply import Failed, Gone
from scoter.live.context import Context
from scoter.web.metrics import Counter, Gauge, Histogram, Metric, render
from scoter.web.tallies import Tally

_ROBOTS = ("robots_denied", "robots_unreachable", "crawl_delay")


class Measures:
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

    def add(self, tally: Tally) -> None:
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
