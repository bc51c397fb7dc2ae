"""What a page asks of robots: ``<meta name=robots>`` and the header field ``X-Robots-Tag``.

Both hold words such as ``noindex`` and ``nofollow``; the header field may name the robot it means, as in
``examplebot: noindex``. What is said to all robots and what is said to us add up, so that the stricter word holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from msgspec import Struct

_LONGEST: Final = 4_096  # characters that are read of a field
_CACHED: Final = 512  # characters; what is longer is read each time
# Words that take a value after a colon, and so do not name a robot.
_VALUED: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})

# The forms that search engines accept: RFC 822, RFC 850, ISO 8601. Two of them have commas of their own, so that dates
# are taken out before the words are parted.
_AFTER = re.compile(
    r"unavailable_after\s*+:\s*+(?:[a-z]{3,9},?\s++)?"
    r"(?:(?P<iso>\d{4}-\d\d-\d\d)|(?P<day>\d\d?)[\s-](?P<month>[a-z]{3})[a-z]*+[\s-](?P<year>\d{4}|\d\d)(?!\d))"
    r"(?:[t\s]\s*+(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d++)?)?"
    r"\s*+(?P<zone>[+-]\d\d:?\d\d|[a-z]{1,4}(?![a-z]))?)?",
    re.ASCII,
)
_HOUR = re.compile(r"(?:^|\s)\d\d?$", re.ASCII)  # what stands before the colon of a time, in a date of some other form
_NO_SNIPPET = re.compile(r"max-snippet\s*+:\s*+0(?!\d)")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# RFC 822 5.1, and what European pages write.
_AMERICAN: Final = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
_ZONES: Final = _AMERICAN | {"bst": 1, "cet": 1, "cest": 2}
_CENTURY: Final = 50  # RFC 2822 4.3: two digits under 50 are a year after 2000


class Directives(Struct, frozen=True):
    """What a page does not want.

    >>> directives(["NoIndex, follow"]).noindex
    True
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    unavailable_after: datetime | None = None


def directives(meta: Iterable[str], header: str = "", agents: Collection[str] = ()) -> Directives:
    """Read the contents of the meta elements that concern us, and the header fields, one a line.

    >>> directives([], "otherbot: noindex, none", agents=["examplebot"]) == Directives()
    True
    >>> directives(["none"], "examplebot: max-snippet:0", agents=["examplebot"])
    Directives(noindex=True, nofollow=True, noarchive=False, nosnippet=True, unavailable_after=None)
    """
    said = tuple(meta)
    if not said and not header:
        return _EMPTY
    read = _read_before if len(header) + sum(map(len, said)) <= _CACHED else _read
    return read(said, header, tuple(agents))


def _read(meta: tuple[str, ...], header: str, agents: tuple[str, ...]) -> Directives:
    words: set[str] = set()
    dates: dict[str, datetime] = {}
    for content in meta:
        words.update(_plain(content, dates).replace(",", " ").replace(";", " ").split())
    if header:
        for line in header.splitlines():
            words.update(_addressed(_plain(line, dates), agents))
    return _EMPTY if not words else _meaning(words, dates)


_read_before = lru_cache(maxsize=1_024)(_read)  # a site says the same on most of its pages


def concerns(name: str, agents: Collection[str]) -> bool:
    """Tell whether a meta element of that name speaks to all robots or to us."""
    return name == "robots" or name in agents


_EMPTY: Final = Directives()


def _plain(text: str, dates: dict[str, datetime]) -> str:
    """Return a field in lower case, each date in it a word that stands for it."""
    text = text[:_LONGEST].lower()
    if "max-snippet" in text:
        text = _NO_SNIPPET.sub("nosnippet", text)
    if "unavailable_after" not in text:
        return text

    def word(found: re.Match[str]) -> str:
        if (date := _date(found)) is None:
            return " "
        name = f"\0{len(dates)}"
        dates[name] = date
        return name

    return _AFTER.sub(word, text)


def _date(found: re.Match[str]) -> datetime | None:
    """Return the moment, or nothing where the calendar has no such day."""
    try:
        if found["iso"]:
            year, month, day = map(int, found["iso"].split("-"))
        else:
            year, month, day = int(found["year"]), _MONTHS.index(found["month"]) + 1, int(found["day"])
            if len(found["year"]) == 2:
                year += 2000 if year < _CENTURY else 1900
        hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
        return datetime(year, month, day, hour, minute, second, tzinfo=_zone(found["zone"] or "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(name: str) -> timezone:
    """Return a time zone by its name or distance; one that is not known is taken for UTC."""
    if name[:1] in "+-" and name:
        ahead = timedelta(hours=int(name[1:3]), minutes=int(name[-2:]))
        return timezone(-ahead if name[0] == "-" else ahead)
    return timezone(timedelta(hours=_ZONES.get(name, 0)))


def _addressed(line: str, agents: Collection[str]) -> list[str]:
    """Return the words of a field that are meant for us; a robot's name holds until the next one."""
    found: list[str] = []
    ours = True
    for item in line.replace(";", ",").split(","):
        name, colon, rest = item.partition(":")
        if colon and name.strip() not in _VALUED and not _HOUR.search(name):
            ours = name.strip() in ("*", "robots") or name.strip() in agents
            item = rest
        if ours:
            found += item.split()
    return found


def _meaning(words: set[str], dates: dict[str, datetime]) -> Directives:
    none = "none" in words
    return Directives(
        noindex=none or "noindex" in words,
        nofollow=none or "nofollow" in words,
        noarchive="noarchive" in words or "nocache" in words,
        nosnippet="nosnippet" in words,
        unavailable_after=min((date for word, date in dates.items() if word in words), default=None),
    )
