"""protocolstats: count the outcomes of the fetches of segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.engine import Engine, source_of


def protocolstats(engine: Engine, segments: Sequence[Segment]) -> Iterator[dict[str, Any]]:
    """Yield status, reason and HTTP status of fetches with their count, most frequent first."""
    columns = ["status", "reason", "http_status"]
    fetches = engine.read(source_of(SegmentSources(segments).fetch, columns))
    found = fetches.group_by(columns).aggregate(fetches=fetches.count())
    yield from iter_rows(engine.batches(found.order_by([found.fetches.desc(), *columns])))
