"""Ask for what the crawl did not fetch: images, styles, scripts, nofollow links, other sites, and the sitemaps.

Requests go through the same fetch core as a crawl, so robots.txt, delays and the address guard apply. Only the head of
a response is asked for; if a server does not like that, the beginning of the body. Style sheets of the site are read
for the files that they load. Answers are kept in the folder ``site``, neither in the archive nor in the crawldb, every
few seconds: an interrupted run continues where it stopped.
"""
# ruff: noqa: S608 - only constants and quoted texts are formatted into the SQL

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow.parquet as pq
import uvloop
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.directory import HOLDS, ROBOTS_CACHE, CrawlDir, StopRequest
from scoter.batch.site.listings import note_sitemap
from scoter.batch.site.page_tables import STYLE_TYPE, RowsFile
from scoter.batch.site.state import make_sitemap, make_state
from scoter.batch.site.tables import SITE_CHECKS, SITE_STYLES, SiteFolder
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.records import SitemapRecords
from scoter.batch.urls.sitemap_starts import SitemapStart
from scoter.batch.urls.sitemaps import SitemapCrawler
from scoter.batch.worker.outcomes import RecentUrls
from scoter.config import Config
from scoter.core.datum import short_name
from scoter.core.reply import Failed, Fetched, Gone, Moved, Reason, Reply, Request, fetch_status
from scoter.core.url import Url, canonical
from scoter.engine.workspace import SqlWorkspace
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.request_headers import user_agent
from scoter.fetch.queues.holds import KeptHolds
from scoter.parse.html.audit import style_links
from scoter.parse.mediatype import parse_content_type
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.robots_cache import SqliteRobotsCache

MOST_HOPS: Final = 10
MOST_RECENT: Final = 1_000_000
FIRST_BYTES: Final = 2_048
"""How much of a body is asked for if the head alone is refused."""
_MOST_ROWS: Final = 5_000
_KEEP_EVERY: Final = 20.0  # seconds
_FINAL: Final = frozenset((410, 429, 503))
"""Statuses that a HEAD request is not repeated after: the answer would be the same, or the host is busy."""
_NOT_ASKED: Final = frozenset((Reason.STOPPED, Reason.PURGED, Reason.DEFERRED))
_STOP_WITHIN: Final = 5.0

Progress = Callable[[int, int], None]
"""Called with the number of URLs that were asked for, and of all."""


class LinkCheck(Struct, frozen=True, kw_only=True):
    """The result of a check: how many URLs were asked for, how many of them failed, and how many are left."""

    asked: int = 0
    failed: int = 0
    left: int = 0
    sitemaps: int = 0


class _Context(Struct, frozen=True):
    """What a request is part of: the number of redirects before it, and whether a style sheet is read."""

    hops: int = 0
    is_style: bool = False
    depth: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Context).decode


