"""Dispatches the requests of an API: routing, access, validation, the handler, and errors as responses."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from scoter.config.sections.live import WebSettings
from scoter.errors import Defect, ScoterError, Unavailable
from scoter.http.access import KEY_NEEDED, AccessControl, AccessDecision
from scoter.http.asgi import (
    ApiRequest,
    ApiResponse,
    ApiStream,
    Caller,
    Receive,
    Scope,
    Send,
    decline_other,
    send_head,
    send_reply,
    unless_disconnected,
)
from scoter.http.inputs import read_json, read_query
from scoter.http.metrics import Counter, Histogram
from scoter.http.openapi import ApiInfo, document
from scoter.http.problems import DEFECT, NOT_FOUND, SHUTTING_DOWN, UNAVAILABLE, problem, refusal
from scoter.http.proxy import client_name
from scoter.http.records import Problem
from scoter.http.routes import HandlerResult, Route, RouteMatch, Router
from scoter.http.shares import ShareExceeded

_log = logging.getLogger(__name__)


class RequestMetrics(Protocol):
    """The metrics that the dispatcher writes."""

    @property
    def requests(self) -> Counter: ...

    @property
    def request_seconds(self) -> Histogram: ...


class ApiServices(Protocol):
    """What the dispatcher needs of the services that it passes to handlers; a msgspec struct with ``openapi``."""

    @property
    def access(self) -> AccessControl: ...

    @property
    def metrics(self) -> RequestMetrics: ...

    @property
    def web(self) -> WebSettings: ...


class ApiDispatcher:
    """Routes a request, checks access, validates it, and sends the response of its handler."""

    def __init__(self, services: ApiServices, routes: Sequence[Route], info: ApiInfo) -> None:
        self.openapi = msgspec.json.encode(document(routes, keys=services.access.needs_key, info=info))
        self._router = Router(routes)
        replace: Any = msgspec.structs.replace
        self._services: ApiServices = replace(services, openapi=self.openapi)
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
        route = matched.route
        decision = AccessDecision()
        try:
            needed = route.scope if route is not None else None
            decision = self._services.access.admit(scope["headers"], needed, scope["method"])
            answer = await self._handle(matched, decision, scope, receive)
        except asyncio.CancelledError:  # the process is shutting down
            answer = SHUTTING_DOWN
        except ShareExceeded as error:
            title = "Too many of your own requests are under way."
            answer = problem(429, "share", title, f"{error.message[:1].upper()}{error.message[1:]}.")
            answer = msgspec.structs.replace(answer, retry_after=error.retry_after)
        except Unavailable as error:
            # A full disk or a locked database: nothing was changed, and it is logged elsewhere.
            answer = msgspec.structs.replace(UNAVAILABLE, detail=f"Nothing can be stored: {error.message}.")
        except Exception as error:
            if isinstance(error, ScoterError) and not isinstance(error, Defect):
                answer = self.problem_of(error)
            else:
                _log.exception("defect in a request: %s %s", scope["method"], scope["raw_path"])
                answer = DEFECT
        reply = refusal(answer, matched.allowed) if isinstance(answer, Problem) else answer
        return reply.with_fields(decision.fields) if isinstance(reply, ApiResponse) else reply

    async def _handle(
        self, matched: RouteMatch, decision: AccessDecision, scope: Scope, receive: Receive
    ) -> HandlerResult | None:
        route = matched.route
        if route is None:
            if not matched.allowed:
                return NOT_FOUND
            detail = f"It supports {', '.join(matched.allowed)}."
            return problem(405, "method", "The path does not support this method.", detail)
        if decision.refusal is not None:
            return decision.refusal
        if route.needs_key and decision.key is None:
            return KEY_NEEDED
        self.check_path(matched.path)
        query = None if route.query is None else read_query(scope["query_string"], route.query)
        if isinstance(query, Problem):
            return query
        body = None
        if route.decoder is not None:
            body = await read_json(receive, scope["headers"], self._services.web, route.decoder)
            if body is None or isinstance(body, Problem):
                return body
        call = ApiRequest(
            body=body,
            query=query,
            path=matched.path,
            headers=dict(scope["headers"]),
            caller=Caller(decision.key, "" if decision.key else client_name(scope)),
        )
        work = route.run(self._services, call)
        return await (unless_disconnected(work, receive) if route.waits else work)

    def check_path(self, path: Mapping[str, str]) -> None:
        """Raise if a path parameter is not acceptable, before anything else is done with the request."""

    def problem_of(self, error: ScoterError) -> Problem:
        """Return what to answer if a handler raises an error that is not a defect."""
        _log.warning("a request failed: %s", error)
        return UNAVAILABLE
