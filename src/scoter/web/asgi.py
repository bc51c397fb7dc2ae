"""The few ASGI shapes that this API needs: requests, responses, streams, and reading a body."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from scoter.live.keys import ApiKey

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Fields: TypeAlias = Iterable[tuple[bytes, bytes]]

JSON: Final = b"application/json"
PROBLEM: Final = b"application/problem+json"

Body = TypeVar("Body")
Result = TypeVar("Result")

_MAX_DISCARDED: Final = 16  # times the largest body: how much of a too large body is read and discarded


class ApiRequest(Struct, Generic[Body], frozen=True, kw_only=True):
    """A request as a handler sees it, validated against its route."""

    body: Body
    query: Any = None
    path: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    key: ApiKey | None = None


class ApiResponse(Struct, frozen=True):
    """A complete response."""

    body: bytes = b""
    status: int = 200
    media_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class ApiStream(Struct, frozen=True):
    """A response that continues as long as the client is connected; ``fields`` are its headers."""

    run: Callable[[Receive, Send], Awaitable[None]]
    fields: tuple[tuple[bytes, bytes], ...]


class TooLarge(Struct, frozen=True):
    """The body exceeds the size limit."""


class TooSlow(Struct, frozen=True):
    """The body did not arrive in time."""


class Disconnected(Struct, frozen=True):
    """The client disconnected before it sent the whole request."""


async def read_body(
    receive: Receive, headers: Fields, *, most: int, within: float
) -> bytes | TooLarge | TooSlow | Disconnected:
    """Return the body of a request, unless it is too large or too slow.

    A body that is somewhat too large is read to its end and discarded: many clients do not read the response before
    they have sent everything, and would only see a broken connection.
    """
    declared, expects_continue = _length(headers)
    if declared > (most if expects_continue else most * _MAX_DISCARDED):
        return TooLarge()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(within):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return Disconnected()
                part = message.get("body", b"")
                size += len(part)
                if size > most:
                    parts.clear()
                    if size > most * _MAX_DISCARDED:
                        return TooLarge()
                else:
                    parts.append(part)
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        return TooSlow() if size <= most else TooLarge()
    if size > most:
        return TooLarge()
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _length(headers: Fields) -> tuple[int, bool]:
    """Return the declared length of a body, and whether the client waits for 100 Continue."""
    length, expects_continue = 0, False
    for name, value in headers:
        # Digits only: int() also accepts signs, spaces and underscores. The server has checked it already.
        if name == b"content-length" and value.isdigit():
            length = int(value[:20])
        elif name == b"expect":
            expects_continue = True
    return length, expects_continue


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


BODY_LIMIT: Final = 2**20


BODY_WITHIN: Final = 10.0
