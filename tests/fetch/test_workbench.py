"""The workbench: which host gets the next slot, and how long it is left alone afterwards."""

from __future__ import annotations

import pytest
from tests.fetch.benches import filled, seconds, taken, workbench

from scoter.errors import Defect
from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.slots import SERVED, UNUSED

# Hand-out


def test_a_queue_hands_out_in_the_order_of_adding() -> None:
    bench = filled(workbench(Policy(delay=seconds(0))), "a1", "a2", "a3")

    order = []
    for _ in range(3):
        order.append(taken(bench, 0.0))
        bench.done("a", SERVED, 0.0)

    assert order == ["a1", "a2", "a3"]


def test_queues_are_served_round_robin() -> None:
    bench = filled(workbench(Policy(threads=2)), "a1", "a2", "b1", "b2", "c1")

    assert [taken(bench, 0.0) for _ in range(6)] == ["a1", "b1", "c1", "a2", "b2", None]


def test_longest_waiting_ready_queue_is_first() -> None:
    bench = filled(workbench(Policy(delay=seconds(5))), "a1", "b1", "b2", "a2")
    assert [taken(bench, 0.0), taken(bench, 0.0)] == ["a1", "b1"]
    bench.done("b", SERVED, 1.0)
    bench.done("a", SERVED, 2.0)

    bench.add("c", "c1", 100.0)

    assert [taken(bench, 100.0) for _ in range(3)] == ["b2", "a2", "c1"]


def test_no_more_than_its_threads_are_in_progress() -> None:
    bench = filled(workbench(Policy(threads=2)), "a1", "a2", "a3")
    taken(bench, 0.0)
    taken(bench, 0.0)

    assert taken(bench, 1_000.0) is None
    assert bench.next_time(1_000.0) is None
    bench.done("a", SERVED, 1_000.0)
    assert taken(bench, 1_000.0) == "a3"


def test_ending_a_slot_that_was_not_taken_is_a_defect() -> None:
    bench = filled(workbench(), "a1")

    with pytest.raises(Defect, match="a slot of a was ended"):
        bench.done("a", SERVED, 0.0)


# Rest


def test_the_delay_counts_from_the_end_of_the_request() -> None:
    bench = filled(workbench(Policy(delay=seconds(5))), "a1", "a2")
    taken(bench, 0.0)
    bench.done("a", SERVED, 3.0)

    assert bench.next_time(3.0) == 8.0
    assert taken(bench, 7.999) is None
    assert taken(bench, 8.0) == "a2"


def test_min_delay_applies_between_starts_and_after_requests() -> None:
    bench = filled(workbench(Policy(delay=seconds(5), min_delay=seconds(1), threads=3)), "a1", "a2", "a3")

    assert [taken(bench, 0.0), taken(bench, 0.9), taken(bench, 1.0)] == ["a1", None, "a2"]
    bench.done("a", SERVED, 1.5)
    assert taken(bench, 2.4) is None
    assert taken(bench, 2.5) == "a3"


@pytest.mark.parametrize("threads", [1, 2])
def test_unused_slot_causes_no_delay(threads: int) -> None:
    bench = filled(workbench(Policy(threads=threads, min_delay=seconds(5))), "a1", "a2")
    taken(bench, 1.0)

    bench.done("a", UNUSED, 1.5)

    assert taken(bench, 1.5) == "a2"


def test_unused_slot_does_not_shorten_the_delay() -> None:
    bench = filled(workbench(Policy(threads=3, min_delay=seconds(1))), "a1", "a2", "a3")
    taken(bench, 0.0)
    taken(bench, 1.0)

    bench.done("a", UNUSED, 1.5)

    assert taken(bench, 1.9) is None
    assert taken(bench, 2.0) == "a3"


def test_late_item_still_waits_for_the_delay() -> None:
    bench = filled(workbench(Policy(delay=seconds(5))), "a1")
    taken(bench, 0.0)
    bench.done("a", SERVED, 0.0)
    bench.source_ended()
    bench.drop_expired(4.0)

    bench.add("a", "a2", 4.0)

    assert taken(bench, 4.9) is None
    assert taken(bench, 5.0) == "a2"


