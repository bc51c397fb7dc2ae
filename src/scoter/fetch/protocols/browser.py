"""The protocol plug-in that renders pages which need JavaScript, in a headless Chromium.

The page itself is fetched over HTTP like any other, with our name, our guard and our time limits; whatever is not a
page (a redirect, a picture, an error) comes back as it is. Only a page is handed to the browser, which runs its scripts
and gives back what they made of it. So a page costs its server one request for the page, not two, and a redirect is
reported as one hop. What scripts ask for goes through a proxy of ours that connects to nothing the guard refuses.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec.structs import replace

from scoter.core.pattern import Pattern, compile_pattern
from scoter.core.reply import Exchange, Failed, Fetched, Headers, Moved, Reason, Reply, Request
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.fetch.decode import CEILING, content_codings, decode
from scoter.fetch.filters import untimed
from scoter.fetch.network.forward_proxy import ForwardProxy
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, Resolver
from scoter.fetch.protocols.chromium import ERRANDS, Chromium, find_executable
from scoter.fetch.protocols.http import HttpProtocol
from scoter.fetch.protocols.renderer import NotRendered, PageRenderer, Rendered
from scoter.fetch.protocols.request_headers import user_agents
from scoter.plugins import FetchProtocol, Setup

MARK = "X-Crawler-Rendered"
"""The field that tells: 1 on a page as its scripts made it, 0 on one as the server sent it since they failed."""

_PAGES = ("text/html", "application/xhtml+xml")
# What no longer holds once the body is another.
_CHANGED = frozenset({"content-type", "content-length", "content-encoding", "transfer-encoding", "trailer", "digest"})


class BrowserProtocol:
    """Fetches pages that need JavaScript, by rule, and gives them as their scripts made them."""

    schemes: tuple[str, ...] = ("http", "https")

    def __init__(
        self,
        setup: Setup,
        *,
        resolver: Resolver | None = None,
        guard: Guard | None = None,
        http: FetchProtocol | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        config = setup.config
        self._settings = settings = config.browser
        if config.http.proxy_host:
            raise ConfigError(
                "the browser cannot go through another proxy",
                where="http.proxy_host",
                hint='Take "browser" out of fetch.protocols, or do without the proxy.',
            )
        self._executable = find_executable(settings)
        self._patterns = tuple(map(_compiled, settings.url_patterns))
        self._limit = CEILING if config.fetch.content_limit is None else int(config.fetch.content_limit)
        self._patience = config.http.timeout
        self._agent = user_agents(config)
        self._language = config.http.accept_language
        self._lax_tls = not config.http.tls_certificates_check
        self._guard = guard or Guard(config, self.schemes)
        self._resolver = resolver
        self._http: FetchProtocol | HttpProtocol = http or HttpProtocol(
            setup, resolver=resolver, guard=self._guard, now=now
        )
        self._slots = asyncio.Semaphore(settings.pages)
        self._starting = asyncio.Lock()
        self._proxy: ForwardProxy | None = None
        self._chromium: Chromium | None = None

    def __repr__(self) -> str:
        return f"BrowserProtocol({self._chromium}, {self._proxy})"

    def claims(self, request: Request) -> bool:
        """Take the pages that the rules name, and any that may turn out to be empty."""
        url = request.url
        if url.scheme not in self.schemes or url.target == "/robots.txt":
            return False
        return self._settings.when_empty or self._is_named(url)

    async def fetch(self, request: Request) -> Reply:
        """Fetch a page, and render it if it is one that needs it."""
        reply = await self._http.fetch(request)
        if not isinstance(reply, Fetched) or not _is_page(reply.exchange):
            return reply
        url, exchange = request.url, reply.exchange
        html = decode(exchange.body, content_codings(exchange.headers), self._limit).body
        is_named = self._is_named(url)
        if not is_named and not needs_scripts(html):
            return reply
        with untimed():  # other pages are open: that is not the server's fault
            await self._slots.acquire()
        try:
            began = time.monotonic()
            found = await self._render(exchange, html)
            spent = time.monotonic() - began
        finally:
            self._slots.release()
        match found:
            case Rendered(moved_to=Url() as target):
                return Moved(exchange, target, permanent=False)
            case Rendered(html=made, truncation=cut):
                timings = replace(exchange.timings, total=exchange.timings.total + spent)
                rendered = replace(_remade(exchange, made), truncation=cut or exchange.truncation, timings=timings)
                return Fetched(rendered)
            case NotRendered(reason=reason, detail=detail) if is_named:
                return Failed(url, reason, detail, blames_host=False, exchange=exchange)
            case NotRendered():
                # The guess that it is empty was ours; what the server sent is a page all the same.
                return Fetched(_marked(exchange))

    async def close(self) -> None:
        """End the browser and close all connections."""
        if self._chromium is not None:
            await self._chromium.close()
            self._chromium = None
        if self._proxy is not None:
            await self._proxy.close()
            self._proxy = None
        close = getattr(self._http, "close", None)
        if close is not None:
            await close()

    async def _render(self, exchange: Exchange, html: bytes) -> Rendered | NotRendered:
        try:
            proxy, chromium = await self._started()
            async with chromium.context(
                proxy.port,
                user_agent=self._agent(),
                extra_http_headers={"Accept-Language": self._language} if self._language else {},
                service_workers="block",
                accept_downloads=False,
                ignore_https_errors=self._lax_tls,
                viewport={"width": 1280, "height": 1024},
            ) as context:
                rendering = PageRenderer(context, self._settings, self._guard, self._limit)
                return await rendering.run(exchange, html)
        except (OSError, RuntimeError) as error:
            return NotRendered(Reason.BROKEN_PLUGIN, f"the browser failed: {error}")
        except Exception as error:
            # Playwright has one family of errors, which can only be named where it is installed.
            if not type(error).__module__.startswith("playwright."):
                raise
            return NotRendered(Reason.BROKEN_PLUGIN, f"the browser failed: {str(error).partition(chr(10))[0]}")

    async def _started(self) -> tuple[ForwardProxy, Chromium]:
        async with self._starting:
            if self._proxy is None:
                if self._resolver is None:
                    self._resolver = CachingResolver(DnsResolver(), self._guard)
                proxy = ForwardProxy(self._guard, self._resolver, patience=self._patience, deny=ERRANDS)
                await proxy.start()
                self._proxy = proxy
            if self._chromium is None:
                self._chromium = Chromium(self._settings, self._executable)
            return self._proxy, self._chromium

    def _is_named(self, url: Url) -> bool:
        return any(pattern.found(url.text) for pattern in self._patterns)


def _compiled(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except ValueError as error:
        raise ConfigError(f"the pattern {text!r} {error}", where="browser.url_patterns") from error


def _is_page(exchange: Exchange) -> bool:
    kind = exchange.header("content-type").partition(";")[0].strip().lower()
    kept = exchange.header("content-disposition").strip().lower().startswith("attachment")
    return exchange.status == 200 and kind in _PAGES and not kept and bool(exchange.body)


def _remade(exchange: Exchange, html: bytes) -> Exchange:
    """Return the exchange with another body, and a head that fits it."""
    kept = tuple(field for field in exchange.headers if field[0].lower() not in _CHANGED)
    headers: Headers = (
        *kept,
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Length", str(len(html))),
        (MARK, "1"),
    )
    return replace(exchange, headers=headers, response_head=_head(exchange, headers), body=html)


def _marked(exchange: Exchange) -> Exchange:
    headers = (*exchange.headers, (MARK, "0"))
    head = exchange.response_head.removesuffix(b"\r\n") + f"{MARK}: 0\r\n\r\n".encode()
    return replace(exchange, headers=headers, response_head=head)


def _head(exchange: Exchange, headers: Headers) -> bytes:
    first = exchange.response_head.partition(b"\n")[0].rstrip(b"\r") or b"HTTP/1.1 200 OK"
    return b"\r\n".join(
        (first, *(f"{name}: {value}".encode("latin-1", "replace") for name, value in headers), b"", b"")
    )


LITTLE_TEXT = 200
"""Visible bytes below which a page with scripts is taken to be empty."""

_WINDOW = 1 << 20  # of a page that are looked at: whatever has no text until there has none
_SPACE = b" \t\r\n\f\v"
# What stands in these is not seen, or only by those without scripts.
_UNSEEN = (b"script", b"style", b"noscript", b"template", b"title", b"svg", b"textarea")


def needs_scripts(html: bytes) -> bool:
    """Tell whether a page has scripts and next to no text.

    >>> needs_scripts(b'<title>App</title><div id="root"></div><script src="/app.js"></script>')
    True
    >>> needs_scripts(b"<script>track()</script>" + b"<p>A page with a good deal to say.</p>" * 10)
    False
    """
    text = html[:_WINDOW].lower()
    if b"<script" not in text:
        return False
    seen = place = 0
    while seen < LITTLE_TEXT:
        opening = text.find(b"<", place)
        until = len(text) if opening < 0 else opening
        seen += len(text[place:until].translate(None, _SPACE))
        if opening < 0:
            return seen < LITTLE_TEXT
        place = _behind(text, opening)
    return False


def _behind(text: bytes, opening: int) -> int:
    """Return where the text goes on after a tag, a comment, or an element that is not seen."""
    if text.startswith(b"<!--", opening):
        return _after(text, b"-->", opening + 4)
    end = _after(text, b">", opening)
    for name in _UNSEEN:
        if text.startswith(name, opening + 1) and not text[opening + 1 + len(name) : opening + 2 + len(name)].isalnum():
            return _after(text, b">", _after(text, b"</" + name, end))
    return end


def _after(text: bytes, mark: bytes, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)
