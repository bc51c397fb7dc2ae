"""sitemap: add the URLs of sitemaps to the crawldb.

Sitemaps are found through the robots.txt files of the crawldb's sites, or given. Entries go to a temporary file; the
new version of the crawldb is written when all sitemaps have been read, so an interrupted job changes nothing. Known
URLs are left unchanged, unless ``overwrite`` is set: then score, interval and modified time are replaced if the entry
has them. If a URL is listed twice, the first entry counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import is_incremental
from scoter.batch.crawldir.crawldb import crawldb_snapshot, scoring_columns
from scoter.batch.crawldir.directory import HOLDS, ROBOTS_CACHE, CrawlDir
from scoter.batch.crawldir.export import only_row
from scoter.batch.jobs.compact import settle
from scoter.batch.jobs.readhostdb import open_hostdb
from scoter.batch.site.listings import note_sitemap
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.records import HAS_INTERVAL, HAS_SCORE, IS_KNOWN, OLD, SitemapRecords, flag_known, put_records
from scoter.batch.urls.seeds import SeedProblem, seed_sources
from scoter.batch.urls.sitemap_starts import SitemapStart, read_sites, read_starts, save_hosts_as_sites, save_sites
from scoter.batch.urls.sitemaps import SitemapCrawler, SitemapProblem
from scoter.config import Config
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows
from scoter.errors import UsageError
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.request_headers import user_agent
from scoter.fetch.queues.holds import KeptHolds
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.tables import Table

Starts: TypeAlias = Callable[[Path, TableSource], Iterable[SitemapStart | SeedProblem]]
"""Returns where to start, given a folder for temporary files and the crawldb."""


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
    hostdb: bool = False,
    strict: bool | None = None,
    filter: bool | None = None,
    normalize: bool | None = None,
    overwrite: bool | None = None,
    on_progress: Callable[[Snapshot, int], None] = lambda snapshot, kept: None,
) -> SitemapResult:
    """Add the entries of sitemaps to the crawldb.

    ``urls`` are sitemaps, sites (a root or robots.txt), or files of them; ``hosts`` are files with one host or site per
    line. Without either, all sites of the crawldb are read, or with ``hostdb`` those of its hosts that are not dead.
    Options that are ``None`` follow the ``sitemap`` settings.
    """
    reading = SitemapReading(
        crawl,
        engine,
        config,
        strict=strict,
        filter=filter,
        normalize=normalize,
        overwrite=overwrite,
        covers_all=not (urls or hosts),
        on_progress=on_progress,
    )
    named = (seed_sources(urls), seed_sources(hosts, may_be_urls=False))

    def starts(folder: Path, known: TableSource) -> Iterable[SitemapStart | SeedProblem]:
        if urls or hosts:
            return read_starts(*named)
        return _hostdb_sites(engine, folder, crawl) if hostdb else _sites(engine, known, folder, crawl)

    return reading.run(starts, now=now)


class SitemapReading:
    """Reads sitemaps at once, or in several runs between which other commands work on the crawl."""

    def __init__(
        self,
        crawl: CrawlDir,
        engine: Engine,
        config: Config,
        *,
        strict: bool | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
        overwrite: bool | None = None,
        covers_all: bool = True,
        is_stopping: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Snapshot, int], None] = lambda snapshot, kept: None,
    ) -> None:
        """Options that are ``None`` follow the ``sitemap`` settings; ``covers_all``: all sites are read anew."""
        user_agent(config)  # fail early if there is no agent name
        settings = config.sitemap
        self._crawl = crawl
        self._engine = engine
        self._config = config
        self._overwrites = settings.url_overwrite_existing if overwrite is None else overwrite
        self._chains = UrlChains.from_config(
            config,
            "inject",
            filter=settings.url_filter if filter is None else filter,
            normalize=settings.url_normalize if normalize is None else normalize,
        )
        self._crawler = SitemapCrawler(
            config,
            strict=settings.strict_parsing if strict is None else strict,
            is_stopping=is_stopping,
            on_progress=on_progress,
        )
        self._total = SitemapResult()
        self._covers_all = covers_all

    @property
    def sites_left(self) -> int:
        """The number of sites that the next run continues with."""
        return self._crawler.left

    def result(self) -> SitemapResult:
        """Return the result of all runs; what is left counts as not read."""
        self._crawler.give_up()
        return self._counted()

    def of_crawldb(self, folder: Path, known: TableSource) -> Iterable[SitemapStart]:
        """Return all sites of the crawldb."""
        return _sites(self._engine, known, folder, self._crawl)

    def run(self, starts: Starts, *, now: datetime, may_suspend: bool = False) -> SitemapResult:
        """Read what an earlier run left and what the starts name; ``may_suspend``: leave slow sites to the next run."""
        crawl, engine, config, crawler = self._crawl, self._engine, self._config, self._crawler
        columns, overwrites = scoring_columns(config), self._overwrites
        with Scratch(crawl.scratch, "sitemap") as scratch, crawldb_snapshot(crawl, columns) as snapshot:
            folder, known = scratch.path, snapshot.source
            file = folder / "entries.parquet"
            with (
                SitemapRecords(file, self._chains, config, now) as records,
                crawl.shared_file(ROBOTS_CACHE) as robots_file,
                crawl.shared_file(HOLDS) as holds_file,
                SqliteRobotsCache(robots_file) as robots,
                SqliteHostHolds(holds_file) as stored,
                asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            ):
                found, holds = starts(folder, known), KeptHolds(stored)
                runner.run(crawler.run(found, records, robots, holds, folder, may_suspend=may_suspend))
            note_sitemap(crawl, file, now, replaces=self._covers_all)
            self._covers_all = False  # what a later run reads comes on top
            flagged, new, old = flag_known(engine, file, known, columns, folder)
            changed = _count_changed(engine, flagged) if overwrites else 0
            if new or changed:
                # All known records are written again, also those whose entries set no field.
                is_delta = is_incremental(snapshot.manifest, known.schema, config, new + (old if overwrites else 0))
                with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=columns, writer="sitemap") as version:
                    extended = snapshot.version if is_delta else None
                    put_records(engine, flagged, known, _overwritten if overwrites else None, folder, version, extended)
                    version.commit()
        records.listed.save(crawl)
        settle(crawl, engine, config, now=now)
        before = self._total
        self._total = replace(
            before,
            new=before.new + new,
            known=before.known + old,
            changed=before.changed + changed,
            filtered=before.filtered + records.filtered,
            outside=before.outside + records.outside,
            not_urls=before.not_urls + records.not_urls,
        )
        return self._counted()

    def _counted(self) -> SitemapResult:
        crawler = self._crawler
        return replace(
            self._total,
            sites=crawler.sites,
            without=crawler.without,
            sitemaps=crawler.sitemaps,
            indexes=crawler.indexes,
            bad_starts=crawler.bad_starts,
            unread=dict(crawler.reasons),
            problems=tuple(crawler.problems),
            complaints=tuple(crawler.seed_problems),
        )


def _sites(engine: Engine, known: TableSource, folder: Path, crawl: CrawlDir) -> Iterator[SitemapStart]:
    file = folder / "sites.parquet"
    if not known.files or not save_sites(engine, known, file):
        raise UsageError(
            "the crawldb has no http or https URLs",
            where=str(crawl.path),
            hint="Pass sites or sitemaps, or inject seeds first.",
        )
    return read_sites(file)


def _hostdb_sites(engine: Engine, folder: Path, crawl: CrawlDir) -> Iterator[SitemapStart]:
    file = folder / "sites.parquet"
    with open_hostdb(crawl) as table:
        if not save_hosts_as_sites(engine, source_of(table, ("url", "dns", "homepage")), file):
            raise UsageError("the hostdb has no host to check", where=str(crawl.path))
    return read_sites(file)


def _count_changed(engine: Engine, flagged: TableSource) -> int:
    """Return the number of known URLs whose entry sets a field."""
    rows = engine.read(flagged)
    met = rows.filter(rows[IS_KNOWN] & (rows[HAS_SCORE] | rows[HAS_INTERVAL] | rows.modified_time.notnull()))
    return int(only_row(engine.batches(met.aggregate(changed=met.count())))["changed"])


def _overwritten(met: Rows, names: Sequence[str]) -> Rows:
    """Return known records with the fields that their entries set."""
    changed = {name: met[OLD + name] for name in names}
    changed["score"] = ibis.ifelse(met[HAS_SCORE], met.score, changed["score"])
    changed["interval"] = ibis.ifelse(met[HAS_INTERVAL], met.interval, changed["interval"])
    changed["modified_time"] = met.modified_time.coalesce(changed["modified_time"])
    return met.select(**changed)
