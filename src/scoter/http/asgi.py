"""The few ASGI shapes that this API needs: requests, responses and streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from scoter.http.api_keys import DEFAULT_TENANT, ApiKey
from scoter.http.records import Health

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Fields: TypeAlias = Iterable[tuple[bytes, bytes]]
HeaderFields: TypeAlias = tuple[tuple[bytes, bytes], ...]

JSON: Final = b"application/json"
PROBLEM: Final = b"application/problem+json"

Body = TypeVar("Body")
Result = TypeVar("Result")


class Caller(Struct, frozen=True):
    """Who makes a request: the key, if there is one, else an address. Without keys, everybody may see everything."""

    key: ApiKey | None = None
    address: str = ""

    @property
    def name(self) -> str:
        """What shares are counted by."""
        return self.address if self.key is None else f"key {self.key.id}"

    @property
    def tenant(self) -> str:
        """Whose messages it submits."""
        return DEFAULT_TENANT if self.key is None else self.key.tenant

    @property
    def sees(self) -> str | None:
        """The tenant whose messages, events and deliveries it sees; ``None`` for all of them."""
        return None if self.key is None or "admin" in self.key.scopes else self.key.tenant

    def administers(self, *, is_open: bool) -> bool:
        """Whether it may do what is for administrators; without keys, everybody may unless ``is_open`` to anybody."""
        return not is_open if self.key is None else "admin" in self.key.scopes

    @property
    def sees_service(self) -> bool:
        """Whether it sees what all tenants do together, such as the load of the service."""
        return self.sees in (None, DEFAULT_TENANT)


class ApiRequest(Struct, Generic[Body], frozen=True, kw_only=True):
    """A request as a handler sees it, validated against its route."""

    body: Body
    query: Any = None
    path: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    caller: Caller = Caller()


class ApiResponse(Struct, frozen=True):
    """A complete response."""

    body: bytes = b""
    status: int = 200
    media_type: bytes = JSON
    headers: HeaderFields = ()

    def with_fields(self, more: HeaderFields) -> ApiResponse:
        """Return the response with additional headers."""
        return msgspec.structs.replace(self, headers=(*self.headers, *more)) if more else self


NO_STORE: Final = ((b"cache-control", b"no-store"),)
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, DELETE"),
    (b"access-control-allow-headers", b"Authorization, Content-Type, If-None-Match, Last-Event-ID"),
    (b"access-control-max-age", b"600"),
)
_EXPOSED: Final = (b"access-control-expose-headers", b"ETag, RateLimit, RateLimit-Policy, Retry-After")
# Nothing here is for browsers to guess: a record contains texts of strangers.
NOSNIFF: Final = (b"x-content-type-options", b"nosniff")

_STATUS_LINES: Final[dict[int, bytes]] = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus
}

HEALTHY: Final = ApiResponse(msgspec.json.encode(Health()))


class ApiStream(Struct, frozen=True):
    """A response that continues as long as the client is connected; ``fields`` are its headers."""

    run: Callable[[Receive, Send], Awaitable[None]]
    fields: HeaderFields


async def unless_disconnected(work: Coroutine[Any, Any, Result], receive: Receive) -> Result | None:
    """Return the result of ``work``; cancel it and return ``None`` if the client disconnects first."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(receive))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


async def disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_reply(send: Send, reply: ApiResponse) -> None:
    """Send a complete response."""
    await send({"type": "http.response.start", "status": reply.status, "headers": _fields_of(reply)})
    await send({"type": "http.response.body", "body": reply.body})


def encode_reply(reply: ApiResponse, more: Fields = ()) -> bytes:
    """Return the bytes of a complete response, with more headers.

    >>> encode_reply(ApiResponse(status=304))
    b'HTTP/1.1 304 Not Modified\\r\\nx-content-type-options: nosniff\\r\\n\\r\\n'
    """
    lines = [b"%b: %b\r\n" % field for field in (*more, *reply.headers)]
    return b"".join((_usual_lines(reply.status, reply.media_type, len(reply.body)), *lines, b"\r\n", reply.body))


@lru_cache(maxsize=4_096)
def _usual_lines(status: int, media_type: bytes, length: int) -> bytes:
    """Return the first lines of a response: those that do not depend on its own headers."""
    fields = _usual_fields(status, media_type, length)
    return _STATUS_LINES[status] + b"".join(b"%b: %b\r\n" % field for field in fields)


def _fields_of(reply: ApiResponse) -> list[tuple[bytes, bytes]]:
    return [*_usual_fields(reply.status, reply.media_type, len(reply.body)), *reply.headers]


def _usual_fields(status: int, media_type: bytes, length: int) -> HeaderFields:
    if status in (204, 304):  # RFC 9110 8.6: they have no content
        return (NOSNIFF,)
    return (NOSNIFF, (b"content-type", media_type), (b"content-length", b"%d" % length))


async def send_head(send: Send, stream: ApiStream) -> None:
    """Send the head of a stream, for HEAD requests."""
    await send({"type": "http.response.start", "status": 200, "headers": list(stream.fields)})
    await send({"type": "http.response.body", "body": b""})


class Cors:
    """Lets pages of other origins use an application: ``*`` for all of them (https://fetch.spec.whatwg.org/#cors)."""

    def __init__(self, app: App, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = dict(scope["headers"]) if scope["type"] == "http" else {}
        origin = fields.get(b"origin")
        if origin is None or not self._origins & {origin, b"*"}:
            await self._app(scope, receive, send)
            return
        # Keys are sent by scripts in a header, so no credentials of the browser are allowed.
        allowed = (b"access-control-allow-origin", origin), (b"vary", b"Origin")
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in fields:
            await send_reply(send, ApiResponse(status=204, headers=(*allowed, *_PREFLIGHT)))
            return

        async def send_allowed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *allowed, _EXPOSED]
            await send(message)

        await self._app(scope, receive, send_allowed)


async def decline_other(scope: Scope, receive: Receive, send: Send) -> None:
    """Handle what is not HTTP: acknowledge the server's start and end, close a WebSocket."""
    if scope["type"] != "lifespan":
        await send({"type": "websocket.close", "code": 1000})
        return
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return
