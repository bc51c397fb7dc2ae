"""Forwards requests to the core over its Unix socket, and streams its responses back.

Nothing is buffered: bodies are forwarded chunk by chunk, event streams as long as both ends stay. A client that does
not read blocks its own connection to the core, which then closes it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import httptools

from scoter.http.asgi import ApiResponse, Fields, Receive, Scope, Send, send_reply
from scoter.http.problems import problem, reply_of
from scoter.http.shares import address_name
from scoter.http.transport import BufferedTransport

_CHUNK: Final = 65_536
_IDLE: Final = 30.0  # shorter than the core keeps a connection open, so that none is reused that it is about to close
_MAX_IDLE: Final = 64
# RFC 9110 7.6.1: hop-by-hop headers are not forwarded.
_HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect")
)
# Tells the core the address of a client; it is only accepted from a Unix socket, which only this user can open.
_CLIENT: Final = b"scoter-client"
_NOT_FORWARDED: Final = _HOP_BY_HOP | {_CLIENT}
_NOT_RETURNED: Final = _HOP_BY_HOP | {b"date"}  # the server adds its own
_UNREACHABLE: Final = reply_of(problem(503, "core-away", "The core of the service does not respond.", retry_after=2))
_CROWDED: Final = reply_of(problem(503, "crowded", "Too many requests are in progress.", retry_after=2))


class _CoreConnection(asyncio.Protocol):
    """A connection to the core, and the parser of its responses."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed: asyncio.Future[None] | None = None  # waits for more of the response
        self._flowing: asyncio.Future[None] | None = None  # waits until more can be written
        self._is_paused = False
        self.is_lost = False
        self.since = time.monotonic()
        self.begin()

    def begin(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self._size = 0
        self.has_head = False
        self.is_asked = False  # the whole request was sent
        self.is_whole = False  # the whole response was received
        self.is_kept = False
        self._is_left = False
        self._has_news = False  # something arrived since ``changed`` was last awaited

    @property
    def is_usable(self) -> bool:
        is_open = not self.is_lost and not self._transport.is_closing()
        return is_open and time.monotonic() - self.since < _IDLE

    @property
    def is_abandoned(self) -> bool:
        """Whether the client disconnected while the core could still have answered."""
        return self._is_left and not self.is_lost

    @property
    def is_over(self) -> bool:
        """Whether the response has ended, or its client is gone."""
        return self.is_whole or self.is_lost or self._is_left

    async def changed(self) -> None:
        """Wait for more of the response or its end; return at once if something arrived since the last call."""
        if not self._has_news and not self.is_over:
            self._changed = self._loop.create_future()
            await self._changed
        self._has_news = False

    def leave(self, asked: httptools.HttpResponseParser) -> None:
        """Stop waiting for the response that ``asked`` parses; a later one belongs to another request."""
        if asked is self.parser:
            self._is_left = True
            self._wake()

    def take(self) -> bytes:
        """Return what arrived of the body since the last call."""
        parts, self.parts, self._size = self.parts, [], 0
        if self._is_paused and not self.is_lost:
            self._is_paused = False
            self._transport.resume_reading()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drained(self) -> None:
        """Wait until more can be written; a lost connection never blocks."""
        if self._flowing is not None:
            await self._flowing

    def close(self) -> None:
        self._transport.close()

    def _wake(self) -> None:
        self._has_news = True
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    # Callbacks of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.has_head = self.parser.get_status_code() >= 200  # not 100 Continue

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)
        self._size += len(part)

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_whole = True
            self.is_kept = self.parser.should_keep_alive()
        else:
            self.headers.clear()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = BufferedTransport(cast(asyncio.Transport, transport), self._loop)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.is_lost = True
            self._transport.abort()
        if self._size > 2 * _CHUNK and not self._is_paused and not self.is_lost:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.is_lost = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        if self._flowing is None:
            self._flowing = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._flowing is not None:
            if not self._flowing.done():
                self._flowing.set_result(None)
            self._flowing = None


