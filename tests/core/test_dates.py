"""Dates and durations in the formats of pages, feeds, documents, servers and people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.dates import LONGEST_DURATION, parse_date, parse_duration

MOMENTS = st.integers(86_400, 4_133_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ISO 8601 and similar
        ("2024-03-05", "2024-03-05T00:00:00"),
        ("2024-03-05T10:20:30Z", "2024-03-05T10:20:30"),
        ("2024-03-05t10:20:30z", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20:30.5+01:00", "2024-03-05T09:20:30.500000"),
        ("2024-03-05T10:20:30.1234567-0330", "2024-03-05T13:50:30.123456"),
        ("2024-03-05T10:20:30.000000000Z", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20:30+01:00:30", "2024-03-05T09:20:00"),
        ("2024-03-05 10:20", "2024-03-05T10:20:00"),
        ("2024-03-05 10:20:30 UTC", "2024-03-05T10:20:30"),
        ("2024-03-05 10:20:30 +0100", "2024-03-05T09:20:30"),
        ("2024-03-05T10:20:30 GMT", "2024-03-05T10:20:30"),
        ("2024-03-05T10:20+01", "2024-03-05T09:20:00"),
        ("2024-03-05T10", "2024-03-05T10:00:00"),
        ("2024-03-05 10:20 NST", "2024-03-05T10:20:00"),
        ("2024-03-05+01:00", "2024-03-04T23:00:00"),
        ("20240305T102030Z", "2024-03-05T10:20:30"),
        ("20240305", "2024-03-05T00:00:00"),
        ("2024-W10-2", "2024-03-05T00:00:00"),
        ("2024/3/5", "2024-03-05T00:00:00"),
        ("2024:03:05 10:20:30", "2024-03-05T10:20:30"),
        ("2024-03", "2024-03-01T00:00:00"),
        ("2024", "2024-01-01T00:00:00"),
        ("2024-03-05T24:00:00Z", "2024-03-06T00:00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
        # RFC 9110 5.6.7
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37"),
        # RFC 822 and 2822, strict and sloppy
        ("05 Mar 2024 10:20:30 -0500", "2024-03-05T15:20:30"),
        ("Tue, 5 Mar 2024 10:20 EST", "2024-03-05T15:20:00"),
        ("Tue, 5 Mar 2024 10:20 CEST", "2024-03-05T08:20:00"),
        ("Tue, 5 Mar 2024 10:20 NST", "2024-03-05T10:20:00"),
        ("Tue, 05-Mar-2024 10:20:30 GMT", "2024-03-05T10:20:30"),
        ("Tue,05 Mar 2024 10:20:30 GMT", "2024-03-05T10:20:30"),
        ("Tue, 05 Mar 2024 10:20:30 +01:00", "2024-03-05T09:20:30"),
        ("Tue, 05 Mar 24 10:20:30 +01:00", "2024-03-05T09:20:30"),
        ("Tue Mar 05 2024 10:20:30 GMT+0100 (CET)", "2024-03-05T09:20:30"),
        # English
        ("15 Nov 2026", "2026-11-15T00:00:00"),
        ("5 March 2024", "2024-03-05T00:00:00"),
        ("March 5, 2024", "2024-03-05T00:00:00"),
        ("Mar 5th, 2024 3:04 PM", "2024-03-05T15:04:00"),
        ("Jan 5, 2024 10:00 pm EST", "2024-01-06T03:00:00"),
        # digits alone
        ("202403051030", "2024-03-05T10:30:00"),
        ("20240305103059", "2024-03-05T10:30:59"),
        ("1709634030", "2024-03-05T10:20:30"),
        ("1709634030000", "2024-03-05T10:20:30"),
        ("946684800000", "2000-01-01T00:00:00"),
    ],
)
def test_date_is_parsed_into_utc(text: str, expected: str) -> None:
    date = parse_date(f" {text}\n")

    assert date == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert date is not None
    assert date.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "soon", "0000", "0000-00-00", "99999", "2024-13-01", "2024-02-30", "2024-03-05T25:00", "5 Foo 2024"),
        *("12.03.2024", "03/05/2024", "2024-03-05T10:00+99:00", "31 Feb 2024", "202499051030", "99999999999999"),
        *("٢٠٢٤-٠٣-٠٥", "2024-03-05" * 30, "1" * 1_000, "0000-01-01T00:00:00+23:59"),
    ],
)
def test_text_that_is_no_date_is_none(text: str) -> None:
    assert parse_date(text) is None
    assert parse_date(None) is None


@given(MOMENTS, OFFSETS)
def test_written_dates_are_parsed_back(moment: datetime, zone: timezone) -> None:
    local = moment.astimezone(zone)

    assert parse_date(local.isoformat()) == moment
    assert parse_date(format_datetime(local)) == moment
    assert parse_date(moment.strftime("%A, %d-%b-%Y %H:%M:%S GMT")) == moment
    assert parse_date(moment.strftime("%B %d, %Y %I:%M:%S %p")) == moment
    assert parse_date(moment.strftime("%d %b %Y")) == moment.replace(hour=0, minute=0, second=0)


@given(st.text(max_size=70) | st.text("0123456789 -/:.,+TZGMNovan", max_size=30))
def test_any_text_is_parsed_without_an_error(text: str) -> None:
    date, duration = parse_date(text), parse_duration(text)

    assert date is None or date.tzinfo is UTC
    assert duration is None or 0 < duration <= LONGEST_DURATION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("PT1H2M3S", 3723.0), ("PT90S", 90.0), ("P1DT1H", 90000.0), ("PT1.5S", 1.5), ("P1W", 604800.0), ("90", 90.0)),
        *(("1:02:03", 3723.0), ("02:03", 123.0), ("pt5m", 300.0), ("P", None), ("PT0S", None), ("P9999D", None)),
        *(("", None), ("an hour", None), ("-5", None), ("1e5", None)),
    ],
)
def test_duration_is_parsed_into_seconds(text: str, expected: float | None) -> None:
    assert parse_duration(text) == expected
