"""The retry budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scoter.fetch.filters import RetryBudget


def test_retries_stay_below_their_share_of_the_requests() -> None:
    budget = RetryBudget(ratio=0.2, floor=0.0)
    for _ in range(100):
        budget.request(0.0)

    assert sum(budget.try_retry(0.0) for _ in range(100)) == 20
    assert budget.refused == 80


def test_a_few_retries_are_free() -> None:
    budget = RetryBudget(ratio=0.2, floor=1.0, window=10.0)

    assert sum(budget.try_retry(0.0) for _ in range(100)) == 10


def test_requests_and_retries_of_long_ago_do_not_count() -> None:
    budget = RetryBudget(ratio=0.5, floor=0.0, window=10.0)
    for _ in range(4):
        budget.request(0.0)
    assert [budget.try_retry(5.0) for _ in range(3)] == [True, True, False]

    assert not budget.try_retry(10.5)
    assert repr(budget) == "RetryBudget(2 retries for 0 requests lately, 2 refused)"

    budget.request(15.5)
    budget.request(15.5)
    assert [budget.try_retry(15.5), budget.try_retry(15.5)] == [True, False]


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 3)), max_size=200), st.sampled_from([0.1, 0.2, 1.0]))
def test_in_no_window_are_there_more_retries_than_allowed(steps: list[tuple[bool, float]], ratio: float) -> None:
    budget, now = RetryBudget(ratio, floor=0.5, window=10.0), 0.0
    requests: list[float] = []
    retries: list[float] = []
    for is_retry, passed in steps:
        now += passed
        if not is_retry:
            budget.request(now)
            requests.append(now)
        elif budget.try_retry(now):
            retries.append(now)
            # A slice is a second, so the window that is looked at is between nine and ten seconds long.
            lately = sum(1 for time in retries if time > now - 9)
            assert lately <= ratio * sum(1 for time in requests if time > now - 10) + 5 + 1e-6
