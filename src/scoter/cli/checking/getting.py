"""A document to look at: fetched as a crawl would, robots.txt and all, or read from a file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec import Struct

from scoter.config import Config
from scoter.core.page import Content
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Headers, Moved, Reply, Request, Timings, header
from scoter.core.robots import Robots
from scoter.core.robots_cache import StoredRobots
from scoter.core.url import Url, canonical
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.follow import MOST_HOPS
from scoter.parse.mediatype import Decision, decided, declared, received

FROM_STDIN = "https://stdin.invalid/"
"""Where a document on standard input is taken to come from, unless somebody says."""


class Hop(Struct, frozen=True):
    """A redirect on the way: which URL answered with which status."""

    url: str
    status: int


class RobotsSaid(Struct, frozen=True, kw_only=True):
    """What robots.txt says of a URL."""

    allowed: bool
    why: str
    group: str = ""
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()


class Got(Struct, frozen=True, kw_only=True):
    """A document, or why there is none; ``asked`` is what was named, ``url`` where it was at last.

    ``wire`` counts its bytes as they came, ``waited`` the seconds spent on robots.txt and until it was the host's turn.
    """

    asked: str
    url: Url
    content: Content | None = None
    decision: Decision | None = None
    problem: str = ""
    hint: str = ""
    status: int = 0
    headers: Headers = ()
    hops: tuple[Hop, ...] = ()
    wire: int = 0
    peer: str = ""
    coding_problem: str = ""
    robots: RobotsSaid | None = None
    timings: Timings | None = None
    waited: float = 0.0
    is_file: bool = False


def read(config: Config, body: bytes, asked: str, url: Url, force_as: str = "") -> Got:
    """Return a document from its bytes."""
    content, decision = _content(config, url, (), body, False, force_as)
    return Got(asked=asked, url=url, content=content, decision=decision, wire=len(body), is_file=True)


def file_url(file: Path) -> Url:
    """Return where a file is taken to come from, unless somebody says."""
    return canonical(FROM_STDIN) if str(file) in ("-", "/dev/stdin") else canonical(file.resolve().as_uri())


def fetch(config: Config, url: Url, asked: str, *, hops: int = 0, force_as: str = "") -> Got:
    """Fetch a document politely, following at most so many redirects."""
    return asyncio.run(_Fetch(config, hops, asked, force_as).run(url))


class _Seen:
    """Keeps the robots.txt files that the fetch core came upon."""

    def __init__(self) -> None:
        self.by_origin: dict[str, StoredRobots] = {}

    async def get(self, origin: str) -> StoredRobots | None:
        return self.by_origin.get(origin)

    async def put(self, origin: str, stored: StoredRobots) -> None:
        self.by_origin[origin] = stored


class _Fetch:
    """One document on its way."""

    def __init__(self, config: Config, hops: int, asked: str, force_as: str) -> None:
        self._config = config
        self._most = hops
        self._asked = asked
        self._force_as = force_as
        self._seen = _Seen()
        self._hops: list[Hop] = []
        self._last: Reply | None = None

    async def run(self, url: Url) -> Got:
        self._fetcher = Fetcher(self._config, robots_cache=self._seen)
        began = time.monotonic()
        await self._fetcher.run(_one(Request(url=url)), self._take)
        spent = time.monotonic() - began
        assert self._last is not None  # noqa: S101 - whatever goes in comes out
        return self._got(self._last, spent)

    def _take(self, request: Request, reply: Reply) -> None:
        self._last = reply
        if isinstance(reply, Moved) and reply.target is not None and len(self._hops) < self._most:
            been = {hop.url for hop in self._hops} | {request.url.text}
            if reply.target.text not in been and self._fetcher.add(Request(url=reply.target)) is None:
                self._hops.append(Hop(request.url.text, reply.exchange.status))

    def _got(self, reply: Reply, spent: float) -> Got:
        exchange, url = reply.exchange, reply.url
        problem, hint = self._problem(reply)
        robots = self._robots(url)
        if exchange is None:
            hops = tuple(self._hops)
            return Got(asked=self._asked, url=url, problem=problem, hint=hint, robots=robots, hops=hops, waited=spent)
        content = decision = None
        coding_problem = ""
        if isinstance(reply, Fetched):
            plain = decode(exchange.body, content_codings(exchange.headers), self._config.fetch.content_limit)
            cut, coding_problem = bool(exchange.truncation or plain.truncation), plain.problem
            content, decision = _content(self._config, url, exchange.headers, plain.body, cut, self._force_as)
        return Got(
            asked=self._asked,
            url=url,
            content=content,
            decision=decision,
            problem=problem,
            hint=hint,
            status=exchange.status,
            headers=exchange.headers,
            hops=tuple(self._hops),
            wire=len(exchange.body),
            peer=exchange.peer,
            coding_problem=coding_problem,
            robots=robots,
            timings=exchange.timings,
            waited=max(spent - exchange.timings.total, 0.0),
        )

    def _problem(self, reply: Reply) -> tuple[str, str]:
        if isinstance(reply, Gone | Failed):
            status = f", HTTP {reply.exchange.status}" if isinstance(reply.exchange, Exchange) else ""
            detail = f": {reply.detail}" if reply.detail else ""
            return f"{reply.reason.value.replace('_', ' ')}{status}{detail}", ""
        if not isinstance(reply, Moved):
            return "", ""
        if reply.target is None:
            return f"redirect (HTTP {reply.exchange.status}) that does not say where", ""
        said = f"redirect (HTTP {reply.exchange.status}) to {reply.target.text}"
        if self._most:
            return f"{said}: too many of them, or in a circle", ""
        return said, "With --follow-redirects it is followed."

    def _robots(self, url: Url) -> RobotsSaid | None:
        stored = self._seen.by_origin.get(url.text[: len(url.text) - len(url.target)])
        if stored is None:
            return None
        if stored.body is None:
            return RobotsSaid(allowed=True, why="there is none")
        agents = tuple(filter(None, (self._config.agent.name, *self._config.http.robots_agents)))
        rules = Robots.read(stored.body, agents)
        verdict = rules.explain(url)
        return RobotsSaid(
            allowed=verdict.allowed,
            why=verdict.why,
            group=rules.group,
            crawl_delay=None if rules.crawl_delay is None else rules.crawl_delay.total_seconds(),
            sitemaps=tuple(rules.sitemaps),
        )


def most_hops(follows: bool) -> int:
    """Return how many redirects are followed."""
    return MOST_HOPS if follows else 0


async def _one(request: Request) -> AsyncIterator[Request]:
    yield request


def _content(
    config: Config, url: Url, headers: Headers, body: bytes, truncated: bool, force_as: str
) -> tuple[Content, Decision | None]:
    """Return the content that parsers take, and what decided on its type; nothing did when the type is forced."""
    sniffs = config.parse.mime_type_magic
    said = declared(header(headers, "Content-Type"))[0]
    if force_as:
        charset = declared(header(headers, "Content-Type"))[1]
        forced = (("Content-Type", f'{force_as}; charset="{charset}"' if charset else force_as),)
        kept = tuple(field for field in headers if field[0].lower() != "content-type")
        return received(url, forced + kept, body, truncated=truncated, sniff=False), None
    found = received(url, headers, body, truncated=truncated, sniff=sniffs)
    return found, decided(said, url, body) if sniffs else None
