"""URLs that kill the process that handles them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.pages import serving
from tests.live.kafka.running import Cluster, cluster

from scoter.config import load
from scoter.live.kafka.consumer import Place
from scoter.live.kafka.kafka import TopicNames, admin_client
from scoter.live.kafka.offsets import ENDS, PartitionOffsets
from scoter.live.kafka.suspects import MOST_TRIALS, SuspectQueue

A: Place = ("requests", 0)
B: Place = ("requests", 1)


def taken_over(position: int, text: str, end: int) -> PartitionOffsets:
    offsets = PartitionOffsets(position, text)
    offsets.take(end)
    return offsets


def test_messages_are_suspect_once_several_owners_did_not_return_their_partition() -> None:
    offsets = taken_over(10, "", 0)
    for _ in range(ENDS):
        assert offsets.ends_of(12) < ENDS
        offsets.receive(10)
        offsets = taken_over(*offsets.committed(), 20)

    assert offsets.ends_of(12) == ENDS
    assert offsets.ends_of(20) == 0  # arrived later


def test_owners_that_return_their_partition_are_not_counted() -> None:
    offsets = taken_over(10, "", 0)
    for _ in range(ENDS):
        offsets.give_back()
        offsets = taken_over(*offsets.committed(), 20)

    assert offsets.ends_of(12) == 0


def test_suspicion_ends_when_everything_suspect_is_done() -> None:
    offsets = taken_over(*taken_over(10, "", 0).committed(), 11)
    assert offsets.ends_of(10) == 1
    offsets.receive(10)
    offsets.finish(10)

    assert taken_over(*offsets.committed(), 12).ends_of(11) == 1


def test_trials_of_a_message_are_counted_by_all_owners_together() -> None:
    offsets = taken_over(*taken_over(10, "", 0).committed(), 20)
    for number in range(3):
        assert offsets.trials_of(13) == number
        offsets.begin_trial(13)
        offsets = taken_over(*offsets.committed(), 20)
    offsets.begin_trial(14)

    assert (offsets.trials_of(13), offsets.trials_of(14)) == (0, 1)


class Trials:
    """A queue whose trials are stored at once."""

    def __init__(self) -> None:
        self.stored: list[tuple[Place, int]] = []
        self.begun: list[str] = []
        self.owned = True
        self.queue: SuspectQueue[str] = SuspectQueue(self.store, self.begun.append)

    async def store(self, place: Place, offset: int) -> bool:
        self.stored.append((place, offset))
        return self.owned

    async def started(self) -> list[str]:
        for _ in range(5):
            await asyncio.sleep(0)
        found, self.begun[:] = self.begun[:], []
        return found


async def test_suspects_are_processed_one_at_a_time_in_each_partition() -> None:
    trials = Trials()
    for offset, name in enumerate(("a0", "a1", "a2")):
        trials.queue.add(A, offset, 0, name)
    trials.queue.add(B, 0, 0, "b0")

    assert sorted(await trials.started()) == ["a0", "b0"]
    trials.queue.done(A, 0)
    assert await trials.started() == ["a1"]
    assert trials.stored[-1] == (A, 1)


async def test_suspect_that_was_tried_before_is_processed_alone() -> None:
    trials = Trials()
    trials.queue.add(A, 0, 0, "new")
    trials.queue.add(B, 0, 1, "again")
    trials.queue.add(B, 1, 0, "later")

    assert await trials.started() == ["new"]
    trials.queue.done(A, 0)
    assert await trials.started() == ["again"]
    trials.queue.add(A, 1, 0, "newer")
    assert await trials.started() == []
    trials.queue.done(B, 0)
    assert sorted(await trials.started()) == ["later", "newer"]


async def test_suspects_of_a_lost_partition_are_forgotten() -> None:
    trials = Trials()
    trials.queue.add(A, 0, 1, "gone")
    trials.queue.add(A, 1, 0, "gone too")
    trials.queue.add(B, 0, 0, "kept")
    trials.queue.forget([A])

    assert await trials.started() == ["kept"]
    trials.owned = False
    trials.queue.add(A, 0, 1, "not ours")
    trials.queue.done(B, 0)
    assert await trials.started() == []
    assert len(trials.queue) == 0


@contextmanager
def deadly_web(kill: Callable[[str], None]) -> Iterator[int]:
    """A web in which a request for a page below /kill/ calls ``kill`` with the rest of its path."""

    def page(url: str) -> bytes:
        _, is_deadly, rest = url.partition("/kill/")
        if is_deadly:
            kill(rest)
        return b"<title>A page</title>"

    with serving(page) as port:
        yield port


def notice_ends_soon(prefix: str) -> None:
    """Shorten the sessions of pipelines and workers: the broker forgets a killed process sooner."""
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        ResourceType,
    )

    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in (("consumer.session.timeout.ms", "1500"), ("consumer.heartbeat.interval.ms", "300"))
    ]
    names = TopicNames(prefix)
    groups = [
        ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
        for group in (names.pipeline_group, names.worker_group)
    ]
    admin = admin_client(load(overrides=cluster_settings(prefix)).kafka, "test")
    for changed in admin.incremental_alter_configs(groups).values():
        changed.result(10)


@pytest.mark.cluster
@pytest.mark.timeout(400)
@pytest.mark.parametrize("role", ["pipeline", "worker"])
def test_url_that_kills_its_process_is_given_up_and_others_go_on(tmp_path: Path, prefix: str, role: str) -> None:
    killed: Counter[str] = Counter()
    running: list[Cluster] = []

    def kill(what: str) -> None:
        pid = running[0].of(what)[0].worker_pid
        if pid is not None:
            killed[what] += 1
            os.kill(pid, signal.SIGKILL)

    notice_ends_soon(prefix)
    with deadly_web(kill) as port, cluster(tmp_path, port, prefix, ("api", "pipeline", "worker")) as live:
        running.append(live)
        # All tests share a keyspace, where records of earlier runs are.
        urls = [f"http://site{number}-{prefix}.example/page" for number in range(15)]
        deadly = f"http://deadly-{prefix}.example/kill/{role}"
        name = f"{prefix}-m"
        got = live.api.submit(deadly, *urls, id=name)
        assert set(got.json["messages"][0]["entries"]) == {deadly, *urls}
        live.wait_until_announced({(name, url) for url in (deadly, *urls)}, 300)

        found = {event.url: event.record for event in live.events()}
        assert found[deadly].state == "failed"
        assert f"{MOST_TRIALS} " in found[deadly].detail
        assert {found[url].state for url in urls} == {"ok"}
        assert set(live.announced().values()) == {1}
    assert ENDS + MOST_TRIALS <= killed[role] <= ENDS + MOST_TRIALS + 2
