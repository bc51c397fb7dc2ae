"""The schedules of ``core.schedule`` as column expressions, for jobs over whole tables.

Each function returns what the method of its name changes, by column. The table has a datum's columns, ``fetched``,
``change`` and ``now``; intervals are whole seconds there.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from scoter.core.datum import FIXED_INTERVAL
from scoter.core.schedule import (
    FIXED_NUMBER,
    MEDIA_TYPE,
    RETRY_AFTER,
    AdaptiveSchedule,
    Bounds,
    MimeAdaptiveSchedule,
    Rates,
    Schedule,
    nine_tenths,
)

Columns = Mapping[str, Any]
_LONGEST = 2**31 - 1
_MICROSECONDS = 1_000_000


def first(rules: Schedule, table: Any) -> Columns:
    return {"fetch_time": table.now, "interval": seconds_of(rules.default_interval), "retries": 0}


def fetched(rules: Schedule, table: Any) -> Columns:
    if isinstance(rules, AdaptiveSchedule):
        return _adaptive(rules, table)
    return _after(rules, table, _interval(rules, table))


def retry(rules: Schedule, table: Any) -> Columns:
    return {"fetch_time": _later(table, seconds_of(RETRY_AFTER)), "retries": table.retries + 1}


def gone(rules: Schedule, table: Any) -> Columns:
    longer = _whole(_interval(rules, table) * _real(1.5))
    limit = seconds_of(nine_tenths(rules.max_interval))
    interval = (longer < rules.max_interval.total_seconds()).ifelse(longer, limit)
    return {"interval": interval, "fetch_time": _later(table, interval)}


def force(rules: Schedule, table: Any) -> Columns:
    limit = seconds_of(nine_tenths(rules.max_interval))
    return {
        "interval": (table.interval > rules.max_interval.total_seconds()).ifelse(limit, table.interval),
        "status": "unfetched",
        "retries": 0,
        "signature": None,
        "modified_time": None,
    }


def seconds_of(interval: timedelta) -> int:
    """Return an interval as its column holds it."""
    return math.floor(interval.total_seconds())


def _after(rules: Schedule, table: Any, interval: Any) -> Columns:
    """Return the plain schedule: again after an interval."""
    is_now = table.modified_time.isnull() | (table.change == "modified")
    return {
        "retries": 0,
        "interval": interval,
        "fetch_time": _later(table, interval),
        "modified_time": is_now.ifelse(table.fetched, table.modified_time),
    }


def _adaptive(rules: AdaptiveSchedule, table: Any) -> Columns:
    low, high, far = _bounds(rules, table)
    plain = _after(rules, table, _adapted(rules, table))
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


def _adapted(rules: AdaptiveSchedule, table: Any) -> Any:
    """Return the interval after a page did or did not change."""
    interval = _interval(rules, table)
    shorter, longer = _rates(rules, table)
    return (
        (table.change == "modified")
        .ifelse(_whole(interval * shorter), (table.change == "notmodified").ifelse(_whole(interval * longer), interval))
        .cast("int64")
    )


def _rates(rules: AdaptiveSchedule, table: Any) -> tuple[Any, Any]:
    shorter, longer = _real(1 - rules.rates.shorter), _real(1 + rules.rates.longer)
    if not isinstance(rules, MimeAdaptiveSchedule) or not rules.by_media_type:
        return shorter, longer
    told = table.metadata.get(MEDIA_TYPE, "").re_extract(r"^\s*([^;]*?)\s*(;|$)", 1).lower()
    found: Sequence[tuple[str, Rates]] = sorted(rules.by_media_type.items())
    return (
        _looked_up(told, [(name, _real(1 - rates.shorter)) for name, rates in found], shorter),
        _looked_up(told, [(name, _real(1 + rates.longer)) for name, rates in found], longer),
    )


def _bounds(rules: AdaptiveSchedule, table: Any) -> tuple[Any, Any, Any]:
    """Return the shortest and the longest interval of a host, and the offset of a page that is older."""

    def by_host(value: Callable[[Bounds], int]) -> Any:
        own = [(host, value(bounds)) for host, bounds in sorted(rules.host_bounds.items())]
        return _looked_up(table.host, own, value(rules.bounds)) if own else value(rules.bounds)

    return (
        by_host(lambda bounds: seconds_of(bounds.low)),
        by_host(lambda bounds: seconds_of(bounds.high)),
        by_host(lambda bounds: seconds_of(rules.sync_rate * bounds.high)),
    )


def _fixed(table: Any) -> Any:
    text = table.metadata.get(FIXED_INTERVAL, "")
    number = text.re_search(FIXED_NUMBER).ifelse(text, "").try_cast("float64")
    return _whole(number)


def _interval(rules: Schedule, table: Any) -> Any:
    return (table.interval == 0).ifelse(seconds_of(rules.default_interval), table.interval)


def _later(table: Any, seconds: Any) -> Any:
    import ibis

    number = ibis.literal(seconds) if isinstance(seconds, int) else seconds
    return table.fetched + number.cast("int64").as_interval("s")


def _real(number: float) -> Any:
    """Return a double: DuckDB takes a written number for a decimal, which is multiplied otherwise."""
    import ibis

    return ibis.literal(repr(number)).cast("float64")


def _whole(seconds: Any) -> Any:
    """Return whole seconds, at most what the interval column holds; nothing of nothing."""
    return (seconds >= _LONGEST).ifelse(_LONGEST, seconds.floor().cast("int64"))


def _looked_up(column: Any, values: Sequence[tuple[str, Any]], otherwise: Any) -> Any:
    """Return the value that stands beside a text in a sorted list; by halving, since lists of hosts may be long."""
    if len(values) <= 8:
        import ibis

        return ibis.cases(*((column == text, value) for text, value in values), else_=otherwise)
    middle = len(values) // 2
    return (column < values[middle][0]).ifelse(
        _looked_up(column, values[:middle], otherwise), _looked_up(column, values[middle:], otherwise)
    )
