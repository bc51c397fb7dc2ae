"""What pipelines and workers tell the api processes through a topic: faults, measurements, requested domains."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.http.metrics import BOUNDS, Buckets
from scoter.live.api.records import DomainActivity
from scoter.live.clock import steady_now
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, KNOWN_FAULTS, FaultKind
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.messages import MessageFormat, UnreadableMessage
from scoter.live.kafka.topic_reader import TopicTail

_EVERY: Final = 2.0  # seconds
_AT_LEAST_EVERY: Final = 8.0
_FORGET_AFTER: Final = 60.0  # seconds without a report
_MOST_DOMAINS: Final = 200  # of one report
_MOST_ROLES: Final = 10_000
MOST_OLDEST: Final = 10
"""Domains whose oldest URL has a metric."""


_NONE: Final[Buckets] = ([0] * (len(BOUNDS) + 1), 0.0)


class RoleState(Struct, frozen=True, omit_defaults=True):
    """What a process has measured: counts and durations since its start, and values of the moment."""

    counts: Mapping[str, float] = {}
    durations: Mapping[str, Mapping[str, Buckets]] = {}
    """By metric and label."""
    values: Mapping[str, float] = {}
    domains: Mapping[str, float] = {}
    """The domains with the oldest URLs in the queue, and the ages of these URLs in seconds."""


class RoleReport(Struct, frozen=True, array_like=True):
    """What a process tells about itself; ``faults`` are counted since its start."""

    name: str
    role: str
    faults: Mapping[str, float] = {}
    activity: tuple[DomainActivity, ...] = ()
    state: RoleState = RoleState()
    is_restart: bool = False
    """Whether the supervisor has started it in the place of one that ended."""


role_reports: Final = MessageFormat(RoleReport)


class ReportSender:
    """Sends the reports of a process: when something has changed, and from time to time."""

    def __init__(
        self,
        sender: KafkaSender,
        names: TopicNames,
        name: str,
        role: str,
        activity: Callable[[int], Sequence[DomainActivity]] = lambda most: (),
        state: Callable[[], RoleState] = RoleState,
        *,
        is_restart: bool = False,
    ) -> None:
        self._sender = sender
        self._topic = names.reports
        self._name = name
        self._role = role
        self._activity = activity
        self._state = state
        self._is_restart = is_restart

    async def run(self) -> None:
        """Send reports until cancelled."""
        sent, sent_at = None, 0.0
        while True:
            report = RoleReport(
                self._name,
                self._role,
                FAULTS.counts(),
                tuple(self._activity(_MOST_DOMAINS)),
                self._state(),
                self._is_restart,
            )
            if report != sent or steady_now() - sent_at > _AT_LEAST_EVERY:
                sent, sent_at = report, steady_now()
                self._sender.put(OutgoingMessage(self._topic, role_reports.encode(report), None, 0))
            await asyncio.sleep(_EVERY)


class RoleReports:
    """The latest reports of all pipelines and workers, as an api process knows them. ``start`` it before use."""

    def __init__(
        self,
        settings: KafkaClusterSettings,
        name: str,
        now: Callable[[], float] = steady_now,
        on_durations: Callable[[str, Mapping[str, Buckets]], None] = lambda metric, more: None,
        on_count: Callable[[str, float], None] = lambda name, by: None,
    ) -> None:
        """Both functions are called with the name of a measurement and what was added to it."""
        topic = TopicNames(settings.prefix).reports
        self._tail = TopicTail(settings, topic, 0, self.receive, name=f"{name}-reports")
        self._now = now
        self._latest: dict[str, tuple[float, RoleReport]] = {}
        self._faults: Counter[str] = Counter()
        self._counts: dict[str, float] = {}
        self._restarts: Counter[str] = Counter()
        self._on_durations = on_durations
        self._on_count = on_count

    async def start(self) -> None:
        await self._tail.start()

    async def close(self) -> None:
        await self._tail.close()

    def activity(self, most: int, own: Sequence[DomainActivity] = ()) -> list[DomainActivity]:
        """Return the busiest domains of all pipelines: paused ones first, then by requests per minute."""
        found = [*own, *(each for report in self._current() for each in report.activity)]
        found.sort(key=lambda each: (each.until is None or not each.why, -each.rate))
        return found[:most]

    def processes(self) -> Mapping[str, float]:
        """Return the number of processes that have reported in the last minute, by role."""
        counted = Counter(report.role for report in self._current())
        return {role: float(counted[role]) for role in ("pipeline", "worker")}

    def faults(self) -> Mapping[str, float]:
        """Return the number of faults of this process and of those that report, by kind."""
        found = Counter(dict.fromkeys(KNOWN_FAULTS, 0.0))  # the rate of a counter does not show what is counted first
        for counts in (self._faults, FAULTS.counts()):
            found.update(counts)
        return found

    def count(self, name: str) -> float:
        """Return what other processes have counted since this one watches them."""
        return self._counts.get(name, 0.0)

    def restarts(self, role: str) -> float:
        """Return how many processes of a role were started in the place of one that ended."""
        return self._restarts[role]

    def values(self, name: str) -> list[float]:
        """Return the current values of the processes that have one."""
        return [report.state.values[name] for report in self._current() if name in report.state.values]

    def oldest_domains(self) -> Mapping[str, float]:
        """Return the domains with the oldest URLs in the queues of all pipelines, and the ages in seconds."""
        ages: dict[str, float] = {}
        for report in self._current():
            for domain, age in report.state.domains.items():
                ages[domain] = max(age, ages.get(domain, 0.0))
        return dict(sorted(ages.items(), key=lambda each: -each[1])[:MOST_OLDEST])

    def _current(self) -> list[RoleReport]:
        since = self._now() - _FORGET_AFTER
        return [report for at, report in self._latest.values() if at > since]

    def receive(self, messages: Sequence[ReceivedMessage]) -> None:
        """Note reports, in the order in which they were sent."""
        now = self._now()
        for message in messages:
            try:
                report = role_reports.decode(message.value)
            except UnreadableMessage as error:
                FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable report at offset {message.offset}: {error}")
                continue
            _, before = self._latest.get(report.name, (0.0, None))
            self._faults.update(
                {
                    kind: count - (before.faults.get(kind, 0.0) if before is not None else 0.0)
                    for kind, count in report.faults.items()
                }
            )
            if before is None:
                self._restarts[report.role] += report.is_restart
                # Measured before this process heard of it: not new, so no rate jumps when an api is started.
                self._add(report.state, report.state)
            else:
                self._add(before.state, report.state)
            self._latest[report.name] = (now, report)
        if len(self._latest) > _MOST_ROLES:
            self._latest = {name: each for name, each in self._latest.items() if each[0] > now - _FORGET_AFTER}

    def _add(self, before: RoleState, now: RoleState) -> None:
        """Add what a process has measured between two reports; what has not changed gets 0, so that it has series."""
        for name, count in now.counts.items():
            by = count - before.counts.get(name, 0.0)
            self._counts[name] = self._counts.get(name, 0.0) + by
            self._on_count(name, by)
        for metric, durations in now.durations.items():
            old = before.durations.get(metric, {})
            more = {label: _added(old.get(label, _NONE), buckets) for label, buckets in durations.items()}
            self._on_durations(metric, {label: each for label, each in more.items() if each is not None})


def _added(before: Buckets, now: Buckets) -> Buckets | None:
    """Return the difference; ``None`` if a process of another version has other bounds."""
    (counts, total), (old, old_total) = now, before
    if len(counts) != len(old) or len(counts) != len(BOUNDS) + 1:
        return None
    return [count - former for count, former in zip(counts, old, strict=True)], total - old_total
