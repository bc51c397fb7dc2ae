"""Dates of feeds and sitemaps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.parse.feeds.moments import moment

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-11", datetime(2026, 11, 1, tzinfo=UTC)),
        (" 2026-11-15\n", datetime(2026, 11, 15, tzinfo=UTC)),
        ("2026-11-15T12:00Z", NOON),
        ("2026-11-15T13:00:00+01:00", NOON),
        ("2026-11-15T12:00:00.000000000Z", NOON),
        ("2026-11-15 12:00:00", NOON),
        ("Sun, 15 Nov 2026 12:00:00 GMT", NOON),
        ("15 Nov 2026 07:00:00 EST", NOON),
        ("Sun, 15 Nov 2026 13:00:00 +01:00", NOON),
        ("2026-11-15 12:00:00 UTC", NOON),
        ("2026-11-15 13:00:00 +0100", NOON),
        ("2026-11-15T12:00:00 GMT", NOON),
    ],
)
def test_a_date_is_a_moment_in_utc(text: str, expected: datetime) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "0000", "99999", "2026-11-15T25:00:00Z", "1" * 1_000])
def test_what_is_no_date_is_none(text: str) -> None:
    assert moment(text) is None


@given(st.text(max_size=70))
def test_no_text_is_too_much(text: str) -> None:
    found = moment(text)
    assert found is None or found.tzinfo is UTC
