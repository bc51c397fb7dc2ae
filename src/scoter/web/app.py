"""The whole API as one ASGI application, assembled from the services it is given."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import msgspec

from scoter.api import Problem
from scoter.errors import Defect, ScoterError, Unavailable
from scoter.web.asgi import (
    ApiRequest,
    ApiResponse,
    ApiStream,
    Receive,
    Scope,
    Send,
    decline_other,
    send_head,
    send_reply,
    unless_disconnected,
)
from scoter.web.handlers import admin, events, fetch, messages, status, urls
from scoter.web.inputs import read_json, read_query
from scoter.web.keys import KEY_NEEDED
from scoter.web.openapi import document
from scoter.web.problems import DEFECT, NOT_FOUND, SHUTTING_DOWN, UNAVAILABLE, problem, refusal
from scoter.web.routes import HandlerResult, RouteMatch, Router
from scoter.web.services import Services

_log = logging.getLogger(__name__)
ROUTES: Final = (
    messages.submit,
    urls.look_up,
    urls.look_up_many,
    fetch.fetch,
    events.listen,
    admin.show_domain,
    admin.set_domain,
    admin.list_keys,
    admin.make_key,
    admin.revoke_key,
    status.stats,
    status.metrics,
    status.health,
    status.ready,
    status.openapi,
)
"""All routes, in the order of the OpenAPI document."""


class Api:
    """Routes a request, checks access, validates it, and sends the response of its handler."""

    def __init__(self, services: Services) -> None:
        self.openapi = msgspec.json.encode(document(ROUTES, keys=services.access.needs_key))
        self._router = Router(ROUTES)
        self._services = msgspec.structs.replace(services, openapi=self.openapi)
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
        except Unavailable as error:
            # A full disk or a locked database: nothing was changed, and it is logged elsewhere.
            answer = msgspec.structs.replace(UNAVAILABLE, detail=f"Nothing can be stored: {error.message}.")
        except Exception as error:
            if isinstance(error, ScoterError) and not isinstance(error, Defect):
                _log.warning("a request failed: %s", error)
                answer = UNAVAILABLE
            else:
                _log.exception("defect in a request: %s %s", scope["method"], scope["raw_path"])
                answer = DEFECT
        return refusal(answer, matched.allowed) if isinstance(answer, Problem) else answer

    async def _handle(self, matched: RouteMatch, scope: Scope, receive: Receive) -> HandlerResult | None:
        route = matched.route
        if route is None:
            if not matched.allowed:
                return NOT_FOUND
            detail = f"It supports {', '.join(matched.allowed)}."
            return problem(405, "method", "The path does not support this method.", detail)
        admitted = self._services.access.admit(scope["headers"], route.scope)
        if isinstance(admitted, Problem):
            return admitted
        if route.needs_key and admitted is None:
            return KEY_NEEDED
        query = None if route.query is None else read_query(scope["query_string"], route.query)
        if isinstance(query, Problem):
            return query
        body = None
        if route.decode is not None:
            body = await read_json(receive, scope["headers"], self._services.web, route.decode)
            if body is None or isinstance(body, Problem):
                return body
        call = ApiRequest(body=body, query=query, path=matched.path, headers=dict(scope["headers"]))
        work = route.run(self._services, call)
        return await (unless_disconnected(work, receive) if route.waits else work)