def check_links(
    crawl: CrawlDir,
    config: Config,
    scratch: Path,
    memory_limit: int,
    *,
    now: datetime,
    starts: Iterable[str] = (),
    max_age: timedelta,
    most: int,
    on_progress: Progress = lambda done, total: None,
    stopping: StopRequest | None = None,
) -> LinkCheck:
    """Ask for the URLs on the pages that were read and that nothing recent is known about, at most ``most`` of them.

    Answers count for ``max_age``; what failed is asked for again.
    """
    user_agent(config)  # fail early if there is no agent name
    file = scratch / "wanted.parquet"
    folder = SiteFolder(crawl)
    with (
        SqlWorkspace(scratch, memory_limit, crawl.path) as work,
        crawl.shared_file(ROBOTS_CACHE) as robots_file,
        crawl.shared_file(HOLDS) as holds_file,
        SqliteRobotsCache(robots_file) as robots,
        SqliteHostHolds(holds_file) as stored,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        holds = KeptHolds(stored)
        make_state(work, crawl, tuple(starts))
        sitemaps = 0
        sites = [row[0] for row in work.rows(_SITES)]
        if sites and not folder.names("sitemap-"):
            sitemaps = _read_sitemaps(crawl, config, scratch, sites, now, robots, holds, runner)
            make_sitemap(work, folder)
        since = f"TIMESTAMPTZ '{(now - max_age).isoformat()}'"
        work.table("wanted", _WANTED.format(since=since))
        total = int(work.value("SELECT count(*) FROM wanted"))
        work.save(f"SELECT url, is_style FROM wanted ORDER BY hash(url) LIMIT {most}", file)
        if not total:
            return LinkCheck(sitemaps=sitemaps)
        run = _CheckRun(folder, config, min(total, most), on_progress, stopping, scratch)
        runner.run(run.run(file, robots, holds))
    return LinkCheck(asked=run.asked, failed=run.failed, left=total - run.done, sitemaps=sitemaps)


_SITES: Final = "SELECT DISTINCT regexp_extract(url, '^https?://[^/?#]+') FROM pages"
_WANTED: Final = """
    SELECT url, bool_or(is_style) AS is_style FROM (
        SELECT url, is_style AND host IN (SELECT host FROM site_hosts) AS is_style
        FROM targets WHERE NOT is_unseen
        UNION ALL SELECT final, false FROM chains WHERE NOT is_loop
        UNION ALL SELECT url, false FROM sitemap
        UNION ALL SELECT url, false FROM starts)
    WHERE regexp_matches(url, '^https?://') AND url NOT IN (
        SELECT url FROM answers
        WHERE outcome <> 'unasked' AND (NOT is_checked OR (time >= {since} AND outcome <> 'broken')))
    GROUP BY url"""


def _read_sitemaps(
    crawl: CrawlDir,
    config: Config,
    scratch: Path,
    sites: list[str],
    now: datetime,
    robots: SqliteRobotsCache,
    holds: KeptHolds,
    runner: asyncio.Runner,
) -> int:
    """Read the sitemaps of the sites, and keep the URLs in them; return their number."""
    crawler = SitemapCrawler(config, strict=config.sitemap.strict_parsing, on_progress=lambda snapshot, kept: None)
    file = scratch / "sitemaps.parquet"
    chains = UrlChains.from_config(config, "inject", filter=False, normalize=config.sitemap.url_normalize)
    begins = [SitemapStart(canonical(f"{site}/robots.txt"), True) for site in sites]
    with SitemapRecords(file, chains, config, now) as records:
        runner.run(crawler.run(begins, records, robots, holds, scratch))
    note_sitemap(crawl, file, now, replaces=True)
    return crawler.sitemaps


class _CheckRun:
    """One run of requests."""

    def __init__(
        self,
        folder: SiteFolder,
        config: Config,
        total: int,
        on_progress: Progress,
        stopping: StopRequest | None,
        scratch: Path,
    ) -> None:
        self.asked = self.failed = self.done = 0
        self._folder = folder
        self._config = config
        self._total = total
        self._on_progress = on_progress
        self._stopping = stopping
        self._scratch = scratch
        self._recent = RecentUrls(MOST_RECENT)
        self._answers = _KeptRows(folder, "checks", SITE_CHECKS)
        self._styles = _KeptRows(folder, "styles", SITE_STYLES)

    async def run(self, file: Path, robots: SqliteRobotsCache, holds: KeptHolds) -> None:
        self._fetcher = Fetcher(
            self._config, robots_cache=robots, holds=holds, folder=self._scratch, on_snapshot=self._tick
        )
        try:
            await self._fetcher.run(self._requests(file), self._take)
        finally:
            self._styles.keep()
            self._answers.keep()

    async def _requests(self, file: Path) -> AsyncIterator[Request]:
        with pq.ParquetFile(file) as wanted:
            for batch in wanted.iter_batches(1_000):
                for text, is_style in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    request = self._request(text, _Context(is_style=is_style))
                    if request is None:
                        self.done += 1
                    else:
                        yield request

    def _request(self, text: str, context: _Context) -> Request | None:
        """Return the request for a URL, unless it was asked for before."""
        try:
            url = canonical(text)
        except UrlError:
            return None
        if not self._recent.add(url.text):
            return None
        return Request(url=url, head=not context.is_style, context=_encode(context))

    async def _take(self, request: Request, reply: Reply) -> None:
        if isinstance(reply, Failed) and reply.reason in _NOT_ASKED:
            return
        context = _decode(request.context)
        if request.head and _may_dislike_head(reply):
            again = replace(request, head=False, first_bytes=FIRST_BYTES)
            if self._fetcher.add(again, even_if_full=True) is None:
                return
        self.asked += 1
        self.done += not context.hops and not context.depth
        self.failed += isinstance(reply, Gone | Failed)
        self._answers.add(_answer_row(request, reply))
        if isinstance(reply, Moved) and reply.target is not None and context.hops < MOST_HOPS:
            self._follow(reply.target, replace(context, hops=context.hops + 1))
        elif isinstance(reply, Fetched) and context.is_style:
            self._read_style(request.url, reply, context)

    def _follow(self, target: Url, context: _Context) -> None:
        if target.text.startswith(("http://", "https://")):
            request = self._request(target.text, context)
            if request is not None:
                self._fetcher.add(request, even_if_full=True)

    def _read_style(self, url: Url, reply: Fetched, context: _Context) -> None:
        exchange = reply.exchange
        media_type, charset = parse_content_type(exchange.header("content-type"))
        if media_type != STYLE_TYPE or context.depth >= MOST_HOPS:
            return
        body = decode(exchange.body, content_codings(exchange.headers), self._config.fetch.content_limit).body
        try:
            text = body.decode(charset or "utf-8", "replace")
        except LookupError:
            text = body.decode("utf-8", "replace")
        for link in style_links(text, url):
            target = link.target.text if link.target is not None else None
            self._styles.add((url.text, exchange.started, target, link.href, link.text, link.kind))
            if link.target is not None:
                is_style = link.kind == "style" and link.target.host == url.host
                self._follow(link.target, _Context(is_style=is_style, depth=context.depth + 1))

    def _tick(self, snapshot: Snapshot) -> None:
        self._on_progress(self.done, self._total)
        if self._answers.is_due:
            self._styles.keep()
            self._answers.keep()
        if self._stopping:
            self._fetcher.stop(_STOP_WITHIN)


class _KeptRows:
    """Rows in files of a few thousand, which are finished every few seconds."""

    def __init__(self, folder: SiteFolder, prefix: str, schema: Any) -> None:
        self._folder = folder
        self._prefix = prefix
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._since = time.monotonic()
        self._number = 0
        self._name = f"{prefix}-{time.time_ns() // 1_000_000}"

    @property
    def is_due(self) -> bool:
        return bool(self._rows) and time.monotonic() - self._since >= _KEEP_EVERY

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _MOST_ROWS:
            self.keep()

    def keep(self) -> None:
        """Finish a file with the rows that are waiting."""
        self._since = time.monotonic()
        if not self._rows:
            return
        name = f"{self._name}-{self._number:05d}.parquet"
        draft = self._folder.draft(name)
        with RowsFile(draft, self._schema, _MOST_ROWS) as file:
            file.add(*self._rows)
        self._folder.finish(name, draft)
        self._rows = []
        self._number += 1


def _may_dislike_head(reply: Reply) -> bool:
    """Tell whether a GET request may have another result than this answer to a HEAD request."""
    if isinstance(reply, Gone | Failed):
        if reply.exchange is not None:
            return reply.exchange.status not in _FINAL
        return reply.reason in (Reason.RESET, Reason.MALFORMED, Reason.TIMEOUT)
    return False


def _answer_row(request: Request, reply: Reply) -> tuple[Any, ...]:
    exchange = reply.exchange
    failed = isinstance(reply, Gone | Failed)
    target = reply.target.text if isinstance(reply, Moved) and reply.target is not None else None
    return (
        request.url.text,
        exchange.started if exchange is not None else datetime.now().astimezone(),
        "HEAD" if request.head else "GET",
        exchange.status if exchange is not None else None,
        short_name(fetch_status(reply)),
        reply.reason.value if isinstance(reply, Gone | Failed) else None,
        (reply.detail or None) if isinstance(reply, Gone | Failed) else None,
        target,
        exchange.header("content-type") or None if exchange is not None else None,
        None if failed or exchange is None else _length(exchange.header("content-length"), len(exchange.body)),
        round(exchange.timings.total * 1000) if exchange is not None else None,
    )


def _length(said: str, received: int) -> int:
    """Return the size that a response declares, or else what was received of it.

    >>> _length("1234", 0), _length("", 5), _length("many", 5)
    (1234, 5, 5)
    """
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 19 else received
