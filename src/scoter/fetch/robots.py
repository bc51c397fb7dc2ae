"""The robots.txt filter: fetch a site's robots.txt politely, cache it, and refuse what it disallows.

answer to /robots.txt    consequence
2xx                      obey its rules, for at most 24 hours
4xx                      allow everything (403: see http.robots_403_allow)
3xx                      follow, each hop in a slot of its host; after too many hops allow everything
5xx, 429                 put the host on hold and retry a few times, then as for no answer
no answer                fetch nothing; the URL fails for now and is retried another day

A site's robots.txt is fetched once, however many URLs wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from scoter.compose import Service
from scoter.config import Config
from scoter.core.reply import (
    LONGEST_RETRY_AFTER,
    Exchange,
    Failed,
    Fetched,
    Gone,
    Moved,
    NotModified,
    Reason,
    Reply,
    Request,
    Truncation,
)
from scoter.core.robots import ALLOW_ALL, LIMIT, Robots, disallow_all, whole_lines
from scoter.core.robots_cache import RobotsCache, RobotsMap, StoredRobots
from scoter.core.url import Url, canonical, join
from scoter.fetch.decode import content_codings, decode, is_binary

MAX_AGE = timedelta(hours=24)  # RFC 9309 2.4
# Rules expire after a day, and a Crawl-delay counts from the request for robots.txt: with a longer one, no page would
# ever be requested.
LONGEST_CRAWL_DELAY = MAX_AGE / 2
MAX_ENTRIES = 20_000
MAX_BYTES = 256 * 1024 * 1024
RULE_BYTES = 600  # memory of one parsed rule, however short its text
SHORT_FILE = 1_024
SHORT_FILES = 4_096

_TEMPORARY = frozenset({Reason.BUSY, Reason.SERVER_ERROR})
# We refused these requests ourselves: report that reason, not robots.txt, unless a redirect led there.
_OUR_REFUSALS = frozenset(
    {Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME, Reason.PURGED, Reason.STOPPED}
)

Hop: TypeAlias = Service[Request, Reply]


class RobotsUnavailable(Struct, frozen=True):
    """Why a site's rules are unknown, so that nothing may be fetched from it."""

    reason: Reason
    detail: str


Rules: TypeAlias = Robots | RobotsUnavailable


