"""generate: make segments of the URLs that are due.

1. The engine selects and orders candidates (``fetchlists/candidates.py``), reading only the columns it needs.
2. URL filters and limits process the candidates in order until there are enough (``fetchlists/picker.py``).
3. The engine joins the picked URLs with their full records, which become fetch lists (``fetchlists/writer.py``).

Nutch marks generated URLs in the crawldb, so that they are not generated again while they are being fetched. Here the
segments themselves are the mark: with ``generate.update_crawldb``, URLs are skipped if they are in a segment that is
younger than ``generate.mark_age`` and not in the crawldb yet. The effect is the same, but the crawldb is not rewritten,
a killed job leaves no marks, and removing a segment releases its URLs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import open_crawldb
from scoter.batch.crawldir.directory import HOLDS, CrawlDir
from scoter.batch.crawldir.export import only_row
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
from scoter.batch.fetchlists.picker import IS_NEW, FetchListLimits, QueueLoad, UrlPicker, save_picked, with_lists
from scoter.batch.fetchlists.traps import TrapHost, open_traps
from scoter.batch.fetchlists.writer import write_segments
from scoter.batch.hosts.host_limits import DELAY, LIMIT, host_choices
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.refusals import note_settings
from scoter.config import Config
from scoter.core.datum import DbStatus, later, short_name
from scoter.core.expr import compile_expr
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import double
from scoter.errors import UsageError
from scoter.fetch.queues.policy import policies_of
from scoter.plugins import chain
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.tables import Table

ON_HOLD = "of hosts on hold"
SLACK, EXTRA, GROWTH = 1.2, 1_000, 4
"""How many more candidates than wanted are read, and how that grows when filters drop too many."""


class GenerateResult(Struct, frozen=True, kw_only=True):
    """The new segments with their number of URLs, and the number of URLs skipped."""

    segments: Mapping[str, int]
    known: int
    skipped: Mapping[str, int]
    """By reason; the selection rules are counted only if no segment was made."""
    next_due: datetime | None = None
    """When the next URL is due, if no segment was made."""
    traps: tuple[TrapHost, ...] = ()
    """Possible crawler traps whose URLs were held back."""
    deferred: Mapping[str, datetime] = {}
    """Hosts on hold whose URLs were skipped, and until when."""
    slowest: QueueLoad | None = None
    """The host whose delays take longest, if URLs were counted by host."""
    filtered: int = 0
    """URLs that are due, but that the filters drop; ``a_filtered`` is one of them."""
    a_filtered: str = ""

    @property
    def urls(self) -> int:
        return sum(self.segments.values())


class GenerateOptions(Struct, frozen=True, kw_only=True):
    """Which URLs are selected besides what the configuration says, and into how many segments and lists.

    - ``top_n``: the most URLs of a segment
    - ``add_days``: also URLs that are due within so many days
    - ``expr``: only URLs for which this expression is true
    - ``normalize``: decides which host's limit a URL counts towards; it does not change the URL
    - ``force``: also URLs that wait in other segments
    - ``hostdb``: leave out dead hosts; ``generate.max_count_expr`` and ``generate.fetch_delay_expr`` use it, too
    """

    top_n: int | None = None
    lists: int | None = None
    max_segments: int = 1
    add_days: int = 0
    expr: str = ""
    filter: bool = True
    normalize: bool = False
    force: bool = False
    hostdb: bool = False


def generate(
    crawl: CrawlDir, engine: Engine, config: Config, *, now: datetime, options: GenerateOptions | None = None
) -> GenerateResult:
    """Make segments of the URLs that are due."""
    wanted = options or GenerateOptions()
    limits = limits_of(
        config,
        top_n=wanted.top_n,
        lists=wanted.lists,
        max_segments=wanted.max_segments,
        held=_held(crawl, config, now),
    )
    scoring = chain("scoring", config)
    columns = schemas.plugin_columns(scoring)
    rules = SelectionRules(
        now=later(now, timedelta(days=min(wanted.add_days, timedelta.max.days))),
        schedule=chain("schedule", config)[0][1],
        scoring=scoring,
        extra=schemas.column_names(columns),
        expression=compile_expr(wanted.expr, schemas.expression_columns(columns)) if wanted.expr else None,
        status=config.generate.restrict_status,
        min_value=config.generate.min_score,
        max_interval=config.generate.max_interval,
        marks=note_settings(crawl, config),
    )
    traps = open_traps(crawl, config, now)
    chains = UrlChains.from_config(config, "generate_host_count", filter=wanted.filter, normalize=wanted.normalize)
    picker = UrlPicker(limits, chains, traps)
    marks = config.generate.update_crawldb and not wanted.force
    with (
        open_crawldb(crawl, config) as table,
        host_choices(crawl, engine, config, now=now, wanted=wanted.hostdb) as hosts,
        Scratch(crawl.scratch, "generate") as scratch,
    ):
        known = source_of(table, is_sorted=True)
        waiting = _waiting(crawl, engine, table, rules, config) if marks else None
        rows = engine.read(known)
        selected = select_candidates(engine, rows, rules, waiting, None if hosts is None else hosts.rows)
        total = table.manifest.rows
        candidates = selected.rows
        if traps is not None:
            candidates = candidates.mutate(**{IS_NEW: candidates.status == short_name(DbStatus.UNFETCHED)})
        picked = save_picked(_picked(engine, candidates, picker, limits, total), scratch.path)
        skipped = Counter({"dropped by filters": picker.filtered, "over the limit of their host": picker.capped})
        skipped["held back as possible traps"] = 0 if traps is None else traps.held
        skipped["of a calendar that is tried a few pages at a time"] = 0 if traps is None else traps.waiting
        skipped[ON_HOLD] = picker.on_hold
        held, deferred = () if traps is None else traps.hosts(), picker.deferred
        if not picker.picked:
            due = only_row(engine.batches(next_due(rows, rules)))["next_due"]
            skipped = _count_skipped(engine, selected, total) + skipped
            return GenerateResult(
                segments={},
                known=total,
                skipped=skipped,
                next_due=due,
                traps=held,
                deferred=deferred,
                filtered=picker.filtered,
                a_filtered=picker.a_filtered,
            )
        buckets = picker.buckets()
        found = with_lists(engine, engine.read(picked), buckets, scratch.path)
        full = with_due_column(engine, found.join(rows, found.picked_url == rows.url), rules)
        if hosts is not None:
            delays = hosts.rows.select(hostdb_host="url", **{DELAY: hosts.rows[DELAY]})
            full = full.left_join(delays, full.host == delays.hostdb_host)
        info = SegmentInfo(created=now, lists=limits.lists, urls=0, partition=limits.partition)
        segments = write_segments(crawl, engine, full, columns, info, scratch.path, buckets)
        if traps is not None:
            traps.save_probes(crawl)
        slowest = picker.slowest(policies_of(config.fetch))
        return GenerateResult(
            segments=segments,
            known=total,
            skipped=+skipped,
            traps=held,
            deferred=deferred,
            slowest=slowest,
            filtered=picker.filtered,
            a_filtered=picker.a_filtered,
        )


def limits_of(
    config: Config,
    *,
    top_n: int | None = None,
    lists: int | None = None,
    max_segments: int = 1,
    is_capped: bool = True,
    held: Mapping[str, datetime] | None = None,
) -> FetchListLimits:
    """Return the limits of the configuration and the options."""
    for name, value in (("--top-n", top_n), ("--lists", lists), ("--max-segments", max_segments)):
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
        held=held or {},
        queue_mode=config.fetch.queue_mode,
    )


def _held(crawl: CrawlDir, config: Config, now: datetime) -> dict[str, datetime]:
    """Return the hosts that are on hold for longer than a fetch would wait for them."""
    # Queues by IP address are not known here; a fetch defers them.
    if config.fetch.queue_mode == "ip":
        return {}
    longest = config.fetch.max_hold.total_seconds()
    with crawl.shared_file(HOLDS, publish=False) as file:
        if not file.exists():
            return {}
        with SqliteHostHolds(file, clock=now.timestamp) as holds:
            return {
                each.host: datetime.fromtimestamp(each.until, UTC)
                for each in holds.current()
                if each.until - now.timestamp() > max(longest, each.delay)
            }


def _waiting(crawl: CrawlDir, engine: Engine, table: Table, rules: SelectionRules, config: Config) -> Rows | None:
    """Return the URLs of segments that are not in the crawldb yet."""
    young = [
        segment
        for segment in crawl.all_segments()
        if not segment.is_in(table.manifest.applied)
        and later(segment.info().created, config.generate.mark_age) > rules.now
    ]
    files = tuple(file for segment in young for file in segment.crawl_generate().files)
    schema = pa.schema([schemas.CRAWL_GENERATE.field("url")])
    return engine.read(TableSource(files=files, schema=schema, defaults={})) if files else None


def _picked(engine: Engine, rows: Rows, picker: UrlPicker, limits: FetchListLimits, most: int) -> Iterator[Any]:
    """Yield the picked rows of at most ``most`` candidates, until there are enough."""
    if limits.total is None:
        # Without limits all candidates are picked, so their order does not matter.
        is_limited = limits.max_count is not None or LIMIT in rows.columns
        wanted = _ordered(rows) if is_limited else rows.select("url", "key", "host", *_optional(rows, IS_NEW))
        yield from map(picker.pick, engine.batches(wanted))
        return
    size, seen = int(limits.total * SLACK) + EXTRA, 0
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
    return rows.select("url", "key", "host", SORT_VALUE, *_optional(rows, LIMIT, IS_NEW)).order_by(
        [ibis.desc(SORT_VALUE), "key", "url"]
    )


def _optional(rows: Rows, *names: str) -> list[str]:
    return [name for name in names if name in rows.columns]


def _best(engine: Engine, rows: Rows, wanted: int) -> Rows:
    """Return the best ``wanted`` rows, and possibly more with equal values.

    Sorting only the values is fast; sorting URLs and keys is slow and fills the memory.
    """
    values = rows.select(SORT_VALUE)
    last = engine.batches(values.order_by(values[SORT_VALUE].desc()).limit(1, offset=wanted - 1))
    edge = next((batch.column(0)[0].as_py() for batch in last if batch.num_rows), None)
    return rows if edge is None else rows.filter(rows[SORT_VALUE] >= double(edge))


def _count_skipped(engine: Engine, selected: Candidates, known: int) -> Counter[str]:
    """Return how many URLs each rule dropped."""
    counts: Counter[str] = Counter()
    for reason, rows in selected.remaining:
        left = only_row(engine.batches(rows.aggregate(left=rows.count())))["left"]
        counts[reason] = known - left
        known = left
    return counts
