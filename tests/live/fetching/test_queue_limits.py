"""What only the live service needs of the workbench: priorities, bounded queues, changing policies."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.slots import SERVED, Capacity, QueueRefusal, SlotResult
from scoter.fetch.queues.workbench import Workbench
from scoter.live.api.records import DomainRule
from scoter.live.fetching.limits import rule_policy

QUICK = Policy(delay=timedelta(0), min_crawl_delay=timedelta(0))


def bench(policies: Policies | None = None, deepest: int | None = None) -> Workbench[str]:
    return Workbench(policies or Policies(QUICK), len, Capacity(deepest=deepest))


@given(st.lists(st.one_of(st.none(), st.integers(0, 2), st.just("take"), st.just("front")), max_size=60))
def test_requests_are_served_by_priority_then_arrival(steps: list[int | str | None]) -> None:
    queue = bench()
    waiting: list[tuple[int, int, str]] = []

    for number, step in enumerate(steps):
        item = f"{number:03}"
        if step == "take":
            taken = queue.take(0.0)
            assert (taken[1] if taken else None) == (min(waiting)[2] if waiting else None)
            if taken:
                waiting.remove(min(waiting))
                queue.done("a", SERVED, 0.0)
        elif step == "front":
            queue.add("a", item, 0.0, started=True)
            waiting.append((-1, number, item))
        else:
            rank = step if isinstance(step, int) else None
            queue.add("a", item, 0.0, rank=rank)
            waiting.append((3 if rank is None else rank, number, item))

    assert len(queue) == len(waiting)


def test_queue_is_bounded() -> None:
    queue = bench(deepest=2)

    answers = [queue.add("a", item, 0.0, rank=1) for item in "xyz"]

    assert answers == [None, None, QueueRefusal.FULL]
    assert queue.add("b", "x", 0.0, rank=1) is None


def test_changed_policy_applies_from_the_next_request_and_can_be_removed() -> None:
    policies = Policies(QUICK)
    queue = bench(policies)
    for item in "xyz":
        queue.add("a.example", item, 0.0)
    queue.take(0.0)

    policies.put("a.example", rule_policy(DomainRule(domain="a.example", delay=5.0), policies("a.example")))
    queue.set_policy("a.example", 0.0)
    queue.done("a.example", SERVED, 1.0)

    assert queue.hold("a.example", 2.0) == (4.0, 5.0)
    assert queue.take(5.9) is None
    assert queue.take(6.0) == ("a.example", "y")
    policies.put("a.example", None)
    queue.set_policy("a.example", 6.5)
    queue.done("a.example", SERVED, 7.0)
    assert queue.take(7.0) == ("a.example", "z")


@pytest.mark.parametrize("crawl_delay", [None, 2.0])
def test_changed_policy_applies_to_the_current_delay(crawl_delay: float | None) -> None:
    policies = Policies(QUICK)
    queue = bench(policies)
    for item in "xy":
        queue.add("a.example", item, 10.0)
    queue.set_crawl_delay("a.example", crawl_delay)
    queue.take(10.0)
    queue.done("a.example", SERVED, 10.0)
    least = crawl_delay or 0.0

    def set_delay(seconds: float | None) -> tuple[float, float]:
        rule = DomainRule(domain="a.example", delay=seconds)
        policies.put("a.example", rule_policy(rule, QUICK))
        queue.set_policy("a.example", 11.0)
        return queue.hold("a.example", 11.0)

    assert set_delay(600.0) == (599.0, 600.0)
    assert queue.take(12.0) is None
    assert set_delay(60.0) == (59.0, 60.0)
    assert set_delay(None) == (max(least - 1.0, 0.0), least)
    assert queue.next_time(11.0) == max(10.0 + least, 11.0)
    assert queue.take(12.0) == ("a.example", "y")


def test_changed_policy_does_not_shorten_a_requested_hold() -> None:
    policies = Policies(QUICK)
    policies.put("a.example", rule_policy(DomainRule(domain="a.example", delay=600.0), QUICK))
    queue = bench(policies)
    for item in "xy":
        queue.add("a.example", item, 10.0)
    queue.take(10.0)
    queue.done("a.example", SlotResult(retry_after=timedelta(seconds=30)), 10.0)

    policies.put("a.example", None)
    queue.set_policy("a.example", 11.0)

    assert queue.hold("a.example", 11.0)[0] == 29.0
    queue.defer("a.example", 90.0)
    queue.set_policy("a.example", 12.0)
    assert queue.hold("a.example", 12.0)[0] == 78.0


def test_rule_without_rate_changes_no_policy() -> None:
    assert rule_policy(DomainRule(domain="a.example", blocked=True), QUICK) is None
    several = rule_policy(DomainRule(domain="a.example", concurrency=3), QUICK)
    assert several is not None
    assert several.threads == 3
