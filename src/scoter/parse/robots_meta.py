"""Robots directives of a page: ``<meta name=robots>`` and the header field ``X-Robots-Tag``.

Both hold words such as ``noindex`` and ``nofollow``. The header field may name a robot, as in ``examplebot: noindex``.
Directives for all robots and those for us are combined, so the stricter ones apply.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final

from msgspec import Struct

from scoter.core.dates import parse_date

ANY_ROBOT: Final = "robots"
"""The name of a meta element for all robots."""
_LONGEST: Final = 4_096  # characters of a field; the rest is ignored
_CACHED: Final = 512  # characters; longer fields are not cached
# Directives with a value after a colon, which are not names of robots.
_VALUED: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})

# The date formats that search engines accept: RFC 822, RFC 850, ISO 8601. The first two contain commas, so dates are
# taken out before the field is split.
_AFTER = re.compile(
    r"unavailable_after\s*+:\s*+(?:[a-z]{3,9},?\s++)?"
    r"((?:\d{4}-\d\d-\d\d|\d\d?[\s-][a-z]{3,9}[\s-](?:\d{4}|\d\d)(?!\d))"
    r"(?:[t\s]\s*+\d\d:\d\d(?::\d\d(?:\.\d++)?)?\s*+(?:[+-]\d\d:?\d\d|[a-z]{1,4}(?![a-z]))?)?)",
    re.ASCII,
)
_HOUR = re.compile(r"(?:^|\s)\d\d?$", re.ASCII)  # before the colon of a time in a date of another format
_NO_SNIPPET = re.compile(r"max-snippet\s*+:\s*+0(?!\d)")


class Directives(Struct, frozen=True):
    """What a page asks of robots.

    >>> directives(["NoIndex, follow"]).noindex
    True
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    unavailable_after: datetime | None = None


def directives(meta: Iterable[str], header: str = "", agents: Collection[str] = ()) -> Directives:
    """Combine the contents of the meta elements that apply to us and the header fields, one per line.

    >>> directives([], "otherbot: noindex, none", agents=["examplebot"]) == Directives()
    True
    >>> directives(["none"], "examplebot: max-snippet:0", agents=["examplebot"])
    Directives(noindex=True, nofollow=True, noarchive=False, nosnippet=True, unavailable_after=None)
    """
    contents = tuple(meta)
    if not contents and not header:
        return _EMPTY
    read = _read_cached if len(header) + sum(map(len, contents)) <= _CACHED else _read
    return read(contents, header, tuple(agents))


def _read(meta: tuple[str, ...], header: str, agents: tuple[str, ...]) -> Directives:
    words: set[str] = set()
    dates: dict[str, datetime] = {}
    for content in meta:
        words.update(_with_placeholders(content, dates).replace(",", " ").replace(";", " ").split())
    if header:
        for line in header.splitlines():
            words.update(_words_for_us(_with_placeholders(line, dates), agents))
    return _EMPTY if not words else _directives_of(words, dates)


_read_cached = lru_cache(maxsize=1_024)(_read)  # most pages of a site have the same directives


def concerns(name: str, agents: Collection[str]) -> bool:
    """Tell whether a meta element with this name applies to all robots or to us."""
    return name == ANY_ROBOT or name in agents


_EMPTY: Final = Directives()


def _with_placeholders(text: str, dates: dict[str, datetime]) -> str:
    """Return a field in lower case with each date replaced by a placeholder, a key of ``dates``."""
    text = text[:_LONGEST].lower()
    if "max-snippet" in text:
        text = _NO_SNIPPET.sub("nosnippet", text)
    if "unavailable_after" not in text:
        return text

    def placeholder(found: re.Match[str]) -> str:
        if (date := parse_date(found[1])) is None:
            return " "
        name = f"\0{len(dates)}"
        dates[name] = date.replace(microsecond=0)
        return name

    return _AFTER.sub(placeholder, text)


def _words_for_us(line: str, agents: Collection[str]) -> list[str]:
    """Return the words of a field that apply to us; a robot's name applies until the next one."""
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


def _directives_of(words: set[str], dates: dict[str, datetime]) -> Directives:
    none = "none" in words
    return Directives(
        noindex=none or "noindex" in words,
        nofollow=none or "nofollow" in words,
        noarchive="noarchive" in words or "nocache" in words,
        nosnippet="nosnippet" in words,
        unavailable_after=min((date for word, date in dates.items() if word in words), default=None),
    )
