"""The protocol plug-in that renders pages which need JavaScript, in a headless Chromium.

The page itself is fetched over HTTP like any other, with our User-Agent, guard and time limits. What is not a page (a
redirect, an image, an error) is returned unchanged. Only a page is handed to the browser, which runs its scripts and
returns the result. So the page is requested once, not twice, and a redirect is reported as one hop. Requests of scripts
go through our own proxy, which connects to nothing that the guard refuses.
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
from scoter.fetch.protocols.chromium import BACKGROUND_HOSTS, Chromium, find_executable
from scoter.fetch.protocols.http import HttpProtocol
from scoter.fetch.protocols.renderer import NotRendered, PageRenderer, Rendered
from scoter.fetch.protocols.request_headers import user_agents
from scoter.plugins import FetchProtocol, Setup

MARK = "X-Crawler-Rendered"
"""Header field of a page: 1 if its scripts ran, 0 if they failed and the page is as the server sent it."""

_PAGES = ("text/html", "application/xhtml+xml")
# These no longer apply to a changed body.
_CHANGED = frozenset({"content-type", "content-length", "content-encoding", "transfer-encoding", "trailer", "digest"})

LITTLE_TEXT = 200
"""Visible bytes below which a page with scripts counts as empty."""

_WINDOW = 1 << 20  # bytes of a page that are examined
_SPACE = b" \t\r\n\f\v"
# The content of these is invisible, or visible only without scripts.
_INVISIBLE = (b"script", b"style", b"noscript", b"template", b"title", b"svg", b"textarea")


class BrowserProtocol:
    """Fetches pages that need JavaScript and returns them as their scripts made them."""

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
                "the browser cannot be used with a proxy",
                where="http.proxy_host",
                hint='Remove "browser" from fetch.protocols, or unset the proxy.',
            )
        self._executable = find_executable(settings)
        self._patterns = tuple(map(_compiled, settings.url_patterns))
        self._limit = CEILING if config.fetch.content_limit is None else int(config.fetch.content_limit)
        self._patience = config.http.timeout
        self._agent = user_agents(config)
        self._language = config.http.accept_language
        self._lax_tls = not config.http.tls_certificates_check
        self._guard = guard or Guard(config, self.schemes)
        self._resolver = resolver or CachingResolver(DnsResolver(), self._guard)
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
        """Claim pages that match ``browser.url_patterns``; with ``browser.when_empty`` all pages."""
        url = request.url
        if url.scheme not in self.schemes or url.target == "/robots.txt":
            return False
        return self._settings.when_empty or self._is_selected(url)

    async def fetch(self, request: Request) -> Reply:
        """Fetch a page, and render it if it needs scripts."""
        reply = await self._http.fetch(request)
        if not isinstance(reply, Fetched) or not _is_page(reply.exchange):
            return reply
        url, exchange = request.url, reply.exchange
        html = decode(exchange.body, content_codings(exchange.headers), self._limit).body
        is_selected = self._is_selected(url)
        if not is_selected and not needs_scripts(html):
            return reply
        with untimed():  # waiting for a browser tab is not the server's fault
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
            case NotRendered(reason=reason, detail=detail) if is_selected:
                return Failed(url, reason, detail, blames_host=False, exchange=exchange)
            case NotRendered():
                # We only guessed that it is empty; return what the server sent.
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
        page_proxy = self._new_proxy()
        try:
            await page_proxy.start()
            proxy, chromium = await self._started()
            async with chromium.context(
                proxy.port,
                proxy={"server": f"http://127.0.0.1:{page_proxy.port}"},
                user_agent=self._agent(),
                extra_http_headers={"Accept-Language": self._language} if self._language else {},
                service_workers="block",
                accept_downloads=False,
                ignore_https_errors=self._lax_tls,
                viewport={"width": 1280, "height": 1024},
            ) as context:
                try:
                    return await PageRenderer(context, self._settings, self._guard, self._limit).run(exchange, html)
                finally:
                    # Closing a page lets go of its requests that wait for a decision.
                    await page_proxy.close()
        except (OSError, RuntimeError) as error:
            return NotRendered(Reason.BROKEN_PLUGIN, f"the browser failed: {error}")
        except Exception as error:
            # Playwright's errors cannot be imported where it is not installed.
            if not type(error).__module__.startswith("playwright."):
                raise
            return NotRendered(Reason.BROKEN_PLUGIN, f"the browser failed: {str(error).partition(chr(10))[0]}")
        finally:
            await page_proxy.close()

    async def _started(self) -> tuple[ForwardProxy, Chromium]:
        async with self._starting:
            if self._proxy is None:
                proxy = self._new_proxy()
                await proxy.start()
                self._proxy = proxy
            if self._chromium is None:
                self._chromium = Chromium(self._settings, self._executable)
            return self._proxy, self._chromium

    def _new_proxy(self) -> ForwardProxy:
        return ForwardProxy(self._guard, self._resolver, timeout=self._patience, deny=BACKGROUND_HOSTS)

    def _is_selected(self, url: Url) -> bool:
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
    """Return the exchange with another body and a matching head."""
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


def needs_scripts(html: bytes) -> bool:
    """Tell whether a page has scripts and hardly any text; a guess from its bytes, in one pass.

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
        place = _skip(text, opening)
    return False


def _skip(text: bytes, opening: int) -> int:
    """Return where text continues after a tag, a comment, or an invisible element."""
    if text.startswith(b"<!--", opening):
        return _after(text, b"-->", opening + 4)
    end = _after(text, b">", opening)
    for name in _INVISIBLE:
        if text.startswith(name, opening + 1) and not text[opening + 1 + len(name) : opening + 2 + len(name)].isalnum():
            return _after(text, b">", _after(text, b"</" + name, end))
    return end


def _after(text: bytes, mark: bytes, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)
