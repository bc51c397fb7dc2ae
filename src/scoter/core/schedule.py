"""When a page is due again, and the rule files of the adaptive schedules.

All schedules treat new URLs, failures and gone pages alike (``Schedule``). They differ in what they do after a
successful fetch: keep the interval, or adapt it to how often the page changes. Intervals are whole seconds, rounded
down, as they are stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.datum import EPOCH, FIXED_INTERVAL, CrawlDatum, DbStatus, later
from scoter.core.page import EMPTY
from scoter.core.rule_lines import RuleLine, rule_lines, shown
from scoter.core.url import Url

SECOND = timedelta(seconds=1)
RETRY_AFTER = timedelta(days=1)
LONGEST = timedelta(seconds=2**31 - 1)  # what the interval column can hold
MEDIA_TYPE = "Content-Type"
"""Metadata key of a page's content type."""

FIXED_NUMBER = r"^[0-9]{1,15}(\.[0-9]{0,15})?([eE][+]?[0-9]{1,2})?$"
"""A number of seconds in a seed list: a narrow form, which every engine parses alike."""
_FIXED_NUMBER = re.compile(FIXED_NUMBER.replace("$", r"\Z"))


class Change(Enum):
    """What a fetch revealed about a page's content."""

    UNKNOWN = 0
    MODIFIED = 1
    NOTMODIFIED = 2


