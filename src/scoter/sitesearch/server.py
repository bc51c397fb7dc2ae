"""The public search server: one route that searches, the script of the box, and a page that shows it."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from scoter.config.sections.live import WebSettings
from scoter.core.bounded import BoundedMap
from scoter.errors import ScoterError, UsageError
from scoter.http.access import AccessControl
from scoter.http.api_keys import ApiKey
from scoter.http.asgi import ApiRequest, ApiResponse, App
from scoter.http.dispatcher import ApiDispatcher
from scoter.http.handlers import status
from scoter.http.metrics import Counter, Histogram
from scoter.http.openapi import ApiInfo
from scoter.http.problems import UNAVAILABLE, problem
from scoter.http.records import Problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.http.server import HttpServer
from scoter.http.shares import FairSlots, Shares
from scoter.index.search import Searcher, SearchPage
from scoter.sitesearch.box_files import BoxFiles
from scoter.sitesearch.gate import SEARCH_PATH, PublicGate, PublicRules
from scoter.sitesearch.hits import AddressMap, site_results
from scoter.sitesearch.open_index import OpenIndex
from scoter.sitesearch.records import SiteResults, SiteSearchQuery

_RUNNING: Final = 2
_WAITING: Final = 50
_SHARE: Final = 0.25  # of the running and waiting searches, for one address
_SECONDS: Final = 3.0
_CACHED_ANSWERS: Final = 2_000
_CACHED_BYTES: Final = 8 * 2**20
_CACHE_FIELDS: Final = (
    (b"cache-control", b"public, max-age=60"),
    (b"cross-origin-resource-policy", b"same-origin"),  # pages of other origins need CORS
)
_CROWDED: Final = problem(503, "crowded", "Too many searches are under way.", retry_after=2)
_TOO_SLOW: Final = problem(503, "too-slow", "The search took too long.", "Search for fewer words.", retry_after=5)
SITE_SEARCH_API: Final = ApiInfo("Site search", "Search the pages of a website. Read-only; no keys, no cookies.")


class NoKeys:
    """No API keys: everything here is public."""

    def check(self, token: str) -> ApiKey | None:
        """Return nothing."""

    def find(self, key: str) -> ApiKey | None:
        """Return nothing."""


class SearchMetrics:
    """The metrics that every dispatcher writes."""

    def __init__(self) -> None:
        self.requests = Counter("scoter_http_requests_total", "Requests answered.", ("route", "status"))
        self.request_seconds = Histogram("scoter_http_request_seconds", "Time to answer a request.", "route")


class SiteSearch:
    """Searches in a few threads. Callers take turns, and answers to recent queries are kept."""

    def __init__(self, index: OpenIndex, addresses: AddressMap, *, seconds: float = _SECONDS) -> None:
        self._index = index
        self._addresses = addresses
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(_RUNNING, "search")
        self._slots = FairSlots(_RUNNING)
        self._shares = Shares("searches", _RUNNING + _WAITING, _SHARE)
        self._answers: BoundedMap[tuple[str, SiteSearchQuery], bytes] = BoundedMap(
            _CACHED_ANSWERS, max_weight=_CACHED_BYTES
        )

    @property
    def version(self) -> str:
        return self._index.version

    async def answer(self, query: SiteSearchQuery, caller: str) -> bytes | Problem:
        """Return the results as JSON, or why there are none."""
        known = self._answers.get((self.version, query))
        if known is not None:
            return known
        if len(self._shares) >= _RUNNING + _WAITING:
            return _CROWDED
        with self._shares.use(caller):
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._searched(query, caller)
            except TimeoutError:
                return _TOO_SLOW

    async def _searched(self, query: SiteSearchQuery, caller: str) -> bytes:
        async with self._slots.slot(caller):
            version, found = await asyncio.get_running_loop().run_in_executor(self._threads, self._search, query)
        self._answers.put((version, query), found, weight=len(found) + len(query.q))
        return found

    def _search(self, query: SiteSearchQuery) -> tuple[str, bytes]:
        searcher = self._index.searcher()
        found = _while_typing(searcher, query) or searcher.search(query.q, limit=query.limit, offset=query.offset)
        return self._index.version, msgspec.json.encode(site_results(found, self._addresses))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _while_typing(searcher: Searcher, query: SiteSearchQuery) -> SearchPage | None:
    """Return the results for a query whose last word has been begun, unless they are not exact either."""
    completed = searcher.completed(query.q)
    if not completed:
        return None
    found = searcher.search(completed, limit=query.limit, offset=query.offset)
    return found if found.total and not (found.corrected or found.partial) else None


class SiteSearchServices(Struct, frozen=True, kw_only=True):
    """What the handlers depend on."""

    search: SiteSearch
    access: AccessControl = msgspec.field(default_factory=lambda: AccessControl(NoKeys(), required=False))
    metrics: SearchMetrics = msgspec.field(default_factory=SearchMetrics)
    web: WebSettings = WebSettings()
    openapi: bytes = b""


@route(
    "GET",
    SEARCH_PATH,
    {
        200: ResponseSpec("The best pages.", SiteResults),
        304: ResponseSpec("The results have not changed since the ETag in If-None-Match.", media_type=""),
    },
    query=SiteSearchQuery,
    scope=None,
    problems=(403, 421, 429, 503),
    waits=True,
)
async def search_site(services: SiteSearchServices, call: ApiRequest[None]) -> HandlerResult:
    """Search the pages of the site."""
    found = await services.search.answer(call.query, call.caller.address)
    if isinstance(found, Problem):
        return found
    etag = b'"%s"' % sha256(found).hexdigest()[:20].encode()
    fields = (*_CACHE_FIELDS, (b"etag", etag))
    known = (each.strip().removeprefix(b"W/") for each in call.headers.get(b"if-none-match", b"").split(b","))
    if etag in known:
        return ApiResponse(status=304, headers=fields)
    return ApiResponse(found, headers=fields)


SITE_SEARCH_ROUTES: Final = (search_site, status.health, status.openapi)


class SiteSearchApi(ApiDispatcher):
    """The public API."""

    def problem_of(self, error: ScoterError) -> Problem:
        if isinstance(error, UsageError):
            title = f"{error.message[:1].upper()}{error.message[1:]}."
            return problem(422, "refused", title, error.hint, where="?q")
        return UNAVAILABLE  # nothing about the files of this machine


class SearchServer:
    """Everything that `scoter search-server` runs in its one process."""

    def __init__(
        self,
        index: OpenIndex,
        rules: PublicRules,
        *,
        addresses: AddressMap = AddressMap(),  # noqa: B008  it never changes
        proxies: Sequence[str] = (),
        web: WebSettings = WebSettings(),  # noqa: B008  frozen
        clock: Callable[[], float] | None = None,
    ) -> None:
        """The address of a client is taken from X-Forwarded-For if the request comes from one of ``proxies``."""
        self.search = SiteSearch(index, addresses)
        api = SiteSearchApi(SiteSearchServices(search=self.search, web=web), SITE_SEARCH_ROUTES, SITE_SEARCH_API)
        self.openapi = api.openapi
        self._web = web
        app: App = PublicGate(BoxFiles(api), rules, clock or time.monotonic)
        self.app: App = ProxyHeadersMiddleware(app, list(proxies)) if proxies else app  # type: ignore[arg-type, assignment]

    async def run(self, sockets: Sequence[socket.socket], announce: Callable[[], None]) -> int:
        """Serve until SIGINT or SIGTERM."""
        stopping = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        announce()
        try:
            await HttpServer(self.app, sockets, limits=self._web).run_until(stopping)
        finally:
            self.search.close()
        return 0
