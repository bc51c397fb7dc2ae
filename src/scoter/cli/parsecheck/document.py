"""The document to examine, fetched as a crawl would fetch it or read from a file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.page import Content
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Headers, Moved, Reply, Request, Timings, header
from scoter.core.robots import Robots
from scoter.core.robots_cache import MemoryRobotsCache
from scoter.core.url import Url, canonical
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.fetcher import Fetcher
from scoter.parse.mediatype import Decision, decide_type, make_content, parse_content_type

FROM_STDIN = "https://stdin.invalid/"
"""URL of a document on standard input without ``--as-url``."""


class RedirectHop(Struct, frozen=True):
    """A redirect that was followed: the URL and the status of its response."""

    url: str
    status: int


class RobotsVerdict(Struct, frozen=True, kw_only=True):
    """What robots.txt says about a URL."""

    allowed: bool
    why: str
    group: str = ""
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()


class CheckedDocument(Struct, frozen=True, kw_only=True):
    """A document, or the problem that prevented getting it.

    ``asked`` is what the person gave, ``url`` the final URL after redirects, ``wire`` the length of the body as
    received, ``waited`` the seconds spent on robots.txt and politeness delays.
    """

    asked: str
    url: Url
    content: Content | None = None
    decision: Decision | None = None
    problem: str = ""
    hint: str = ""
    status: int = 0
    headers: Headers = ()
    hops: tuple[RedirectHop, ...] = ()
    wire: int = 0
    peer: str = ""
    coding_problem: str = ""
    robots: RobotsVerdict | None = None
    timings: Timings | None = None
    waited: float = 0.0
    is_file: bool = False


def read(config: Config, body: bytes, asked: str, url: Url, force_as: str = "") -> CheckedDocument:
    """Return the document in a file's bytes."""
    content, decision = _content(config, url, (), body, False, force_as)
    return CheckedDocument(asked=asked, url=url, content=content, decision=decision, wire=len(body), is_file=True)


def file_url(file: Path) -> Url:
    """Return the URL of a file without ``--as-url``."""
    return canonical(FROM_STDIN) if str(file) in ("-", "/dev/stdin") else canonical(file.resolve().as_uri())


def fetch(config: Config, url: Url, asked: str, *, hops: int = 0, force_as: str = "") -> CheckedDocument:
    """Fetch a document politely, following up to ``hops`` redirects."""
    return asyncio.run(_DocumentFetch(config, hops, asked, force_as).run(url))


class _DocumentFetch:
    """The fetch of one document."""

    def __init__(self, config: Config, hops: int, asked: str, force_as: str) -> None:
        self._config = config
        self._most = hops
        self._asked = asked
        self._force_as = force_as
        self._robots_files = MemoryRobotsCache(entries=100, size=2**26, clock=time.time)  # kept for the report
        self._hops: list[RedirectHop] = []
        self._last: Reply | None = None

    async def run(self, url: Url) -> CheckedDocument:
        self._fetcher = Fetcher(self._config, robots_cache=self._robots_files)
        began = time.monotonic()
        await self._fetcher.run(_one(Request(url=url)), self._take)
        spent = time.monotonic() - began
        assert self._last is not None  # noqa: S101 - every request gets a reply
        return await self._document(self._last, spent)

    def _take(self, request: Request, reply: Reply) -> None:
        self._last = reply
        if isinstance(reply, Moved) and reply.target is not None and len(self._hops) < self._most:
            been = {hop.url for hop in self._hops} | {request.url.text}
            if reply.target.text not in been and self._fetcher.add(Request(url=reply.target)) is None:
                self._hops.append(RedirectHop(request.url.text, reply.exchange.status))

    async def _document(self, reply: Reply, spent: float) -> CheckedDocument:
        exchange, url = reply.exchange, reply.url
        problem, hint = self._problem(reply)
        found = CheckedDocument(
            asked=self._asked,
            url=url,
            problem=problem,
            hint=hint,
            hops=tuple(self._hops),
            robots=await self._robots(url),
            waited=spent,
        )
        if exchange is None:
            return found
        content = decision = None
        coding_problem = ""
        if isinstance(reply, Fetched):
            plain = decode(exchange.body, content_codings(exchange.headers), self._config.fetch.content_limit)
            cut, coding_problem = bool(exchange.truncation or plain.truncation), plain.problem
            content, decision = _content(self._config, url, exchange.headers, plain.body, cut, self._force_as)
        return replace(
            found,
            content=content,
            decision=decision,
            status=exchange.status,
            headers=exchange.headers,
            wire=len(exchange.body),
            peer=exchange.peer,
            coding_problem=coding_problem,
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
            return f"redirect (HTTP {reply.exchange.status}) without a target", ""
        text = f"redirect (HTTP {reply.exchange.status}) to {reply.target.text}"
        if self._most:
            return f"{text}: too many redirects, or a loop", ""
        return text, "To follow it, use --follow-redirects."

    async def _robots(self, url: Url) -> RobotsVerdict | None:
        stored = await self._robots_files.get(url.text[: len(url.text) - len(url.target)])
        if stored is None:
            return None
        if stored.body is None:
            return RobotsVerdict(allowed=True, why="the site has none")
        agents = tuple(filter(None, (self._config.agent.name, *self._config.http.robots_agents)))
        rules = Robots.read(stored.body, agents)
        verdict = rules.explain(url)
        return RobotsVerdict(
            allowed=verdict.allowed,
            why=verdict.why,
            group=rules.group,
            crawl_delay=None if rules.crawl_delay is None else rules.crawl_delay.total_seconds(),
            sitemaps=tuple(rules.sitemaps),
        )


async def _one(request: Request) -> AsyncIterator[Request]:
    yield request


def _content(
    config: Config, url: Url, headers: Headers, body: bytes, truncated: bool, force_as: str
) -> tuple[Content, Decision | None]:
    """Return the content for the parsers and how its type was decided; ``None`` if the type is forced."""
    sniffs = config.parse.mime_type_magic
    media_type, charset = parse_content_type(header(headers, "Content-Type"))
    if force_as:
        forced = (("Content-Type", f'{force_as}; charset="{charset}"' if charset else force_as),)
        kept = tuple(field for field in headers if field[0].lower() != "content-type")
        return make_content(url, forced + kept, body, truncated=truncated, sniff=False), None
    found = make_content(url, headers, body, truncated=truncated, sniff=sniffs)
    return found, decide_type(media_type, url, body) if sniffs else None
