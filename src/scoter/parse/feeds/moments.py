"""Dates as feeds and sitemaps write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_LONGEST: Final = 64  # characters; nothing longer is a date
# W3C date and time (https://www.w3.org/TR/NOTE-datetime): a year, a month, a day, or a moment.
_PART: Final = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?\Z", re.ASCII)
# What stands at the end of dates that are not quite as either standard has them: +01:00 after a name, UTC after digits.
_ZONE: Final = re.compile(r"([+-]\d\d):(\d\d)\Z", re.ASCII)
_UTC: Final = re.compile(r"\s*(?:UTC|GMT)\Z")
_FRACTION: Final = re.compile(r"(\.\d{6})\d+", re.ASCII)


def moment(text: str) -> datetime | None:
    """Return the moment that a text names, in UTC; the first one where it names a day, a month or a year.

    >>> str(moment("2026-11")), str(moment("Sun, 15 Nov 2026 13:00:00 +0100"))
    ('2026-11-01 00:00:00+00:00', '2026-11-15 12:00:00+00:00')
    """
    text = text.strip()
    if not 4 <= len(text) <= _LONGEST or not text.isascii():
        return None
    try:
        if part := _PART.match(text):
            year, month, day = (int(each or 1) for each in part.groups())
            return datetime(year, month, day, tzinfo=UTC)
        if text[:4].isdigit():
            found = datetime.fromisoformat(_UTC.sub("Z", _FRACTION.sub(r"\1", text)))
        else:
            found = parsedate_to_datetime(_ZONE.sub(r"\1\2", text))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
