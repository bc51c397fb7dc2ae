"""The statistics of the last hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.live.api.fakes import Bench

from scoter.live.api.history import KEPT, StatisticsHistory
from scoter.live.api.metrics import ServiceMetrics

START = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that moves ten seconds per reading."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=10)
        return self.now


def test_points_have_the_changes_of_their_interval() -> None:
    metrics = ServiceMetrics()
    history = StatisticsHistory(metrics, clock=Clock())
    metrics.messages.add("accepted", by=3)
    metrics.stages.observe("fetch", 0.02)
    history.sample()
    metrics.messages.add("accepted")
    metrics.stages.observe("fetch", 4.0)
    history.sample()

    first, second = history.since(None)
    assert (first.counts, second.counts) == ({"messages.accepted": 3}, {"messages.accepted": 1})
    assert (first.stages["fetch"].p99, second.stages["fetch"].median) == (0.025, 5.0)
    assert history.since(first.time) == [second]


def test_only_the_last_hour_is_kept() -> None:
    history = StatisticsHistory(ServiceMetrics(), clock=Clock())
    for _ in range(400):
        history.sample()

    found = history.since(None)
    assert found[-1].time - found[0].time < KEPT
    assert len(found) == 360


@pytest.mark.parametrize("text", ["0.5", "12", "yesterday"])
async def test_start_must_be_a_time(text: str) -> None:
    got = await Bench().client.get(f"/v1/history?after={text}")

    assert (got.status, got.json["where"]) == (422, "?after")


async def test_points_after_a_time_can_be_asked_for() -> None:
    bench = Bench()
    bench.services.history.sample()

    everything = (await bench.client.get("/v1/history?after=2000-01-01T00:00:00Z")).json["points"]
    nothing = (await bench.client.get(f"/v1/history?after={everything[-1]['time']}")).json["points"]

    assert (len(everything), nothing) == (1, [])


def test_the_last_hour_survives_a_restart(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "history.json"
    before = StatisticsHistory(ServiceMetrics(), file, clock=clock)
    for _ in range(3):
        before.sample()
    before.save()

    after = StatisticsHistory(ServiceMetrics(), file, clock=clock)
    clock.now += KEPT - timedelta(seconds=25)
    later = StatisticsHistory(ServiceMetrics(), file, clock=clock)

    assert after.since(None) == before.since(None)
    assert later.since(None) == before.since(None)[2:]
    file.write_bytes(b"[")
    assert StatisticsHistory(ServiceMetrics(), file, clock=clock).since(None) == []
