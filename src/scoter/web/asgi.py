"""The few ASGI shapes that this API needs: requests, responses and streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from scoter.api import Health

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Fields: TypeAlias = Iterable[tuple[bytes, bytes]]

JSON: Final = b"application/json"
PROBLEM: Final = b"application/problem+json"

Body = TypeVar("Body")
Result = TypeVar("Result")


class ApiRequest(Struct, Generic[Body], frozen=True, kw_only=True):
    """A request as a handler sees it, validated against its route."""

    body: Body
    query: Any = None
    path: Mapping[str, str]
    headers: Mapping[bytes, bytes]


class ApiResponse(Struct, frozen=True):
    """A complete response."""

    body: bytes = b""
    status: int = 200
    media_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


HEALTHY: Final = ApiResponse(msgspec.json.encode(Health()))


class ApiStream(Struct, frozen=True):
    """A response that continues as long as the client is connected; ``fields`` are its headers."""

    run: Callable[[Receive, Send], Awaitable[None]]
    fields: tuple[tuple[bytes, bytes], ...]


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
    await send(
        {
            "type": "http.response.start",
            "status": reply.status,
            "headers": [
                (b"content-type", reply.media_type),
                (b"content-length", b"%d" % len(reply.body)),
                *reply.headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": reply.body})


async def send_head(send: Send, stream: ApiStream) -> None:
    """Send the head of a stream, for HEAD requests."""
    await send({"type": "http.response.start", "status": 200, "headers": list(stream.fields)})
    await send({"type": "http.response.body", "body": b""})


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
