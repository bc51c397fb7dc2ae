"""Numbers for people, at the limits of each unit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scoter.core.display import ago, count, duration, rate, size

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 URLs"), (1, "1 URL"), (2, "2 URLs"), (1_234_567, "1,234,567 URLs"), (-1, "-1 URLs")],
)
def test_count_uses_the_singular_for_one_only(number: int, text: str) -> None:
    assert count(number, "URL") == text


def test_count_takes_irregular_plurals() -> None:
    assert [count(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (10 * 1024, "10 KiB"),
        (10 * 1024 - 1, "10 KiB"),
        (2**20 - 1, "1 MiB"),
        (24 * 2**20, "24 MiB"),
        (2**30, "1 GiB"),
        (3 * 2**40, "3 TiB"),
        (2**60, "1,024 PiB"),
    ],
)
def test_size_uses_binary_units(number: int, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.000_042, "42 µs"),
        (0.000_999_9, "1 ms"),
        (0.0083, "8.3 ms"),
        (0.0837, "84 ms"),
        (0.9996, "1 s"),
        (5.06, "5.1 s"),
        (42.3, "42 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3_599, "59 min 59 s"),
        (3_600, "1 h"),
        (3_780, "1 h 3 min"),
        (86_400, "1 d"),
        (timedelta(days=3, hours=2, minutes=59), "3 d 2 h"),
        (timedelta(days=1_000), "1,000 d"),
    ],
)
def test_duration_shows_the_two_largest_units(length: float | timedelta, text: str) -> None:
    assert duration(length) == text


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(milliseconds=900), "now"),
        (timedelta(seconds=-1), "1 s ago"),
        (timedelta(seconds=-119), "1 min ago"),
        (timedelta(hours=-50), "2 d ago"),
        (timedelta(minutes=3), "in 3 min"),
        (timedelta(days=1_500), "in 1,500 d"),
    ],
)
def test_ago_uses_whole_units(offset: timedelta, text: str) -> None:
    assert ago(NOW + offset, NOW) == text


@pytest.mark.parametrize(
    ("number", "seconds", "text"),
    [(0, 0, "0/s"), (1, 4, "0.2/s"), (25, 10, "2.5/s"), (99, 10, "9.9/s"), (12_000, 10, "1,200/s")],
)
def test_rate_is_per_second(number: int, seconds: float, text: str) -> None:
    assert rate(number, seconds) == text
