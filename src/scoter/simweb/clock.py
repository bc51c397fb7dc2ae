"""Simulated time: it starts on a fixed date and advances only on request."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from scoter.errors import UsageError

START = datetime(2026, 1, 1, tzinfo=UTC)
"""Where simulated time starts."""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhdw]?)")
#: Dates end with the year 9999; a hundred years are enough for any test.
_LONGEST = 100 * 365 * 86_400.0


def moment(seconds: float) -> datetime:
    """Return the date ``seconds`` of simulated time after the start."""
    return START + timedelta(seconds=seconds)


def seconds(text: str) -> float:
    """Parse a duration.

    >>> seconds("7d"), seconds("90")
    (604800.0, 90.0)
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text[:40]!r} is not a duration: write 90, 90s, 15m, 6h, 7d or 2w", where="simweb")
    return float(found[1]) * _UNITS[found[2] or "s"]


class SimClock:
    """The simulated time of one server."""

    def __init__(self) -> None:
        self.now = 0.0

    def __repr__(self) -> str:
        return f"SimClock({self.date.isoformat()})"

    @property
    def date(self) -> datetime:
        """The current simulated date."""
        return moment(self.now)

    def advance(self, span: float) -> None:
        """Let ``span`` seconds pass."""
        if not 0 <= span <= _LONGEST - self.now:
            raise UsageError("simulated time only moves forward, up to a hundred years from its start", where="simweb")
        self.now += span
