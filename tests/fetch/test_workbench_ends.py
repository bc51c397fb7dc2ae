"""The bounds of the workbench, how it is emptied, and its statistics."""

from __future__ import annotations

from tests.fetch.benches import FAILED, filled, seconds, taken, workbench

from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.slots import SERVED, UNUSED, Capacity, QueueRefusal

# Bounds and ends


def test_full_workbench_refuses_beyond_the_least_number_of_items() -> None:
    bench = workbench(capacity=Capacity(bytes=4, least=3))

    assert [bench.add("a", "aa", 0.0) for _ in range(4)] == [None, None, None, QueueRefusal.FULL]

    assert bench.add("a", "aa", 0.0, even_if_full=True) is None
    assert bench.queued_bytes == 8


def test_queue_has_its_own_depth() -> None:
    bench = workbench(capacity=Capacity(deepest=2))

    assert [bench.add("a", "aa", 0.0) for _ in range(3)] == [None, None, QueueRefusal.FULL]
    assert bench.add("b", "bb", 0.0) is None


def test_purging_returns_queued_items_and_keeps_the_delay() -> None:
    bench = filled(workbench(Policy(delay=seconds(5))), "a1", "a2", "a3")
    taken(bench, 0.0)
    bench.done("a", SERVED, 0.0)

    assert bench.purge("a", 1.0) == ["a2", "a3"]

    bench.add("a", "a4", 1.0)
    assert [taken(bench, 4.9), taken(bench, 5.0)] == [None, "a4"]
    assert bench.purge("nobody", 1.0) == ()


def test_purged_ready_queue_leaves_no_stale_entry() -> None:
    bench = filled(workbench(Policy(threads=9)), "a1", "b1", "b2", "b3")
    bench.purge("a", 0.0)

    filled(bench, "a2", "a3")

    assert [taken(bench, 0.0) for _ in range(6)] == ["b1", "a2", "b2", "a3", "b3", None]


def test_purged_waiting_queues_leave_few_stale_entries() -> None:
    bench = workbench()
    bench.defer("first", 500.0)
    bench.defer("a", 1_000.0)
    bench.add("first", "1", 0.0)  # stays on top, so that nothing below it is looked at

    for number in range(5_000):
        bench.add("a", f"a{number}", 0.0)
        bench.purge("a", 0.0)

    assert len(bench._order._heap) <= 1_100
    assert bench.next_time(0.0) == 500.0


def test_draining_returns_everything_and_takes_no_more() -> None:
    bench = filled(workbench(), "a1", "a2", "b1", "c1", "c2")
    taken(bench, 0.0)
    taken(bench, 0.0)
    bench.done("b", SERVED, 0.0)

    assert sorted(bench.drain(0.0)) == [("a", "a2"), ("c", "c1"), ("c", "c2")]

    assert bench.add("a", "a3", 0.0) is QueueRefusal.DRAINING
    bench.done("a", UNUSED, 0.0)
    assert (taken(bench, 1e9), bench.next_time(1e9), len(bench), bench.in_progress) == (None, None, 0, 0)


# Telling


def test_stats_explain_why_nothing_is_fetched() -> None:
    bench = workbench(Policy(delay=seconds(5), max_exceptions=1, exception_delay=seconds(0)))
    hosts = [f"host{number}" for number in range(15)]
    for host in hosts * 4:
        bench.add(host, host, 0.0)
    for _ in hosts:
        assert bench.take(0.0) is not None
    for number, host in enumerate(hosts):
        bench.done(host, FAILED if number < 3 else SERVED, 1.0)

    next_hosts = "next in 2.0 s: host10, host11, host12, …"
    assert str(bench.stats(4.0)) == f"36 queued, 12 hosts waiting for their delay ({next_hosts}), 3 blocked"
    assert repr(bench) == "Workbench(36 queued, 12 hosts waiting for their delay, 3 blocked)"


def test_stats_count_ready_and_busy_hosts() -> None:
    bench = filled(workbench(), "a1", "a2", "b1")
    taken(bench, 0.0)

    stats = bench.stats(0.0)

    assert (stats.ready, stats.busy, stats.waiting, stats.in_progress, stats.queued) == (1, 1, 0, 1, 2)
    assert str(stats) == "2 queued, 1 in progress, 1 host ready, 1 host with all threads in use"
