"""Ranges of days that a report covers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from msgspec import Struct

from scoter.core.dates import parse_date
from scoter.errors import UsageError

_DAY: Final = timedelta(days=1)


class Days(Struct, frozen=True):
    """A time range; ``until`` is exclusive."""

    since: datetime
    until: datetime


ALWAYS: Final = Days(datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))


def days(first: str, last: str, now: datetime) -> Days:
    """Return the range from the first day to the last; an empty string means no limit.

    >>> at = datetime(2026, 11, 5, 7, tzinfo=UTC)
    >>> found = days("yesterday", "yesterday", at)
    >>> f"{found.since:%d %H}", f"{found.until:%d %H}"
    ('04 00', '05 00')
    """
    since = _begin(_day(first, now)) if first else ALWAYS.since
    until = _begin(_day(last, now)) + _DAY if last else ALWAYS.until
    if since >= until:
        raise UsageError(f"{first} is after {last}")
    return Days(since, until)


def _day(text: str, now: datetime) -> date:
    today = now.astimezone(UTC).date()
    named = {"today": today, "yesterday": today - _DAY}
    if text.lower() in named:
        return named[text.lower()]
    found = parse_date(text) if len(text) >= len("20261105") else None  # not a year or a month
    if found is None or not ALWAYS.since <= found < ALWAYS.until:
        hint = "Write today, yesterday, or a date such as 2026-11-05."
        raise UsageError(f"{text!r} is not a day", hint=hint)
    return found.date()


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
