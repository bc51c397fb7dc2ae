"""When a page is due again.

Every schedule treats a first sight, a failure and a page that is gone alike (``Schedule``); they differ in what
they make of a page that was fetched: always the same interval, or one that adapts to how often it changes.
Intervals are whole seconds, rounded down, as every store keeps them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.datum import EPOCH, FIXED_INTERVAL, CrawlDatum, DbStatus, later
from scoter.core.page import EMPTY
from scoter.core.rule_lines import host_name, rule_lines, shown
from scoter.core.url import Url
from scoter.errors import RuleError

SECOND = timedelta(seconds=1)
RETRY_AFTER = timedelta(days=1)
LONGEST = timedelta(seconds=2**31 - 1)  # what the interval column can hold
MEDIA_TYPE = "Content-Type"
"""Metadata key under which a datum knows its media type."""

FIXED_NUMBER = r"^[0-9]{1,15}(\.[0-9]{0,15})?([eE][+]?[0-9]{1,2})?$"
"""A number of seconds as seed lists have it; a narrow form, which every engine reads alike."""
_FIXED_NUMBER = re.compile(FIXED_NUMBER.replace("$", r"\Z"))

Number = TypeVar("Number", float, timedelta)


class Change(Enum):
    """What a fetch told about a page's content."""

    UNKNOWN = 0
    MODIFIED = 1
    NOTMODIFIED = 2


