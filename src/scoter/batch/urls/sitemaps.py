"""Fetch sitemaps politely: robots.txt first, then the sitemaps that it names, then the sitemaps of indexes.

robots.txt files go into the cache of the fetch core, so that each is fetched once. Replies are parsed in one thread,
one after another; the fetch core's body budget limits how many are in memory.

The reading can be suspended and continued: requests that were not made are kept, with the state of each site's search.
A search ends early when its time is up, when it has requested too many sitemaps, or when the site repeats itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.urls.records import SitemapRecords
from scoter.batch.urls.seeds import SeedProblem
from scoter.batch.urls.sitemap_starts import SitemapStart, origin_of
from scoter.config import Config
from scoter.core.display import count
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request, Truncation
from scoter.core.robots import LIMIT, Robots
from scoter.core.robots_cache import RobotsCache, StoredRobots
from scoter.core.url import Url, canonical, join, queue_key
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
MAX_REPEATS = 20
"""Sitemaps of one site that list the same URLs as an earlier one, after which the rest of the site is not read."""
MAX_LEFT = 100_000
"""Requests kept while the reading is suspended."""
MAX_PROBLEMS = 20
"""Problems kept for display; further ones are only counted."""
_ABSENT = frozenset(("not_found", "removed"))
_END_REASONS = {
    "site_time_limit": "the site's sitemaps took longer than sitemap.site_time_limit",
    "time_limit": "all sitemaps took longer than sitemap.time_limit",
    "not_in_time": "the crawl ended before they could be read",
    "repeats": f"{MAX_REPEATS} of its sitemaps list the same URLs as earlier ones",
    "too_many": "too many requests were waiting",
}
_REPEATED = Sitemap()
_STOP_WITHIN = 5.0  # seconds for requests in progress


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
    """The state of the search from one start.

    ``spent`` is its time up to the last suspension, and ``since`` the time of its first reply after that.
    """

    pending: int
    seen: set[str]
    keys: set[str] = set()
    listings: set[int] = set()
    repeats: int = 0
    spent: float = 0.0
    since: float | None = None
    end_reason: str = ""
    """Why the rest is not read."""
    unread: int = 0

    def seconds(self, now: float) -> float:
        """Return how long the search has taken."""
        return self.spent + (0.0 if self.since is None else now - self.since)


_decoder = msgspec.msgpack.Decoder(SitemapRequest)
_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(Request)


class SitemapCrawler:
    """Fetches and reads all sitemaps of some sites, at once or in several runs."""

    def __init__(
        self,
        config: Config,
        *,
        strict: bool,
        is_stopping: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Snapshot, int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sites = self.sitemaps = self.indexes = self.without = self.ended = 0
        self.problems: list[SitemapProblem] = []
        self.reasons: Counter[str] = Counter()
        self.seed_problems: list[SeedProblem] = []
        self.bad_starts = 0
        settings = config.sitemap
        self._size = int(settings.size_max)
        self._hops = {True: config.http.robots_redirect_max, False: settings.redir_max}
        self._guesses = settings.url_default_sitemap_xml
        self._site_limit = settings.site_time_limit.total_seconds()
        self._limit = settings.time_limit.total_seconds()
        self._wait = settings.wait.total_seconds()
        # A sitemap may be far larger than a page.
        self._config = replace(config, fetch=replace(config.fetch, content_limit=settings.size_max))
        self._strict = strict
        self._is_stopping = is_stopping
        self._on_progress = on_progress
        self._clock = clock
        self._searches: dict[str, _SiteSearch] = {}
        self._left: list[bytes] = []
        self._spent = 0.0

    @property
    def left(self) -> int:
        """The number of sites that were not read to the end because the reading was suspended."""
        return len(self._searches)

    async def run(
        self,
        starts: Iterable[SitemapStart | SeedProblem],
        records: SitemapRecords,
        robots: RobotsCache,
        holds: KeptHolds,
        folder: Path,
        *,
        may_suspend: bool = False,
    ) -> None:
        """Fetch and read what an earlier run left, and all sitemaps reachable from the starts.

        ``may_suspend``: return when only slow sites are left, to be continued by the next run.
        """
        self._records, self._robots, self._may_suspend = records, robots, may_suspend
        self._starts, self._is_fed, self._is_suspended = iter(starts), False, False
        self._began = self._last_end = self._clock()
        self._spent = self._spent if self._searches else 0.0
        self._thread = ThreadPoolExecutor(1, "sitemaps")
        self._fetcher = Fetcher(self._config, robots_cache=robots, holds=holds, folder=folder, on_snapshot=self._tick)
        try:
            await self._fetcher.run(self._requests(), self._take)
        finally:
            self._thread.shutdown()
            # Sites whose turn never came.
            self.reasons.update(["time_limit"] * sum(1 for _ in self._starts))
            now = self._clock()
            self._spent += now - self._began
            for search in self._searches.values():
                search.spent, search.since = search.seconds(now), None

    def give_up(self) -> None:
        """Count what an earlier run left as not read."""
        for search in self._searches.values():
            search.end_reason, search.unread = search.end_reason or "not_in_time", search.pending
        for start in tuple(self._searches):
            self._end(start)
        self._left.clear()

    def _tick(self, snapshot: Snapshot) -> None:
        """Every second: show the progress, and end or suspend what takes too long."""
        self._on_progress(snapshot, self._records.kept)
        now = self._clock()
        if self._is_stopping():
            self._suspend()
        elif self._spent + now - self._began >= self._limit:
            for search in self._searches.values():
                search.end_reason = search.end_reason or "time_limit"
            self._suspend()
        # While no site is finished, there may be nothing else to fetch.
        elif self._may_suspend and self._is_fed and self.ended and now - self._last_end >= self._wait:
            self._suspend()
        else:
            for search in tuple(self._searches.values()):
                if not search.end_reason and search.seconds(now) >= self._site_limit:
                    self._cut_short(search, "site_time_limit")

    def _suspend(self) -> None:
        self._is_suspended = True
        self._fetcher.stop(_STOP_WITHIN)

    def _cut_short(self, search: _SiteSearch, reason: str) -> None:
        """End a search without what is still queued."""
        search.end_reason = reason
        # Requests of other searches to the same hosts come back, too, and are queued again.
        for key in tuple(search.keys) if self._config.fetch.queue_mode != "ip" else self._fetcher.queues():
            self._fetcher.hand_back(key, even_started=True)

    async def _requests(self) -> AsyncIterator[Request]:
        left, self._left = self._left, []
        while left:
            yield _requests.decode(left.pop())
        async for request in self._first_requests():
            yield request
        self._is_fed = True

    async def _first_requests(self) -> AsyncIterator[Request]:
        for start in self._starts:
            if isinstance(start, SeedProblem):
                self.bad_starts += 1
                self.seed_problems += [start][: MAX_PROBLEMS - len(self.seed_problems)]
                continue
            context = SitemapRequest(start=start.url.text, is_robots=start.is_site)
            if context.start in self._searches:
                continue
            self._searches[context.start] = search = _SiteSearch(1, {context.start})
            self.sites += start.is_site
            stored = await self._robots.get(origin_of(start.url)) if start.is_site else None
            if stored is not None and stored.expires > time.time():
                # A cached robots.txt need not be fetched again.
                await self._site(start.url, stored.body or b"", context)
                self._done(context)
                continue
            if not start.is_site:
                context = replace(context, below=(_folder_of(start.url),))
            search.keys.add(self._key(start.url))
            yield Request(url=start.url, context=msgspec.msgpack.encode(context))

    async def _take(self, request: Request, reply: Reply) -> None:
        context = _decoder.decode(request.context)
        search = self._searches[context.start]
        if isinstance(reply, Failed) and reply.reason is Reason.STOPPED:
            self._take_back(request, context)
            return
        if search.since is None:
            search.since = self._clock()
        try:
            if context.is_robots:
                await self._take_robots(request, reply, context)
            else:
                await self._take_sitemap(request, reply, context)
        finally:
            self._done(context)

    def _take_back(self, request: Request, context: SitemapRequest) -> None:
        """Keep a request that was not made, unless its search is over."""
        search = self._searches[context.start]
        if not search.end_reason:
            if not self._is_suspended:
                refusal = self._fetcher.add(request, even_if_full=True)
                if refusal is None:
                    return
            elif len(self._left) < MAX_LEFT:
                self._left.append(_encoder.encode(request))
                return
        search.unread += 1
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
        search = self._searches[context.start]
        if found is _REPEATED:
            search.repeats += 1
            if search.repeats >= MAX_REPEATS and not search.end_reason:
                self._cut_short(search, "repeats")
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
        listed = [entry.url.text for entry in found.entries] + [url.text for url, _ in found.sitemaps]
        if listed:
            digest = xxhash.xxh3_64_intdigest("\n".join(listed).encode())
            listings = self._searches[context.start].listings
            if digest in listings:
                return _REPEATED
            listings.add(digest)
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
        search.keys.add(self._key(url))
        request = Request(url=url, context=msgspec.msgpack.encode(context))
        if search.end_reason or self._is_suspended:
            self._take_back(request, context)
            return
        refusal = self._fetcher.add(request)
        if refusal is not None:
            search.pending -= 1
            self._problem(url, f"the queue of its host is {refusal.value}", "not_asked")

    def _key(self, url: Url) -> str:
        return queue_key(url, self._config.fetch.queue_mode)

    def _done(self, context: SitemapRequest) -> None:
        search = self._searches[context.start]
        search.pending -= 1
        if not search.pending:
            self._end(context.start)

    def _end(self, start: str) -> None:
        search = self._searches.pop(start)
        self.ended += 1
        self._last_end = self._clock()
        if search.unread:
            reason = search.end_reason or "too_many"
            self.reasons[reason] += search.unread
            why = f"{_END_REASONS[reason]}; not read: {count(search.unread, 'sitemap')}"
            self.problems += [SitemapProblem(start, why)][: MAX_PROBLEMS - len(self.problems)]

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
