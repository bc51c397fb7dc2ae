"""The schedules: rules by example, invariants by property tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scoter.core.datum import EPOCH, FIXED_INTERVAL, CrawlDatum, DbStatus
from scoter.core.page import EMPTY
from scoter.core.schedule import (
    MEDIA_TYPE,
    AdaptiveSchedule,
    Change,
    IntervalBounds,
    IntervalRates,
    MimeAdaptiveSchedule,
    Schedule,
    fixed_interval,
    last_fetch,
)
from scoter.core.url import canonical

URL = canonical("http://example.com/")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def record(
    interval: timedelta = 10 * DAY, modified: datetime | None = None, metadata: Mapping[str, str] = EMPTY
) -> CrawlDatum:
    return CrawlDatum(
        status=DbStatus.FETCHED,
        fetch_time=NOW,
        interval=interval,
        modified_time=modified,
        retries=2,
        metadata=metadata,
    )


def test_new_url_is_due_immediately() -> None:
    first = Schedule().first(record(), NOW)

    assert (first.fetch_time, first.interval, first.retries) == (NOW, 30 * DAY, 0)
    assert Schedule().due(first, NOW)[0]


def test_default_schedule_keeps_the_interval() -> None:
    for change in Change:
        result = Schedule().fetched(URL, record(modified=NOW - DAY), NOW, change)

        assert (result.interval, result.fetch_time, result.retries) == (10 * DAY, NOW + 10 * DAY, 0)
        assert result.modified_time == (NOW if change is Change.MODIFIED else NOW - DAY)
    assert Schedule().fetched(URL, record(timedelta(0)), NOW, Change.UNKNOWN).interval == 30 * DAY
    assert Schedule().fetched(URL, record(), NOW, Change.UNKNOWN).modified_time == NOW


def test_failure_is_retried_after_a_day() -> None:
    result = Schedule().retry(record(), NOW)

    assert (result.fetch_time, result.retries, result.interval) == (NOW + DAY, 3, 10 * DAY)


@pytest.mark.parametrize(("before", "after"), [(10, 15), (59, 88.5), (60, 81), (400, 81), (0, 45)])
def test_interval_of_gone_page_grows_up_to_the_maximum(before: float, after: float) -> None:
    result = Schedule().gone(record(before * DAY), NOW)

    assert (result.interval, result.fetch_time) == (after * DAY, NOW + after * DAY)


def test_forced_page_loses_its_signature_and_excess_interval() -> None:
    forced = Schedule().force(replace(record(100 * DAY, NOW), signature=b"x"))

    assert (forced.status, forced.retries, forced.signature, forced.modified_time) == (
        DbStatus.UNFETCHED,
        0,
        None,
        None,
    )
    assert forced.interval == 81 * DAY
    assert Schedule().force(record(5 * DAY)).interval == 5 * DAY


def test_fetch_time_too_far_ahead_is_reset_to_now() -> None:
    far = replace(record(200 * DAY), fetch_time=NOW + 91 * DAY)
    near = replace(far, fetch_time=NOW + 90 * DAY)

    assert Schedule().due(far, NOW) == (True, replace(far, fetch_time=NOW, interval=81 * DAY))
    assert Schedule().due(near, NOW) == (False, near)


def test_last_fetch_is_derived_from_the_next_one() -> None:
    assert last_fetch(record(3 * DAY)) == NOW - 3 * DAY
    assert last_fetch(replace(record(), status=DbStatus.UNFETCHED)) == EPOCH


def test_adaptive_schedule_changes_interval_by_change() -> None:
    schedule = AdaptiveSchedule(sync=False)

    assert schedule.fetched(URL, record(), NOW, Change.MODIFIED).interval == 8 * DAY
    assert schedule.fetched(URL, record(), NOW, Change.NOTMODIFIED).interval == 14 * DAY
    assert schedule.fetched(URL, record(), NOW, Change.UNKNOWN).interval == 10 * DAY


def test_sync_moves_the_next_fetch_towards_the_last_change() -> None:
    # given a page unchanged for 20 days, with an interval of 10
    result = AdaptiveSchedule().fetched(URL, record(modified=NOW - 20 * DAY), NOW, Change.UNKNOWN)

    # then the interval grows to the 20 days, and the next fetch is 30 % of them earlier
    assert result.interval == 20 * DAY
    assert result.fetch_time == NOW + 14 * DAY
    assert result.modified_time == NOW - 20 * DAY


def test_sync_offset_of_old_page_is_limited_by_the_longest_interval() -> None:
    result = AdaptiveSchedule().fetched(URL, record(modified=NOW - 4000 * DAY), NOW, Change.UNKNOWN)

    assert result.interval == 365 * DAY
    assert result.fetch_time == NOW + 0.7 * 365 * DAY


def test_fixed_interval_overrides_the_schedule() -> None:
    result = AdaptiveSchedule().fetched(URL, record(metadata={FIXED_INTERVAL: "5"}), NOW, Change.NOTMODIFIED)

    assert (result.interval, result.fetch_time) == (timedelta(seconds=5), NOW + timedelta(seconds=5))


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan"])
def test_invalid_fixed_interval_is_ignored(text: str) -> None:
    assert fixed_interval(record(metadata={FIXED_INTERVAL: text})) is None


def test_host_bounds_apply_to_that_host_only() -> None:
    schedule = AdaptiveSchedule(sync=False, host_bounds={"example.com": IntervalBounds(HOUR, 2 * HOUR)})

    assert schedule.fetched(URL, record(), NOW, Change.UNKNOWN).interval == 2 * HOUR
    assert schedule.fetched(canonical("http://other.example/"), record(), NOW, Change.UNKNOWN).interval == 10 * DAY


def test_mime_schedule_has_rates_by_media_type() -> None:
    schedule = MimeAdaptiveSchedule(sync=False, by_media_type={"text/html": IntervalRates(longer=1.0, shorter=0.5)})

    html = record(metadata={MEDIA_TYPE: "Text/HTML; charset=utf-8"})
    assert schedule.fetched(URL, html, NOW, Change.NOTMODIFIED).interval == 20 * DAY
    assert schedule.fetched(URL, html, NOW, Change.MODIFIED).interval == 5 * DAY
    assert schedule.fetched(URL, record(), NOW, Change.NOTMODIFIED).interval == 14 * DAY


INTERVALS = st.integers(0, 2**31 - 1).map(lambda seconds: timedelta(seconds=seconds))
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
CHANGES = st.sampled_from(Change)
RATES = st.builds(IntervalRates, st.floats(0, 10), st.floats(0, 1))
ADAPTIVE = st.builds(
    lambda rates, low, span, rate: AdaptiveSchedule(
        rates=rates, bounds=IntervalBounds(low, low + span), sync_rate=rate
    ),
    RATES,
    st.integers(1, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    st.integers(0, 10**9).map(lambda seconds: timedelta(seconds=seconds)),
    st.floats(0, 1),
)


@given(ADAPTIVE, INTERVALS, st.none() | MOMENTS, MOMENTS, CHANGES)
def test_next_fetch_is_neither_in_the_past_nor_beyond_the_bounds(
    schedule: AdaptiveSchedule, interval: timedelta, modified: datetime | None, fetched: datetime, change: Change
) -> None:
    result = schedule.fetched(URL, record(interval, modified), fetched, change)

    assert result.fetch_time >= fetched
    assert result.fetch_time <= fetched + result.interval
    assert schedule.bounds.low <= result.interval <= schedule.bounds.high
    assert result.interval.microseconds == 0


@given(INTERVALS, MOMENTS, st.floats(0, 5), st.floats(0, 5))
def test_unchanged_page_waits_longer_with_a_higher_rate(
    interval: timedelta, fetched: datetime, one: float, other: float
) -> None:
    low, high = sorted((one, other))

    def after(rate: float) -> timedelta:
        schedule = AdaptiveSchedule(rates=IntervalRates(longer=rate), sync=False)
        return schedule.fetched(URL, record(interval), fetched, Change.NOTMODIFIED).interval

    assert after(low) <= after(high)


@given(INTERVALS, MOMENTS, st.floats(0, 1), st.floats(0, 1))
def test_changed_page_is_fetched_sooner_with_a_higher_rate(
    interval: timedelta, fetched: datetime, one: float, other: float
) -> None:
    low, high = sorted((one, other))

    def after(rate: float) -> timedelta:
        schedule = AdaptiveSchedule(rates=IntervalRates(shorter=rate), sync=False)
        return schedule.fetched(URL, record(interval), fetched, Change.MODIFIED).interval

    assert after(high) <= after(low)


@given(INTERVALS, MOMENTS, CHANGES, st.sampled_from([Schedule(), AdaptiveSchedule(), MimeAdaptiveSchedule()]))
def test_every_scheduled_time_can_be_stored(
    interval: timedelta, fetched: datetime, change: Change, schedule: Schedule
) -> None:
    datum = record(interval, fetched + 400 * DAY)

    for result in (
        schedule.fetched(URL, datum, fetched, change),
        schedule.retry(datum, fetched),
        schedule.gone(datum, fetched),
        schedule.due(datum, fetched)[1],
    ):
        assert timedelta(0) <= result.interval <= timedelta(seconds=2**31 - 1)
        assert result.fetch_time.tzinfo is UTC