def test_a_crawl_delay_replaces_the_delay_but_not_below_its_minimum() -> None:
    policy = Policy(delay=seconds(5), min_crawl_delay=seconds(2))
    bench = filled(workbench(policy), "a1", "a2", "b1", "b2")
    taken(bench, 0.0)
    taken(bench, 0.0)
    bench.set_crawl_delay("a", 20.0)
    bench.set_crawl_delay("b", 0.5)

    bench.done("a", SERVED, 0.0)
    bench.done("b", SERVED, 0.0)

    assert [taken(bench, 1.9), taken(bench, 2.0), taken(bench, 19.9), taken(bench, 20.0)] == [None, "b2", None, "a2"]


def test_a_crawl_delay_counts_from_the_request_that_showed_it() -> None:
    bench = filled(workbench(Policy(delay=seconds(5), min_crawl_delay=seconds(2))), "a1", "a2")
    taken(bench, 0.0)
    bench.done("a", SERVED, 1.0)  # robots.txt

    bench.set_crawl_delay("a", 20.0)

    assert [taken(bench, 20.9), taken(bench, 21.0)] == [None, "a2"]


def test_a_host_with_a_crawl_delay_is_asked_one_request_at_a_time() -> None:
    bench = filled(workbench(Policy(threads=4)), "a1", "a2", "a3")
    taken(bench, 0.0)

    bench.set_crawl_delay("a", 10.0)

    assert taken(bench, 0.0) is None
    bench.done("a", SERVED, 1.0)
    assert [taken(bench, 10.9), taken(bench, 11.0), taken(bench, 30.0)] == [None, "a2", None]


def test_host_specific_policy_is_used() -> None:
    bench = filled(workbench(Policy(delay=seconds(5)), b=Policy(delay=seconds(1))), "a1", "a2", "b1", "b2")
    for _ in range(2):
        bench.done(bench.take(0.0)[0], SERVED, 0.0)  # type: ignore[index]

    assert [taken(bench, 1.0), taken(bench, 1.0), taken(bench, 5.0)] == ["b2", None, "a2"]


# Work in progress, and hosts on hold


def test_work_in_progress_goes_before_new_work_of_its_host() -> None:
    bench = filled(workbench(Policy(threads=9)), "a1", "a2", "b1")

    bench.add("a", "a0", 0.0, started=True)

    assert [taken(bench, 0.0) for _ in range(4)] == ["a0", "b1", "a1", "a2"]


def test_work_in_progress_goes_before_new_work_of_other_hosts() -> None:
    bench = filled(workbench(a=Policy(delay=seconds(0))), "a1", "a2", "b1", "c1", "d1")
    assert taken(bench, 0.0) == "a1"
    bench.done("a", SERVED, 0.0)  # ready again, behind all others

    bench.add("a", "a0", 0.0, started=True)
    bench.add("e", "e0", 0.0, started=True)

    assert [taken(bench, 0.0) for _ in range(6)] == ["a0", "e0", "b1", "c1", "d1", None]


def test_work_in_progress_waits_for_the_delay() -> None:
    bench = filled(workbench(Policy(delay=seconds(5))), "a1", "b1", "b2")
    bench.done(bench.take(0.0)[0], SERVED, 0.0)  # type: ignore[index]

    bench.add("a", "a0", 0.0, started=True)

    assert [taken(bench, 0.0), taken(bench, 4.9)] == ["b1", None]
    bench.done("b", SERVED, 0.0)
    assert [taken(bench, 5.0), taken(bench, 5.0)] == ["a0", "b2"]


def test_a_deferred_host_frees_its_thread_and_comes_back_in_time() -> None:
    bench = filled(workbench(), "a1", "b1")
    taken(bench, 0.0)

    bench.add("a", "a1", 0.0, started=True)
    bench.done("a", UNUSED, 0.0)
    bench.defer("a", 300.0)

    assert taken(bench, 0.0) == "b1"
    bench.done("b", SERVED, 0.0)
    assert taken(bench, 299.0) is None
    assert bench.next_time(299.0) == 300.0
    assert taken(bench, 300.0) == "a1"


