"""Machines whose clocks differ by minutes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.running import cluster
from tests.live.service.running import pages

from scoter.config import Config
from scoter.live.clock import utc_now
from scoter.live.fetching.shards import shard_of
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.clocks import ClusterClock
from scoter.live.kafka.delays import SharedDelays
from scoter.live.kafka.faults import FAULTS
from scoter.live.kafka.kafka import KafkaSender, create_topics
from scoter.simweb import WebSpec, running

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]
WEB = WebSpec(hosts=10, pages=40, page_bytes=2_000)
AHEAD = timedelta(minutes=5)
# Python runs this file before anything else: the wall clock of Scoter is five minutes ahead.
WRONG_CLOCK = """
import datetime
import scoter.live.clock

right = scoter.live.clock.utc_now
scoter.live.clock.utc_now = lambda: right() + datetime.timedelta(minutes=5)
"""


@pytest.mark.parametrize("skew", [AHEAD, -AHEAD, timedelta(seconds=0.5)])
async def test_wrong_clock_is_replaced_by_that_of_cassandra(config: Config, skew: timedelta) -> None:
    async with CassandraSession(config.cassandra) as session:
        clock = ClusterClock(session, lambda: utc_now() + skew)
        before = FAULTS.counts().get("machine-clock", 0.0)
        await clock.measure()

    assert abs(clock() - utc_now()) < timedelta(seconds=5)
    is_wrong = abs(skew) == AHEAD
    assert (FAULTS.counts().get("machine-clock", 0.0) > before) is is_wrong
    assert (abs(clock.skew_seconds()) > 60) is is_wrong


@pytest.mark.parametrize("skew", [AHEAD, -AHEAD])
async def test_hold_of_a_domain_lasts_as_long_whatever_the_clock_of_the_former_owner_says(
    config: Config, skew: timedelta
) -> None:
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    sender = KafkaSender(config.kafka, "test")
    former = SharedDelays(config, sender, "former", clock=lambda: utc_now() + skew)
    former.learn("slow.example", 2.0, 120.0)
    await asyncio.to_thread(sender.close)

    sender = KafkaSender(config.kafka, "test")
    successor = SharedDelays(config, sender, "next", now=lambda: 1_000.0)
    is_free, holds = await successor.take(shard_of("slow.example", config.kafka.partitions))
    await asyncio.to_thread(sender.close)

    assert is_free  # nobody has taken it before
    (hold,) = holds
    assert (hold.domain, hold.pause) == ("slow.example", 2.0)
    assert 1_060.0 < hold.until <= 1_120.0


def test_newest_fetch_wins_although_the_pipeline_before_was_minutes_ahead(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(WRONG_CLOCK)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    wrong: Sequence[str] = ("env", f"PYTHONPATH={path}")
    (url,) = pages(WEB, 1)
    log = tmp_path / "log"
    with log.open("w") as out, running(WEB) as web:
        more = [each for each in cluster_settings(prefix, f"k{prefix}") if "keyspace" in each]
        with cluster(tmp_path / "roles", web.port, prefix, ("worker", "api"), *more, log=out) as live:

            def fetched(name: str) -> Any:
                name = f"{prefix}-{name}"
                assert live.api.submit(url, id=name, force=True).status == 202
                live.wait_until_announced({(name, url)}, 60)
                return next(event.record for event in live.events() if event.message == name)

            ahead = live.start("pipeline", within=wrong)
            first = fetched("first")
            live.api.wait_for(lambda: 'kind="machine-clock"' in live.api.get("/metrics").body.decode())
            assert ahead.stop(60) == 0
            live.start("pipeline")
            second = fetched("second")
            live.api.wait_for(lambda: live.api.record(url)["fetch"] == second.fetch)
    assert first.fetch != second.fetch
    assert abs(first.fetched_at - utc_now()) < timedelta(minutes=3)
    assert log.read_text().count("the clock of this machine is 300 s ahead of Cassandra's") == 1
