"""The fetch core as a library: URLs in, pages out, politely.

async for page in scoter.fetch_pages(["https://example.org/"], agent="examplebot"):
    print(page.status, page.url, len(page.content))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import aclosing

import msgspec

from scoter.config import Config, load
from scoter.core.reply import Failed, Gone, Headers, Moved, Reply, Request
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.follow import MOST_HOPS
from scoter.fetch.queues.turn import Refusal

_UNREAD = 64  # pages that wait for whoever iterates
_LED_NOWHERE = "too many redirects, or one that leads nowhere"
_NOT_FOLLOWED = {
    Refusal.BLOCKED: "purged: it leads to a host that failed too often",
    Refusal.DRAINING: "stopped: the run came to its end before the redirect was followed",
    Refusal.FULL: "stopped: there was no room for the target of the redirect",
}


class WebPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, or why there is none.

    ``asked`` is the URL as it was given, ``url`` the one that answered, ``hops`` those that pointed on. ``content`` is
    free of codings. ``problem`` is empty when a page came.
    """

    asked: str
    url: str
    status: int = 0
    headers: Headers = ()
    content: bytes = b""
    truncated: bool = False
    hops: tuple[str, ...] = ()
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


class _Way(msgspec.Struct, frozen=True):
    """What a request carries along: where it began, and by which URLs it came."""

    asked: str
    hops: tuple[str, ...] = ()


_ways = msgspec.msgpack.Decoder(_Way)


async def fetch_pages(
    urls: Iterable[str] | AsyncIterable[str],
    *,
    agent: str = "",
    settings: Sequence[str] = (),
    config: Config | None = None,
    hops: int = MOST_HOPS,
) -> AsyncGenerator[WebPage, None]:
    """Fetch URLs politely and yield what came of each, in the order in which they are done.

    ``settings`` are as on the command line (``"fetch.delay=2s"``). Robots rules are obeyed, redirects are followed.
    What fails is yielded too, with its problem.
    """
    if isinstance(urls, str | bytes):  # each of its letters would be taken for a URL
        raise TypeError(f"fetch_pages takes any number of URLs: write [{urls!r:.100}] for one")
    given = ["agent.name=" + agent] if agent else []
    reader = _Reader(config or load(overrides=[*given, *settings]), hops)
    async with aclosing(reader.read(urls)) as pages:
        async for page in pages:
            yield page


class _Reader:
    """One run of ``fetch_pages``."""

    def __init__(self, config: Config, hops: int) -> None:
        self._hops = hops
        self._limit = config.fetch.content_limit
        self._pages: asyncio.Queue[WebPage | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_UNREAD)
        self._is_left = False
        self._fetcher = Fetcher(config, waits_for_sink=True)

    async def read(self, urls: Iterable[str] | AsyncIterable[str]) -> AsyncGenerator[WebPage, None]:
        running = asyncio.create_task(self._run(urls))
        try:
            while (page := await self._pages.get()) is not None:
                self._room.release()
                yield page
            await running
        finally:
            self._is_left = True
            running.cancel()
            await asyncio.wait([running])

    async def _run(self, urls: Iterable[str] | AsyncIterable[str]) -> None:
        try:
            await self._fetcher.run(self._requests(urls), self._take)
        finally:
            self._pages.put_nowait(None)  # without waiting for room: there may be nobody left to make any

    async def _put(self, page: WebPage) -> None:
        """Put a page down for whoever iterates, if anybody still does, as soon as he has room for it."""
        try:
            if not self._is_left:
                await self._room.acquire()
        finally:
            if not self._is_left:  # also when the run is over before there was room: a page that came is not lost
                self._pages.put_nowait(page)

    async def _requests(self, urls: Iterable[str] | AsyncIterable[str]) -> AsyncIterator[Request]:
        async for text in _each(urls):
            try:
                url = canonical(text)
            except UrlError as error:
                await self._put(WebPage(asked=text, url=text, problem=error.message))
                continue
            yield Request(url=url, context=msgspec.msgpack.encode(_Way(text)))

    async def _take(self, request: Request, reply: Reply) -> None:
        way = _ways.decode(request.context)
        refusal: Refusal | None = None
        if isinstance(reply, Moved) and reply.target is not None and len(way.hops) < self._hops:
            on = _Way(way.asked, (*way.hops, request.url.text))
            if reply.target.text not in on.hops:
                further = Request(url=reply.target, context=msgspec.msgpack.encode(on))
                refusal = self._fetcher.add(further, even_if_full=True)
                if refusal is None:
                    return
        await self._put(self._page(way, reply, refusal))

    def _page(self, way: _Way, reply: Reply, refusal: Refusal | None = None) -> WebPage:
        problem = ""
        if isinstance(reply, Failed | Gone):
            problem = f"{reply.reason.value}: {reply.detail}" if reply.detail else reply.reason.value
        elif isinstance(reply, Moved):
            problem = _LED_NOWHERE if refusal is None else _NOT_FOLLOWED[refusal]
        exchange = reply.exchange
        if exchange is None:
            return WebPage(asked=way.asked, url=reply.url.text, hops=way.hops, problem=problem)
        decoded = decode(exchange.body, content_codings(exchange.headers), self._limit)
        return WebPage(
            asked=way.asked,
            url=exchange.url.text,
            status=exchange.status,
            headers=exchange.headers,
            content=decoded.body,
            truncated=bool(exchange.truncation or decoded.truncation),
            hops=way.hops,
            problem=problem,
        )


async def _each(urls: Iterable[str] | AsyncIterable[str]) -> AsyncIterator[str]:
    if isinstance(urls, AsyncIterable):
        async for text in urls:
            yield text
    else:
        for text in urls:
            yield text
