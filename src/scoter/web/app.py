"""The whole API as one ASGI application, assembled from the services it is given."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from scoter.api import MAX_WAIT, Problem
from scoter.errors import Defect, ScoterError, Unavailable
from scoter.live.keys import ApiKeys
from scoter.live.ports import ContentStore, DomainRuleStore, Fetching
from scoter.web.asgi import (
    BODY_LIMIT,
    BODY_WITHIN,
    ApiRequest,
    ApiResponse,
    ApiStream,
    Disconnected,
    Receive,
    Scope,
    Send,
    TooLarge,
    TooSlow,
    decline_other,
    read_body,
    send_head,
    send_reply,
    unless_disconnected,
)
from scoter.web.handlers.admin import DomainRoutes, KeyRoutes
from scoter.web.handlers.fetch import FetchLimits, FetchRoutes
from scoter.web.handlers.messages import MessageRoutes, MessageSink
from scoter.web.handlers.status import StatusRoutes
from scoter.web.handlers.urls import UrlRoutes
from scoter.web.keys import KEY_NEEDED, AccessControl
from scoter.web.lookups import Lookup, RecordSource, UrlWaiters
from scoter.web.metrics import ServiceMetrics
from scoter.web.openapi import document
from scoter.web.problems import (
    DEFECT,
    NOT_FOUND,
    NOT_JSON,
    SHUTTING_DOWN,
    TOO_LARGE,
    TOO_SLOW,
    UNAVAILABLE,
    problem,
    read_json,
    read_query,
    refusal,
)
from scoter.web.routes import HandlerResult, Route, RouteMatch, Router
from scoter.web.streams import EventRoutes, Streams

_log = logging.getLogger(__name__)


class Services(Struct, frozen=True, kw_only=True):
    """What the API depends on.

    ``is_pending`` tells whether a URL waits in the journal, ``is_forced`` whether it waits for a forced fetch.
    ``check_callback`` returns why a callback is not allowed, ``not_ready`` why the service is not ready, or "".
    """

    sink: MessageSink
    records: RecordSource
    is_pending: Callable[[str], bool]
    is_forced: Callable[[str], bool] = lambda url: False
    waiters: UrlWaiters
    streams: Streams
    rules: DomainRuleStore
    fetching: Fetching
    content: ContentStore | None = None
    access: AccessControl
    keys: ApiKeys
    metrics: ServiceMetrics
    check_callback: Callable[[str], str]
    not_ready: Callable[[], str] = lambda: ""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    fetch_limits: FetchLimits = FetchLimits()
    longest_wait: float = MAX_WAIT
    body_limit: int = BODY_LIMIT
    body_within: float = BODY_WITHIN


def routes(services: Services, describe: Callable[[], bytes]) -> list[Route]:
    """Return all routes, in the order of the OpenAPI document, which ``describe`` returns."""
    return [
        *MessageRoutes(services.sink, services.check_callback, services.metrics, services.clock).routes(),
        *UrlRoutes(
            Lookup(services.records, services.is_pending), services.waiters, services.longest_wait, services.is_forced
        ).routes(),
        *FetchRoutes(services.fetching, services.rules, services.content, services.fetch_limits).routes(),
        *EventRoutes(services.streams).routes(),
        *DomainRoutes(services.rules).routes(),
        *KeyRoutes(services.keys).routes(),
        *StatusRoutes(services.metrics, services.not_ready, describe).routes(),
    ]


class Api:
    """Routes a request, checks access, validates it, and sends the response of its handler."""

    def __init__(self, services: Services) -> None:
        table = routes(services, lambda: self.openapi)
        self.openapi = msgspec.json.encode(document(table, keys=services.access.needs_key))
        self._router = Router(table)
        self._services = services
        self._metrics = services.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await decline_other(scope, receive, send)
            return
        began = time.perf_counter()
        matched = self._router.find(scope["method"], scope["raw_path"])
        answer = await self._answer(matched, scope, receive)
        name = matched.route.path if matched.route else "none"
        if isinstance(answer, ApiStream):
            self._metrics.requests.add(name, "200")
            await (send_head(send, answer) if scope["method"] == "HEAD" else answer.run(receive, send))
            return
        if answer is None:
            return
        self._metrics.requests.add(name, str(answer.status))
        self._metrics.request_seconds.observe(name, time.perf_counter() - began)
        await send_reply(send, answer)

    async def _answer(self, matched: RouteMatch, scope: Scope, receive: Receive) -> ApiResponse | ApiStream | None:
        try:
            answer = await self._handle(matched, scope, receive)
        except asyncio.CancelledError:  # the process is shutting down
            answer = SHUTTING_DOWN
        except Defect:
            _log.exception("defect in a request: %s %s", scope["method"], scope["raw_path"])
            answer = DEFECT
        except Unavailable as error:
            # A full disk or a locked database: nothing was changed, and it is logged elsewhere.
            answer = msgspec.structs.replace(UNAVAILABLE, detail=f"Nothing can be stored: {error.message}.")
        except ScoterError as error:
            _log.warning("a request failed: %s", error)
            answer = UNAVAILABLE
        except Exception:
            _log.exception("defect in a request: %s %s", scope["method"], scope["raw_path"])
            answer = DEFECT
        return refusal(answer, matched.allowed) if isinstance(answer, Problem) else answer

    async def _handle(self, matched: RouteMatch, scope: Scope, receive: Receive) -> HandlerResult | None:
        route = matched.route
        if route is None:
            return _wrong_method(matched.allowed) if matched.allowed else NOT_FOUND
        admitted = self._services.access.admit(scope["headers"], route.scope)
        if isinstance(admitted, Problem):
            return admitted
        if route.needs_key and admitted.key is None:
            return KEY_NEEDED
        headers = dict(scope["headers"])
        query = None if route.query is None else read_query(scope["query_string"], route.query)
        if isinstance(query, Problem):
            return query
        body = None
        if matched.decode is not None:
            body = await self._body(matched.decode, headers, receive)
            if isinstance(body, Problem):
                return body
            if isinstance(body, Disconnected):
                return None
        work = route.run(ApiRequest(body=body, query=query, path=matched.path, headers=headers, key=admitted.key))
        return await (unless_disconnected(work, receive) if route.waits else work)

    async def _body(
        self, decode: Callable[[bytes], Any], headers: Mapping[bytes, bytes], receive: Receive
    ) -> Any | Problem | Disconnected:
        # Without CORS approval a web page can send JSON to other origins only under another content type.
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            return NOT_JSON
        services = self._services
        raw = await read_body(receive, headers.items(), most=services.body_limit, within=services.body_within)
        if isinstance(raw, TooLarge):
            return TOO_LARGE
        if isinstance(raw, TooSlow):
            return TOO_SLOW
        if isinstance(raw, Disconnected):
            return raw
        return read_json(raw, decode)


def _wrong_method(allowed: Sequence[str]) -> Problem:
    return problem(405, "method", "The path does not support this method.", f"It supports {', '.join(allowed)}.")
