"""What the crawldb knows: statistics, one URL, the best URLs, or those that are selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.directory import CrawlDir
from scoter.batch.dumping import rows
from scoter.batch.lookup import rows_of
from scoter.batch.quantiles import quantiles
from scoter.batch.rows import DB
from scoter.config import Config
from scoter.core.expr import Kind, compile_expr
from scoter.core.pattern import compile_pattern
from scoter.core.url import canonical
from scoter.engine import Engine, source_of
from scoter.errors import UsageError, nearest, typed
from scoter.plugins import chain
from scoter.store.tables import Table
from scoter.store.tables.versions import CURRENT

TOP_HOSTS = 10
_SHARES = 100_000


class Numbers(Struct, frozen=True):
    """The spread of a column; none where there are no values."""

    least: Any
    most: Any
    mean: float | None = None


class Stats(Struct, frozen=True, kw_only=True):
    """What ``readdb --stats`` tells."""

    urls: int
    statuses: Mapping[str, int]
    retries: Mapping[int, int]
    hosts: int
    top_hosts: Mapping[str, int]
    score: Numbers
    score_quantiles: Mapping[str, float]
    fetch_time: Numbers
    interval: Numbers


class Selection(Struct, frozen=True, kw_only=True):
    """Which records are wanted: all that meet everything that is said."""

    status: str = ""
    retry: int | None = None
    regex: str = ""
    expr: str = ""
    sample: float | None = None


def open_crawldb(crawl: CrawlDir, config: Config) -> Table:
    """Return the crawldb with the columns of the plug-ins that are active now."""
    if not (crawl.crawldb / CURRENT).exists():
        raise UsageError(
            "there is no crawldb yet",
            where=str(crawl.path),
            hint=f"Put URLs into it: scoter inject {typed(crawl.path)} URL",
        )
    extra = schemas.plugin_columns(chain("scoring", config))
    return Table.open(crawl.crawldb, schemas.CRAWLDB, extra=extra)


def stats(crawl: CrawlDir, engine: Engine, config: Config) -> Stats:
    """Return the statistics of the crawldb."""
    with open_crawldb(crawl, config) as table:
        columns = ["host", "status", "fetch_time", "retries", "interval", "score"]
        urls = engine.read(source_of(table, columns))
        groups = list(rows(engine.batches(_spread(urls))))
        by_host = urls.group_by("host").aggregate(urls=urls.count())
        best = by_host.order_by([by_host.urls.desc(), by_host.host]).limit(TOP_HOSTS)
        shares = sorted(set(config.db.stats_score_quantiles))
        values = quantiles(engine, urls, "score", shares)
        statuses: Counter[str] = Counter()
        retries: Counter[int] = Counter()
        for group in groups:
            statuses[group["status"]] += group["urls"]
            retries[group["retries"] or 0] += group["urls"]
        return Stats(
            urls=statuses.total(),
            statuses=dict(sorted(statuses.items())),
            retries=dict(sorted(retries.items())),
            hosts=next(rows(engine.batches(by_host.aggregate(hosts=by_host.count()))))["hosts"],
            top_hosts={row["host"]: row["urls"] for row in rows(engine.batches(best))},
            score=_numbers(groups, "score"),
            score_quantiles={f"p{share * 100:g}": value for share, value in zip(shares, values, strict=False)},
            fetch_time=_numbers(groups, "fetch_time"),
            interval=_numbers(groups, "interval"),
        )


def host_statuses(crawl: CrawlDir, engine: Engine, config: Config) -> Iterator[dict[str, Any]]:
    """Yield every host with its number of URLs in each status, the largest first."""
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["host", "status"]))
        counts = {name: (urls.status == name).cast("int64").sum() for name in DB}
        by_host = urls.group_by("host").aggregate(urls=urls.count(), **counts)
        yield from rows(engine.batches(by_host.order_by([by_host.urls.desc(), by_host.host])))


def record(crawl: CrawlDir, config: Config, url: str) -> dict[str, Any] | None:
    """Return the record of a URL, in whatever spelling, or nothing when the crawldb has none."""
    wanted = canonical(url)
    with open_crawldb(crawl, config) as table:
        return next(rows_of(source_of(table), wanted), None)


def top(
    crawl: CrawlDir, engine: Engine, config: Config, *, n: int, min_score: float | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the URLs with the highest scores, best first, with score and status."""
    if n < 1:
        raise UsageError(f"{n} is not a number of URLs", where="--top-n", hint="Name one of 1 or more.")
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["url", "status", "score"]))
        if min_score is not None:
            urls = urls.filter(urls.score >= min_score)
        yield from rows(engine.batches(urls.order_by([urls.score.desc(), urls.url]).limit(n)))


def check_selection(wanted: Selection, columns: Mapping[str, Kind]) -> None:
    """Raise what is wrong with a selection, before any file is opened for it."""
    if wanted.status and wanted.status.removeprefix("db_") not in DB:
        close = nearest(wanted.status, DB)
        hint = f"Did you mean {close}?" if close else f"There are {', '.join(DB)}."
        raise UsageError(f"{wanted.status!r} is not a status", where="--status", hint=hint)
    if wanted.sample is not None and not 0 <= wanted.sample <= 1:
        raise UsageError(f"{wanted.sample} is not a share", where="--sample", hint="Name one from 0 to 1.")
    if wanted.regex:
        try:
            compile_pattern(wanted.regex)
        except ValueError as error:
            raise UsageError(f"the pattern {error}", where="--regex") from error
    if wanted.expr:
        compile_expr(wanted.expr, columns)


def select(
    crawl: CrawlDir, engine: Engine, config: Config, wanted: Selection, *, now: datetime
) -> tuple[Any, Iterator[Any]]:
    """Return the crawldb's schema, and the records that are wanted as record batches, by key."""
    columns = schemas.kinds(schemas.plugin_columns(chain("scoring", config)))
    check_selection(wanted, columns)
    table = open_crawldb(crawl, config)

    def batches() -> Iterator[Any]:
        with table:
            urls = engine.read(source_of(table, is_sorted=True))
            found = _selected(engine, urls, wanted, columns, now)
            yield from engine.batches(found.order_by([found.key, found.url]))

    return table.schema, batches()


def _selected(engine: Engine, urls: Any, wanted: Selection, columns: Mapping[str, Kind], now: datetime) -> Any:
    # Not above: they bring in Ibis, which takes longer to import than one URL takes to be found.
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
    """Group by what has few values, and aggregate all the rest in the same pass."""
    measures: dict[str, Any] = {"urls": urls.count()}
    for name in ("score", "interval", "fetch_time"):
        measures |= {f"{name}_least": urls[name].min(), f"{name}_most": urls[name].max()}
        if name != "fetch_time":
            measures |= {f"{name}_sum": urls[name].sum(), f"{name}_count": urls[name].count()}
    return urls.group_by(["status", "retries"]).aggregate(**measures)


def _numbers(groups: Sequence[Mapping[str, Any]], name: str) -> Numbers:
    known = [group for group in groups if group[f"{name}_least"] is not None]
    if not known:
        return Numbers(None, None)
    count = sum(group.get(f"{name}_count", 0) for group in known)
    return Numbers(
        min(group[f"{name}_least"] for group in known),
        max(group[f"{name}_most"] for group in known),
        float(sum(group[f"{name}_sum"] for group in known) / count) if count else None,
    )