class Schedule(Struct, frozen=True, kw_only=True):
    """The default schedule: a page is due again after its interval, whatever happened to its content."""

    default_interval: timedelta = timedelta(days=30)
    max_interval: timedelta = timedelta(days=90)

    def first(self, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        """Schedule a URL that was never seen before: due at once."""
        return replace(datum, fetch_time=now, interval=self.default_interval, retries=0)

    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: Change) -> CrawlDatum:
        """Schedule a page that answered: the datum is the record to be written, before its new times."""
        interval = datum.interval or self.default_interval
        return replace(
            datum,
            retries=0,
            interval=interval,
            fetch_time=later(fetched, interval),
            modified_time=_modified(datum, fetched, change),
        )

    def retry(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        """Schedule another try tomorrow."""
        return replace(datum, fetch_time=later(fetched, RETRY_AFTER), retries=datum.retries + 1)

    def gone(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        """Look at a page that is gone less and less often."""
        longer = whole((datum.interval or self.default_interval).total_seconds() * 1.5)
        interval = longer if longer < self.max_interval else nine_tenths(self.max_interval)
        return replace(datum, interval=interval, fetch_time=later(fetched, interval))

    def force(self, datum: CrawlDatum) -> CrawlDatum:
        """Forget what is known of a page's content, so that its next fetch is unconditional."""
        interval = nine_tenths(self.max_interval) if datum.interval > self.max_interval else datum.interval
        return replace(
            datum, interval=interval, status=DbStatus.UNFETCHED, retries=0, signature=None, modified_time=None
        )

    def due(self, datum: CrawlDatum, now: datetime) -> tuple[bool, CrawlDatum]:
        """Tell whether a URL is due, and return it with a time too far away brought back to now."""
        if datum.fetch_time - now > self.max_interval:
            interval = nine_tenths(self.max_interval) if datum.interval > self.max_interval else datum.interval
            datum = replace(datum, interval=interval, fetch_time=now)
        return datum.fetch_time <= now, datum


class Rates(Struct, frozen=True):
    """How much longer the interval of an unchanged page gets, and how much shorter that of a changed one."""

    longer: float = 0.4
    shorter: float = 0.2


class Bounds(Struct, frozen=True):
    """The shortest and the longest interval."""

    low: timedelta = timedelta(seconds=60)
    high: timedelta = timedelta(days=365)


class AdaptiveSchedule(Schedule, frozen=True, kw_only=True):
    """Visits a page more often when it changed, less often when it did not.

    With ``sync`` the next visit also moves towards the moment at which the page last changed. A fixed interval
    in the datum's metadata wins over all of it; ``host_bounds`` gives single hosts bounds of their own.
    """

    rates: Rates = Rates()
    bounds: Bounds = Bounds()
    sync: bool = True
    sync_rate: float = 0.3
    host_bounds: Mapping[str, Bounds] = EMPTY

    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: Change) -> CrawlDatum:
        fixed = fixed_interval(datum)
        if fixed is not None:
            result = Schedule.fetched(self, url, replace(datum, interval=fixed), fetched, change)
            return replace(result, interval=fixed, fetch_time=later(fetched, fixed))
        bounds = self.host_bounds.get(url.host, self.bounds)
        interval = self._adapted(datum, change)
        modified = fetched if change is Change.MODIFIED or datum.modified_time is None else datum.modified_time
        offset = timedelta(0)
        if self.sync:
            unchanged = max(fetched - modified, timedelta(0))  # a page may claim to come from the future
            interval = max(interval, unchanged)
            offset = whole(unchanged.total_seconds() * self.sync_rate + 0.5)
            if offset > bounds.high:
                offset = whole((self.sync_rate * bounds.high).total_seconds())
        interval = whole(clamp(interval, bounds.low, bounds.high).total_seconds())
        return replace(
            datum,
            retries=0,
            interval=interval,
            # No offset may reach behind the fetch itself, whatever rate or bounds were configured.
            fetch_time=later(fetched, max(interval - offset, timedelta(0))),
            modified_time=modified,
        )

    def _rates(self, datum: CrawlDatum) -> Rates:
        return self.rates

    def _adapted(self, datum: CrawlDatum, change: Change) -> timedelta:
        seconds = (datum.interval or self.default_interval).total_seconds()
        rates = self._rates(datum)
        if change is Change.MODIFIED:
            seconds *= 1 - rates.shorter
        elif change is Change.NOTMODIFIED:
            seconds *= 1 + rates.longer
        return whole(seconds)


class MimeAdaptiveSchedule(AdaptiveSchedule, frozen=True, kw_only=True):
    """The adaptive schedule with rates for each media type."""

    by_media_type: Mapping[str, Rates] = EMPTY

    def _rates(self, datum: CrawlDatum) -> Rates:
        media_type = datum.metadata.get(MEDIA_TYPE, "").partition(";")[0].strip().lower()
        return self.by_media_type.get(media_type, self.rates)


def last_fetch(datum: CrawlDatum) -> datetime:
    """Return when a URL was last fetched; the epoch when it never was."""
    if datum.status is DbStatus.UNFETCHED:
        return EPOCH
    return later(datum.fetch_time, -datum.interval)


def fixed_interval(datum: CrawlDatum) -> timedelta | None:
    """Return the interval that the seed list fixed for a URL, if it is a number of seconds at all."""
    text = datum.metadata.get(FIXED_INTERVAL, "")
    return whole(float(text)) if _FIXED_NUMBER.search(text) else None


def nine_tenths(interval: timedelta) -> timedelta:
    """Return what an interval that has grown too long is cut to."""
    return whole(interval.total_seconds() * 0.9)


def whole(seconds: float) -> timedelta:
    """Return whole seconds, at most what the interval column holds."""
    return min(SECOND * math.floor(min(seconds, 2**31 - 1)), LONGEST)


def clamp(value: Number, low: Number, high: Number) -> Number:
    """Return the value, or the bound that it lies beyond."""
    return max(low, min(value, high))


def _modified(datum: CrawlDatum, fetched: datetime, change: Change) -> datetime:
    if datum.modified_time is None or change is Change.MODIFIED:
        return fetched
    return datum.modified_time


def parse_rates(lines: Iterable[str], source: str) -> Mapping[str, Rates]:
    """Read ``media type, rate of growth, rate of shrinking`` a line, divided by tabs or spaces.

    >>> parse_rates(["text/html\\t0.4\\t0.2"], "rates.txt")
    {'text/html': Rates(longer=0.4, shorter=0.2)}
    """
    found: dict[str, Rates] = {}
    for number, text in rule_lines(lines):
        media_type, longer, shorter = _three(text, "a media type and two rates", source, number)
        rates = Rates(*(_number(each, source, number) for each in (longer, shorter)))
        if "/" not in media_type or not (0 <= rates.longer <= 10 and 0 <= rates.shorter <= 1):
            raise RuleError(
                f"{shown(text)} is not a media type and two rates",
                file=source,
                line=number,
                hint="A line is: text/html 0.4 0.2 (growth from 0 to 10, shrinking from 0 to 1).",
            )
        found[media_type.lower()] = rates
    return found


def parse_bounds(lines: Iterable[str], source: str, usual: Bounds | None = None) -> Mapping[str, Bounds]:
    """Read ``host, shortest interval, longest interval`` a line, in seconds; ``default`` or 0 is the usual one.

    >>> parse_bounds(["example.org 60 3600"], "hosts.txt")["example.org"].high
    datetime.timedelta(seconds=3600)
    """
    found: dict[str, Bounds] = {}
    usual = usual or Bounds()
    for number, text in rule_lines(lines):
        host, low, high = _three(text, "a host and two intervals", source, number)
        told = ((low, usual.low), (high, usual.high))
        seconds = [_interval(each, otherwise, source, number) for each, otherwise in told]
        if not 0 < seconds[0] <= seconds[1] < 2**31:
            raise RuleError(
                f"{shown(text)} has intervals that are not in order",
                file=source,
                line=number,
                hint="A line is: example.org 60 86400 (the shortest and the longest interval in seconds, or default).",
            )
        found[host_name(host, source, number)] = Bounds(*(timedelta(seconds=each) for each in seconds))
    return found


def _three(text: str, expected: str, source: str, line: int) -> list[str]:
    words = text.split()
    if len(words) != 3:
        raise RuleError(f"{shown(text)} is not {expected}", file=source, line=line)
    return words


def _interval(text: str, usual: timedelta, source: str, line: int) -> float:
    seconds = 0.0 if text.lower() == "default" else _number(text, source, line)
    return seconds or usual.total_seconds()


def _number(text: str, source: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise RuleError(f"{shown(text)} is not a number", file=source, line=line) from None
