"""generate: make segments of the URLs that are due.

1. The engine selects and orders candidates (``selection.py``); only the columns that the rules ask for are read.
2. The URL filters and the limits run down the candidates until there are enough (``picking.py``). Filters are pure, so
   that it does not matter that those further down are never asked.
3. The engine joins what was picked with the full records, and they are written as fetch lists (``packing.py``).

Nutch writes a mark into the crawldb, so that URLs of a segment which is being fetched are not generated again. Here the
segments themselves are the mark: with ``generate.update_crawldb``, URLs that stand in a segment which has not been
applied to the crawldb, and is younger than ``generate.mark_age``, are left out. The effect is the same; nothing is
rewritten, a kill leaves no mark without a segment, and removing a segment frees its URLs at once.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import ibis
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import SegmentInfo
from scoter.batch.fetchlists.candidates import (
    SORT_VALUE,
    Candidates,
    SelectionRules,
    next_due,
    select_candidates,
    with_due_column,
)
from scoter.batch.fetchlists.lists import process_count
from scoter.batch.fetchlists.picker import FetchListLimits, UrlPicker, save_picked
from scoter.batch.fetchlists.writer import write_segments
from scoter.batch.urls.chains import UrlChains
from scoter.config import Config
from scoter.core.datum import later
from scoter.core.expr import compile_expr
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import double
from scoter.errors import UsageError, typed
from scoter.plugins import chain
from scoter.store.disk import Scratch
from scoter.store.tables import Table
from scoter.store.tables.versions import CURRENT

SLACK, MORE, GROWTH = 1.2, 1_000, 4
"""Candidates asked for beyond those wanted, and how much more of them are asked for when filters drop too many."""


class GenerateResult(Struct, frozen=True, kw_only=True):
    """What was made: the segments with their URLs' number, and what was left out on the way."""

    segments: Mapping[str, int]
    known: int
    skipped: Mapping[str, int]
    """By reason; those that the engine tells apart are counted only when there is no segment to show for it."""
    next_due: datetime | None = None
    """When the next URL is due, if nothing was generated."""

    @property
    def urls(self) -> int:
        return sum(self.segments.values())


def generate(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    top_n: int | None = None,
    lists: int | None = None,
    max_segments: int = 1,
    add_days: int = 0,
    expr: str = "",
    filter: bool = True,  # noqa: A002 - as the option is called
    normalize: bool = False,
    force: bool = False,
    update_crawldb: bool | None = None,
) -> GenerateResult:
    """Make up to ``max_segments`` segments of at most ``top_n`` URLs each, and tell what was left out.

    ``add_days`` looks at the crawldb as it will be then. ``normalize`` brings URLs into another spelling to tell whose
    limit they count for, and does not change them. ``force`` takes URLs that wait in other segments all the same.
    """
    limits = limits_of(config, top_n=top_n, lists=lists, max_segments=max_segments)
    if not (crawl.crawldb / CURRENT).exists():
        hint = f"Add seed URLs first: scoter inject {typed(crawl.path)} URL"
        raise UsageError("there is no crawldb yet", where=str(crawl.path), hint=hint)
    scoring = chain("scoring", config)
    columns = schemas.plugin_columns(scoring)
    rules = SelectionRules(
        now=later(now, timedelta(days=min(add_days, timedelta.max.days))),
        schedule=chain("schedule", config)[0][1],
        scoring=scoring,
        extra=schemas.column_names(columns),
        expression=compile_expr(expr, schemas.expression_columns(columns)) if expr else None,
        status=config.generate.restrict_status,
        least_value=config.generate.min_score,
        longest_interval=config.generate.min_interval,
    )
    picker = UrlPicker(limits, UrlChains.of(config, "generate_host_count", filter=filter, normalize=normalize))
    marks = config.generate.update_crawldb if update_crawldb is None else update_crawldb
    with (
        closing(Scratch(crawl.scratch, "generate")) as scratch,
        Table.open(crawl.crawldb, schemas.CRAWLDB, extra=columns) as table,
    ):
        known = source_of(table, is_sorted=True)
        waiting = _waiting(crawl, engine, table, rules, config) if marks and not force else None
        rows = engine.read(known)
        selected = select_candidates(engine, rows, rules, waiting)
        picked = save_picked(_picked(engine, selected.candidates, picker, limits, table.manifest.rows), scratch.path)
        skipped = {"dropped by filters": picker.filtered, "over the limit of their host": picker.capped}
        if not picker.picked:
            return GenerateResult(
                segments={},
                known=table.manifest.rows,
                skipped=_present({**_counted(engine, selected, table.manifest.rows), **skipped}),
                next_due=_one(engine, next_due(rows, rules)),
            )
        found = engine.read(picked)
        full = with_due_column(engine, found.join(rows, found.picked_url == rows.url), rules)
        about = SegmentInfo(created=now, lists=limits.lists, urls=0, partition=limits.partition)
        segments = write_segments(crawl, engine, full, columns, about, now, scratch.path)
        return GenerateResult(segments=segments, known=table.manifest.rows, skipped=_present(skipped))


