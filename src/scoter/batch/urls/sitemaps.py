"""Fetch sitemaps politely: robots.txt first, then the sitemaps that it names, then the sitemaps of indexes.

robots.txt files go into the cache of the fetch core, so that each is fetched once. Replies are parsed in one thread,
one after another; the fetch core's body budget limits how many are in memory.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ibis
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.export import iter_rows
from scoter.batch.urls.records import SitemapRecords
from scoter.batch.urls.seeds import SeedLine, SeedProblem, SeedSource, parse_seed, read_seeds
from scoter.config import Config
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reply, Request, Truncation
from scoter.core.robots import LIMIT, Robots
from scoter.core.robots_cache import RobotsCache, StoredRobots
from scoter.core.url import Url, canonical, join
from scoter.engine import Engine, TableSource
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.progress import Snapshot
from scoter.fetch.queues.holds import KeptHolds
from scoter.fetch.robots import MAX_AGE
from scoter.parse.feeds.sitemap import Sitemap, read_listing
from scoter.parse.mediatype import parse_content_type

MAX_DEPTH = 3
"""Maximum depth of nested indexes; sitemaps.org allows one."""
MAX_SITEMAPS = 5_000
"""Maximum number of sitemaps per site, or below a given sitemap."""
MAX_PROBLEMS = 20
"""Problems kept for display; further ones are only counted."""
_ABSENT = frozenset(("not_found", "removed"))


class SitemapProblem(Struct, frozen=True):
    """A sitemap that could not be read, or only in part."""

    url: str
    why: str


class SitemapRequest(Struct, frozen=True, kw_only=True):
    """The context of a request: the search it belongs to, and how it was found.

    ``below`` holds the URL prefixes that the sitemap is authoritative for. By sitemaps.org, a sitemap covers the URLs
    below its folder, and one named by robots.txt the whole site.
    """

    start: str
    is_robots: bool = False
    is_guess: bool = False
    depth: int = 0
    hops: int = 0
    below: tuple[str, ...] = ()


class _SiteSearch(Struct):
    """The state of the search from one start: the number of open requests, and the URLs requested."""

    pending: int
    seen: set[str]


_decoder = msgspec.msgpack.Decoder(SitemapRequest)


class SitemapCrawler:
    """Fetches and reads all sitemaps of some sites."""

    def __init__(
        self,
        config: Config,
        records: SitemapRecords,
        robots: RobotsCache,
        holds: KeptHolds,
        folder: Path,
        *,
        strict: bool,
        on_progress: Callable[[Snapshot, int], None],
    ) -> None:
        self.sites = self.sitemaps = self.indexes = self.without = 0
        self.problems: list[SitemapProblem] = []
        self.reasons: Counter[str] = Counter()
        self.seed_problems: list[SeedProblem] = []
        self.bad_starts = 0
        settings = config.sitemap
        self._size = int(settings.size_max)
        self._hops = {True: config.http.robots_redirect_max, False: settings.redir_max}
        self._guesses = settings.url_default_sitemap_xml
        # A sitemap may be far larger than a page.
        self._config = replace(config, fetch=replace(config.fetch, content_limit=settings.size_max))
        self._records = records
        self._robots = robots
        self._holds = holds
        self._folder = folder
        self._strict = strict
        self._on_progress = on_progress
        self._searches: dict[str, _SiteSearch] = {}
        self._fetcher: Fetcher | None = None
        self._thread = ThreadPoolExecutor(1, "sitemaps")

    async def run(self, starts: Iterable[SitemapStart | SeedProblem]) -> None:
        """Fetch and read all sitemaps reachable from the starts."""
        self._fetcher = Fetcher(
            self._config, robots_cache=self._robots, holds=self._holds, folder=self._folder, on_snapshot=self._tick
        )
        try:
            await self._fetcher.run(self._requests(starts), self._take)
        finally:
            self._thread.shutdown()

    def _tick(self, snapshot: Snapshot) -> None:
        self._on_progress(snapshot, self._records.kept)

    async def _requests(self, starts: Iterable[SitemapStart | SeedProblem]) -> AsyncIterator[Request]:
        for start in starts:
            if isinstance(start, SeedProblem):
                self.bad_starts += 1
                self.seed_problems += [start][: MAX_PROBLEMS - len(self.seed_problems)]
                continue
            context = SitemapRequest(start=start.url.text, is_robots=start.is_site)
            if context.start in self._searches:
                continue
            self._searches[context.start] = _SiteSearch(1, {context.start})
            self.sites += start.is_site
            stored = await self._robots.get(origin_of(start.url)) if start.is_site else None
            if stored is not None and stored.expires > time.time():
                # A cached robots.txt need not be fetched again.
                await self._site(start.url, stored.body or b"", context)
                self._done(context)
                continue
            if not start.is_site:
                context = replace(context, below=(_folder_of(start.url),))
            yield Request(url=start.url, context=msgspec.msgpack.encode(context))

    async def _take(self, request: Request, reply: Reply) -> None:
        context = _decoder.decode(request.context)
        try:
            if context.is_robots:
                await self._take_robots(request, reply, context)
            else:
                await self._take_sitemap(request, reply, context)
        finally:
            self._done(context)

    async def _take_robots(self, request: Request, reply: Reply, context: SitemapRequest) -> None:
        start = canonical(context.start)
        match reply:
            case Moved(target=Url() as target) if context.hops < self._hops[True]:
                self._request(target, replace(context, hops=context.hops + 1))
            case Fetched(exchange) if exchange.truncation not in (Truncation.TIME, Truncation.DISCONNECT):
                body = decode(exchange.body, content_codings(exchange.headers), LIMIT + 3).body
                await self._robots.put(origin_of(start), StoredRobots(body, time.time() + MAX_AGE.total_seconds()))
                await self._site(start, body, context)
            case Gone(reason=reason) if reason.value in _ABSENT:
                await self._robots.put(origin_of(start), StoredRobots(None, time.time() + MAX_AGE.total_seconds()))
                await self._site(start, b"", context)
            case Failed(exchange=Exchange(status=status)) if 400 <= status < 500 and status != 429:
                await self._site(start, b"", context)
            case Moved() | Gone():
                await self._site(start, b"", context)
            case _:
                # If robots.txt is unavailable, nothing may be fetched from the site.
                self._problem(request.url, _why(reply))

    async def _site(self, robots: Url, body: bytes, context: SitemapRequest) -> None:
        """Request the sitemaps that a robots.txt names, or the default one."""
        site = canonical(context.start)
        below = (origin_of(site) + "/",)
        named = [join(robots, text) for text in Robots.read(body, ()).sitemaps]
        targets = [target for target in named if target is not None and target.text.startswith("http")]
        if not targets and self._guesses:
            guess = canonical(origin_of(site) + "/sitemap.xml")
            self._request(guess, SitemapRequest(start=context.start, is_guess=True, below=below))
        elif not targets:
            self.without += 1
        for target in targets:
            self._request(target, SitemapRequest(start=context.start, below=below))

    async def _take_sitemap(self, request: Request, reply: Reply, context: SitemapRequest) -> None:
        match reply:
            case Moved(target=Url() as target) if context.hops < self._hops[False]:
                self._request(target, replace(context, hops=context.hops + 1))
            case Fetched(exchange):
                await self._read(exchange, context)
            case Gone(reason=reason) if context.is_guess and reason.value in _ABSENT:
                self.without += 1
            case _:
                self._problem(request.url, _why(reply))

    async def _read(self, exchange: Exchange, context: SitemapRequest) -> None:
        found = await asyncio.get_running_loop().run_in_executor(self._thread, self._read_now, exchange, context)
        if found is None:
            if context.is_guess:
                self.without += 1
            else:
                self._problem(exchange.url, "not_a_sitemap")
            return
        self.sitemaps += 1
        self.indexes += bool(found.sitemaps)
        if found.doubt or exchange.truncation:
            self._problem(exchange.url, found.doubt or f"truncated ({exchange.truncation.value})", "read_in_part")
        if not found.sitemaps:
            return
        if context.depth >= MAX_DEPTH:
            self._problem(exchange.url, f"more than {MAX_DEPTH} nested indexes", "too_deep")
            return
        for url, _ in found.sitemaps:
            if url.text.startswith("http"):
                self._request(url, SitemapRequest(start=context.start, depth=context.depth + 1, below=context.below))

    def _read_now(self, exchange: Exchange, context: SitemapRequest) -> Sitemap | None:
        decoded = decode(exchange.body, content_codings(exchange.headers), self._size)
        cut = bool(exchange.truncation or decoded.truncation)
        _, charset = parse_content_type(exchange.header("content-type"))
        found = read_listing(decoded.body, exchange.url, charset=charset, size=self._size, cut=cut)
        if found is None:
            return None
        self._records.not_urls += found.not_urls
        self._records.add(found.entries, (*context.below, _folder_of(exchange.url)) if self._strict else None)
        return replace(found, entries=())

    def _request(self, url: Url, context: SitemapRequest) -> None:
        """Request a URL, unless it was requested before or there are too many."""
        search = self._searches[context.start]
        if url.text in search.seen:
            return
        if len(search.seen) > MAX_SITEMAPS:
            self._problem(url, f"more than {MAX_SITEMAPS:,} sitemaps for one site", "too_many")
            return
        search.seen.add(url.text)
        search.pending += 1
        assert self._fetcher is not None  # noqa: S101 - the fetcher is the caller
        refusal = self._fetcher.add(Request(url=url, context=msgspec.msgpack.encode(context)))
        if refusal is not None:
            search.pending -= 1
            self._problem(url, f"the queue of its host is {refusal.value}", "not_asked")

    def _done(self, context: SitemapRequest) -> None:
        search = self._searches[context.start]
        search.pending -= 1
        if not search.pending:
            del self._searches[context.start]

    def _problem(self, url: Url, why: str, reason: str = "") -> None:
        self.reasons[reason or why.partition(":")[0]] += 1
        self.problems += [SitemapProblem(url.text, why)][: MAX_PROBLEMS - len(self.problems)]


def _folder_of(url: Url) -> str:
    """Return the URL prefix that a sitemap covers: its folder.

    >>> _folder_of(canonical("https://example.org/shop/map.xml?x=/"))
    'https://example.org/shop/'
    """
    return origin_of(url) + url.path[: url.path.rindex("/") + 1]


def _why(reply: Reply) -> str:
    match reply:
        case Failed(reason=reason, detail=detail) | Gone(reason=reason, detail=detail):
            return f"{reason.value}: {detail}" if detail else reason.value
        case Moved():
            return "redirects: too many, or without a target"
        case NotModified():
            return "not_modified: unexpected"
        case Fetched():
            return "incomplete"


ROBOTS = "/robots.txt"
_SCHEMA = pa.schema([("origin", pa.utf8())])
_ORIGIN = "^https?://[^/?#]+"


class SitemapStart(Struct, frozen=True):
    """A site (``url`` is its robots.txt) or a sitemap to start from."""

    url: Url
    is_site: bool


def start_of(text: str) -> SitemapStart:
    """Return the start that a URL names: a site for its root or robots.txt, otherwise a sitemap.

    >>> start_of("https://example.org"), start_of("https://example.org/map.xml").is_site
    (SitemapStart(url=Url('https://example.org/robots.txt'), is_site=True), False)
    """
    url = canonical(text)
    if url.target in ("/", ROBOTS):
        return SitemapStart(canonical(origin_of(url) + ROBOTS), True)
    return SitemapStart(url, False)


def origin_of(url: Url) -> str:
    """Return a URL up to its path: scheme, host and port."""
    return url.text[: len(url.text) - len(url.target)]


def read_starts(urls: Iterable[SeedSource], hosts: Iterable[SeedSource]) -> Iterator[SitemapStart | SeedProblem]:
    """Yield the starts that arguments and files name; a host without a scheme gets https."""
    for line in read_seeds(urls):
        yield line if isinstance(line, SeedProblem) else _start(line)
    for line in read_seeds(hosts):
        if isinstance(line, SeedProblem):
            yield line
        else:
            text = parse_seed(line.text).text
            yield _start(SeedLine(text if "://" in text else f"https://{text}/", line.where), as_site=True)


def save_sites(engine: Engine, crawldb: TableSource, file: Path) -> int:
    """Write the distinct sites of a crawldb to a file and return their number."""
    rows = engine.read(crawldb)
    found = rows.filter(rows.url.re_search(_ORIGIN)).select(origin=rows.url.re_extract(_ORIGIN, 0)).distinct()
    return engine.save(found, _SCHEMA, file, ["origin"])


def save_hosts_as_sites(engine: Engine, hostdb: TableSource, file: Path) -> int:
    """Write the sites of the hosts of a hostdb that are not dead to a file, and return their number."""
    rows = engine.read(hostdb)
    alive = rows.filter(rows.dns.fill_null("") != "failed")
    own = ibis.literal("http://") + alive.url
    # A homepage tells whether the host has https; a redirect to another host tells nothing.
    origin = alive.homepage.fill_null("").startswith(own + "/").ifelse(own, ibis.literal("https://") + alive.url)
    return engine.save(alive.select(origin=origin), _SCHEMA, file, ["origin"])


def read_sites(file: Path) -> Iterator[SitemapStart]:
    """Yield the sites of a file that ``save_sites`` wrote."""
    with pq.ParquetFile(file) as found:
        for row in iter_rows(found.iter_batches()):
            yield SitemapStart(canonical(row["origin"] + ROBOTS), True)


def _start(line: SeedLine, as_site: bool = False) -> SitemapStart | SeedProblem:
    text = parse_seed(line.text).text
    try:
        found = start_of(text)
    except UrlError:
        return SeedProblem(line.where, text[:200], "not a URL that can be fetched")
    if not found.url.text.startswith(("http://", "https://")):
        return SeedProblem(line.where, text[:200], "not an http or https URL")
    return SitemapStart(canonical(origin_of(found.url) + ROBOTS), True) if as_site else found
