"""What the roles measure, and the metrics of an api process, which are those of the whole service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from scoter.http.metrics import Buckets, Metric, Reading
from scoter.http.streams import Streams
from scoter.live.api.lookups import UrlWaiters
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.content.log import FetchLog
from scoter.live.content.retention import DiskFloor
from scoter.live.kafka.backlogs import ServiceBacklog
from scoter.live.kafka.events import KafkaEvents
from scoter.live.kafka.journal import PipelineJournal
from scoter.live.kafka.role_reports import MOST_OLDEST, RoleReports, RoleState
from scoter.live.records import Priority
from scoter.live.service.roles.connections import ClusterParts

_STAGE: Final = "stage"
_CASSANDRA: Final = "cassandra"
_KAFKA: Final = "kafka"
_WRITE_FAILURES: Final = "write_failures"
_READ_FAILURES: Final = "read_failures"
_FETCHED_BYTES: Final = "fetched_bytes"
_OLDEST: Final = "oldest"
_DISK_FREE: Final = "disk_free"
_DISK_STEP: Final = 2**26  # bytes; smaller changes are not worth a report


class PipelineMeasurements(Struct, frozen=True):
    """What a pipeline reports to the api processes."""

    parts: ClusterParts
    journal: PipelineJournal
    done: ServiceMetrics
    floor: DiskFloor

    def state(self) -> RoleState:
        """Return what was measured until now."""
        session, oldest = self.parts.session, self.journal.oldest_domains(MOST_OLDEST)
        domains = {domain: float(round(age.total_seconds())) for domain, age in oldest.items()}
        return RoleState(
            counts={
                _WRITE_FAILURES: session.write_failures,
                _READ_FAILURES: session.failures - session.write_failures,
                _FETCHED_BYTES: self.done.bytes.values[()],
            },
            durations={
                _STAGE: _copied(self.done.stages.buckets()),
                _CASSANDRA: _copied(session.seconds.buckets()),
                _KAFKA: _copied(self.parts.sender.seconds.buckets()),
            },
            values={
                _OLDEST: max(domains.values(), default=0.0),
                _DISK_FREE: float(self.floor.free // _DISK_STEP * _DISK_STEP),
            },
            domains=domains,
        )


class ClusterMetrics:
    """The metrics of an api process that are about the whole service."""

    def __init__(
        self,
        parts: ClusterParts,
        *,
        backlog: ServiceBacklog,
        events: KafkaEvents,
        streams: Streams,
        waiters: UrlWaiters,
        floor: DiskFloor,
    ) -> None:
        self._parts = parts
        self._backlog = backlog
        self._floor = floor
        self.reports = RoleReports(parts.config.kafka, parts.name, on_durations=self._add, on_count=self._count)
        session, reports = parts.session, self.reports
        others: tuple[Metric, ...] = (
            Reading("scoter_journal_entries", "URLs accepted and not finished.", self._entries, "priority"),
            Reading("scoter_journal_oldest_seconds", "Age of the oldest of these.", self._oldest),
            Reading("scoter_consumer_lag", "Messages that their group has not finished.", backlog.lag, "topic"),
            Reading("scoter_oldest_message_seconds", "Age of the oldest of these.", backlog.ages, "topic"),
            Reading("scoter_domain_oldest_seconds", "Age of a domain's oldest URL.", reports.oldest_domains, "domain"),
            Reading("scoter_streams", "Open event streams.", lambda: len(streams)),
            Reading("scoter_lookups_waiting", "Lookups that wait for a URL.", lambda: len(waiters)),
            Reading("scoter_unreadable_total", "Messages that could not be read.", lambda: events.unreadable),
            Reading(
                "scoter_dead_letters",
                "Messages that no process could read, kept for two weeks.",
                lambda: backlog.dead_letters,
            ),
            Reading("scoter_cassandra_failures_total", "Failed requests.", lambda: session.failures),
            Reading(
                "scoter_write_failures_total",
                "Failed writes to Cassandra.",
                lambda: session.write_failures + reports.count(_WRITE_FAILURES),
            ),
            Reading(
                "scoter_read_failures_total",
                "Failed reads from Cassandra.",
                lambda: session.failures - session.write_failures + reports.count(_READ_FAILURES),
            ),
            Reading("scoter_faults_total", "Faults of servers, messages and clocks.", reports.faults, "kind"),
            Reading("scoter_clock_skew_seconds", "How far this machine's clock is ahead.", parts.clock.skew_seconds),
            Reading("scoter_processes", "Processes that report, by role.", reports.processes, "role"),
            Reading("scoter_fetcher_restarts_total", "Workers started again.", lambda: reports.restarts("worker")),
            Reading("scoter_pipeline_restarts_total", "Pipelines started again.", lambda: reports.restarts("pipeline")),
            Reading("scoter_disk_free_bytes", "Free disk space of the role that has least.", self._disk_free),
            Reading("scoter_disk_floor_bytes", "Disk space that must stay free.", lambda: floor.floor),
            session.seconds,
            parts.sender.seconds,
        )
        self.service = ServiceMetrics(others)

    def watch_log(self, log: FetchLog, events: KafkaEvents) -> None:
        """Add the metric of a log that this process writes."""
        behind = Reading("scoter_log_behind", "Outcomes not in the log yet.", lambda: events.last() - log.number)
        self.service.add_metrics([behind])

    def _entries(self) -> Mapping[str, float]:
        lag, prefix = self._backlog.topics, self._parts.names
        found = {priority.name.lower(): lag.get(prefix.intake(priority)) for priority in Priority}
        return {name: float(each.messages) for name, each in found.items() if each is not None}

    def _oldest(self) -> float:
        """Pipelines know when their URLs were accepted; without any, only how long they have been seen is known."""
        ages = self.reports.values(_OLDEST)
        return max(ages) if ages else self._backlog.oldest

    def _disk_free(self) -> float:
        return min([float(self._floor.free), *self.reports.values(_DISK_FREE)])

    def _add(self, metric: str, more: Mapping[str, Buckets]) -> None:
        histograms = {
            _STAGE: self.service.stages,
            _CASSANDRA: self._parts.session.seconds,
            _KAFKA: self._parts.sender.seconds,
        }
        if metric in histograms:
            histograms[metric].add(more)

    def _count(self, name: str, by: float) -> None:
        if name == _FETCHED_BYTES:
            self.service.bytes.add(by=by)


def _copied(durations: Mapping[str, Buckets]) -> dict[str, Buckets]:
    """Return what a histogram has now; its own lists change."""
    return {label: ([*counts], total) for label, (counts, total) in durations.items()}


def worker_state(parts: ClusterParts) -> RoleState:
    """Return what a worker reports to the api processes."""
    return RoleState(durations={_KAFKA: _copied(parts.sender.seconds.buckets())})
