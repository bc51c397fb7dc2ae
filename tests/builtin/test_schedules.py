from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scoter.builtin.schedules import MimeAdaptiveFetchSchedule
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.schedule import (
    AdaptiveSchedule,
    Change,
    IntervalBounds,
    IntervalRates,
    MimeAdaptiveSchedule,
    Schedule,
    parse_bounds,
    parse_rates,
)
from scoter.core.url import canonical
from scoter.errors import RuleError
from scoter.plugins import Setup, chain

URL = canonical("http://example.com/")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("default", Schedule), ("adaptive", AdaptiveSchedule), ("mime-adaptive", MimeAdaptiveSchedule)],
)
def test_schedule_is_chosen_by_name(name: str, expected: type[Schedule]) -> None:
    ((_, made),) = chain("schedule", load(overrides=[f"db.schedule={name}"]))

    assert type(made.rules) is expected


def test_schedules_are_equal_if_their_rules_are() -> None:
    def made(*overrides: str) -> Any:
        return chain("schedule", load(overrides=overrides))[0][1]

    assert made() == made()
    assert hash(made()) == hash(made())
    assert made() != made("db.fetch_interval_default=3d")
    assert made() != made("db.schedule=adaptive")
    assert made("db.schedule=adaptive") == made("db.schedule=adaptive")


def test_schedule_uses_the_settings() -> None:
    ((_, made),) = chain(
        "schedule",
        load(
            overrides=[
                "db.schedule=adaptive",
                "db.fetch_interval_default=3d",
                "db.fetch_schedule_adaptive_inc_rate=1.0",
                "db.fetch_schedule_adaptive_sync_delta=false",
            ]
        ),
    )
    datum = CrawlDatum(status=DbStatus.FETCHED)

    assert made.fetched(URL, datum, NOW, Change.NOTMODIFIED).interval == timedelta(days=6)
    assert made.first(datum, NOW).fetch_time == NOW
    assert made.retry(datum, NOW).retries == 1
    assert made.gone(datum, NOW).interval == timedelta(days=4.5)
    assert made.force(datum).status is DbStatus.UNFETCHED
    assert made.due(datum, NOW)[0]


def test_host_bounds_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("# busy\nexample.com 60 3600\nexample.org default 3600\nexample.net 120 0\n")
    overrides = [
        "db.schedule=adaptive",
        "db.fetch_schedule_adaptive_min_interval=90s",
        "db.fetch_schedule_adaptive_max_interval=7d",
        f'plugin.schedule-adaptive.host_file="{tmp_path}/hosts.txt"',
    ]

    ((_, made),) = chain("schedule", load(overrides=overrides))

    assert made.rules.host_bounds == {
        "example.com": IntervalBounds(timedelta(minutes=1), timedelta(hours=1)),
        "example.org": IntervalBounds(timedelta(seconds=90), timedelta(hours=1)),
        "example.net": IntervalBounds(timedelta(minutes=2), timedelta(days=7)),
    }


def test_shipped_rates_are_valid() -> None:
    made = MimeAdaptiveFetchSchedule(Setup(load()))

    assert isinstance(made.rules, MimeAdaptiveSchedule)
    assert made.rules.by_media_type["application/rss+xml"] == IntervalRates(0.2, 0.5)


@pytest.mark.parametrize(
    "line", ["text/html", "text/html a b", "html 0.4 0.2", "text/html 0.4 2", "text/html -1 0", "text/html nan 0"]
)
def test_invalid_line_of_rates_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(RuleError, match=r"^rates\.txt:2: "):
        parse_rates(["# rates", line], "rates.txt")


@pytest.mark.parametrize(
    "line",
    ["example.org 60", "example.org 90 60", "example.org 0 30", "example.org -1 60", "a/b 1 2", "example.org 1 inf"],
)
def test_invalid_line_of_bounds_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(RuleError, match=r"^hosts\.txt:1: "):
        parse_bounds([line], "hosts.txt")
