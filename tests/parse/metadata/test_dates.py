"""Moments and durations in the spellings that pages have for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.parse.metadata.dates import moment, seconds


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("2024-03-05", "2024-03-05T00:00:00"),
        ("2024-03-05T10:20:30Z", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20:30.5+01:00", "2024-03-05T09:20:30.500000"),
        ("2024-03-05T10:20:30.1234567-0330", "2024-03-05T13:50:30.123456"),
        ("2024-03-05 10:20", "2024-03-05T10:20:00"),
        ("2024-03-05T10:20+01", "2024-03-05T09:20:00"),
        ("20240305T102030Z", "2024-03-05T10:20:30"),
        ("20240305", "2024-03-05T00:00:00"),
        ("2024/3/5", "2024-03-05T00:00:00"),
        ("2024-03", "2024-03-01T00:00:00"),
        ("2024", "2024-01-01T00:00:00"),
        ("2024-03-05T24:00:00Z", "2024-03-06T00:00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
        ("Tue, 05 Mar 2024 10:20:30 GMT", "2024-03-05T10:20:30"),
        ("05 Mar 2024 10:20:30 -0500", "2024-03-05T15:20:30"),
        ("Tue, 5 Mar 2024 10:20 EST", "2024-03-05T15:20:00"),
        ("Tue, 05-Mar-2024 10:20:30 GMT", "2024-03-05T10:20:30"),
        ("5 March 2024", "2024-03-05T00:00:00"),
        ("March 5, 2024", "2024-03-05T00:00:00"),
        ("Mar 5th, 2024 3:04 PM", "2024-03-05T15:04:00"),
        ("1709634030", "2024-03-05T10:20:30"),
        ("1709634030000", "2024-03-05T10:20:30"),
    ],
)
def test_a_moment_is_read_and_told_in_utc(text: str, truth: str) -> None:
    assert moment(f" {text}\n") == datetime.fromisoformat(truth).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "soon", "2024-13-01", "2024-02-30", "1969-12-31", "2101-01-01", "0000-00-00", "2024-03-05T25:00"),
        *(
            "5 Foo 2024",
            "12.03.2024",
            "03/05/2024",
            "2024-03-05T10:00+99:00",
            "٢٠٢٤-٠٣-٠٥",
            "2024-03-05" * 30,
            "99999999999999",
        ),
    ],
)
def test_what_is_no_moment_or_not_plausible_is_none(text: str) -> None:
    assert moment(text) is None


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        *(("PT1H2M3S", 3723.0), ("PT90S", 90.0), ("P1DT1H", 90000.0), ("PT1.5S", 1.5), ("P1W", 604800.0), ("90", 90.0)),
        *(("1:02:03", 3723.0), ("02:03", 123.0), ("pt5m", 300.0), ("P", None), ("PT0S", None), ("P9999D", None)),
        *(("", None), ("an hour", None), ("-5", None), ("1e5", None)),
    ],
)
def test_a_duration_is_told_in_seconds(text: str, truth: float | None) -> None:
    assert seconds(text) == truth


@given(st.integers(0, 4_133_000_000), st.integers(-14 * 60, 14 * 60))
def test_every_moment_is_read_as_python_writes_it(since_1970: int, minutes: int) -> None:
    when = datetime.fromtimestamp(since_1970 + 86_400, timezone(timedelta(minutes=minutes)))

    assert moment(when.isoformat()) == when


@given(st.text())
def test_no_text_makes_the_reader_of_dates_fail(text: str) -> None:
    found = moment(text)

    assert found is None or found.utcoffset() is not None
    assert seconds(text) is None or seconds(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("202403051030", datetime(2024, 3, 5, 10, 30, tzinfo=UTC)),
        ("20240305103059", datetime(2024, 3, 5, 10, 30, 59, tzinfo=UTC)),
        ("202499051030", None),
        ("1709634600000", datetime(2024, 3, 5, 10, 30, tzinfo=UTC)),
        ("946684800000", datetime(2000, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_day_and_a_time_in_digits_alone_are_no_milliseconds(text: str, found: datetime | None) -> None:
    assert moment(text) == found
