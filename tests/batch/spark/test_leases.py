"""Leases of fetch lists: never two owners whose requests could overlap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scoter.batch.spark.leases import ListLeases

LEASE, GRACE = 10.0, 5.0


def leases(lists: int = 1) -> ListLeases:
    return ListLeases(lists, lease=LEASE, grace=GRACE)


def test_second_executor_waits_until_the_lease_and_the_grace_period_are_over() -> None:
    found = leases()
    first = found.claim(0, 100.0)

    assert found.claim(0, 100.0).wait == LEASE + GRACE
    assert found.claim(0, 114.0).wait == 1.0
    second = found.claim(0, 115.0)
    assert second.token not in ("", first.token)
    assert not found.renew(0, first.token, 115.1)
    assert not found.end(0, first.token)
    assert found.owns(0, second.token)


def test_renewed_lease_lasts_longer() -> None:
    found = leases()
    first = found.claim(0, 100.0)

    assert found.renew(0, first.token, 109.0)
    assert found.claim(0, 115.0).wait == 9.0


def test_late_renewal_is_accepted_if_nobody_has_taken_over() -> None:
    found = leases()
    first = found.claim(0, 100.0)

    assert found.renew(0, first.token, 200.0)
    assert found.claim(0, 201.0).wait == 14.0


def test_ended_list_is_not_given_again() -> None:
    found = leases()
    first = found.claim(0, 0.0)

    assert found.end(0, first.token)
    assert found.end(0, first.token), "it may not have heard the answer"
    claim = found.claim(0, 1_000.0)
    assert (claim.token, claim.wait) == ("", 0.0)
    assert (found.open_count, found.is_any_owned) == (0, False)


def test_abandoned_lists_are_those_that_nobody_took_over() -> None:
    found = leases(2)
    found.claim(0, 0.0)
    kept = found.claim(1, 0.0)
    found.renew(1, kept.token, 20.0)

    assert found.abandoned(24.9) == []
    assert found.abandoned(25.0) == [0]


@given(st.lists(st.tuples(st.sampled_from(["claim", "renew", "pass"]), st.integers(0, 3), st.floats(0, 9))))
def test_owners_never_overlap(steps: list[tuple[str, int, float]]) -> None:
    """Each executor believes in its lease for ``LEASE`` after it sent a renewal; the driver hears it later."""
    found, now = leases(), 0.0
    tokens: dict[int, str] = {}
    until: dict[int, float] = {}
    for action, executor, seconds in steps:
        sent = now
        now += seconds  # on the way to the driver
        if action == "claim" and executor not in tokens:
            claim = found.claim(0, now)
            if claim.token:
                others = [end for other, end in until.items() if other != executor]
                assert all(end + GRACE <= now for end in others)
                tokens[executor], until[executor] = claim.token, sent + LEASE
        elif action == "renew" and executor in tokens:
            if found.renew(0, tokens[executor], now):
                until[executor] = sent + LEASE
            else:
                del tokens[executor]
        alive = [each for each, token in tokens.items() if found.owns(0, token) and until[each] > now]
        assert len(alive) <= 1
