"""The feeder: bounded memory, fairness among hosts, order, and no losses."""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from scoter.fetch.queues.feeder import SHARES, Feeder
from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.slots import SERVED, Capacity, QueueRefusal, SlotResult

EAGER = Policy(delay=timedelta(0), max_exceptions=1)
SHARE = 100
MEMORY = SHARE * SHARES


def feeder(folder: Path, *, least: int = 0, memory: int = MEMORY, spill_limit: int | None = None) -> closing[Feeder]:
    return closing(Feeder(Policies(EAGER), Capacity(bytes=memory, least=least), folder, spill_limit))


def served(feed: Feeder) -> Iterator[tuple[str, bytes]]:
    """Take and end turns until nothing is left."""
    while (taken := feed.bench.take(0.0)) is not None:
        key, item = taken
        assert isinstance(item, bytes)
        yield key, item
        feed.bench.done(key, SERVED, 0.0)


def test_host_beyond_its_share_spills_to_disk_in_order(tmp_path: Path) -> None:
    items = [b"item %04d" % number for number in range(500)]

    with feeder(tmp_path) as feed:
        for item in items:
            assert feed.wants_more()
            assert feed.offer("a", item, 0.0) is None

        assert feed.bench.queued_bytes <= SHARE + len(items[0])
        assert (feed.queued, (feed.queued - feed.bench.queued)) == (500, 500 - feed.bench.queued)
        assert [item for _, item in served(feed)] == items


def test_no_file_is_made_before_a_host_needs_one(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with feeder(missing) as feed:
        for number in range(1_000):
            assert feed.offer(f"host{number}", b"item", 0.0) is None

        assert not feed.spill_error
        assert len(list(served(feed))) == 1_000


def test_files_have_no_name_and_so_vanish_with_the_process(tmp_path: Path) -> None:
    with feeder(tmp_path) as feed:
        for _ in range(100):
            feed.offer("a", b"ten bytes.", 0.0)

        assert feed.queued - feed.bench.queued
        assert list(tmp_path.iterdir()) == []


def test_the_least_number_of_items_stays_in_memory(tmp_path: Path) -> None:
    with feeder(tmp_path, least=50) as feed:
        for _ in range(60):
            feed.offer("a", b"x" * SHARE, 0.0)

        assert (feed.bench.queued, (feed.queued - feed.bench.queued)) == (50, 10)


def test_hosts_share_the_memory_and_a_large_one_does_not_crowd_out_the_small(tmp_path: Path) -> None:
    with feeder(tmp_path) as feed:
        for number in range(20_000):
            assert feed.offer("large", b"%d" % number, 0.0) is None
        for number in range(1_000):
            assert feed.wants_more()
            assert feed.offer(f"small{number}", b"1", 0.0) is None

        first = {feed.bench.take(0.0)[0] for _ in range(1_001)}  # type: ignore[index]

    assert first == {"large"} | {f"small{number}" for number in range(1_000)}


def test_a_full_memory_makes_the_source_wait(tmp_path: Path) -> None:
    with feeder(tmp_path, memory=1_000) as feed:
        number = 0
        while feed.wants_more():
            number += 1
            assert feed.offer(f"host{number}", b"x" * 10, 0.0) is None

        assert number == 100
        assert feed.offer("another", b"x", 0.0) is QueueRefusal.FULL
        feed.bench.take(0.0)
        assert feed.wants_more()


def test_a_host_on_disk_gets_one_item_at_a_time_while_the_memory_is_full(tmp_path: Path) -> None:
    with feeder(tmp_path) as feed:
        for _ in range(20):
            feed.offer("a", b"x" * 10, 0.0)
        assert feed.bench.depth("a") == (10, SHARE)
        feed.bench.add("b", b"x" * MEMORY, 0.0, even_if_full=True)
        feed.bench.defer("b", 1e9)

        depths = []
        for _ in range(12):
            assert feed.bench.take(0.0) is not None
            feed.bench.done("a", SERVED, 0.0)
            depths.append(feed.bench.depth("a")[0])

        assert depths == [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1]


def test_spill_limit_makes_the_source_wait(tmp_path: Path) -> None:
    with feeder(tmp_path, spill_limit=500) as feed:
        offered = 0
        while feed.offer("a", b"x" * 50, 0.0) is None:
            offered += 1

        assert not feed.wants_more()
        assert len(list(served(feed))) == offered
        assert feed.wants_more()


def test_full_disk_makes_the_source_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with feeder(tmp_path) as feed:
        for _ in range(20):
            assert feed.offer("a", b"x" * 50, 0.0) is None

        def no_space(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        offered = 20
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", no_space)
            while (refusal := feed.offer("a", b"y" * 50, 0.0)) is None:
                offered += 1
            assert refusal is QueueRefusal.FULL
            assert feed.offer("b", b"y" * 50, 0.0) is None

        assert "No space left" in feed.spill_error
        assert feed.offer("a", b"y" * 50, 0.0) is None
        assert not feed.spill_error
        assert len([key for key, _ in served(feed) if key == "a"]) == offered + 1


def test_blocked_host_returns_items_on_disk_too(tmp_path: Path) -> None:
    items = [b"item %d" % number for number in range(100)]
    with feeder(tmp_path) as feed:
        for item in items:
            feed.offer("a", item, 0.0)
        assert feed.bench.take(0.0) == ("a", items[0])

        lost = feed.bench.done("a", SlotResult(failed=True), 0.0)

        assert lost == items[1:]
        assert feed.queued == 0
        assert feed.offer("a", b"late", 0.0) is QueueRefusal.BLOCKED


def test_draining_leaves_items_on_disk_for_the_owner(tmp_path: Path) -> None:
    items = [b"item %d" % number for number in range(100)]
    with feeder(tmp_path) as feed:
        for item in items:
            feed.offer("a", item, 0.0)
            feed.offer("b", item, 0.0)

        lost = [item for _, item in feed.bench.drain(0.0) if isinstance(item, bytes)]
        assert len(lost) < feed.queued
        lost += iter(feed.left_over, None)

        assert sorted(lost) == sorted(items * 2)
        assert feed.queued == 0
        assert feed.offer("a", b"late", 0.0) is QueueRefusal.DRAINING
        assert not feed.wants_more()


@given(
    data=st.data(),
    least=st.integers(0, 5),
    memory=st.sampled_from([50, 1_000, MEMORY]),
)
@settings(max_examples=examples(60), deadline=None)
def test_every_offered_item_comes_out_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, least: int, memory: int
) -> None:
    offered, out = defaultdict(list), defaultdict(list)
    steps = data.draw(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.booleans()), max_size=60))
    with feeder(tmp_path_factory.getbasetemp(), least=least, memory=memory) as feed:
        for number, (host, size, takes) in enumerate(steps):
            item = b"%d " % number + b"x" * size
            if feed.offer(host, item, 0.0) is None:
                offered[host].append(item)
            if takes and (taken := feed.bench.take(0.0)) is not None:
                out[taken[0]].append(taken[1])
                feed.bench.done(taken[0], SERVED, 0.0)
            assert feed.queued == sum(map(len, offered.values())) - sum(map(len, out.values()))
        for host, item in served(feed):
            out[host].append(item)

    assert out == offered
