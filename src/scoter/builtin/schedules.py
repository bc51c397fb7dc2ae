"""The built-in fetch schedules: default, adaptive and mime-adaptive.

Each offers the rules of ``core.schedule`` twice: for one record, and as column expressions for jobs over whole tables.
A ``HOOK_columns`` method returns what ``HOOK`` changes, by column. Its table has the columns of a crawl datum, and
``fetched``, ``change`` and ``now``; intervals are whole seconds there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from scoter.builtin.rulefiles import configured_rules, read_rules
from scoter.config import Setting
from scoter.core import schedule
from scoter.core.datum import FIXED_INTERVAL, CrawlDatum
from scoter.core.url import Url
from scoter.plugins import PluginValue, Setup

Columns = Mapping[str, Any]
_LONGEST = 2**31 - 1
_MICROSECONDS = 1_000_000


class _RuleSchedule(PluginValue):
    """Schedules by the rules of ``core.schedule``."""

    def __init__(self, rules: schedule.Schedule) -> None:
        self.rules = rules

    def first(self, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        return self.rules.first(datum, now)

    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: schedule.Change) -> CrawlDatum:
        return self.rules.fetched(url, datum, fetched, change)

    def retry(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        return self.rules.retry(datum, fetched)

    def gone(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        return self.rules.gone(datum, fetched)

    def force(self, datum: CrawlDatum) -> CrawlDatum:
        return self.rules.force(datum)

    def due(self, datum: CrawlDatum, now: datetime) -> tuple[bool, CrawlDatum]:
        return self.rules.due(datum, now)

    def first_columns(self, table: Any) -> Columns:
        return {"fetch_time": table.now, "interval": _seconds(self.rules.default_interval), "retries": 0}

    def fetched_columns(self, table: Any) -> Columns:
        if isinstance(self.rules, schedule.AdaptiveSchedule):
            return _adaptive_columns(self.rules, table)
        return _after(table, _interval(self.rules, table))

    def retry_columns(self, table: Any) -> Columns:
        return {"fetch_time": _later(table, _seconds(schedule.RETRY_AFTER)), "retries": table.retries + 1}

    def gone_columns(self, table: Any) -> Columns:
        longer = _whole(_interval(self.rules, table) * _real(1.5))
        limit = _seconds(schedule.nine_tenths(self.rules.max_interval))
        interval = (longer < self.rules.max_interval.total_seconds()).ifelse(longer, limit)
        return {"interval": interval, "fetch_time": _later(table, interval)}

    def force_columns(self, table: Any) -> Columns:
        limit = _seconds(schedule.nine_tenths(self.rules.max_interval))
        return {
            "interval": (table.interval > self.rules.max_interval.total_seconds()).ifelse(limit, table.interval),
            "status": "unfetched",
            "retries": 0,
            "signature": None,
            "modified_time": None,
        }


class DefaultFetchSchedule(_RuleSchedule):
    """Fetches every page again after its interval."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(schedule.Schedule(**_common(setup)))


class HostBounds(Struct, frozen=True):
    """Settings of the adaptive schedules that Nutch does not have."""

    host_file: Annotated[
        Path | None, Setting("File of hosts with their own shortest and longest interval, in seconds.", none="")
    ] = None


class AdaptiveFetchSchedule(_RuleSchedule):
    """Fetches a page more often the more often it changes."""

    Settings = HostBounds

    def __init__(self, setup: Setup) -> None:
        super().__init__(schedule.AdaptiveSchedule(**_adaptive(setup, "plugin.schedule-adaptive.host_file")))


class MimeAdaptiveFetchSchedule(_RuleSchedule):
    """The adaptive schedule with separate rates for each content type."""

    Settings = HostBounds

    def __init__(self, setup: Setup) -> None:
        file = configured_rules(setup, "db.fetch_schedule_mime_file", "adaptive-mimetypes.txt")
        rates = schedule.parse_rates(file.lines, file.source)
        adaptive = _adaptive(setup, "plugin.schedule-mime-adaptive.host_file")
        super().__init__(schedule.MimeAdaptiveSchedule(**adaptive, by_media_type=rates))


def _common(setup: Setup) -> dict[str, Any]:
    db = setup.config.db
    return {"default_interval": db.fetch_interval_default, "max_interval": db.fetch_interval_max}


def _adaptive(setup: Setup, setting: str) -> dict[str, Any]:
    db = setup.config.db
    bounds = schedule.IntervalBounds(db.fetch_schedule_adaptive_min_interval, db.fetch_schedule_adaptive_max_interval)
    host_bounds = {}
    if setup.settings is not None and setup.settings.host_file is not None:
        file = read_rules(setup.settings.host_file, setting)
        host_bounds = dict(schedule.parse_bounds(file.lines, file.source, bounds))
    return _common(setup) | {
        "rates": schedule.IntervalRates(db.fetch_schedule_adaptive_inc_rate, db.fetch_schedule_adaptive_dec_rate),
        "bounds": bounds,
        "sync": db.fetch_schedule_adaptive_sync_delta,
        "sync_rate": db.fetch_schedule_adaptive_sync_delta_rate,
        "host_bounds": host_bounds,
    }


