"""What an ASGI server hands in and takes out, in the few shapes that this API needs."""

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

_PATIENCE: Final = 16  # times the largest body that are read only to be thrown away


class ApiRequest(Struct, Generic[Body], frozen=True, kw_only=True):
    """One request as a handler sees it: everything in it has been checked against its route."""

    body: Body
    query: Any = None
    path: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    key: ApiKey | None = None


class ApiResponse(Struct, frozen=True):
    """An answer that is ready to be sent."""

    body: bytes = b""
    status: int = 200
    media_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class ApiStream(Struct, frozen=True):
    """An answer that goes on for as long as somebody listens; ``fields`` are those of its head."""

    run: Callable[[Receive, Send], Awaitable[None]]
    fields: tuple[tuple[bytes, bytes], ...]


class TooLarge(Struct, frozen=True):
    """A body of more bytes than are taken."""


class TooSlow(Struct, frozen=True):
    """A body that did not come in time."""


class Disconnected(Struct, frozen=True):
    """A client that left before it had said all."""


async def read_body(
    receive: Receive, headers: Fields, *, most: int, within: float
) -> bytes | TooLarge | TooSlow | Disconnected:
    """Return a request's body, unless it is too large, too slow or never ends.

    What is too large, but not by far, is read to its end and thrown away: many clients read no answer before they have
    sent all, and would only see their connection break.
    """
    declared, is_asking = _length(headers)
    if declared > (most if is_asking else most * _PATIENCE):
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
                    if size > most * _PATIENCE:
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
    """Return how long a body says it is, and whether its client asks before it sends it."""
    length, is_asking = 0, False
    for name, value in headers:
        # Digits alone: int() would take signs, blanks and underscores too. The server has checked it already.
        if name == b"content-length" and value.isdigit():
            length = int(value[:20])
        elif name == b"expect":
            is_asking = True
    return length, is_asking


async def unless_disconnected(work: Coroutine[Any, Any, Result], receive: Receive) -> Result | None:
    """Return what a piece of work comes to; nothing when the client leaves before, which ends it."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def disconnected(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_reply(send: Send, reply: ApiResponse) -> None:
    """Send an answer whole."""
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
    """Send what a stream begins with, and nothing of it."""
    await send({"type": "http.response.start", "status": 200, "headers": list(stream.fields)})
    await send({"type": "http.response.body", "body": b""})


async def decline_other(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer what is no HTTP request: the server's start and end are acknowledged, a WebSocket is closed."""
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
