"""Fetch schedules: default, adaptive, mime-adaptive."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from scoter.builtin import schedule_columns
from scoter.builtin.rulefiles import read_rules
from scoter.config import Setting
from scoter.core.datum import CrawlDatum
from scoter.core.schedule import (
    AdaptiveSchedule,
    Bounds,
    Change,
    MimeAdaptiveSchedule,
    Rates,
    Schedule,
    parse_bounds,
    parse_rates,
)
from scoter.core.url import Url
from scoter.plugins import Setup


class _Scheduled:
    """Schedules by the rules of ``core.schedule``."""

    def __init__(self, rules: Schedule) -> None:
        self.rules = rules

    def first(self, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        return self.rules.first(datum, now)

    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: Change) -> CrawlDatum:
        return self.rules.fetched(url, datum, fetched, change)

    def retry(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        return self.rules.retry(datum, fetched)

    def gone(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum:
        return self.rules.gone(datum, fetched)

    def force(self, datum: CrawlDatum) -> CrawlDatum:
        return self.rules.force(datum)

    def due(self, datum: CrawlDatum, now: datetime) -> tuple[bool, CrawlDatum]:
        return self.rules.due(datum, now)

    def first_columns(self, table: Any) -> Mapping[str, Any]:
        return schedule_columns.first(self.rules, table)

    def fetched_columns(self, table: Any) -> Mapping[str, Any]:
        return schedule_columns.fetched(self.rules, table)

    def retry_columns(self, table: Any) -> Mapping[str, Any]:
        return schedule_columns.retry(self.rules, table)

    def gone_columns(self, table: Any) -> Mapping[str, Any]:
        return schedule_columns.gone(self.rules, table)

    def force_columns(self, table: Any) -> Mapping[str, Any]:
        return schedule_columns.force(self.rules, table)


class DefaultFetchSchedule(_Scheduled):
    """Fetches every page again after its interval."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(Schedule(**_common(setup)))


class HostBounds(Struct, frozen=True):
    """What the adaptive schedules take beyond Nutch's settings."""

    host_file: Annotated[
        Path | None, Setting("Hosts with a shortest and a longest interval of their own, in seconds.", none="")
    ] = None


class AdaptiveFetchSchedule(_Scheduled):
    """Fetches pages that change more often, and others less."""

    Settings = HostBounds

    def __init__(self, setup: Setup) -> None:
        super().__init__(AdaptiveSchedule(**_adaptive(setup, "plugin.schedule-adaptive.host_file")))


class MimeAdaptiveFetchSchedule(_Scheduled):
    """The adaptive schedule with rates for each media type."""

    Settings = HostBounds

    def __init__(self, setup: Setup) -> None:
        file = read_rules(
            setup.config.db.fetch_schedule_mime_file, "db.fetch_schedule_mime_file", "adaptive-mimetypes.txt"
        )
        rates = parse_rates(file.lines, file.source)
        adaptive = _adaptive(setup, "plugin.schedule-mime-adaptive.host_file")
        super().__init__(MimeAdaptiveSchedule(**adaptive, by_media_type=rates))


def _common(setup: Setup) -> dict[str, Any]:
    db = setup.config.db
    return {"default_interval": db.fetch_interval_default, "max_interval": db.fetch_interval_max}


def _adaptive(setup: Setup, setting: str) -> dict[str, Any]:
    db = setup.config.db
    bounds = Bounds(db.fetch_schedule_adaptive_min_interval, db.fetch_schedule_adaptive_max_interval)
    host_bounds = {}
    if setup.settings is not None and setup.settings.host_file is not None:
        file = read_rules(setup.settings.host_file, setting)
        host_bounds = dict(parse_bounds(file.lines, file.source, bounds))
    return _common(setup) | {
        "rates": Rates(db.fetch_schedule_adaptive_inc_rate, db.fetch_schedule_adaptive_dec_rate),
        "bounds": bounds,
        "sync": db.fetch_schedule_adaptive_sync_delta,
        "sync_rate": db.fetch_schedule_adaptive_sync_delta_rate,
        "host_bounds": host_bounds,
    }