class RobotsFilter:
    """Passes on what robots.txt allows. A refused URL does not use up a slot of its host."""

    def __init__(
        self,
        config: Config,
        *,
        cache: RobotsCache | None = None,
        set_crawl_delay: Callable[[Url, timedelta | None], None] = lambda url, delay: None,
        defer: Callable[[Url, timedelta], None] = lambda url, delay: None,
        lend_slot: Callable[[], AbstractContextManager[None]] = nullcontext,
        on_exchange: Callable[[Exchange], None] = lambda exchange: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``lend_slot`` is entered while a request waits for a robots.txt that another request fetches."""
        http = config.http
        self._agents = tuple(filter(None, (config.agent.name, *http.robots_agents)))
        # Many sites serve the same few lines, the default of their software.
        self._parse_short = lru_cache(maxsize=SHORT_FILES)(lambda body: Robots.read(body, self._agents))
        self._allowlist = tuple(host.lower().lstrip("*.") for host in http.robot_rules_allowlist)
        self._forbidden_allows = http.robots_403_allow
        self._has_proxy = bool(http.proxy_host)
        self._retries = http.robots_503_defer_visits_retries if http.robots_503_defer_visits else 0
        self._hold = http.robots_503_defer_visits_delay
        self._max_redirects = http.robots_redirect_max
        self._max_crawl_delay = config.fetch.max_crawl_delay
        self._long_crawl_delay = config.fetch.long_crawl_delay
        self._shared = cache
        self._set_crawl_delay = set_crawl_delay
        self._defer = defer
        self._lend_slot = lend_slot
        self._on_exchange = on_exchange
        self._clock = clock
        self._known: RobotsMap[Rules] = RobotsMap(MAX_ENTRIES, MAX_BYTES, clock)
        self._fetching: dict[str, asyncio.Future[Rules | None]] = {}

    def __repr__(self) -> str:
        return f"RobotsFilter({len(self._known)} known, {len(self._fetching)} being fetched)"

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        url = request.url
        # RFC 9309 2.2.2: robots.txt itself is always allowed.
        text = url.text
        if not text.startswith("http") or (text.endswith("/robots.txt") and url.target == "/robots.txt"):
            return await service(request)
        if self._allowlist and self._is_allowlisted(url.host):
            return await service(request)
        rules = self._known.get(_origin(url)) or await self._find(url, service)
        if isinstance(rules, RobotsUnavailable):
            return Failed(url, rules.reason, rules.detail, blames_host=False)
        if not rules.allows(url):
            return Gone(url, Reason.ROBOTS_DENIED, rules.explain(url).why)
        delay = rules.crawl_delay
        if delay is not None:
            if self._max_crawl_delay is not None and delay > self._max_crawl_delay:
                if self._long_crawl_delay == "skip":
                    detail = f"robots.txt asks for a Crawl-delay of {delay.total_seconds():g} s"
                    return Gone(url, Reason.CRAWL_DELAY, detail)
                delay = min(delay, self._max_crawl_delay if self._long_crawl_delay == "cap" else LONGEST_CRAWL_DELAY)
            self._set_crawl_delay(url, delay)  # each time: the host's queue may be a new one
        return await service(request)

    def _parse(self, body: bytes) -> Robots:
        return self._parse_short(body) if len(body) <= SHORT_FILE else Robots.read(body, self._agents)

    def _is_client_error(self, status: int) -> bool:
        """Tell whether the site itself answered 4xx; with a proxy, 407 comes from the proxy."""
        return 400 <= status < 500 and not (status == 407 and self._has_proxy)

    def _is_allowlisted(self, host: str) -> bool:
        return any(host == own or host.endswith("." + own) for own in self._allowlist)

    async def _find(self, url: Url, service: Hop) -> Rules:
        """Return the rules of a URL's site: one request fetches them, all others of the site wait for it."""
        origin = _origin(url)
        while (fetching := self._fetching.get(origin)) is not None:
            with self._lend_slot():
                rules = await asyncio.shield(fetching)
            if rules is not None:
                return rules
        fetching = self._fetching[origin] = asyncio.get_running_loop().create_future()
        rules = None
        try:
            rules = await self._from_shared(origin) or await self._fetch(url, origin, service)
            if isinstance(rules, Robots) and rules.crawl_delay is None:
                self._set_crawl_delay(url, None)  # an earlier version may have asked for one
            return rules
        finally:
            del self._fetching[origin]
            fetching.set_result(rules)  # None if this request was cancelled: then one that waits fetches

    async def _from_shared(self, origin: str) -> Rules | None:
        stored = None if self._shared is None else await self._shared.get(origin)
        if stored is None or stored.expires <= self._clock():
            return None
        return self._remember(origin, ALLOW_ALL if stored.body is None else self._parse(stored.body), stored)

    async def _fetch(self, url: Url, origin: str, service: Hop) -> Rules:
        """Fetch a robots.txt; retry while the server asks for time."""
        reply: Reply = await self._follow(url, origin, service)
        for _ in range(self._retries):
            if not (isinstance(reply, Failed) and reply.reason in _TEMPORARY):
                break
            self._defer(url, min(reply.retry_after or self._hold, LONGEST_RETRY_AFTER))
            reply = await self._follow(url, origin, service)
        return await self._learn(reply, origin)

    async def _follow(self, url: Url, origin: str, service: Hop) -> Reply:
        reply = await service(Request(url=join(url, "/robots.txt") or canonical(f"{origin}/robots.txt")))
        for _ in range(self._max_redirects):
            if not (isinstance(reply, Moved) and reply.target is not None):
                break
            self._on_exchange(reply.exchange)
            reply = await service(Request(url=reply.target))
        return reply

    async def _learn(self, reply: Reply, origin: str) -> Rules:
        expires = self._clock() + MAX_AGE.total_seconds()
        if reply.exchange is not None:
            self._on_exchange(reply.exchange)
        match reply:
            case Fetched(exchange):
                body = _readable_part(exchange)
                if body is None:
                    return self._unavailable(origin, Reason.ROBOTS_UNREACHABLE, "robots.txt: incomplete or undecodable")
                rules, stored = self._parse(body), StoredRobots(body, expires)
            case Failed(reason=Reason.FORBIDDEN) if not self._forbidden_allows:
                rules = disallow_all("robots.txt is forbidden (403)")
                stored = StoredRobots(b"User-agent: *\nDisallow: /", expires)
            case Gone() | Moved() | NotModified() | Failed(reason=Reason.FORBIDDEN):
                rules, stored = ALLOW_ALL, StoredRobots(None, expires)
            case Failed(reason=Reason.OTHER_STATUS, exchange=Exchange(status=status)) if self._is_client_error(status):
                rules, stored = ALLOW_ALL, StoredRobots(None, expires)
            case Failed(reason=Reason.STOPPED | Reason.DEFERRED as reason, detail=detail):
                # This is about us at this moment, not about the site: remember nothing.
                return RobotsUnavailable(reason, detail)
            case Failed(reason=reason, detail=detail):
                if reason in _OUR_REFUSALS and reply.url.text.startswith(f"{origin}/"):
                    return self._unavailable(origin, reason, detail)
                detail = f"robots.txt: {reason.value} {detail}".rstrip()
                return self._unavailable(origin, Reason.ROBOTS_UNREACHABLE, detail)
        self._remember(origin, rules, stored)
        if self._shared is not None:
            await self._shared.put(origin, stored)
        return rules

    def _unavailable(self, origin: str, reason: Reason, detail: str) -> RobotsUnavailable:
        """Remember for a short time that there are no rules. This is not shared: our own network may be down."""
        found = RobotsUnavailable(reason, detail)
        self._known.put(origin, found, self._clock() + self._hold.total_seconds(), 0)
        return found

    def _remember(self, origin: str, rules: Robots, stored: StoredRobots) -> Robots:
        self._known.put(origin, rules, stored.expires, stored.size + RULE_BYTES * len(rules.rules))
        return rules


def _readable_part(exchange: Exchange) -> bytes | None:
    """Return the lines of a robots.txt that can be obeyed; ``None`` if a rule may be missing."""
    decoded = decode(exchange.body, content_codings(exchange.headers), LIMIT + 3)
    cut = exchange.truncation or decoded.truncation
    if cut is Truncation.LENGTH:
        return whole_lines(decoded.body)
    is_compressed = decoded.problem and is_binary(decoded.body)
    return None if cut or is_compressed else decoded.body


def _origin(url: Url) -> str:
    """Return scheme, host and port: each origin has its own robots.txt (RFC 9309 2.3)."""
    return url.text[: url.text.index("/", len("https://"))]  # works for http:// too, since no host is empty
