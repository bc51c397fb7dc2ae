"""Ask segment merge filters which pages to keep, one page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir.schemas import FETCH_STATUSES, column_names, datum_of, url_of
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.errors import PluginError, UserError
from scoter.plugins import Column, MergedPage, SegmentMergeFilter

KEPT = pa.schema([("url", pa.utf8())])
"""The URLs that all filters keep."""

Filters = Sequence[tuple[str, SegmentMergeFilter]]


def merge_verdicts(
    engine: Engine,
    fetches: Rows,
    pages: Rows,
    texts: Rows,
    filters: Filters,
    segments: Sequence[str],
    extra: Sequence[Column],
) -> Rows:
    """Return the URLs of the fetches that all filters keep.

    ``fetches`` have the columns ``was``, the URL before it was normalised, and ``segment``, a number that stands for a
    name in ``segments``. Pages and texts have that number, too.
    """
    page = pages.select(
        p_url="url",
        p_segment="segment",
        p_status="parse_status",
        p_title="title",
        p_language="language",
        p_metadata="metadata",
    )
    text = texts.select(t_url="url", t_segment="segment", t_text="text")
    rows = fetches.left_join(page, [fetches.was == page.p_url, fetches.segment == page.p_segment])
    rows = rows.left_join(text, [rows.was == text.t_url, rows.segment == text.t_segment])
    names = column_names(extra)

    def kept(batch: Any) -> Any:
        found = [row["url"] for row in batch.to_pylist() if _is_kept(_page(row, segments, names), filters)]
        return pa.RecordBatch.from_pydict({"url": found}, schema=KEPT)

    return engine.map_batches(rows, kept, KEPT)


def _page(row: Mapping[str, Any], segments: Sequence[str], names: Sequence[str]) -> MergedPage:
    return MergedPage(
        url=url_of(row),
        datum=datum_of(row, FETCH_STATUSES, names),
        segment=segments[row["segment"]],
        http_status=row["http_status"],
        content_type=row["content_type"] or "",
        parse_status=row["p_status"] or "",
        title=row["p_title"] or "",
        text=row["t_text"] or "",
        language=row["p_language"] or "",
        metadata=dict(row["p_metadata"] or ()),
    )


def _is_kept(page: MergedPage, filters: Filters) -> bool:
    for name, each in filters:
        try:
            if not each.keeps(page):
                return False
        except UserError:
            raise
        except Exception as error:  # whatever somebody else's plug-in raises
            raise PluginError(
                f"segmentmergefilter-{name} failed: {type(error).__name__}: {error}",
                where=page.url.text,
                hint=f"Fix the plug-in, or remove {name!r} from db.segment_merge_filters.",
            ) from error
    return True
