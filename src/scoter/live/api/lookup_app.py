"""The application of lookup processes: answers lookups with little overhead, and forwards everything else.

It handles ``GET /v1/urls?url=…`` without ``wait``, ``POST /v1/urls/lookup`` and ``/healthz``, with the same responses
as the whole API. A request costs a few microseconds more than the HTTP server itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final
from urllib.parse import unquote_plus

from scoter.config.sections.live import WebSettings
from scoter.core.extract import LONGEST
from scoter.errors import Defect, ScoterError
from scoter.http.access import AccessControl
from scoter.http.asgi import HEALTHY, ApiResponse, App, Fields, Receive, Scope, Send, decline_other, send_reply
from scoter.http.inputs import read_json
from scoter.http.problems import UNAVAILABLE, problem, refusal, reply_of
from scoter.http.records import Problem
from scoter.live.api.lookups import NOT_A_URL, Lookup, lookup_decoder, not_changed
from scoter.live.api.metrics import LookupMetrics

_ONE_PATH: Final = b"/v1/urls"
_MANY_PATH: Final = b"/v1/urls/lookup"
_HEALTH_PATH: Final = b"/healthz"
_USUAL_ESCAPES: Final = ((b"%3A", b":"), (b"%2F", b"/"), (b"%3F", b"?"), (b"%3D", b"="), (b"%26", b"&"))
_UNAUTHORIZED: Final = 401
_READ_METHODS: Final = ("GET", "HEAD")  # the server omits the body of a response to HEAD


class LookupApp:
    """Answers lookups from a read-only store, whose answers need no waiting."""

    def __init__(
        self,
        lookup: Lookup,
        access: AccessControl,
        forward: App,
        *,
        metrics: LookupMetrics | None = None,
        web: WebSettings = WebSettings(),  # noqa: B008  frozen
    ) -> None:
        self._lookup = lookup
        self._access = access
        self._forward = forward
        self._metrics = metrics or LookupMetrics(access)
        self._web = web
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await decline_other(scope, receive, send)
            return
        path, method, headers = scope["raw_path"], scope["method"], scope["headers"]
        began = self._metrics.clock()
        if path == _ONE_PATH and method in _READ_METHODS:
            reply = self._one(scope["query_string"], headers)
            if reply is not None:
                await send_reply(send, reply)
                return
        elif path == _MANY_PATH and method == "POST":
            found = await self._many(scope, receive)
            if found is not None and found.status == _UNAUTHORIZED and _has_cookie(headers):
                await self._forward(scope, receive, send)
            elif found is not None:
                await self._send("/v1/urls/lookup", began, found, send)
            return
        elif path == _HEALTH_PATH and method in _READ_METHODS:
            await self._send("/healthz", began, HEALTHY, send)
            return
        await self._forward(scope, receive, send)

    def answer_at_once(self, target: bytes, headers: Fields) -> ApiResponse | None:
        """Answer a GET request for one URL; return ``None`` for any other, which the application handles."""
        path, _, query = target.partition(b"?")
        return self._one(query, headers) if path == _ONE_PATH and b"#" not in query else None

    async def _send(self, route: str, began: float, reply: ApiResponse, send: Send) -> None:
        self._metrics.answered(route, reply.status, began)
        await send_reply(send, reply)

    def _one(self, query: bytes, headers: Fields) -> ApiResponse | None:
        """Return the response for one URL; ``None`` if only the core can answer."""
        if not query.startswith(b"url=") or b"&" in query:
            return None
        began = self._metrics.clock()
        decision = self._access.admit(headers, "read")
        if decision.refusal is None:
            reply = self._found(query, headers)
        elif decision.refusal.status == _UNAUTHORIZED and _has_cookie(headers):
            return None  # the core knows the sessions
        else:
            reply = refusal(decision.refusal)
        self._metrics.answered("/v1/urls", reply.status, began)
        return reply.with_fields(decision.fields)

    def _found(self, query: bytes, headers: Fields) -> ApiResponse:
        try:
            text = unquote_value(query[4:])
        except UnicodeDecodeError:
            return reply_of(problem(400, "malformed", "The query string is malformed."))
        if not 0 < len(text) <= LONGEST:
            return reply_of(NOT_A_URL)
        try:
            reply = _result_of(self._lookup.one(text))
            return not_changed(reply, headers) or reply
        except ScoterError:
            return reply_of(UNAVAILABLE)

    async def _many(self, scope: Scope, receive: Receive) -> ApiResponse | None:
        decision = self._access.admit(scope["headers"], "read")
        if decision.refusal is not None:
            return refusal(decision.refusal).with_fields(decision.fields)
        asked = await read_json(receive, scope["headers"], self._web, lookup_decoder)
        if asked is None:
            return None
        if isinstance(asked, Problem):
            return refusal(asked).with_fields(decision.fields)
        # One per iteration of the event loop: in between, responses are sent, and requests for one URL answered.
        async with self._turn:
            try:
                reply = await self._lookup.many(asked.urls)
            except ScoterError:
                reply = reply_of(UNAVAILABLE)
            await asyncio.sleep(0)
        return reply.with_fields(decision.fields)


def _result_of(work: Coroutine[Any, Any, ApiResponse]) -> ApiResponse:
    """Return the result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        found: ApiResponse = done.value
        return found
    raise Defect("a lookup had to wait")


def _has_cookie(headers: Fields) -> bool:
    return any(name == b"cookie" for name, _ in headers)


def unquote_value(text: bytes) -> str:
    """Decode a value of a query string.

    >>> unquote_value(b"http%3A%2F%2Fa.example%2F%C3%A9+x%")
    'http://a.example/é x%'
    """
    # Fast path: usually only these are escaped, and none of them can be part of another escape.
    for escape, character in _USUAL_ESCAPES:
        text = text.replace(escape, character)
    plain = text.decode("ascii")
    return unquote_plus(plain, errors="strict") if "%" in plain or "+" in plain else plain
