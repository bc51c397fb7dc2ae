"""sitemap: put what sitemaps list into the crawldb.

Sitemaps are those that the robots.txt files of the crawldb's sites name, or those that are given. All that is found is
written to a temporary file; when the last of it is read, the next version of the crawldb is made of it at once. So an
interrupted job has changed nothing. A known URL stays as it is, unless it is to be overwritten: then score, interval
and modified time change where its entry says them. Of a URL that stands in sitemaps twice the first entry counts.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import IO

import ibis
import pyarrow as pa
import uvloop
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import crawldb_snapshot, remove_backup
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.records import HAS_INTERVAL, HAS_SCORE, SitemapRecords, first_seeds, seed_schema
from scoter.batch.urls.seeds import SeedProblem, seed_sources
from scoter.batch.urls.sitemaps import SitemapCrawler, SitemapProblem, SitemapStart, read_sites, read_starts, save_sites
from scoter.config import Config
from scoter.engine import Engine, TableSource
from scoter.engine.port import Rows
from scoter.errors import UsageError
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.request_headers import user_agent
from scoter.plugins import Column, chain
from scoter.store.disk import Scratch
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.tables import Table

ROBOTS_CACHE = "robots.sqlite"
_SAID = "said_"
_CHANGED = ("score", "interval", "modified_time")
_HAVE_COPY = ("fetched", "notmodified")


class SitemapResult(Struct, frozen=True, kw_only=True):
    """What became of sitemaps and their entries. ``new``, ``known`` and ``changed`` count distinct URLs."""

    sites: int = 0
    """Sites whose robots.txt was looked at."""
    without: int = 0
    """Those of them that have no sitemap."""
    sitemaps: int = 0
    """Sitemaps that were read, indexes among them."""
    indexes: int = 0
    new: int = 0
    known: int = 0
    changed: int = 0
    """Known ones of which something was overwritten."""
    filtered: int = 0
    outside: int = 0
    """Entries for which their sitemap may not speak."""
    not_urls: int = 0
    bad_starts: int = 0
    """Lines that name neither a site nor a sitemap."""
    unread: Mapping[str, int] = {}
    """Sitemaps that could not be read, or in part only, by the reason."""
    problems: tuple[SitemapProblem, ...] = ()
    """The first of them."""
    complaints: tuple[SeedProblem, ...] = ()
    """The first of what was wrong with lines."""


def sitemap(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    urls: Sequence[str] = (),
    *,
    now: datetime,
    hosts: Sequence[str] = (),
    strict: bool | None = None,
    filter: bool | None = None,  # noqa: A002 - as the option is called
    normalize: bool | None = None,
    overwrite: bool | None = None,
    tell: Callable[[Snapshot, int], None] = lambda snapshot, kept: None,
    stdin: IO[bytes] | None = None,
) -> SitemapResult:
    """Bring the entries of sitemaps into the crawldb.

    ``urls`` are sitemaps, sites (a root, a robots.txt), or files of them; ``hosts`` files with a host or site a line.
    When neither is given, all sites of the crawldb are looked at. The other options follow the settings
    ``sitemap.…`` when nothing is said.
    """
    user_agent(config)  # without a name nothing is fetched, and nothing else should be done before that is said
    settings = config.sitemap
    is_strict = settings.strict_parsing if strict is None else strict
    overwrite = settings.url_overwrite_existing if overwrite is None else overwrite
    sieve = UrlChains.of(
        config,
        "inject",
        filter=settings.url_filter if filter is None else filter,
        normalize=settings.url_normalize if normalize is None else normalize,
    )
    scoring = chain("scoring", config)
    columns = schemas.plugin_columns(scoring)
    named = (seed_sources(urls), seed_sources(hosts, may_be_urls=False))
    with closing(Scratch(crawl.scratch, "sitemap")) as scratch, ExitStack() as held:
        folder = scratch.path
        known = held.enter_context(crawldb_snapshot(crawl, columns)).source
        starts: Iterable[SitemapStart | SeedProblem]
        starts = read_starts(*named, stdin) if urls or hosts else _sites(engine, known, folder, crawl)
        sower = SitemapRecords(folder / "entries.parquet", sieve, scoring, columns, config, now)
        with sower, SqliteRobotsCache(crawl.path / ROBOTS_CACHE) as robots:
            gathered = _gather(config, sower, robots, folder, starts, is_strict, tell)
        put, new, old, telling = _count(engine, known, columns, folder)
        changed = telling if overwrite else 0
        if new or changed:
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=columns, writer="sitemap") as version:
                engine.write(_overwriting if overwrite else _adding, {"known": known, "put": put}, version)
                version.commit()
    remove_backup(crawl.crawldb, config)
    return SitemapResult(
        sites=gathered.sites,
        without=gathered.without,
        sitemaps=gathered.sitemaps,
        indexes=gathered.indexes,
        new=new,
        known=old,
        changed=changed,
        filtered=sower.filtered,
        outside=sower.outside,
        not_urls=sower.not_urls,
        bad_starts=gathered.bad_starts,
        unread=dict(gathered.reasons),
        problems=tuple(gathered.problems),
        complaints=tuple(gathered.complaints),
    )


def _gather(
    config: Config,
    sower: SitemapRecords,
    robots: SqliteRobotsCache,
    folder: Path,
    starts: Iterable[SitemapStart | SeedProblem],
    strict: bool,
    tell: Callable[[Snapshot, int], None],
) -> SitemapCrawler:
    async def run() -> SitemapCrawler:
        gatherer = SitemapCrawler(config, sower, robots, folder, strict=strict, tell=tell)
        await gatherer.run(starts)
        return gatherer

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def _sites(engine: Engine, known: TableSource, folder: Path, crawl: CrawlDir) -> Iterator[SitemapStart]:
    file = folder / "sites.parquet"
    if not known.files or not save_sites(engine, known, file):
        raise UsageError(
            "the crawldb has no URL whose site could be looked at",
            where=str(crawl.path),
            hint="Name sites or sitemaps, or inject seeds first.",
        )
    return read_sites(file)


def _count(
    engine: Engine, known: TableSource, columns: Sequence[Column], folder: Path
) -> tuple[TableSource, int, int, int]:
    """Return the first of equal entries; how many are new, how many known, and how many of these say something."""
    first = first_seeds(engine, folder / "entries.parquet", columns)
    put = TableSource(files=(str(folder / "put.parquet"),), schema=seed_schema(columns), defaults={})
    total = engine.save(first, put.schema, Path(put.files[0]))
    rows = engine.read(put)
    there = engine.read(replace(known, schema=pa.schema([known.schema.field("url")]))).select("url")
    met = rows.semi_join(there, "url")
    said = met[HAS_SCORE] | met[HAS_INTERVAL] | met.modified_time.notnull()
    counted = met.aggregate(known=met.count(), telling=said.cast("int64").sum().coalesce(0))
    old, telling = next((row["known"], row["telling"]) for each in engine.batches(counted) for row in each.to_pylist())
    return put, total - old, old, telling


def _adding(inputs: Mapping[str, Rows]) -> Rows:
    known, put = inputs["known"], inputs["put"]
    return known.union(put.anti_join(known, "url").select(known.columns))


def _overwriting(inputs: Mapping[str, Rows]) -> Rows:
    known, put = inputs["known"], inputs["put"]
    said = put.select(**{_SAID + name: put[name] for name in ("url", *_CHANGED, HAS_SCORE, HAS_INTERVAL)})
    met = known.left_join(said, known.url == said[_SAID + "url"])
    changed = {name: met[name] for name in known.columns}
    changed["score"] = ibis.ifelse(met[_SAID + HAS_SCORE].fill_null(False), met[_SAID + "score"], met.score)
    changed["interval"] = ibis.ifelse(met[_SAID + HAS_INTERVAL].fill_null(False), met[_SAID + "interval"], met.interval)
    changed["modified_time"] = _modified(met)
    return met.select(**changed).union(put.anti_join(known, "url").select(known.columns))


def _modified(met: Rows) -> Rows:
    """Return when pages last changed. Of one that we have a copy of, only an earlier time than the known one counts.

    A later one would go out as If-Modified-Since, and the server would answer that the page has not changed since:
    the copy would stay old for ever.
    """
    old, new = met.modified_time, met[_SAID + "modified_time"]
    counts = ~met.status.isin(_HAVE_COPY) | (new < old).fill_null(False)
    return ibis.ifelse(new.notnull() & counts, new, old)