def limits_of(
    config: Config,
    *,
    top_n: int | None = None,
    lists: int | None = None,
    max_segments: int = 1,
    is_capped: bool = True,
) -> FetchListLimits:
    """Return how many URLs may be picked, and how they are dealt out."""
    for name, value in (("--top-n", top_n), ("--fetchers", lists), ("--max-segments", max_segments)):
        if value is not None and value < 1:
            raise UsageError(f"must be at least 1, not {value}", where=name)
    settings = config.generate
    by_address = settings.partition_mode == "ip"
    return FetchListLimits(
        top_n=top_n,
        segments=max_segments,
        max_count=settings.max_count if is_capped else None,
        count_mode=settings.count_mode,
        partition=settings.partition_mode,
        lists=1 if by_address else lists or process_count(config),
    )


def _waiting(crawl: CrawlDir, engine: Engine, table: Table, rules: SelectionRules, config: Config) -> Rows | None:
    """Return the URLs of segments that an update has still to see."""
    young = [
        segment
        for segment in crawl.all_segments()
        if not segment.is_in(table.manifest.applied)
        and later(segment.about().created, config.generate.mark_age) > rules.now
    ]
    files = tuple(file for segment in young for file in segment.crawl_generate().files)
    schema = pa.schema([schemas.CRAWL_GENERATE.field("url")])
    return engine.read(TableSource(files=files, schema=schema, defaults={})) if files else None


def _picked(engine: Engine, rows: Rows, picker: UrlPicker, limits: FetchListLimits, most: int) -> Iterator[Any]:
    """Yield what is picked, running down the candidates, of which there are so many at most, until it is enough."""
    if limits.total is None and limits.max_count is None:
        # All of them are taken, so that nobody would see the order.
        yield from map(picker.pick, engine.batches(rows.select("url", "key", "host")))
        return
    if limits.total is None:
        yield from map(picker.pick, engine.batches(_ordered(rows)))
        return
    size, seen = int(limits.total * SLACK) + MORE, 0
    while True:
        got = 0
        best = _best(engine, rows, seen + size) if seen + size < most else rows
        for batch in engine.batches(_ordered(best).limit(size, offset=seen)):
            got += batch.num_rows
            yield picker.pick(batch)
            if picker.is_full:
                return
        if got < size:
            return
        seen, size = seen + size, size * GROWTH


def _ordered(rows: Rows) -> Rows:
    return rows.select("url", "key", "host", SORT_VALUE).order_by([ibis.desc(SORT_VALUE), "key", "url"])


def _best(engine: Engine, rows: Rows, wanted: int) -> Rows:
    """Return rows among which are the best, and not many others unless values are equal.

    Values alone are quickly sorted; URLs and their keys are not, and fill the memory.
    """
    values = rows.select(SORT_VALUE)
    last = engine.batches(values.order_by(values[SORT_VALUE].desc()).limit(1, offset=wanted - 1))
    edge = next((batch.column(0)[0].as_py() for batch in last if batch.num_rows), None)
    return rows if edge is None else rows.filter(rows[SORT_VALUE] >= double(edge))


def _counted(engine: Engine, selected: Candidates, known: int) -> dict[str, int]:
    """Return how many URLs each rule left out."""
    counts, before = {}, known
    for reason, rows in selected.left:
        left = _one(engine, rows.aggregate(left=rows.count()))
        counts[reason] = before - left
        before = left
    return counts


def _one(engine: Engine, rows: Rows) -> Any:
    """Return the one value of one row."""
    return next(batch.column(0)[0].as_py() for batch in engine.batches(rows) if batch.num_rows)


def _present(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in counts.items() if count}
