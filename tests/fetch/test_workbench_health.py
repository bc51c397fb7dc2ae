"""How the workbench treats hosts that fail, are busy or are slow."""

from __future__ import annotations

import pytest
from tests.fetch.benches import FAILED, filled, seconds, taken, workbench

from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.slots import SERVED, UNUSED, QueueRefusal, SlotResult

# Failures


def test_failures_double_the_backoff() -> None:
    policy = Policy(delay=seconds(5), exception_delay=seconds(3), max_exceptions=None)
    bench = filled(workbench(policy), *(f"a{number}" for number in range(5)))

    now, pauses = 0.0, []
    for _ in range(4):
        assert taken(bench, now) is not None
        bench.done("a", FAILED, now)
        later = bench.next_time(now)
        assert later is not None
        pauses.append(later - now)
        now = later

    assert pauses == [5 + 3, 5 + 6, 5 + 12, 5 + 24]


def test_a_queue_with_too_many_failures_is_emptied_and_its_host_blocked() -> None:
    bench = filled(workbench(Policy(max_exceptions=2)), "a1", "a2", "a3", "a4")
    taken(bench, 0.0)
    assert bench.done("a", FAILED, 0.0) == ()
    assert taken(bench, 60.0) == "a2"

    lost = bench.done("a", FAILED, 60.0)

    assert lost == ["a3", "a4"]
    assert bench.add("a", "a5", 10_000.0) is QueueRefusal.BLOCKED
    assert bench.drop_expired(10_000.0) == 1
    assert bench.add("a", "a5", 10_000.0) is QueueRefusal.BLOCKED
    assert len(bench) == 0


def test_success_does_not_cancel_a_failure() -> None:
    bench = filled(workbench(Policy(max_exceptions=2)), "a1", "a2", "a3", "a4")
    for number, turn in enumerate((FAILED, SERVED, FAILED)):
        taken(bench, 100.0 * number)
        lost = bench.done("a", turn, 100.0 * number)

    assert lost == ["a4"]


def test_failures_are_forgotten_by_an_empty_queue_after_a_while() -> None:
    bench = filled(workbench(Policy(max_exceptions=2, clear_after=seconds(1_800))), "a1")
    taken(bench, 0.0)
    bench.done("a", FAILED, 0.0)

    assert bench.drop_expired(1_799.0) == 0
    assert bench.drop_expired(1_800.0) == 1

    bench.add("a", "a2", 1_800.0)
    bench.add("a", "a3", 1_800.0)
    taken(bench, 1_800.0)
    assert bench.done("a", FAILED, 1_800.0) == ()


def test_failures_do_not_keep_an_empty_queue_once_the_source_has_ended() -> None:
    bench = filled(workbench(Policy(delay=seconds(5), exception_delay=seconds(0))), "a1")
    taken(bench, 0.0)
    bench.done("a", FAILED, 0.0)

    bench.source_ended()

    assert [bench.drop_expired(4.9), bench.drop_expired(5.0)] == [0, 1]


def test_queues_expire_in_order_of_their_delays_after_the_source_ended() -> None:
    policy = Policy(delay=seconds(5), exception_delay=seconds(0))
    bench = filled(workbench(policy, b=Policy(delay=seconds(60))), "a1", "b1")
    taken(bench, 0.0)
    taken(bench, 0.0)
    bench.drop_expired(0.0)
    bench.done("b", SERVED, 0.0)
    bench.done("a", FAILED, 0.0)

    bench.source_ended()

    assert [bench.drop_expired(5.0), bench.drop_expired(60.0)] == [1, 1]


def test_queue_in_use_is_not_dropped() -> None:
    bench = filled(workbench(Policy(delay=seconds(0))), "a1", "b1")
    taken(bench, 0.0)

    assert bench.drop_expired(10_000.0) == 0

    bench.done("a", SERVED, 10_000.0)
    assert bench.drop_expired(10_000.0) == 1


# A host that says it is busy


def test_retry_after_holds_for_the_whole_host() -> None:
    bench = filled(workbench(Policy(threads=3, max_exceptions=None)), "a1", "a2", "a3")
    taken(bench, 0.0)

    bench.done("a", SlotResult(busy=True, retry_after=seconds(120)), 1.0)

    assert [taken(bench, 120.9), taken(bench, 121.0), taken(bench, 121.0)] == [None, "a2", None]


