"""The library interface of the fetch core: URLs in, pages out, politely.

async for page in scoter.fetch_pages(["https://example.org/"], agent="examplebot"):
    print(page.status, page.url, len(page.content))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import aclosing

import msgspec

from scoter.config import Config, load
from scoter.core.reply import Failed, Gone, Headers, Moved, Reply, Request, sets_cookie_for_itself
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.queues.slots import QueueRefusal

MAX_HOPS = 5
_UNREAD = 64  # pages that may wait for the caller
_NO_TARGET = "too many redirects, a redirect loop, or a redirect without a target"
_NOT_FOLLOWED = {
    QueueRefusal.BLOCKED: "purged: the redirect leads to a host that failed too often",
    QueueRefusal.DRAINING: "stopped: the run ended before the redirect was followed",
    QueueRefusal.FULL: "stopped: the queues had no room for the target of the redirect",
}


class WebPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, or why there is none.

    ``asked`` is the URL as given, ``url`` the one that answered, ``hops`` the URLs that redirected. ``content`` has no
    content coding left. ``problem`` is empty if a page was fetched.
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


class _RedirectChain(msgspec.Struct, frozen=True):
    """The context of a request: the URL as given, and the URLs that redirected so far."""

    asked: str
    hops: tuple[str, ...] = ()


_chains = msgspec.msgpack.Decoder(_RedirectChain)


async def fetch_pages(
    urls: Iterable[str] | AsyncIterable[str],
    *,
    agent: str = "",
    settings: Sequence[str] = (),
    config: Config | None = None,
    hops: int = MAX_HOPS,
) -> AsyncGenerator[WebPage, None]:
    """Fetch URLs politely and yield a ``WebPage`` for each, in the order in which they finish.

    ``settings`` are as on the command line (``"fetch.delay=2s"``). robots.txt is obeyed and redirects are followed. A
    URL that fails is yielded too, with its problem.
    """
    if isinstance(urls, str | bytes):  # otherwise each of its letters would be taken for a URL
        raise TypeError(f"fetch_pages expects an iterable of URLs; pass [{urls!r:.100}] for a single one")
    given = ["agent.name=" + agent] if agent else []
    stream = _PageStream(config or load(overrides=[*given, *settings]), hops)
    async with aclosing(stream.read(urls)) as pages:
        async for page in pages:
            yield page


class _PageStream:
    """One run of ``fetch_pages``."""

    def __init__(self, config: Config, hops: int) -> None:
        self._hops = hops
        self._keeps_cookies = config.http.keep_cookies
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
            self._pages.put_nowait(None)  # without waiting for space: the caller may have left

    async def _put(self, page: WebPage) -> None:
        """Hand a page to the caller, waiting for space; drop it if the caller has left."""
        try:
            if not self._is_left:
                await self._room.acquire()
        finally:
            if not self._is_left:  # also if the run ends before there is space: no page is lost
                self._pages.put_nowait(page)

    async def _requests(self, urls: Iterable[str] | AsyncIterable[str]) -> AsyncIterator[Request]:
        async for text in _each(urls):
            try:
                url = canonical(text)
            except UrlError as error:
                await self._put(WebPage(asked=text, url=text, problem=error.message))
                continue
            yield Request(url=url, context=msgspec.msgpack.encode(_RedirectChain(text)))

    async def _take(self, request: Request, reply: Reply) -> None:
        chain = _chains.decode(request.context)
        refusal: QueueRefusal | None = None
        if isinstance(reply, Moved) and reply.target is not None and len(chain.hops) < self._hops:
            longer = _RedirectChain(chain.asked, (*chain.hops, request.url.text))
            # With the cookie that it sets, a redirect to the same URL is followed once.
            again = self._keeps_cookies and request.url.text not in chain.hops
            if reply.target.text not in longer.hops or (again and sets_cookie_for_itself(reply, request.url)):
                target = Request(url=reply.target, context=msgspec.msgpack.encode(longer))
                refusal = self._fetcher.add(target, even_if_full=True)
                if refusal is None:
                    return
        await self._put(self._page(chain, reply, refusal))

    def _page(self, chain: _RedirectChain, reply: Reply, refusal: QueueRefusal | None = None) -> WebPage:
        problem = ""
        if isinstance(reply, Failed | Gone):
            problem = f"{reply.reason.value}: {reply.detail}" if reply.detail else reply.reason.value
        elif isinstance(reply, Moved):
            problem = _NO_TARGET if refusal is None else _NOT_FOLLOWED[refusal]
        exchange = reply.exchange
        if exchange is None:
            return WebPage(asked=chain.asked, url=reply.url.text, hops=chain.hops, problem=problem)
        decoded = decode(exchange.body, content_codings(exchange.headers), self._limit)
        return WebPage(
            asked=chain.asked,
            url=exchange.url.text,
            status=exchange.status,
            headers=exchange.headers,
            content=decoded.body,
            truncated=bool(exchange.truncation or decoded.truncation),
            hops=chain.hops,
            problem=problem,
        )


async def _each(urls: Iterable[str] | AsyncIterable[str]) -> AsyncIterator[str]:
    if isinstance(urls, AsyncIterable):
        async for text in urls:
            yield text
    else:
        for text in urls:
            yield text
