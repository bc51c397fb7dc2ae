"""readdb: statistics of the crawldb, one record, the best URLs, or selected records.

Quantiles are computed in one pass with little memory, with the same result on every engine. Exact quantiles keep every
value: for 10 million scores DuckDB took 2 to 6 CPU seconds and 80 MB. Here values are counted in bins 0.4 % wide, with
the minimum and maximum of each: at most half a million bins, and exact if a bin holds one value.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import open_crawldb, scoring_columns
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows, only_row
from scoter.batch.crawldir.lookup import url_pattern, url_rows
from scoter.batch.crawldir.schemas import DB_STATUSES
from scoter.config import Config
from scoter.core.expr import ValueType, compile_expr
from scoter.core.url import canonical
from scoter.engine import Engine, source_of
from scoter.errors import UsageError, nearest

TOP_HOSTS = 10
_SHARES = 100_000


class ColumnRange(Struct, frozen=True):
    """The range and mean of a column; ``None`` without values."""

    least: Any
    most: Any
    mean: float | None = None


class CrawldbStats(Struct, frozen=True, kw_only=True):
    """The output of ``readdb --stats``."""

    urls: int
    statuses: Mapping[str, int]
    retries: Mapping[int, int]
    hosts: int
    top_hosts: Mapping[str, int]
    score: ColumnRange
    score_quantiles: Mapping[str, float]
    fetch_time: ColumnRange
    interval: ColumnRange


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Conditions on records; all of them must hold."""

    status: str = ""
    retry: int | None = None
    regex: str = ""
    expr: str = ""
    sample: float | None = None


def stats(crawl: CrawlDir, engine: Engine, config: Config) -> CrawldbStats:
    """Return the statistics of the crawldb."""
    with open_crawldb(crawl, config) as table:
        columns = ["host", "status", "fetch_time", "retries", "interval", "score"]
        urls = engine.read(source_of(table, columns))
        groups = list(iter_rows(engine.batches(_spread(urls))))
        by_host = urls.group_by("host").aggregate(urls=urls.count())
        best = by_host.order_by([by_host.urls.desc(), by_host.host]).limit(TOP_HOSTS)
        shares = sorted(set(config.db.stats_score_quantiles))
        values = quantiles(engine, urls, "score", shares)
        statuses: Counter[str] = Counter()
        retries: Counter[int] = Counter()
        for group in groups:
            statuses[group["status"]] += group["urls"]
            retries[group["retries"] or 0] += group["urls"]
        return CrawldbStats(
            urls=statuses.total(),
            statuses=dict(sorted(statuses.items())),
            retries=dict(sorted(retries.items())),
            hosts=only_row(engine.batches(by_host.aggregate(hosts=by_host.count())))["hosts"],
            top_hosts={row["host"]: row["urls"] for row in iter_rows(engine.batches(best))},
            score=_numbers(groups, "score"),
            score_quantiles={f"p{share * 100:g}": value for share, value in zip(shares, values, strict=False)},
            fetch_time=_numbers(groups, "fetch_time"),
            interval=_numbers(groups, "interval"),
        )


def host_statuses(crawl: CrawlDir, engine: Engine, config: Config) -> Iterator[dict[str, Any]]:
    """Yield every host with its number of URLs in each status, largest first."""
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["host", "status"]))
        counts = {name: (urls.status == name).cast("int64").sum() for name in DB_STATUSES}
        by_host = urls.group_by("host").aggregate(urls=urls.count(), **counts)
        yield from iter_rows(engine.batches(by_host.order_by([by_host.urls.desc(), by_host.host])))


def record(crawl: CrawlDir, config: Config, url: str) -> dict[str, Any] | None:
    """Return the record of a URL, or ``None`` if the crawldb has none; the URL need not be canonical."""
    wanted = canonical(url)
    with open_crawldb(crawl, config) as table:
        return next(url_rows(source_of(table), wanted), None)


