"""The route table, from which routing, validation and the OpenAPI document are derived."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from scoter.http.asgi import ApiRequest, ApiResponse, ApiStream
from scoter.http.records import KeyScope, Problem

HandlerResult: TypeAlias = ApiResponse | ApiStream | Problem
Handler: TypeAlias = Callable[[Any, ApiRequest[Any]], Coroutine[Any, Any, HandlerResult]]
"""Called with the ``Services`` of the API and the request."""

_PARAMETER = re.compile(rb"[A-Za-z0-9._~%:\[\]-]{1,300}")


class ResponseSpec(Struct, frozen=True):
    """The meaning of a status, and the type of its body: ``None`` for a body that is not JSON.

    Without a ``media_type`` there is no body. ``others`` are media types that a client can ask for instead.
    """

    description: str
    body: Any = None
    media_type: str = "application/json"
    others: Sequence[str] = ()


class Route(Struct, frozen=True, kw_only=True):
    """One method of one path; a segment in braces is a parameter.

    ``problems`` are additional error statuses. A route that ``waits`` is cancelled when the client disconnects; one
    that ``needs_key`` requires a key even if access is open. ``scope`` is ``None`` for a public route.
    ``decoder`` decodes a body.
    """

    method: str
    path: str
    run: Handler
    summary: str
    scope: KeyScope | None = "read"
    body: Any = None
    query: Any = None
    responses: Mapping[int, ResponseSpec]
    problems: Sequence[int] = ()
    waits: bool = False
    needs_key: bool = False
    decoder: msgspec.json.Decoder[Any] | None = None


def route(method: str, path: str, responses: Mapping[int, ResponseSpec], **more: Any) -> Callable[[Handler], Route]:
    """Return a decorator that turns a handler into a route, whose summary is the docstring of the handler."""
    decoder = msgspec.json.Decoder(more["body"]) if "body" in more else None
    return lambda run: Route(
        method=method, path=path, run=run, summary=run.__doc__ or "", responses=responses, decoder=decoder, **more
    )


class RouteMatch(Struct, frozen=True):
    """A route with its path parameters, or the methods that the path allows."""

    route: Route | None = None
    path: Mapping[str, str] = {}
    allowed: tuple[str, ...] = ()


class Router:
    """Finds the route of a request by its raw path: percent-encoded variants of a path do not match."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._plain: dict[bytes, dict[str, Route]] = {}
        # Paths with parameters, by their number of segments; a segment that is a parameter is ``None``.
        self._patterns: dict[int, dict[tuple[bytes | None, ...], dict[str, Route]]] = {}
        for route in routes:
            path = route.path.encode()
            if b"{" not in path:
                self._plain.setdefault(path, {})[route.method] = route
                continue
            shape = tuple(None if part.startswith(b"{") else part for part in path.split(b"/"))
            self._patterns.setdefault(len(shape), {}).setdefault(shape, {})[route.method] = route

    def find(self, method: str, raw_path: bytes) -> RouteMatch:
        """Return the route, or the methods that the path supports; neither if there is no such path."""
        methods, path = self._plain.get(raw_path), {}
        if methods is None:
            parts = raw_path.split(b"/")
            patterns = self._patterns.get(len(parts), {})
            methods = next((found for shape, found in patterns.items() if _fits(shape, parts)), None)
            if methods is None:
                return RouteMatch()
            names = next(iter(methods.values())).path.split("/")
            path = {
                name.strip("{}"): unquote(part.decode("ascii"), errors="replace")
                for name, part in zip(names, parts, strict=True)
                if name.startswith("{")
            }
        # RFC 9110 9.3.2: HEAD is handled like GET. The server omits the body.
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            return RouteMatch(allowed=tuple(sorted({*methods, "HEAD"} if "GET" in methods else methods)))
        return RouteMatch(route, path)


def _fits(shape: Sequence[bytes | None], parts: Sequence[bytes]) -> bool:
    return all(
        _PARAMETER.fullmatch(part) is not None if wanted is None else wanted == part
        for wanted, part in zip(shape, parts, strict=True)
    )
