"""What a site allows: its robots.txt, fetched politely, kept for a while, asked for once however many URLs wait.

answer for /robots.txt              what follows
2xx                                 its rules, for at most a day
4xx                                 everything is allowed (403 by http.robots_403_allow)
3xx                                 followed, each hop in its host's turn; after too many: everything is allowed
5xx, 429                            the host is left alone for a while, some times; then as below
no answer                           nothing is fetched: the URL is tried again another day, and is not gone
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import lru_cache
from typing import Protocol, TypeAlias

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
from scoter.core.robots_records import StoredRobots
from scoter.core.url import Url, canonical, join
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.unknown import Unknown

LONGEST = timedelta(hours=24)  # RFC 9309 2.4
MOST_ENTRIES = 20_000
SHORT = 1_024
SHORT_ENTRIES = 4_096
MOST_BYTES = 256 * 1024 * 1024
RULE = 600  # bytes that a rule takes once it was read, however few it had

Hop: TypeAlias = Service[Request, Reply]


class RobotsCache(Protocol):
    """Where crawlers that work together keep what they learnt of robots.txt files."""

    async def get(self, origin: str) -> StoredRobots | None: ...
    async def put(self, origin: str, stored: StoredRobots) -> None: ...


class NoCache:
    """Shares nothing."""

    async def get(self, origin: str) -> StoredRobots | None:
        return None

    async def put(self, origin: str, stored: StoredRobots) -> None:
        return None


Found: TypeAlias = Robots | Unknown


class RobotsFilter:
    """Lets through what robots.txt allows; what it does not costs its host no turn."""

    def __init__(
        self,
        config: Config,
        *,
        cache: RobotsCache | None = None,
        set_crawl_delay: Callable[[Url, timedelta | None], None] = lambda url, delay: None,
        defer: Callable[[Url, timedelta], None] = lambda url, delay: None,
        lending: Callable[[], AbstractContextManager[None]] = nullcontext,
        keep: Callable[[Exchange], None] = lambda exchange: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        http = config.http
        self._agents = tuple(filter(None, (config.agent.name, *http.robots_agents)))
        # Many sites have the same few lines, which came with their software.
        self._read_short = lru_cache(maxsize=SHORT_ENTRIES)(lambda body: Robots.read(body, self._agents))
        self._own = tuple(host.lower().lstrip("*.") for host in http.robot_rules_allowlist)
        self._forbidden_allows = http.robots_403_allow
        self._has_proxy = bool(http.proxy_host)
        self._tries = http.robots_503_defer_visits_retries if http.robots_503_defer_visits else 0
        self._defer_for = http.robots_503_defer_visits_delay
        self._redirects = http.robots_redirect_max
        self._longest_delay = config.fetch.max_crawl_delay
        self._shared: RobotsCache = cache or NoCache()
        self._set_crawl_delay = set_crawl_delay
        self._defer = defer
        self._lending = lending
        self._keep = keep
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, Found, int]] = OrderedDict()
        self._known_bytes = 0
        self._asking: dict[str, asyncio.Future[Found | None]] = {}

    def __repr__(self) -> str:
        return f"RobotsFilter({len(self._known)} known, {len(self._asking)} being asked)"

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        url = request.url
        # RFC 9309 2.2.2: robots.txt itself is always allowed.
        text = url.text
        if not text.startswith("http") or (text.endswith("/robots.txt") and url.target == "/robots.txt"):
            return await service(request)
        if self._own and self._is_own(url.host):
            return await service(request)
        found = self._recall(_origin(url)) or await self._find(url, service)
        if isinstance(found, Unknown):
            return Failed(url, found.reason, found.detail, blames_host=False)
        if not found.allows(url):
            return Gone(url, Reason.ROBOTS_DENIED, found.explain(url).why)
        delay = found.crawl_delay
        if delay is not None:
            if self._longest_delay is not None and delay > self._longest_delay:
                told = f"robots.txt asks for {delay.total_seconds():g} s between requests"
                return Gone(url, Reason.CRAWL_DELAY, told)
            self._set_crawl_delay(url, delay)  # each time: a queue that was empty for long is a new one
        return await service(request)

    def _read(self, body: bytes) -> Robots:
        return self._read_short(body) if len(body) <= SHORT else Robots.read(body, self._agents)

    def _is_refusal(self, status: int) -> bool:
        """Tell whether a site has answered that it has no rules for us; where there is a proxy, 407 is its own word."""
        return 400 <= status < 500 and not (status == 407 and self._has_proxy)

    def _is_own(self, host: str) -> bool:
        return any(host == own or host.endswith("." + own) for own in self._own)

    def _recall(self, origin: str) -> Found | None:
        entry = self._known.get(origin)
        if entry is None:
            return None
        if entry[0] <= self._clock():
            self._forget(origin)
            return None
        self._known.move_to_end(origin)
        return entry[1]

    async def _find(self, url: Url, service: Hop) -> Found:
        """Return the rules of a URL's site: one asks, all others of the site wait for the same answer."""
        origin = _origin(url)
        while (asking := self._asking.get(origin)) is not None:
            with self._lending():
                found = await asyncio.shield(asking)
            if found is not None:
                return found
        asking = self._asking[origin] = asyncio.get_running_loop().create_future()
        found = None
        try:
            found = await self._from_shared(origin) or await self._ask(url, origin, service)
            if isinstance(found, Robots) and found.crawl_delay is None:
                self._set_crawl_delay(url, None)  # it may have asked for one until now
            return found
        finally:
            del self._asking[origin]
            asking.set_result(found)  # none when whoever asked was stopped: then one of those who wait asks

    async def _from_shared(self, origin: str) -> Found | None:
        stored = await self._shared.get(origin)
        if stored is None or stored.expires <= self._clock():
            return None
        found = ALLOW_ALL if stored.body is None else self._read(stored.body)
        self._remember(origin, found, stored.expires, len(stored.body or b""))
        return found

    async def _ask(self, url: Url, origin: str, service: Hop) -> Found:
        """Fetch a robots.txt, and again when the server asks for time."""
        reply: Reply = await self._follow(url, origin, service)
        for _ in range(self._tries):
            if not (isinstance(reply, Failed) and reply.reason in _PASSING):
                break
            self._defer(url, min(reply.retry_after or self._defer_for, LONGEST_RETRY_AFTER))
            reply = await self._follow(url, origin, service)
        return await self._learn(reply, origin)

    async def _follow(self, url: Url, origin: str, service: Hop) -> Reply:
        reply = await service(Request(url=join(url, "/robots.txt") or canonical(f"{origin}/robots.txt")))
        for _ in range(self._redirects):
            if not (isinstance(reply, Moved) and reply.target is not None):
                break
            self._keep(reply.exchange)
            reply = await service(Request(url=reply.target))
        return reply

    async def _learn(self, reply: Reply, origin: str) -> Found:
        now = self._clock()
        if reply.exchange is not None:
            self._keep(reply.exchange)
        match reply:
            case Fetched(exchange):
                decoded = decode(exchange.body, content_codings(exchange.headers), LIMIT + 3)
                cut = exchange.truncation or decoded.truncation
                is_packed = decoded.problem and _BINARY.search(decoded.body) is not None
                if cut in (Truncation.TIME, Truncation.DISCONNECT) or ((decoded.is_partial or is_packed) and not cut):
                    # The rule that denies may stand in the part that did not come, or that nobody can read.
                    unknown = Unknown(Reason.ROBOTS_UNREACHABLE, "robots.txt: not all of it came, or can be decoded")
                    self._remember(origin, unknown, now + self._defer_for.total_seconds(), 0)
                    return unknown
                body = whole_lines(decoded.body) if cut else decoded.body
                found: Found = self._read(body)
                stored = StoredRobots(body, now + LONGEST.total_seconds())
            case Failed(reason=Reason.FORBIDDEN) if not self._forbidden_allows:
                found = disallow_all("robots.txt is forbidden (403)")
                stored = StoredRobots(b"User-agent: *\nDisallow: /", now + LONGEST.total_seconds())
            case Gone() | Moved() | NotModified() | Failed(reason=Reason.FORBIDDEN):
                found, stored = ALLOW_ALL, StoredRobots(None, now + LONGEST.total_seconds())
            case Failed(reason=Reason.OTHER_STATUS, exchange=Exchange(status=status)) if self._is_refusal(status):
                found, stored = ALLOW_ALL, StoredRobots(None, now + LONGEST.total_seconds())
            case Failed(reason=reason, detail=detail):
                # Not shared, and not for long: it may be our own network that is broken.
                told = f"robots.txt: {reason.value} {detail}".rstrip()
                is_ours = reason is Reason.STOPPED or (reason in _OURS and reply.url.text.startswith(f"{origin}/"))
                unknown = Unknown(reason, detail) if is_ours else Unknown(Reason.ROBOTS_UNREACHABLE, told)
                if reason is not Reason.STOPPED:  # that tells of us and of this moment, nothing of the site
                    self._remember(origin, unknown, now + self._defer_for.total_seconds(), 0)
                return unknown
        self._remember(origin, found, stored.expires, len(stored.body or b""))
        await self._shared.put(origin, stored)
        return found

    def _remember(self, origin: str, found: Found, expires: float, size: int) -> None:
        self._forget(origin)
        if isinstance(found, Robots):
            size += RULE * len(found.rules)
        self._known[origin] = (expires, found, size)
        self._known_bytes += size
        while self._known_bytes > MOST_BYTES or len(self._known) > MOST_ENTRIES:
            self._forget(next(iter(self._known)))

    def _forget(self, origin: str) -> None:
        entry = self._known.pop(origin, None)
        if entry is not None:
            self._known_bytes -= entry[2]


_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # bytes that no text has (MIME Sniffing 3)
_PASSING = frozenset({Reason.BUSY, Reason.SERVER_ERROR})
# What stopped at our own door has nothing to do with robots.txt, and keeps its name; unless a redirect led there.
_OURS = frozenset({Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME, Reason.PURGED, Reason.STOPPED})


def _origin(url: Url) -> str:
    """Return scheme, host and port: each has a robots.txt of its own (RFC 9309 2.3)."""
    return url.text[: url.text.index("/", len("https://"))]  # also behind http://, since no host is empty
