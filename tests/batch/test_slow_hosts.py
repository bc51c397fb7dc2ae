"""When a round ends without its slowest hosts."""

from __future__ import annotations

from scoter.batch.fetchlists.slow_hosts import SlowHosts


def ended_after(hosts_by_second: list[int], *, read_after: int = 0) -> int | None:
    """Return the second in which a round ends."""
    slow = SlowHosts()
    for second, hosts in enumerate(hosts_by_second):
        if slow.reason(hosts, is_read=second >= read_after, now=1000.0 + second):
            return second
    return None


def test_round_ends_when_a_tenth_of_its_hosts_take_longer() -> None:
    assert ended_after([100] * 200 + [10] * 300) == 250  # a quarter of the time that the others took
    assert ended_after([100] * 4 + [1] * 60) == 14  # but not before ten seconds


def test_round_goes_on_while_more_hosts_are_left() -> None:
    assert ended_after([100] * 20 + [11] * 600) is None


def test_rounds_with_few_hosts_wait_for_all() -> None:
    assert ended_after([9] * 20 + [1] * 600) is None
    assert ended_after([20] * 20 + [0] * 600) is None


def test_round_goes_on_until_its_lists_are_read() -> None:
    assert ended_after([100] + [2] * 900, read_after=500) == 625


def test_hosts_that_come_back_start_the_wait_anew() -> None:
    assert ended_after([100] * 40 + [10] * 5 + [30] * 5 + [10] * 60) == 63


def test_reason_counts_the_hosts() -> None:
    slow = SlowHosts()
    slow.reason(10, is_read=True, now=0.0)
    slow.reason(1, is_read=True, now=1.0)

    assert slow.reason(1, is_read=True, now=60.0) == "1 slow host left to the next round"
