"""The scoring filters by links: OPIC, link and depth."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from scoter.core.datum import CrawlDatum
from scoter.core.page import Outlink, Page
from scoter.core.pattern import compile_pattern
from scoter.core.scoring import DEPTH, MAX_DEPTH, SEED_DEPTH, OpicRules, SeedDistance, closest, opic_score
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.plugins import Column, PluginValue, Setup

_LARGEST = sys.float_info.max

SEED_LIMIT = "_maxdepth_"
"""Metadata key with which a seed limits the depth of its links."""


class _ByScore(PluginValue):
    """New URLs have the score 0, and those with a high score are fetched first."""

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=0.0)

    def initial_columns(self, table: Any) -> Mapping[str, Any]:
        return {"score": 0.0}

    def sort_value(self, url: Url, datum: CrawlDatum, value: float) -> float:
        return datum.score * value

    def sort_value_columns(self, table: Any) -> Any:
        return table.sort_value * table.score


class OpicScoring(_ByScore):
    """Distributes the score of a page among the pages it links to."""

    def __init__(self, setup: Setup) -> None:
        db, index = setup.config.db, setup.config.index
        self._rules = OpicRules(
            internal=db.score_link_internal,
            external=db.score_link_external,
            count_filtered=db.score_count_filtered,
            index_power=index.score_power,
        )

    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]:
        return self._rules.distribute(datum.score, url.host, targets, found)

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        return replace(new, score=opic_score(old, new, links))

    def update_columns(self, table: Any) -> Mapping[str, Any]:
        before = table.old_score.coalesce(table.score)
        total = (before.abs() <= _LARGEST).ifelse(before, 0.0) + table.link_score.coalesce(0.0)
        return {"score": (total.abs() <= _LARGEST).ifelse(total, _LARGEST)}

    def index(self, url: Url, datum: CrawlDatum, boost: float) -> float:
        return self._rules.boost(datum.score, boost)

    def index_columns(self, table: Any) -> Any:
        return table.boost * table.score.clip(lower=0.0) ** self._rules.index_power


class LinkScoring(_ByScore):
    """Uses the ranks that `scoter scoreupdater` wrote to the crawldb; an update does not change them."""

    def __init__(self, setup: Setup) -> None:
        pass

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        return new if old is None else replace(new, score=old.score)

    def update_columns(self, table: Any) -> Mapping[str, Any]:
        return {"score": table.old_score.coalesce(table.score)}

    def index(self, url: Url, datum: CrawlDatum, boost: float) -> float:
        return boost * datum.score

    def index_columns(self, table: Any) -> Any:
        return table.boost * table.score


class DepthScoring(PluginValue):
    """Counts the links from the seed to a page and drops the links of pages at their limit."""

    columns = (Column(DEPTH, "int32", merge="min"), Column(MAX_DEPTH, "int32", merge="max"))

    def __init__(self, setup: Setup) -> None:
        scoring = setup.config.scoring
        self._limit = scoring.depth_max
        self._override = scoring.depth_max_override
        self._pattern = None
        if scoring.depth_override_pattern:
            try:
                self._pattern = compile_pattern(scoring.depth_override_pattern)
            except ValueError as error:
                raise ConfigError(f"the pattern {error}", where="scoring.depth_override_pattern") from error

    def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        own = datum.metadata.get(SEED_LIMIT, "")
        limit = int(own) if own.isascii() and own.isdigit() and len(own) < 10 else self._limit
        return self._write(datum, SeedDistance(SEED_DEPTH, limit))

    def sort_value(self, url: Url, datum: CrawlDatum, value: float) -> float:
        return (self._read(datum) or SeedDistance(self._limit, self._limit)).sort_value(value)

    def sort_value_columns(self, table: Any) -> Any:
        # A page of unknown depth counts as being at its limit.
        limit = table.max_depth.coalesce(self._limit)
        return table.sort_value * (1 + limit - table.depth.coalesce(limit))

    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]:
        own = self._read(datum)
        if own is None:  # no seed leads here
            return ()
        overridden = self._override is not None and self._pattern is not None and self._pattern.found(url.text)
        return own.distribute(targets, self._override if overridden else None)

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        before = (None if old is None else self._read(old)) or self._read(new)
        merged = closest(before, filter(None, map(self._read, links)))
        return new if merged is None else self._write(new, merged)

    def update_columns(self, table: Any) -> Mapping[str, Any]:
        known, linked = table.old_depth.coalesce(table.depth), table.link_depth
        limit, linked_limit = table.old_max_depth.coalesce(table.max_depth), table.link_max_depth
        shallowest = (linked < known).ifelse(linked, known)
        widest = (linked_limit > limit).ifelse(linked_limit, limit)
        return {
            DEPTH: shallowest.coalesce(known).coalesce(linked),
            MAX_DEPTH: widest.coalesce(limit).coalesce(linked_limit),
        }

    def _read(self, datum: CrawlDatum) -> SeedDistance | None:
        found = datum.extra.get(DEPTH)
        if found is None:
            return None
        limit = datum.extra.get(MAX_DEPTH)
        return SeedDistance(found, self._limit if limit is None else limit)

    @staticmethod
    def _write(datum: CrawlDatum, value: SeedDistance) -> CrawlDatum:
        return replace(datum, extra={**datum.extra, DEPTH: value.depth, MAX_DEPTH: value.limit})