def top(
    crawl: CrawlDir, engine: Engine, config: Config, *, n: int, min_score: float | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the URLs with the highest scores, with score and status."""
    if n < 1:
        raise UsageError(f"must be at least 1, not {n}", where="--top-n")
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["url", "status", "score"]))
        if min_score is not None:
            urls = urls.filter(urls.score >= min_score)
        yield from iter_rows(engine.batches(urls.order_by([urls.score.desc(), urls.url]).limit(n)))


def check_filter(wanted: RecordFilter, columns: Mapping[str, ValueType]) -> None:
    """Raise if a filter is invalid, before any file is opened."""
    if wanted.status and wanted.status.removeprefix("db_") not in DB_STATUSES:
        close = nearest(wanted.status, DB_STATUSES)
        hint = f"Did you mean {close}?" if close else f"Statuses: {', '.join(DB_STATUSES)}."
        raise UsageError(f"{wanted.status!r} is not a status", where="--status", hint=hint)
    if wanted.sample is not None and not 0 <= wanted.sample <= 1:
        raise UsageError(f"must be from 0 to 1, not {wanted.sample}", where="--sample")
    if wanted.regex:
        url_pattern(wanted.regex)
    if wanted.expr:
        compile_expr(wanted.expr, columns)


def select(
    crawl: CrawlDir, engine: Engine, config: Config, wanted: RecordFilter, *, now: datetime
) -> tuple[Any, Iterator[Any]]:
    """Return the schema of the crawldb and the selected records as record batches, sorted by key."""
    columns = schemas.expression_columns(scoring_columns(config))
    check_filter(wanted, columns)
    table = open_crawldb(crawl, config)

    def batches() -> Iterator[Any]:
        with table:
            urls = engine.read(source_of(table, is_sorted=True))
            found = _selected(engine, urls, wanted, columns, now)
            yield from engine.batches(found.order_by([found.key, found.url]))

    return table.schema, batches()


def _selected(engine: Engine, urls: Any, wanted: RecordFilter, columns: Mapping[str, ValueType], now: datetime) -> Any:
    # Imported here because Ibis takes longer to import than looking up one URL takes.
    from scoter.engine.expressions import where
    from scoter.engine.portable import bucket

    if wanted.status:
        urls = urls.filter(urls.status == wanted.status.removeprefix("db_"))
    if wanted.retry is not None:
        urls = urls.filter(urls.retries.fill_null(0) == wanted.retry)
    if wanted.sample is not None:
        urls = urls.filter(bucket(urls.url, _SHARES) < int(wanted.sample * _SHARES))
    if wanted.expr:
        urls = where(engine, urls, compile_expr(wanted.expr, columns), now)
    if wanted.regex:
        urls = where(engine, urls, compile_expr(f"url =~ {_text(wanted.regex)}"), now)
    return urls


def _text(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _spread(urls: Any) -> Any:
    """Group by columns with few values, and aggregate the others in the same pass."""
    measures: dict[str, Any] = {"urls": urls.count()}
    for name in ("score", "interval", "fetch_time"):
        measures |= {f"{name}_least": urls[name].min(), f"{name}_most": urls[name].max()}
        if name != "fetch_time":
            measures |= {f"{name}_sum": urls[name].sum(), f"{name}_count": urls[name].count()}
    return urls.group_by(["status", "retries"]).aggregate(**measures)


def _numbers(groups: Sequence[Mapping[str, Any]], name: str) -> ColumnRange:
    known = [group for group in groups if group[f"{name}_least"] is not None]
    if not known:
        return ColumnRange(None, None)
    count = sum(group.get(f"{name}_count", 0) for group in known)
    return ColumnRange(
        min(group[f"{name}_least"] for group in known),
        max(group[f"{name}_most"] for group in known),
        float(sum(group[f"{name}_sum"] for group in known) / count) if count else None,
    )


_FINE = 256


class QuantileBin(Struct, frozen=True):
    """A number of values between a minimum and a maximum."""

    least: float
    most: float
    count: int

    def value(self, number: int) -> float:
        """Return the value at a position, as if values were evenly spread."""
        return self.least + (self.most - self.least) * number / (self.count - 1) if self.count > 1 else self.least


def quantiles(engine: Engine, table: Any, name: str, shares: Sequence[float]) -> list[float]:
    """Return the quantiles of a column; empty if it has no finite values."""
    table = table.filter(table[name].abs() <= sys.float_info.max)  # only finite values have a logarithm
    column = table[name]
    size = column.abs()
    # Zero has no logarithm, and engines treat it differently.
    fine = (size > 0).ifelse(size, 1.0).ln() * _FINE
    place = (size > 0).ifelse(fine.floor().cast("int64"), 0)
    binned = table.group_by(place=place, side=column.sign().cast("int32"))
    counted = binned.aggregate(least=column.min(), most=column.max(), count=column.count())
    bins = [QuantileBin(row["least"], row["most"], row["count"]) for row in iter_rows(engine.batches(counted))]
    return bin_quantiles(bins, shares)


def bin_quantiles(bins: Sequence[QuantileBin], shares: Sequence[float]) -> list[float]:
    """Return the quantiles of binned values, interpolated linearly.

    >>> bin_quantiles([QuantileBin(1.0, 1.0, 2), QuantileBin(3.0, 3.0, 1)], [0.0, 0.5, 0.75, 1.0])
    [1.0, 1.0, 2.0, 3.0]
    """
    ordered = sorted(bins, key=lambda each: each.least)
    ends = list(accumulate(each.count for each in ordered))
    if not ends:
        return []

    def value(number: int) -> float:
        at = bisect_right(ends, number)
        return ordered[at].value(number - (ends[at] - ordered[at].count))

    found = []
    for share in shares:
        rank = share * (ends[-1] - 1)
        low = math.floor(rank)
        below, above = value(low), value(min(low + 1, ends[-1] - 1))
        found.append(below + (above - below) * (rank - low))
    return found
