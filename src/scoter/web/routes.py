"""The table of routes: one source for routing, for validation and for the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from scoter.api import KeyScope, Problem
from scoter.web.asgi import ApiRequest, ApiResponse, ApiStream

HandlerResult: TypeAlias = ApiResponse | ApiStream | Problem
Handler: TypeAlias = Callable[[ApiRequest[Any]], Coroutine[Any, Any, HandlerResult]]

_NAME = re.compile(rb"[A-Za-z0-9._~%:\[\]-]{1,300}")


class ResponseSpec(Struct, frozen=True):
    """What a status means, and what comes with it: a type, or words for a body that is no JSON."""

    told: str
    body: Any = None
    media_type: str = "application/json"


class Route(Struct, frozen=True, kw_only=True):
    """One method of one path; a step in braces is a parameter.

    ``problems`` are the statuses of its own refusals; one that ``waits`` is given up when the client leaves; for one
    that ``shows_key`` a key must be shown even where everybody is let in.
    """

    method: str
    path: str
    run: Handler
    told: str
    scope: KeyScope | None = "read"
    body: Any = None
    query: Any = None
    responses: Mapping[int, ResponseSpec]
    problems: Sequence[int] = ()
    waits: bool = False
    shows_key: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.path.split("/")[1:])


class RouteMatch(Struct, frozen=True):
    """A route with what its path says, or what the path would allow."""

    route: Route | None = None
    path: Mapping[str, str] = {}
    allowed: tuple[str, ...] = ()
    decode: Callable[[bytes], Any] | None = None


class Router:
    """Finds the route of a request by its path as it came, percent signs and all: no spelling tricks."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._plain: dict[bytes, dict[str, Route]] = {}
        self._named: dict[bytes, dict[str, Route]] = {}
        self._decoders: dict[str, Callable[[bytes], Any]] = {}
        for route in routes:
            before, brace, _ = route.path.partition("{")
            table = self._named if brace else self._plain
            table.setdefault(before.encode(), {})[route.method] = route
            if route.body is not None:
                self._decoders[route.method + route.path] = msgspec.json.Decoder(route.body).decode

    def find(self, method: str, raw_path: bytes) -> RouteMatch:
        """Return the route; without one, the methods that the path has: none where there is no such path."""
        methods, path = self._plain.get(raw_path), {}
        if methods is None:
            before, slash, name = raw_path.rpartition(b"/")
            methods = self._named.get(before + slash)
            if methods is None or not _NAME.fullmatch(name):
                return RouteMatch()
            key = next(iter(methods.values())).steps[-1].strip("{}")
            path = {key: unquote(name.decode("ascii"), errors="replace")}
        # RFC 9110 9.3.2: HEAD is answered as GET is. The server leaves out the body.
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            return RouteMatch(allowed=tuple(sorted({*methods, "HEAD"} if "GET" in methods else methods)))
        return RouteMatch(route, path, decode=self._decoders.get(route.method + route.path))
