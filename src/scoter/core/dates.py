"""Dates and durations as people and servers write them.

One parser serves HTTP fields, pages, feeds, documents and expressions, so that all of them agree on what
"15 Nov 2026" means. A date without a zone is taken as UTC; a year, a month or a day means its first moment.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_DURATION: Final = 30 * 86_400.0
"""Seconds; longer playing times are mistakes."""
_LONGEST: Final = 64  # characters; nothing longer is a date
# RFC 2822 4.3 names the zones of North America; European pages write the others.
_AMERICAN_ZONES: Final = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_ZONES: Final = _AMERICAN_ZONES | {"BST": 1, "CET": 1, "CEST": 2}
_CLOCK: Final = (
    r"(?:[T\s]\s*(\d{1,2}):?(\d{2})(?::?(\d{2})(?:[.,](\d+))?)?\s*([ap]m)?)?"
    rf"\s*(Z|(?:UTC?|GMT)?[+-]\d{{2}}:?(?:\d{{2}})?|UTC?|GMT|{'|'.join(_ZONES)})?(?:\s*\(\w+\))?"
)
# ISO 8601, also with slashes, and with the colons of Exif.
_ISO: Final = re.compile(
    r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?|:(\d{2}):(\d{2})|(\d{2})(\d{2}))?" + _CLOCK, re.IGNORECASE
)
_DAY_MONTH: Final = re.compile(
    r"(?:[a-z]{3,9},?\s+)?(\d{1,2})(?:st|nd|rd|th)?[\s-]([a-z]{3,9})\.?,?[\s-](\d{4}|\d{2})" + _CLOCK, re.IGNORECASE
)
_MONTH_DAY: Final = re.compile(
    r"(?:(?:[a-z]{3,9},|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\s+)?"
    r"([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4}),?" + _CLOCK,
    re.IGNORECASE,
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OFFSET: Final = re.compile(r"([+-])(\d{2}):?(\d{2})?")
# Date and time in digits alone. As milliseconds since 1970 they would be before 1977, when there was no web.
_DIGITS: Final = re.compile(r"((?:19|20)\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})?")
_EPOCH: Final = re.compile(r"\d{9,10}|\d{12,13}")
# Other zone names after a time, and offsets that email.utils does not parse.
_OTHER_ZONE: Final = re.compile(r"(:\d\d(?:\.\d+)?)\s*[a-z]{1,5}\Z", re.IGNORECASE)
_COLON_ZONE: Final = re.compile(r"([+-]\d\d):(\d\d)\Z")

_ISO_DURATION: Final = re.compile(
    r"P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8}(?:[.,]\d{1,6})?)S)?)?", re.IGNORECASE
)
_CLOCK_DURATION: Final = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d{2})")
_SECONDS: Final = re.compile(r"\d{1,8}(?:\.\d{1,6})?")


def parse_date(text: str | None) -> datetime | None:
    """Return the date in UTC, or ``None`` if the text is not one.

    Accepts ISO 8601, the dates of HTTP and e-mail, English dates and seconds or milliseconds since 1970.

    >>> str(parse_date("2024-03-05T10:00:00+01:00")), str(parse_date("Tue, 05 Mar 2024 10:00:00 GMT"))
    ('2024-03-05 09:00:00+00:00', '2024-03-05 10:00:00+00:00')
    >>> str(parse_date("15 Nov 2026")), parse_date("yesterday")
    ('2026-11-15 00:00:00+00:00', None)
    """
    text = text.strip() if text else ""
    if not text or len(text) > _LONGEST or not text.isascii():
        return None
    try:
        return _parse_numeric(text) if text[:4].isdecimal() else _parse_named(text)
    except (ValueError, OverflowError, TypeError, IndexError):  # email.utils raises the last two as well
        return None


def parse_duration(text: str | None) -> float | None:
    """Return a playing time in seconds: ISO 8601, ``h:mm:ss`` or a number of seconds.

    >>> parse_duration("PT1H2M3S"), parse_duration("1:30"), parse_duration("90.5"), parse_duration("long")
    (3723.0, 90.0, 90.5, None)
    """
    if not text or len(text) > _LONGEST:
        return None
    text = text.strip()
    if (match := _ISO_DURATION.fullmatch(text)) is not None:
        weeks, days, hours, minutes, rest = match.groups(default="0")
        whole = ((int(weeks) * 7 + int(days)) * 24 + int(hours)) * 3600 + int(minutes) * 60
        value = whole + float(rest.replace(",", "."))
    elif (match := _CLOCK_DURATION.fullmatch(text)) is not None:
        hours, minutes, rest = match.groups(default="0")
        value = int(hours) * 3600 + int(minutes) * 60 + float(rest)
    elif _SECONDS.fullmatch(text):
        value = float(text)
    else:
        return None
    return value if 0 < value <= LONGEST_DURATION else None


def _parse_numeric(text: str) -> datetime | None:
    """Parse a date that begins with a year, or one in digits alone."""
    if text[10:11] == "T":  # the usual form, three times as fast
        with suppress(ValueError):
            return _in_utc(datetime.fromisoformat(text))
    if (match := _ISO.fullmatch(text)) is not None:
        year, month, day, month2, day2, month3, day3, *clock = match.groups()
        return _date(int(year), int(month or month2 or month3 or 1), int(day or day2 or day3 or 1), clock)
    if (match := _DIGITS.fullmatch(text)) is not None:
        year, month, day, *clock = match.groups()
        return _date(int(year), int(month), int(day), [*clock, None, None, None])
    if text.isdecimal():
        seconds = int(text) / (1000 if len(text) > 10 else 1)
        return datetime.fromtimestamp(seconds, UTC) if _EPOCH.fullmatch(text) else None
    return _in_utc(datetime.fromisoformat(_OTHER_ZONE.sub(r"\1", text)))


def _parse_named(text: str) -> datetime | None:
    """Parse a date that names its month."""
    if (match := _DAY_MONTH.fullmatch(text)) is not None:
        day, name, year, *clock = match.groups()
    elif (match := _MONTH_DAY.fullmatch(text)) is not None:
        name, day, year, *clock = match.groups()
    else:
        return _in_utc(parsedate_to_datetime(_COLON_ZONE.sub(r"\1\2", text)))
    century = 0 if len(year) == 4 else 2000 if int(year) < 50 else 1900  # RFC 2822 4.3
    return _date(century + int(year), _MONTHS.index(name[:3].lower()) + 1, int(day), clock)


def _date(year: int, month: int, day: int, clock: list[str | None]) -> datetime:
    hour, minute, second, fraction, half, zone = clock
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + (12 if half.lower() == "pm" else 0)
    # 24:00 is the end of the day; a leap second is read as the second before it.
    next_day = timedelta(days=1) if hours == 24 else timedelta()
    seconds, micros = min(int(second or 0), 59), int((fraction or "0").ljust(6, "0")[:6])
    local = datetime(
        year, month, day, hours % 24 if next_day else hours, int(minute or 0), seconds, micros, _zone(zone)
    )
    return (local + next_day).astimezone(UTC)


def _zone(text: str | None) -> timezone:
    if not text:
        return UTC
    match = _OFFSET.search(text)
    if match is None:
        return timezone(timedelta(hours=_ZONES.get(text.upper(), 0)))
    sign, hours, minutes = match.groups()
    ahead = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-ahead if sign == "-" else ahead)


def _in_utc(date: datetime) -> datetime:
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
