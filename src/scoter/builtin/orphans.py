"""The scoring filter orphan: pages that nothing links to any more are first gone, then orphans.

The filter keeps the time of the last update in which something linked to a URL. A URL that never had an inlink, such as
a seed, has no such time and keeps its status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from scoter.core.datum import CrawlDatum, DbStatus, short_name
from scoter.core.url import Url
from scoter.plugins import Column, PluginValue, Setup

LINKED_TIME: Final = "linked_time"
_GONE, _ORPHAN = short_name(DbStatus.GONE), short_name(DbStatus.ORPHAN)


class OrphanScoring(PluginValue):
    """Marks pages without inlinks as gone, and later as orphans."""

    columns = (Column(LINKED_TIME, "timestamp[us, UTC]", merge="max"),)

    def __init__(self, setup: Setup) -> None:
        scoring = setup.config.scoring
        self._gone_after = scoring.orphan_mark_gone_after
        self._orphan_after = scoring.orphan_mark_orphan_after

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        if links:
            return replace(new, extra={**new.extra, LINKED_TIME: now})
        times = [each.extra[LINKED_TIME] for each in (old, new) if each is not None and LINKED_TIME in each.extra]
        if not times:
            return new
        # The record of a fetch is as old as its fetch list; the crawldb may know better.
        return self.orphaned(url, replace(new, extra={**new.extra, LINKED_TIME: max(times)}), now)

    def update_columns(self, table: Any) -> Mapping[str, Any]:
        before, listed = table.old_linked_time, table.linked_time
        last = (before > listed).ifelse(before, listed).coalesce(listed).coalesce(before)
        is_linked = table.link_score.notnull()
        return {
            LINKED_TIME: is_linked.ifelse(table.now, last),
            "status": is_linked.ifelse(table.status, self._status(table, last)),
        }

    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        last = datum.extra.get(LINKED_TIME)
        if last is None:
            return datum
        if now - last > self._orphan_after:
            return replace(datum, status=DbStatus.ORPHAN)
        return replace(datum, status=DbStatus.GONE) if now - last > self._gone_after else datum

    def orphaned_columns(self, table: Any) -> Mapping[str, Any]:
        return {"status": self._status(table, table.linked_time)}

    def _status(self, table: Any, last: Any) -> Any:
        """Return the status by the time since the last inlink; a comparison with null counts as false."""
        gone = (last < _before(table, self._gone_after)).ifelse(_GONE, table.status)
        return (last < _before(table, self._orphan_after)).ifelse(_ORPHAN, gone)


def _before(table: Any, span: timedelta) -> Any:
    from scoter.plugins.recorded import ibis

    return table.now - ibis.literal(span // timedelta(microseconds=1), type="int64").as_interval("us")
