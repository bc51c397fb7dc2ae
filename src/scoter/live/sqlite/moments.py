"""Moments as SQLite keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Return the microseconds since 1970, exactly.

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005
    """
    return (moment - _EPOCH) // _MICROSECOND


def moment(stored: int) -> datetime:
    """Return the moment that so many microseconds since 1970 are.

    >>> moment(1_000_005)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=datetime.timezone.utc)
    """
    return _EPOCH + timedelta(0, 0, stored)


def utc_now() -> datetime:
    """Return the time by the wall."""
    return datetime.now(UTC)
