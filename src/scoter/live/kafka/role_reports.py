"""What pipelines and workers tell the api processes through a topic: their faults, and which domains they request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.live.api.records import DomainActivity
from scoter.live.clock import steady_now
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.messages import MessageFormat, UnreadableMessage
from scoter.live.kafka.topic_reader import TopicTail

_EVERY: Final = 2.0  # seconds
_AT_LEAST_EVERY: Final = 8.0
_FORGET_AFTER: Final = 60.0  # seconds without a report
_MOST_DOMAINS: Final = 200  # of one report
_MOST_ROLES: Final = 10_000


class RoleReport(Struct, frozen=True, array_like=True):
    """What a process tells about itself; ``faults`` are counted since its start."""

    name: str
    role: str
    faults: Mapping[str, float] = {}
    activity: tuple[DomainActivity, ...] = ()


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
    ) -> None:
        self._sender = sender
        self._topic = names.reports
        self._name = name
        self._role = role
        self._activity = activity

    async def run(self) -> None:
        """Send reports until cancelled."""
        sent, sent_at = None, 0.0
        while True:
            report = RoleReport(self._name, self._role, FAULTS.counts(), tuple(self._activity(_MOST_DOMAINS)))
            if report != sent or steady_now() - sent_at > _AT_LEAST_EVERY:
                sent, sent_at = report, steady_now()
                self._sender.put(OutgoingMessage(self._topic, role_reports.encode(report), None, 0))
            await asyncio.sleep(_EVERY)


class RoleReports:
    """The latest reports of all pipelines and workers, as an api process knows them. ``start`` it before use."""

    def __init__(self, settings: KafkaClusterSettings, name: str, now: Callable[[], float] = steady_now) -> None:
        topic = TopicNames(settings.prefix).reports
        self._tail = TopicTail(settings, topic, 0, self._receive, name=f"{name}-reports")
        self._now = now
        self._latest: dict[str, tuple[float, RoleReport]] = {}
        self._faults: Counter[str] = Counter()

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
        return Counter(self._faults) + Counter(FAULTS.counts())

    def _current(self) -> list[RoleReport]:
        since = self._now() - _FORGET_AFTER
        return [report for at, report in self._latest.values() if at > since]

    def _receive(self, messages: Sequence[ReceivedMessage]) -> None:
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
            self._latest[report.name] = (now, report)
        if len(self._latest) > _MOST_ROLES:
            self._latest = {name: each for name, each in self._latest.items() if each[0] > now - _FORGET_AFTER}
