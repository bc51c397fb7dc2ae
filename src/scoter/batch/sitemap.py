"""sitemap: add the URLs of sitemaps to the crawldb.

Sitemaps are found through the robots.txt files of the crawldb's sites, or given. Entries go to a temporary file; the
new version of the crawldb is written when all sitemaps have been read, so an interrupted job changes nothing. Known
URLs are left unchanged, unless ``overwrite`` is set: then score, interval and modified time are replaced if the entry
has them. If a URL is listed twice, the first entry counts.
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
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.errors import UsageError
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.request_headers import user_agent
from scoter.plugins import Column, chain
from scoter.store.disk import Scratch
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.tables import Table

ROBOTS_CACHE = "robots.sqlite"
_ENTRY = "sitemap_"
_CHANGED = ("score", "interval", "modified_time")
_HAVE_COPY = ("fetched", "notmodified")


class SitemapResult(Struct, frozen=True, kw_only=True):
    """Counts of sitemaps and entries; ``new``, ``known`` and ``changed`` count distinct URLs."""

    sites: int = 0
    """Sites whose robots.txt was read."""
    without: int = 0
    """Sites without a sitemap."""
    sitemaps: int = 0
    """Sitemaps that were read, including indexes."""
    indexes: int = 0
    new: int = 0
    known: int = 0
    changed: int = 0
    """Known URLs that were overwritten."""
    filtered: int = 0
    outside: int = 0
    """Entries that their sitemap is not authoritative for."""
    not_urls: int = 0
    bad_starts: int = 0
    """Lines that are neither a site nor a sitemap."""
    unread: Mapping[str, int] = {}
    """Sitemaps that could not be read, or only in part, by reason."""
    problems: tuple[SitemapProblem, ...] = ()
    """The first sitemap problems."""
    complaints: tuple[SeedProblem, ...] = ()
    """The first problems with lines."""


def sitemap(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    urls: Sequence[str] = (),
    *,
    now: datetime,
    hosts: Sequence[str] = (),
    strict: bool | None = None,
    filter: bool | None = None,
    normalize: bool | None = None,
    overwrite: bool | None = None,
    on_progress: Callable[[Snapshot, int], None] = lambda snapshot, kept: None,
    stdin: IO[bytes] | None = None,
) -> SitemapResult:
    """Add the entries of sitemaps to the crawldb.

    ``urls`` are sitemaps, sites (a root or robots.txt), or files of them; ``hosts`` are files with one host or site per
    line. Without either, all sites of the crawldb are read. Options that are ``None`` follow the ``sitemap`` settings.
    """
    user_agent(config)  # fail early if there is no agent name
    settings = config.sitemap
    is_strict = settings.strict_parsing if strict is None else strict
    overwrite = settings.url_overwrite_existing if overwrite is None else overwrite
    chains = UrlChains.from_config(
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
        records = SitemapRecords(folder / "entries.parquet", chains, scoring, columns, config, now)
        with records, SqliteRobotsCache(crawl.path / ROBOTS_CACHE) as robots:
            crawler = _crawl_sitemaps(config, records, robots, folder, starts, is_strict, on_progress)
        put, new, old, with_fields = _count(engine, known, columns, folder)
        changed = with_fields if overwrite else 0
        if new or changed:
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=columns, writer="sitemap") as version:
                engine.write(_overwriting if overwrite else _adding, {"known": known, "put": put}, version)
                version.commit()
    remove_backup(crawl.crawldb, config)
    return SitemapResult(
        sites=crawler.sites,
        without=crawler.without,
        sitemaps=crawler.sitemaps,
        indexes=crawler.indexes,
        new=new,
        known=old,
        changed=changed,
        filtered=records.filtered,
        outside=records.outside,
        not_urls=records.not_urls,
        bad_starts=crawler.bad_starts,
        unread=dict(crawler.reasons),
        problems=tuple(crawler.problems),
        complaints=tuple(crawler.seed_problems),
    )


def _crawl_sitemaps(
    config: Config,
    records: SitemapRecords,
    robots: SqliteRobotsCache,
    folder: Path,
    starts: Iterable[SitemapStart | SeedProblem],
    strict: bool,
    on_progress: Callable[[Snapshot, int], None],
) -> SitemapCrawler:
    async def run() -> SitemapCrawler:
        crawler = SitemapCrawler(config, records, robots, folder, strict=strict, on_progress=on_progress)
        await crawler.run(starts)
        return crawler

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def _sites(engine: Engine, known: TableSource, folder: Path, crawl: CrawlDir) -> Iterator[SitemapStart]:
    file = folder / "sites.parquet"
    if not known.files or not save_sites(engine, known, file):
        raise UsageError(
            "the crawldb has no http or https URLs",
            where=str(crawl.path),
            hint="Pass sites or sitemaps, or inject seeds first.",
        )
    return read_sites(file)


def _count(
    engine: Engine, known: TableSource, columns: Sequence[Column], folder: Path
) -> tuple[TableSource, int, int, int]:
    """Return distinct entries; the number of new and known ones, and of known ones that set a field."""
    first = first_seeds(engine, folder / "entries.parquet", columns)
    put = file_source(folder / "put.parquet", seed_schema(columns))
    total = engine.save(first, put.schema, Path(put.files[0]))
    rows = engine.read(put)
    there = engine.read(replace(known, schema=pa.schema([known.schema.field("url")]))).select("url")
    met = rows.semi_join(there, "url")
    has_field = met[HAS_SCORE] | met[HAS_INTERVAL] | met.modified_time.notnull()
    counted = met.aggregate(known=met.count(), with_fields=has_field.cast("int64").sum().coalesce(0))
    old, with_fields = next(
        (row["known"], row["with_fields"]) for each in engine.batches(counted) for row in each.to_pylist()
    )
    return put, total - old, old, with_fields


def _adding(inputs: Mapping[str, Rows]) -> Rows:
    known, put = inputs["known"], inputs["put"]
    return known.union(put.anti_join(known, "url").select(known.columns))


def _overwriting(inputs: Mapping[str, Rows]) -> Rows:
    known, put = inputs["known"], inputs["put"]
    entries = put.select(**{_ENTRY + name: put[name] for name in ("url", *_CHANGED, HAS_SCORE, HAS_INTERVAL)})
    met = known.left_join(entries, known.url == entries[_ENTRY + "url"])
    changed = {name: met[name] for name in known.columns}
    changed["score"] = ibis.ifelse(met[_ENTRY + HAS_SCORE].fill_null(False), met[_ENTRY + "score"], met.score)
    changed["interval"] = ibis.ifelse(
        met[_ENTRY + HAS_INTERVAL].fill_null(False), met[_ENTRY + "interval"], met.interval
    )
    changed["modified_time"] = _modified(met)
    return met.select(**changed).union(put.anti_join(known, "url").select(known.columns))


def _modified(met: Rows) -> Rows:
    """Return the new modified times. For a page that we have, only an earlier time is used.

    A later time would be sent as If-Modified-Since, the server would answer that the page has not changed since, and
    the old copy would never be replaced.
    """
    old, new = met.modified_time, met[_ENTRY + "modified_time"]
    counts = ~met.status.isin(_HAVE_COPY) | (new < old).fill_null(False)
    return ibis.ifelse(new.notnull() & counts, new, old)
