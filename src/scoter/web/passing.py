"""Hands requests on to the core over its Unix socket, as they come, and its answers back, as they come.

Nothing is gathered: a body goes on part by part, and a stream of events for as long as both ends want it. A client that
does not read holds up its own connection to the core, which then drops it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import httptools

from scoter.web.asgi import Fields, Receive, Reply, Scope, Send, send_reply
from scoter.web.problems import problem, reply_of

_CHUNK: Final = 65_536
_IDLE: Final = 30.0  # shorter than the core keeps a connection, so that none is used which it is about to close
_KEPT: Final = 64
# RFC 9110 7.6.1: what concerns one connection alone is not passed on.
_OWN: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect")
)
_OWN_ANSWER: Final = _OWN | {b"date"}  # the server here sends one of its own
_GONE: Final = reply_of(problem(503, "core-away", "The core of the service does not answer.", retry_after=2))
_CROWDED: Final = reply_of(problem(503, "crowded", "Too many requests are under way.", retry_after=2))


class _Connection:
    """One connection to the core, and the parser of what comes over it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.since = time.monotonic()
        self.begin()

    def begin(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self.has_head = False
        self.is_asked = False  # all of the request has been sent
        self.is_whole = False  # all of the answer has come
        self.is_kept = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.has_head = self.parser.get_status_code() >= 200  # not 100 Continue

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_whole = True
            self.is_kept = self.parser.should_keep_alive()
        else:
            self.headers.clear()

    @property
    def is_usable(self) -> bool:
        is_open = not self.reader.at_eof() and not self.writer.is_closing()
        return is_open and time.monotonic() - self.since < _IDLE


class PassOn:
    """Passes requests on to whoever listens at a Unix socket; at most ``most`` at a time."""

    def __init__(self, path: Path, *, most: int = 5_000, note: Callable[[], None] = lambda: None) -> None:
        """``note`` is called for each that is refused here."""
        self._path = str(path)
        self._note = note
        self._most = most
        self._count = 0
        self._idle: deque[_Connection] = deque()

    def __len__(self) -> int:
        return self._count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._count >= self._most:
            await self._refuse(send, _CROWDED)
            return
        self._count += 1
        try:
            await self._pass(scope, receive, send)
        finally:
            self._count -= 1

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().writer.close()

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            connection = await self._connect()
        except OSError:
            await self._refuse(send, _GONE)
            return
        try:
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(_ask(connection, scope, receive))
                answering = group.create_task(_answer(connection, send, scope["method"] == "HEAD"))
                # The client has left, or the answer has ended: what is left of the other is of no use.
                await asyncio.wait((asking, answering), return_when=asyncio.FIRST_COMPLETED)
                asking.cancel()
                answering.cancel()
        finally:
            self._take_back(connection)
        if not connection.has_head:
            await self._refuse(send, _GONE)

    async def _refuse(self, send: Send, reply: Reply) -> None:
        self._note()
        await send_reply(send, reply)

    async def _connect(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                connection.begin()
                return connection
            connection.writer.close()
        return _Connection(*await asyncio.open_unix_connection(self._path, limit=_CHUNK))

    def _take_back(self, connection: _Connection) -> None:
        if connection.is_asked and connection.is_whole and connection.is_kept and len(self._idle) < _KEPT:
            connection.since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.writer.close()


async def _ask(connection: _Connection, scope: Scope, receive: Receive) -> None:
    """Send a request, part by part; return when the client has left."""
    writer, is_chunked = connection.writer, _is_chunked(scope["headers"])
    is_broken = False
    try:
        writer.write(head_of(scope, is_chunked))
        await writer.drain()
    except OSError:
        is_broken = True
    while (message := await receive())["type"] == "http.request":
        # The core may answer and close before it has read all: its answer is read meanwhile, and counts.
        if is_broken or connection.is_asked:
            continue
        part, more = message.get("body", b""), message.get("more_body", False)
        try:
            if part:
                writer.write(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)
            if is_chunked and not more:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
        except OSError:
            is_broken = True
        else:
            connection.is_asked = not more


async def _answer(connection: _Connection, send: Send, is_head: bool) -> None:
    """Send an answer back, part by part; one that the core did not finish is not finished here either."""
    parser, has_begun = connection.parser, False
    while not connection.is_whole:
        try:
            data = await connection.reader.read(_CHUNK)
            if not data:
                return
            parser.feed_data(data)
        except (OSError, httptools.HttpParserError):
            return
        if not connection.has_head:
            continue
        if not has_begun:
            has_begun = True
            headers = [field for field in connection.headers if field[0] not in _OWN_ANSWER]
            if (b"connection", b"close") in connection.headers:  # the core has not read all, and nobody else will
                headers.append((b"connection", b"close"))
            await send({"type": "http.response.start", "status": parser.get_status_code(), "headers": headers})
        parts, connection.parts = connection.parts, []
        if is_head:
            connection.is_whole, connection.is_kept = True, False
        if parts or connection.is_whole:
            await send({"type": "http.response.body", "body": b"".join(parts), "more_body": not connection.is_whole})


def head_of(scope: Scope, is_chunked: bool) -> bytes:
    """Return the head of a request, without what concerned the client's own connection."""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [b"%b %b HTTP/1.1" % (scope["method"].encode("ascii"), target)]
    lines += [b"%b: %b" % field for field in scope["headers"] if field[0] not in _OWN]
    if is_chunked:
        lines.append(b"transfer-encoding: chunked")
    return b"\r\n".join((*lines, b"", b""))


def _is_chunked(headers: Fields) -> bool:
    return any(name == b"transfer-encoding" for name, _ in headers)