def _seconds(interval: timedelta) -> int:
    """Return an interval as stored in its column."""
    return math.floor(interval.total_seconds())


def _after(table: Any, interval: Any) -> Columns:
    """Return the schedule for a fixed interval."""
    is_now = table.modified_time.isnull() | (table.change == "modified")
    return {
        "retries": 0,
        "interval": interval,
        "fetch_time": _later(table, interval),
        "modified_time": is_now.ifelse(table.fetched, table.modified_time),
    }


def _adaptive_columns(rules: schedule.AdaptiveSchedule, table: Any) -> Columns:
    low, high, far = _bounds(rules, table)
    plain = _after(table, _adapted(rules, table))
    interval, offset = plain["interval"], 0
    if rules.sync:
        unchanged = table.fetched.delta(plain["modified_time"], unit="microsecond")
        unchanged = (unchanged > 0).ifelse(unchanged, 0)
        whole = (unchanged / _MICROSECONDS).floor().cast("int64")
        interval = (whole > interval).ifelse(whole, interval)
        offset = (unchanged / _MICROSECONDS * _real(rules.sync_rate) + 0.5).floor().cast("int64")
        offset = (offset > high).ifelse(far, offset)
    interval = (interval > high).ifelse(high, interval)
    interval = (interval < low).ifelse(low, interval)
    wait = interval - offset
    wait = (wait > 0).ifelse(wait, 0)
    fixed = _fixed(table)
    has_fixed = fixed.notnull()
    return {
        **plain,
        "interval": has_fixed.ifelse(fixed, interval),
        "fetch_time": has_fixed.ifelse(_later(table, fixed.coalesce(0)), _later(table, wait)),
    }


def _adapted(rules: schedule.AdaptiveSchedule, table: Any) -> Any:
    """Return the interval after a page was found changed or unchanged."""
    interval = _interval(rules, table)
    shorter, longer = _rates(rules, table)
    return (
        (table.change == "modified")
        .ifelse(_whole(interval * shorter), (table.change == "notmodified").ifelse(_whole(interval * longer), interval))
        .cast("int64")
    )


def _rates(rules: schedule.AdaptiveSchedule, table: Any) -> tuple[Any, Any]:
    shorter, longer = _real(1 - rules.rates.shorter), _real(1 + rules.rates.longer)
    if not isinstance(rules, schedule.MimeAdaptiveSchedule) or not rules.by_media_type:
        return shorter, longer
    media_type = table.metadata.get(schedule.MEDIA_TYPE, "").re_extract(r"^\s*([^;]*?)\s*(;|$)", 1).lower()
    found = sorted(rules.by_media_type.items())
    return (
        _looked_up(media_type, [(name, _real(1 - rates.shorter)) for name, rates in found], shorter),
        _looked_up(media_type, [(name, _real(1 + rates.longer)) for name, rates in found], longer),
    )


def _bounds(rules: schedule.AdaptiveSchedule, table: Any) -> tuple[Any, Any, Any]:
    """Return the shortest and longest interval of a host, and the largest offset."""

    def by_host(value: Callable[[schedule.IntervalBounds], int]) -> Any:
        own = [(host, value(bounds)) for host, bounds in sorted(rules.host_bounds.items())]
        return _looked_up(table.host, own, value(rules.bounds)) if own else value(rules.bounds)

    return (
        by_host(lambda bounds: _seconds(bounds.low)),
        by_host(lambda bounds: _seconds(bounds.high)),
        by_host(lambda bounds: _seconds(rules.sync_rate * bounds.high)),
    )


def _fixed(table: Any) -> Any:
    text = table.metadata.get(FIXED_INTERVAL, "")
    number = text.re_search(schedule.FIXED_NUMBER).ifelse(text, "").try_cast("float64")
    return _whole(number)


def _interval(rules: schedule.Schedule, table: Any) -> Any:
    return (table.interval == 0).ifelse(_seconds(rules.default_interval), table.interval)


def _later(table: Any, seconds: Any) -> Any:
    from scoter.plugins.recorded import ibis

    number = ibis.literal(seconds) if isinstance(seconds, int) else seconds
    return table.fetched + number.cast("int64").as_interval("s")


def _real(number: float) -> Any:
    """Return a double: DuckDB reads a literal as a decimal, which multiplies differently."""
    from scoter.plugins.recorded import ibis

    return ibis.literal(repr(number)).cast("float64")


def _whole(seconds: Any) -> Any:
    """Return whole seconds, at most what the interval column can hold; null for null."""
    return (seconds >= _LONGEST).ifelse(_LONGEST, seconds.floor().cast("int64"))


def _looked_up(column: Any, values: Sequence[tuple[str, Any]], otherwise: Any) -> Any:
    """Look a text up in a sorted list of pairs, by bisection since lists of hosts may be long."""
    if len(values) <= 8:
        from scoter.plugins.recorded import ibis

        return ibis.cases(*((column == text, value) for text, value in values), else_=otherwise)
    middle = len(values) // 2
    return (column < values[middle][0]).ifelse(
        _looked_up(column, values[:middle], otherwise), _looked_up(column, values[middle:], otherwise)
    )
