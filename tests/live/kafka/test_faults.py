"""What is logged about faults, and how often."""

from __future__ import annotations

import pytest

from scoter.live.kafka.faults import ClusterFaults, FaultKind


class _Timer:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timer() -> _Timer:
    return _Timer()


def test_fault_is_counted_each_time_and_logged_once_per_minute(timer: _Timer, caplog: pytest.LogCaptureFixture) -> None:
    faults = ClusterFaults(timer)
    for _ in range(100):
        faults.note("kafka", FaultKind.CREDENTIALS, "SASL authentication failed")
        timer.now += 1

    assert faults.counts() == {"kafka-credentials": 100}
    assert [each.message.partition(" (")[0] for each in caplog.records] == [
        "Kafka refuses the user name or password"
    ] * 2


def test_unreachable_server_is_logged_only_if_it_stays_so_for_no_better_reason(
    timer: _Timer, caplog: pytest.LogCaptureFixture
) -> None:
    faults = ClusterFaults(timer)
    faults.note("kafka", FaultKind.UNREACHABLE, "1/1 brokers are down")
    faults.note("kafka", FaultKind.TLS, "certificate verify failed")
    for _ in range(20):
        timer.now += 1
        faults.note("kafka", FaultKind.UNREACHABLE, "1/1 brokers are down")
    assert len(caplog.records) == 1

    for _ in range(5):
        timer.now += 1
        faults.note("cassandra", FaultKind.UNREACHABLE, "no hosts available")
    assert [each.message for each in caplog.records[1:]] == [
        "cannot reach Cassandra (cassandra.hosts): no hosts available"
    ]