class Schedule(Struct, frozen=True, kw_only=True):
    """The default schedule: a page is due again after its interval, whether or not it changed."""

    default_interval: timedelta = timedelta(days=30)
    max_interval: timedelta = timedelta(days=90)

    def first(self, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        """Schedule a new URL: due at once."""
        return replace(datum, fetch_time=now, interval=self.default_interval, retries=0)

    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: Change) -> CrawlDatum:
        """Schedule a fetched page; ``datum`` is the record to be written, with its old times."""
        interval = datum.interval or self.default_interval
        return replace(
            datum,
            retries=0,
            interval=interval,
            fetch_time=later(fetched, interval),
            modified_time=_modified(datum, fetched, change),
        )

    def retry(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        """Schedule a retry in a day."""
        return replace(datum, fetch_time=later(fetched, RETRY_AFTER), retries=datum.retries + 1)

    def gone(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        """Schedule a gone page less and less often."""
        longer = whole((datum.interval or self.default_interval).total_seconds() * 1.5)
        interval = longer if longer < self.max_interval else nine_tenths(self.max_interval)
        return replace(datum, interval=interval, fetch_time=later(fetched, interval))

    def force(self, datum: CrawlDatum) -> CrawlDatum:
        """Forget what is known about a page's content, so that its next fetch is unconditional."""
        interval = nine_tenths(self.max_interval) if datum.interval > self.max_interval else datum.interval
        return replace(
            datum, interval=interval, status=DbStatus.UNFETCHED, retries=0, signature=None, modified_time=None
        )

    def due(self, datum: CrawlDatum, now: datetime) -> tuple[bool, CrawlDatum]:
        """Return whether a URL is due, and its record; a fetch time too far in the future is reset to now."""
        if datum.fetch_time - now > self.max_interval:
            interval = nine_tenths(self.max_interval) if datum.interval > self.max_interval else datum.interval
            datum = replace(datum, interval=interval, fetch_time=now)
        return datum.fetch_time <= now, datum


class IntervalRates(Struct, frozen=True):
    """By what share the interval grows if a page is unchanged, and shrinks if it changed."""

    longer: float = 0.4
    shorter: float = 0.2


class IntervalBounds(Struct, frozen=True):
    """The shortest and the longest interval."""

    low: timedelta = timedelta(seconds=60)
    high: timedelta = timedelta(days=365)


class AdaptiveSchedule(Schedule, frozen=True, kw_only=True):
    """Visits a page more often when it changed, less often when it did not.

    With ``sync`` the next visit also moves towards the time at which the page last changed. A fixed interval in the
    metadata overrides all of this. ``host_bounds`` overrides the bounds for single hosts.
    """

    rates: IntervalRates = IntervalRates()
    bounds: IntervalBounds = IntervalBounds()
    sync: bool = True
    sync_rate: float = 0.3
    host_bounds: Mapping[str, IntervalBounds] = EMPTY

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
            unchanged = max(fetched - modified, timedelta(0))  # a page may claim a modified time in the future
            interval = max(interval, unchanged)
            offset = whole(unchanged.total_seconds() * self.sync_rate + 0.5)
            if offset > bounds.high:
                offset = whole((self.sync_rate * bounds.high).total_seconds())
        interval = whole(max(bounds.low, min(interval, bounds.high)).total_seconds())
        return replace(
            datum,
            retries=0,
            interval=interval,
            # Never before the fetch itself, whatever rate or bounds are configured.
            fetch_time=later(fetched, max(interval - offset, timedelta(0))),
            modified_time=modified,
        )

    def _rates(self, datum: CrawlDatum) -> IntervalRates:
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
    """The adaptive schedule with separate rates for each content type."""

    by_media_type: Mapping[str, IntervalRates] = EMPTY

    def _rates(self, datum: CrawlDatum) -> IntervalRates:
        media_type = datum.metadata.get(MEDIA_TYPE, "").partition(";")[0].strip().lower()
        return self.by_media_type.get(media_type, self.rates)


def last_fetch(datum: CrawlDatum) -> datetime:
    """Return when a URL was last fetched, or the epoch if never."""
    if datum.status is DbStatus.UNFETCHED:
        return EPOCH
    return later(datum.fetch_time, -datum.interval)


def fixed_interval(datum: CrawlDatum) -> timedelta | None:
    """Return the interval that the seed list fixed for a URL, if it is a valid number of seconds."""
    text = datum.metadata.get(FIXED_INTERVAL, "")
    return whole(float(text)) if _FIXED_NUMBER.search(text) else None


def nine_tenths(interval: timedelta) -> timedelta:
    """Return the interval that replaces one above the maximum."""
    return whole(interval.total_seconds() * 0.9)


def whole(seconds: float) -> timedelta:
    """Return whole seconds, at most what the interval column can hold."""
    return min(SECOND * math.floor(min(seconds, 2**31 - 1)), LONGEST)


def _modified(datum: CrawlDatum, fetched: datetime, change: Change) -> datetime:
    if datum.modified_time is None or change is Change.MODIFIED:
        return fetched
    return datum.modified_time


def parse_rates(lines: Iterable[str], source: str) -> Mapping[str, IntervalRates]:
    """Read lines of content type, growth rate and shrink rate, separated by white space.

    >>> parse_rates(["text/html\\t0.4\\t0.2"], "rates.txt")
    {'text/html': IntervalRates(longer=0.4, shorter=0.2)}
    """
    found: dict[str, IntervalRates] = {}
    for line in rule_lines(lines, source):
        media_type, *numbers = line.words(3, "a content type and two rates")
        rates = IntervalRates(*(_number(line, each) for each in numbers))
        if "/" not in media_type or not (0 <= rates.longer <= 10 and 0 <= rates.shorter <= 1):
            hint = "Write a line such as: text/html 0.4 0.2 (growth from 0 to 10, shrinking from 0 to 1)."
            raise line.error(f"expected a content type and two rates, not {shown(line.text)}", hint)
        found[media_type.lower()] = rates
    return found


def parse_bounds(
    lines: Iterable[str], source: str, usual: IntervalBounds | None = None
) -> Mapping[str, IntervalBounds]:
    """Read lines of host, shortest and longest interval in seconds; ``default`` or 0 takes the bound of ``usual``.

    >>> parse_bounds(["example.org 60 3600"], "hosts.txt")["example.org"].high
    datetime.timedelta(seconds=3600)
    """
    found: dict[str, IntervalBounds] = {}
    usual = usual or IntervalBounds()
    for line in rule_lines(lines, source):
        host, low, high = line.words(3, "a host and two intervals")
        seconds = [_interval(line, text, default) for text, default in ((low, usual.low), (high, usual.high))]
        if not 0 < seconds[0] <= seconds[1] < 2**31:
            hint = "Write a line such as: example.org 60 86400 (shortest and longest interval, in seconds)."
            raise line.error(f"the intervals in {shown(line.text)} are out of order or out of range", hint)
        found[line.host(host)] = IntervalBounds(*(timedelta(seconds=each) for each in seconds))
    return found


def _interval(line: RuleLine, text: str, usual: timedelta) -> float:
    seconds = 0.0 if text.lower() == "default" else _number(line, text)
    return seconds or usual.total_seconds()


def _number(line: RuleLine, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise line.error(f"{shown(text)} is not a number") from None