def test_a_host_can_be_deferred_again_while_it_waits() -> None:
    bench = filled(workbench(), "a1")
    bench.defer("a", 10.0)
    assert taken(bench, 5.0) is None

    bench.defer("a", 20.0)

    assert bench.next_time(5.0) == 20.0
    assert taken(bench, 10.0) is None
    assert bench.next_time(10.0) == 20.0
    assert taken(bench, 20.0) == "a1"


# Slots that are used late


@pytest.mark.parametrize("threads", [1, 3])
def test_slot_that_was_kept_waiting_is_not_used_during_a_hold(threads: int) -> None:
    bench = filled(workbench(Policy(threads=threads, delay=seconds(0), min_delay=seconds(0))), "a1")
    taken(bench, 0.0)
    bench.defer("a", 30.0)

    assert [bench.begin("a", now) for now in (0.0, 29.0, 29.999, 30.0)] == [False, False, False, True]


@pytest.mark.parametrize("moment", [9.0, 9.999])
def test_second_slot_is_not_used_before_the_delay_is_over(moment: float) -> None:
    bench = filled(workbench(Policy(threads=2, min_delay=seconds(10))), "a1", "a2")
    taken(bench, 0.0)
    assert bench.begin("a", 0.0)

    assert not bench.begin("a", moment)
    assert bench.begin("a", 10.0)


def test_late_begin_keeps_the_delay_to_the_start_before_it() -> None:
    bench = filled(workbench(Policy(threads=3, min_delay=seconds(10))), "a1", "a2")
    taken(bench, 0.0)
    bench.begin("a", 0.0)
    taken(bench, 10.0)

    assert bench.begin_late("a", 4.0) == 6.0
    assert bench.begin_late("a", 4.0) == 16.0


def test_late_begin_delays_the_next_slot_of_the_host() -> None:
    bench = filled(workbench(Policy(threads=3, min_delay=seconds(10))), "a1", "a2", "a3")
    taken(bench, 0.0)  # the next slot would come at 10

    assert bench.begin_late("a", 7.0) == 0.0

    assert bench.hold("a", 7.0) == (10.0, 10.0)
    assert [taken(bench, 16.9), taken(bench, 17.0)] == [None, "a2"]
    assert [taken(bench, 26.9), taken(bench, 27.0)] == [None, "a3"]


def test_late_begin_does_not_bring_a_later_slot_forward() -> None:
    bench = filled(workbench(Policy(threads=3, min_delay=seconds(10))), "a1", "a2")
    taken(bench, 0.0)
    bench.defer("a", 60.0)

    assert bench.begin_late("a", 7.0) == 0.0

    assert [taken(bench, 59.9), taken(bench, 60.0)] == [None, "a2"]


def test_late_begin_of_a_single_threaded_queue_changes_nothing() -> None:
    bench = filled(workbench(Policy(delay=seconds(10))), "a1", "a2")
    taken(bench, 0.0)

    assert bench.begin_late("a", 7.0) == 0.0

    assert bench.hold("a", 7.0) == (0.0, 10.0)


def test_hops_of_other_hosts_alternate_with_the_pages_of_a_host() -> None:
    bench = workbench(Policy(delay=seconds(1)))
    for number in range(4):
        bench.add("a", f"robots {number}", 0.0, started=True, is_guest=True)
    for number in range(3):
        bench.add("a", f"page {number}", 0.0)

    order = []
    for now in range(7):
        order.append(taken(bench, float(now)))
        bench.done("a", SERVED, float(now))

    assert order == ["robots 0", "page 0", "robots 1", "page 1", "robots 2", "page 2", "robots 3"]
    assert len(bench) == 0


def test_hops_of_other_hosts_are_purged_with_the_queue() -> None:
    bench = filled(workbench(), "a1")
    bench.add("a", "robots", 0.0, started=True, is_guest=True)

    assert sorted(bench.purge("a", 0.0)) == ["a1", "robots"]
    assert (len(bench), bench.depth("a")) == (0, (0, 0))