class CoreProxy:
    """Forwards requests to a Unix socket, at most ``most`` at a time."""

    def __init__(self, path: Path, *, most: int = 5_000, note: Callable[[], None] = lambda: None) -> None:
        """``note`` is called for each request that is refused here."""
        self._path = str(path)
        self._note = note
        self._most = most
        self._count = 0
        self._idle: deque[_CoreConnection] = deque()

    def __len__(self) -> int:
        return self._count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._count >= self._most:
            await self._refuse(send, _CROWDED)
            return
        self._count += 1
        try:
            await self._forward(scope, receive, send)
        finally:
            self._count -= 1

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            connection = await self._connect()
        except OSError:
            await self._refuse(send, _UNREACHABLE)
            return
        try:
            asking = asyncio.create_task(_ask(connection, scope, receive))
            asked = connection.parser
            asking.add_done_callback(lambda _: connection.leave(asked))
            try:
                await _answer(connection, send, scope["method"] == "HEAD")
            except asyncio.CancelledError:  # this process is shutting down
                if connection.has_head:
                    raise
            finally:
                if asking.done() and not asking.cancelled():
                    asking.result()
                asking.cancel()  # the response has ended: the rest of the request is not needed
        finally:
            self._release(connection)
        # A client that disconnected, or sent something malformed, was not refused by the core.
        if not connection.has_head and not connection.is_abandoned:
            await self._refuse(send, _UNREACHABLE)

    async def _refuse(self, send: Send, reply: ApiResponse) -> None:
        self._note()
        await send_reply(send, reply)

    async def _connect(self) -> _CoreConnection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                connection.begin()
                return connection
            connection.close()
        _, opened = await asyncio.get_running_loop().create_unix_connection(_CoreConnection, self._path)
        return opened

    def _release(self, connection: _CoreConnection) -> None:
        if connection.is_asked and connection.is_whole and connection.is_kept and len(self._idle) < _MAX_IDLE:
            connection.since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.close()


async def _ask(connection: _CoreConnection, scope: Scope, receive: Receive) -> None:
    """Send a request chunk by chunk; return when the client has disconnected."""
    is_chunked = _is_chunked(scope["headers"])
    connection.write(request_head(scope, is_chunked))
    while (message := await receive())["type"] == "http.request":
        # The core may respond and close before it has read everything; its response still counts.
        if connection.is_lost or connection.is_asked:
            continue
        part, more = message.get("body", b""), message.get("more_body", False)
        if part:
            connection.write(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)
        if is_chunked and not more:
            connection.write(b"0\r\n\r\n")
        await connection.drained()
        connection.is_asked = not more and not connection.is_lost


async def _answer(connection: _CoreConnection, send: Send, is_head: bool) -> None:
    """Return a response chunk by chunk; one that the core did not finish is not finished here either."""
    has_begun = False
    while True:
        await connection.changed()
        if connection.has_head and not has_begun:
            has_begun = True
            headers = [field for field in connection.headers if field[0] not in _NOT_RETURNED]
            if (b"connection", b"close") in connection.headers:  # the core did not read the whole request
                headers.append((b"connection", b"close"))
            status = connection.parser.get_status_code()
            await send({"type": "http.response.start", "status": status, "headers": headers})
        if connection.has_head and is_head:
            connection.is_whole, connection.is_kept = True, False
        if connection.has_head and (connection.parts or connection.is_whole):
            is_whole = connection.is_whole  # before waiting for the client: what arrives meanwhile is sent next
            await send({"type": "http.response.body", "body": connection.take(), "more_body": not is_whole})
            if is_whole:
                return
        elif connection.is_over:
            return


def request_head(scope: Scope, is_chunked: bool) -> bytes:
    """Return the head of a request, without hop-by-hop headers."""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [b"%b %b HTTP/1.1" % (scope["method"].encode("ascii"), target)]
    lines += [b"%b: %b" % field for field in scope["headers"] if field[0] not in _NOT_FORWARDED]
    if scope.get("client"):
        lines.append(b"%b: %b" % (_CLIENT, scope["client"][0].encode("ascii", "replace")))
    if not any(name == b"host" for name, _ in scope["headers"]):  # HTTP/1.0
        lines.append(b"host: localhost")
    if is_chunked:
        lines.append(b"transfer-encoding: chunked")
    return b"\r\n".join((*lines, b"", b""))


def _is_chunked(headers: Fields) -> bool:
    return any(name == b"transfer-encoding" for name, _ in headers)


def client_name(scope: Scope) -> str:
    """Return the name under which the shares of a client without a key are counted."""
    if scope.get("client"):
        return address_name(scope["client"][0])
    found = next((value for name, value in scope["headers"] if name == _CLIENT), b"")
    return address_name(found.decode("latin-1"))
