"""Renders one page in the browser: serves the fetched body, lets its scripts run for a while, and reads the result.

A page may change anything in its own window, so it is read from an isolated world that its scripts cannot reach, and
abandoned if they never yield. It cannot navigate away: that is reported as a redirect.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from scoter.config.sections.protocols import BrowserSettings
from scoter.core.reply import Exchange, Reason, Truncation
from scoter.core.url import Url, canonical, join
from scoter.errors import UrlError
from scoter.fetch.network.guard import Guard

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page, Request, Route, WebSocketRoute

# Resources that only a human viewer needs are not fetched.
_VIEWER_ONLY = frozenset(
    {"image", "media", "font", "texttrack", "manifest", "ping", "cspviolationreport", "eventsource"}
)
_NOT_PASSED_ON = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
_POLL = 0.5  # seconds between two checks whether a loading page still responds
# Runs in an isolated world, so that nothing the page has redefined is called.
_READ = """(limit => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\\n" : "";
  const text = type + (document.documentElement ? document.documentElement.outerHTML : "");
  return [text.length, text.slice(0, limit)];
})"""


class Rendered(Struct, frozen=True):
    """The rendered page, or where its scripts navigated instead."""

    html: bytes = b""
    truncation: Truncation = Truncation.NOT
    moved_to: Url | None = None


class NotRendered(Struct, frozen=True):
    """Why a page was not rendered."""

    reason: Reason
    detail: str


class _Hung(Exception):
    """A page does not respond."""


class PageRenderer:
    """Renders one page in its own context."""

    def __init__(self, context: BrowserContext, settings: BrowserSettings, guard: Guard, limit: int) -> None:
        self._context = context
        self._settings = settings
        self._guard = guard
        self._limit = limit
        self._page: Page | None = None
        self._is_served = False
        self._requests = 0
        self._left_for = ""
        self._crashed = asyncio.Event()
        self._url = ""
        self._exchange: Exchange | None = None
        self._html = b""

    async def run(self, exchange: Exchange, html: bytes) -> Rendered | NotRendered:
        """Render a page within the time limit."""
        self._exchange, self._html, self._url = exchange, html, exchange.url.text
        seconds = self._settings.timeout.total_seconds()
        # Less than the limit: reading the result takes time as well.
        work = asyncio.create_task(self._work(time.monotonic() + 0.9 * seconds))
        crash = asyncio.create_task(self._crashed.wait())  # after a crash some calls never return
        try:
            await asyncio.wait((work, crash), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._crashed.is_set():
                return NotRendered(Reason.TOO_LARGE, "the page needed too much memory, or crashed")
            if not work.done():
                return NotRendered(Reason.TIMEOUT, f"not rendered within {seconds:g} s")
            return work.result()
        except _Hung:
            return NotRendered(Reason.TIMEOUT, "its scripts did not end")
        finally:
            work.cancel()
            crash.cancel()
            await asyncio.gather(work, crash, return_exceptions=True)

    async def _work(self, until: float) -> Rendered:
        context = self._context
        await context.route("**/*", self._decide)
        await context.route_web_socket("**/*", _refuse_socket)
        page = self._page = await context.new_page()
        page.on("crash", self._note_crash)
        context.on("page", self._close_other)
        cdp = await context.new_cdp_session(page)
        await cdp.send("Page.setDownloadBehavior", {"behavior": "deny"})
        await page.goto(self._url, wait_until="commit", timeout=_left(until) * 1000)
        await self._settle(page, cdp, until)
        if self._left_for and (target := join(canonical(self._url), self._left_for)) is not None:
            return Rendered(moved_to=target)
        return await self._read(cdp)

    async def _settle(self, page: Page, cdp: CDPSession, until: float) -> None:
        """Wait until the page has loaded and its scripts make no more requests, while it responds."""
        while not self._left_for:
            if await _reached(page, "load", min(_POLL, _left(until))):
                break
            await self._ask(cdp, "Runtime.evaluate", expression="0")
            if _left(until) < _POLL:
                return  # take what has loaded so far
        delay = min(self._settings.page_load_delay.total_seconds(), _left(until) / 2)
        if delay > 0 and not self._left_for:
            await _reached(page, "networkidle", delay)

    async def _read(self, cdp: CDPSession) -> Rendered:
        tree = await self._ask(cdp, "Page.getFrameTree")
        world = await self._ask(cdp, "Page.createIsolatedWorld", frameId=tree["frameTree"]["frame"]["id"])
        answer = await self._ask(
            cdp,
            "Runtime.evaluate",
            expression=f"{_READ}({self._limit})",
            contextId=world["executionContextId"],
            returnByValue=True,
        )
        length, text = answer["result"]["value"]
        html: bytes = text.encode("utf-8", "replace")
        if length > self._limit or len(html) > self._limit:
            # Drop a character that was split.
            return Rendered(html[: self._limit].decode("utf-8", "ignore").encode(), Truncation.LENGTH)
        return Rendered(html)

    async def _ask(self, cdp: CDPSession, method: str, **parameters: Any) -> Any:
        """Send a command to the page; it must answer within ``browser.javascript_timeout``."""
        try:
            async with asyncio.timeout(self._settings.javascript_timeout.total_seconds()):
                return await cdp.send(method, parameters)
        except TimeoutError:
            with suppress(Exception):  # works only if it still responds
                async with asyncio.timeout(1):
                    await cdp.send("Runtime.terminateExecution")
            raise _Hung from None

    async def _decide(self, route: Route) -> None:
        """Allow or refuse a request of the page."""
        request = route.request
        with suppress(Exception):  # the page may be gone by now
            if self._is_main(request):
                await self._navigate(route, request)
            elif self._may_ask(request):
                await route.continue_()
            else:
                await route.abort("blockedbyclient")

    async def _navigate(self, route: Route, request: Request) -> None:
        exchange = self._exchange
        if self._is_served or exchange is None:
            if request.url.partition("#")[0] != self._url:
                self._left_for = self._left_for or request.url
            await route.abort("aborted")
            return
        self._is_served = True
        headers: dict[str, str] = {}
        for name, value in exchange.headers:
            key = name.lower()
            if key not in _NOT_PASSED_ON:
                # Playwright's notation for a repeated field.
                headers[key] = f"{headers[key]}\n{value}" if key in headers else value
        await route.fulfill(status=200, headers=headers, body=self._html)

    def _is_main(self, request: Request) -> bool:
        return request.is_navigation_request() and self._page is not None and request.frame == self._page.main_frame

    def _may_ask(self, request: Request) -> bool:
        self._requests += 1
        if self._requests > self._settings.max_requests or request.resource_type in _VIEWER_ONLY:
            return False
        try:
            return self._guard.check_url(canonical(request.url)) is None
        except UrlError:
            return False

    def _note_crash(self, page: Page) -> None:
        self._crashed.set()

    async def _close_other(self, page: Page) -> None:
        if page is not self._page:
            with suppress(Exception):
                await page.close()


async def _refuse_socket(socket: WebSocketRoute) -> None:
    with suppress(Exception):
        await socket.close()


async def _reached(page: Page, state: Any, seconds: float) -> bool:
    """Tell whether a page reaches a load state within some time."""
    from playwright.async_api import TimeoutError as TookTooLong

    try:
        await page.wait_for_load_state(state, timeout=max(1.0, seconds * 1000))
    except TookTooLong:
        return False
    return True


def _left(until: float) -> float:
    return max(0.001, until - time.monotonic())