def test_retry_after_is_not_shortened_by_requests_in_progress() -> None:
    bench = filled(workbench(Policy(threads=3)), "a1", "a2", "a3", "a4")
    for _ in range(3):
        taken(bench, 0.0)
    bench.done("a", SlotResult(busy=True, retry_after=seconds(120)), 1.0)

    bench.done("a", SERVED, 2.0)
    bench.done("a", UNUSED, 3.0)

    assert [taken(bench, 120.9), taken(bench, 121.0)] == [None, "a4"]


def test_a_busy_host_is_asked_half_as_often_and_recovers_slowly() -> None:
    bench = workbench(Policy(delay=seconds(5)))
    now, pauses = 0.0, []
    for turn in [SlotResult(busy=True)] * 2 + [SERVED] * 20:
        bench.add("a", "a1", now)
        assert taken(bench, now) is not None
        bench.done("a", turn, now)
        bench.add("a", "a1", now)
        later = bench.next_time(now)
        assert later is not None
        pauses.append(later - now)
        now = later

    assert pauses == [10.0, 20.0] + [20.0] * 9 + [10.0] * 10 + [5.0]
    assert bench.stats(now).slowed == 0


def test_a_host_without_delay_is_slowed_too_and_never_beyond_the_bound() -> None:
    bench = workbench(Policy(delay=seconds(0)))
    now, longest = 0.0, 0.0
    for _ in range(30):
        bench.add("a", "a1", now)
        assert taken(bench, now) is not None
        bench.done("a", SlotResult(busy=True), now)
        bench.add("a", "a1", now)
        later = bench.next_time(now)
        assert later is not None
        longest, now = max(longest, later - now), later

    assert longest == 300.0


def test_concurrent_busy_answers_count_once() -> None:
    bench = filled(workbench(Policy(threads=4, min_delay=seconds(0))), "a1", "a2", "a3", "a4", "a5")
    for _ in range(4):
        taken(bench, 0.0)

    for _ in range(4):
        bench.done("a", SlotResult(busy=True), 1.0)

    assert bench.next_time(1.0) == 3.0


def test_slowed_host_is_not_dropped_early() -> None:
    bench = filled(workbench(Policy(delay=seconds(5))), "a1")
    taken(bench, 0.0)
    bench.done("a", SlotResult(busy=True), 0.0)

    assert bench.drop_expired(60.0) == 0

    bench.add("a", "a2", 60.0)
    bench.add("a", "a3", 60.0)
    taken(bench, 60.0)
    bench.done("a", SERVED, 60.0)
    assert bench.next_time(60.0) == 70.0
    assert bench.stats(60.0).slowed == 1


def test_slowed_host_is_dropped_after_a_while() -> None:
    bench = filled(workbench(Policy(clear_after=seconds(1_800))), "a1")
    taken(bench, 0.0)
    bench.done("a", SlotResult(busy=True), 0.0)

    assert [bench.drop_expired(1_799.0), bench.drop_expired(1_800.0)] == [0, 1]

    assert bench.stats(1_800.0).slowed == 0


# A host that answers slowly


def test_delay_grows_with_slow_answers_up_to_the_maximum() -> None:
    bench = workbench(Policy(delay=seconds(5), max_crawl_delay=seconds(30)))
    now, pauses = 0.0, []
    for _ in range(40):
        bench.add("a", "a1", now)
        taken(bench, now)
        bench.done("a", SlotResult(took=20.0), now)
        bench.add("a", "a1", now)
        later = bench.next_time(now)
        assert later is not None
        pauses.append(later - now)
        now = later

    assert pauses == sorted(pauses)
    assert 5.0 < pauses[0] < 20.0
    assert pauses[-1] == 30.0
    [(host, latency)] = bench.slowest(3)
    assert host == "a"
    assert latency == pytest.approx(20.0, rel=0.01)


@pytest.mark.parametrize(("adaptive", "took"), [(True, 0.9), (False, 60.0)])
def test_delay_is_unchanged_for_fast_answers_or_without_adaptation(adaptive: bool, took: float) -> None:
    bench = filled(workbench(Policy(delay=seconds(0.1), adaptive=adaptive)), "a1", "a2")
    taken(bench, 0.0)

    bench.done("a", SlotResult(took=took), 0.0)

    assert bench.next_time(0.0) == pytest.approx(0.1)
