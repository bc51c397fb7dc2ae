"""What roles measure reaches the api processes, and how old the messages of a topic are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scoter.config import load
from scoter.http.metrics import Buckets, Histogram
from scoter.live.kafka.backlogs import PartitionAge, ServiceBacklog, TopicBacklog
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.kafka import TopicNames
from scoter.live.kafka.role_reports import RoleReport, RoleReports, RoleState, role_reports

pytest.importorskip("confluent_kafka")


class Api:
    """The reports that an api process has received, and what it was told of."""

    def __init__(self) -> None:
        self.now = 0.0
        self.histogram = Histogram("seconds", "", "label")
        self.counted: list[tuple[str, float]] = []
        self.reports = RoleReports(
            load().kafka,
            "test",
            now=lambda: self.now,
            on_durations=lambda metric, more: self.histogram.add({f"{metric} {label}": more[label] for label in more}),
            on_count=lambda name, by: self.counted.append((name, by)),
        )

    def receive(self, *reports: RoleReport) -> None:
        self.reports.receive([ReceivedMessage(("reports", 0), 0, role_reports.encode(each)) for each in reports])


def durations(*seconds: float) -> Mapping[str, Buckets]:
    histogram = Histogram("seconds", "", "label")
    for each in seconds:
        histogram.observe("own", each)
    return histogram.buckets()


def report(name: str, state: RoleState, role: str = "pipeline", *, is_restart: bool = False) -> RoleReport:
    return RoleReport(name, role, state=state, is_restart=is_restart)


async def test_durations_and_counts_of_all_roles_are_added_from_the_second_report_on() -> None:
    api = Api()

    api.receive(report("a", RoleState(counts={"bytes": 1_000}, durations={"stage": durations(0.1, 0.2)})))
    assert (api.histogram.count("stage own"), api.reports.count("bytes")) == (0, 0)
    api.receive(report("a", RoleState(counts={"bytes": 1_005}, durations={"stage": durations(0.1, 0.2, 9.0)})))
    api.receive(report("b", RoleState()))
    api.receive(report("b", RoleState(counts={"bytes": 20}, durations={"stage": durations(0.1)})))

    assert api.histogram.count("stage own") == 2
    assert api.histogram.within("stage own", 0.5) == 0.1
    assert api.histogram.within("stage own", 1.0) == 10.0
    assert api.reports.count("bytes") == 25
    assert api.counted == [("bytes", 0), ("bytes", 5), ("bytes", 20)]


async def test_durations_of_another_version_with_other_buckets_are_left_out() -> None:
    api = Api()

    api.receive(report("a", RoleState()))
    api.receive(report("a", RoleState(durations={"stage": {"own": ([1, 2, 3], 6.0)}})))

    assert api.histogram.labels() == []


async def test_report_of_a_version_without_measurements_is_read() -> None:
    api = Api()
    old = role_reports.encode(RoleReport("a", "worker"))
    value = old[:1] + bytes((old[1] - 2,)) + old[2:-2]  # an array without its last two elements

    api.reports.receive([ReceivedMessage(("reports", 0), 0, value)])

    assert api.reports.processes()["worker"] == 1


async def test_processes_that_replace_one_that_ended_are_counted_once() -> None:
    api = Api()

    for name, is_restart in (("a", False), ("b", True), ("b", True), ("c", True)):
        api.receive(report(name, RoleState(), "worker", is_restart=is_restart))

    assert (api.reports.restarts("worker"), api.reports.restarts("pipeline")) == (2, 0)


async def test_values_and_domains_are_those_of_the_last_minute() -> None:
    api = Api()
    api.receive(report("gone", RoleState(values={"oldest": 900.0}, domains={"gone.org": 900.0})))
    api.now = 61.0

    many = {f"{n}.org": float(n) for n in range(20)}
    api.receive(report("a", RoleState(values={"oldest": 19.0}, domains=many)))
    api.receive(report("b", RoleState(values={"oldest": 50.0}, domains={"7.org": 50.0})))

    assert api.reports.values("oldest") == [19.0, 50.0]
    found = api.reports.oldest_domains()
    assert list(found)[:3] == ["7.org", "19.org", "18.org"]
    assert (len(found), found["7.org"]) == (10, 50.0)


async def test_every_kind_of_fault_has_a_count_before_it_happens() -> None:
    found = Api().reports.faults()

    assert {"kafka-credentials", "cassandra-unreachable", "machine-clock"} <= set(found)


def test_age_of_a_partition_is_that_of_its_first_unfinished_message() -> None:
    age = PartitionAge()

    assert age.note(0, 0, 100.0) == 0.0
    assert age.note(0, 10, 110.0) == 0.0
    assert age.note(0, 10, 130.0) == 20.0
    assert age.note(0, 15, 140.0) == 30.0
    assert age.note(10, 15, 150.0) == 10.0, "those up to 10 are done; the others were seen at 140"
    assert age.note(15, 15, 160.0) == 0.0
    assert age.note(15, 20, 170.0) == 0.0


def test_age_is_right_for_hours_with_few_samples() -> None:
    age = PartitionAge()

    for second in range(20_000):  # a message per second, and nobody finishes any
        found = age.note(0, second + 1, float(second))
    assert found == 19_999.0

    found = age.note(10_000, 20_001, 20_000.0)
    assert found == pytest.approx(10_000, rel=0.1)


def test_backlog_of_a_service_is_shown_by_topic_without_the_prefix() -> None:
    names = TopicNames("live")
    backlog = ServiceBacklog(names)
    assert (backlog.accepted, backlog.oldest) == (0, 0.0)

    backlog.note({topic: TopicBacklog(at, 10.0 * at) for at, topic in enumerate(names.intakes)})
    backlog.note({names.requests: TopicBacklog(7, 3.0)})

    assert (backlog.accepted, backlog.oldest) == (3, 20.0)
    assert backlog.lag() == {"intake-person": 0, "intake-normal": 1, "intake-bulk": 2, "requests": 7}
    assert backlog.ages()["requests"] == 3.0
