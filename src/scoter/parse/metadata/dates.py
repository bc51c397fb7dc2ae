"""Moments and durations as pages write them: ISO 8601, RFC 2822, and the two ways English writes a day.

A moment without a zone is taken to be in UTC, a day without a time to be its midnight.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

EARLIEST: Final = 1970
LATEST: Final = 2100
LONGEST: Final = 30 * 86_400.0
"""Seconds that something may play; what claims more is wrong."""

_CLOCK: Final = (
    r"(?:[T\s]\s*(\d{1,2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?\s*([ap]m)?)?"
    r"\s*(Z|UTC|GMT|[ECMP][SD]T|[+-]\d{2}:?(?:\d{2})?)?(?:\s*\(\w+\))?"
)
_ISO: Final = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?|(\d{2})(\d{2}))?" + _CLOCK, re.IGNORECASE)
_DAY_MONTH: Final = re.compile(
    r"(?:[a-z]{3,9},?\s+)?(\d{1,2})(?:st|nd|rd|th)?[\s-]([a-z]{3,9})\.?,?[\s-](\d{4})" + _CLOCK, re.IGNORECASE
)
_MONTH_DAY: Final = re.compile(
    r"(?:[a-z]{3,9},\s+)?([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4}),?" + _CLOCK, re.IGNORECASE
)
# A day and a time without any sign between them. As milliseconds they would be in 1976, before there were pages.
_DIGITS: Final = re.compile(r"((?:19|20)\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})?")
_EPOCH: Final = re.compile(r"\d{9,10}|\d{12,13}")
_DURATION: Final = re.compile(
    r"P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8}(?:[.,]\d{1,6})?)S)?)?", re.IGNORECASE
)
_COLONS: Final = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d{2})")
_PLAIN: Final = re.compile(r"\d{1,8}(?:\.\d{1,6})?")
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
# RFC 2822 4.3: the zones of North America are the only names with a meaning that all agree on.
_ZONES: Final = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}


def moment(text: str | None) -> datetime | None:
    """Return the moment that a text names, in UTC, or nothing when it names none between 1970 and 2100.

    >>> moment("2024-03-05T10:00:00+01:00").isoformat()
    '2024-03-05T09:00:00+00:00'
    >>> moment("Tue, 05 Mar 2024 10:00:00 GMT").isoformat()
    '2024-03-05T10:00:00+00:00'
    >>> moment("yesterday")
    """
    if not text or len(text) > 200:
        return None
    text = text.strip()
    if not text.isascii() or len(text) > 60:
        return None
    if text[:4].isdecimal():
        found = _ISO.fullmatch(text)
        if found is not None:
            year, month, day, month2, day2, *clock = found.groups()
            return _made(year, month or month2 or "1", day or day2 or "1", clock)
        if (found := _DIGITS.fullmatch(text)) is not None:
            year, month, day, hour, minute, second = found.groups()
            return _made(year, month, day, [hour, minute, second, None, None, None])
        return _since_1970(text)
    if (found := _DAY_MONTH.fullmatch(text)) is not None:
        day, name, year, *clock = found.groups()
    elif (found := _MONTH_DAY.fullmatch(text)) is not None:
        name, day, year, *clock = found.groups()
    else:
        return None
    number = _MONTHS.get(name[:3].lower())
    return None if number is None else _made(year, str(number), day, clock)


def seconds(text: str | None) -> float | None:
    """Return a duration in seconds: ISO 8601, ``h:mm:ss`` or a number of seconds.

    >>> seconds("PT1H2M3S"), seconds("1:30"), seconds("90.5"), seconds("long")
    (3723.0, 90.0, 90.5, None)
    """
    if not text or len(text) > 60:
        return None
    text = text.strip()
    if (found := _DURATION.fullmatch(text)) is not None:
        weeks, days, hours, minutes, rest = found.groups(default="0")
        value = ((int(weeks) * 7 + int(days)) * 24 + int(hours)) * 3600 + int(minutes) * 60
        return _sensible(value + float(rest.replace(",", ".")))
    if (found := _COLONS.fullmatch(text)) is not None:
        hours, minutes, rest = found.groups(default="0")
        return _sensible(int(hours) * 3600 + int(minutes) * 60 + float(rest))
    return _sensible(float(text)) if _PLAIN.fullmatch(text) else None


def _made(year: str, month: str, day: str, clock: list[str | None]) -> datetime | None:
    hour, minute, second, fraction, half, zone = clock
    if not EARLIEST <= int(year) <= LATEST:
        return None
    at = int(hour or 0)
    if half:
        at = at % 12 + (12 if half.lower() == "pm" else 0)
    # 24:00 is the end of the day, and a leap second the second before the next.
    later = timedelta(days=1) if at == 24 else timedelta()
    try:
        found = datetime(
            int(year),
            int(month),
            int(day),
            at % 24 if later else at,
            int(minute or 0),
            min(int(second or 0), 59),
            int((fraction or "0").ljust(6, "0")[:6]),
            _zone(zone),
        )
    except ValueError:
        return None
    return (found + later).astimezone(UTC)


def _zone(text: str | None) -> timezone:
    if not text:
        return UTC
    text = text.upper()
    if text[0] in "+-":
        digits = text[1:].replace(":", "").ljust(4, "0")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return timezone(-offset if text[0] == "-" else offset)
    return timezone(timedelta(hours=_ZONES[text])) if text in _ZONES else UTC


def _since_1970(text: str) -> datetime | None:
    if _EPOCH.fullmatch(text) is None:
        return None
    value = int(text) / (1000 if len(text) > 10 else 1)
    return datetime.fromtimestamp(value, UTC)


def _sensible(value: float) -> float | None:
    return value if 0 < value <= LONGEST else None
