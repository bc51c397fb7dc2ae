"""HTTP/1.1 on uvicorn's parser, with the limits that it lacks.

The parser takes a head of any size for any time, and a client that does not read is waited for without end. Here a
head has a size and a time, a connection that stands still is ended, and those beyond a number are turned away politely.
What clients do wrong is counted and answered, not logged: they could write our log full.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import httptools
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from scoter.api import Problem
from scoter.config.sections.live import WebSettings
from scoter.web.asgi import Receive, Scope, Send, send_reply
from scoter.web.problems import problem, reply_of

_CROWDED: Final = reply_of(
    problem(503, "crowded", "There are too many connections.", retry_after=5), (b"connection", b"close")
)
_STEADY: Final = 65_536  # bytes: who reads as much in the time of a stall is slow, and does not stand still
_UNFINISHED: Final = "ASGI callable returned without completing response."

RefusalCounter: TypeAlias = Callable[[str], None]
"""Told in a word why a connection was turned away or ended."""


def _last(found: Problem) -> bytes:
    """Return an answer after which the connection ends, as it goes over the wire."""
    reply = reply_of(found, (b"connection", b"close"))
    fields = ((b"content-type", reply.media_type), (b"content-length", b"%d" % len(reply.body)), *reply.headers)
    head = b"HTTP/1.1 %d %b\r\n" % (reply.status, HTTPStatus(reply.status).phrase.encode())
    return head + b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n" + reply.body


_HEAD_TOO_LARGE: Final = _last(problem(431, "head-too-large", "The head of the request is larger than is taken."))
_HEAD_TOO_SLOW: Final = _last(problem(408, "too-slow", "The head of the request did not come in time."))
_NOT_HTTP: Final = _last(problem(400, "not-http", "This is no request of HTTP/1.1."))


class ServerLimits(Struct, frozen=True, kw_only=True):
    """What a client may do: bytes and seconds for a head, seconds without reading, connections in all.

    ``pipelined`` requests may wait for the answer to the first.
    """

    head: int = 32 * 1024
    head_within: float = 10.0
    stalled: float = 30.0
    connections: int = 20_000
    pipelined: int = 100

    @classmethod
    def of(cls, web: WebSettings) -> ServerLimits:
        """Return the limits that are set."""
        return cls(
            head=web.head_size,
            head_within=web.head_time.total_seconds(),
            stalled=web.stalled.total_seconds(),
            connections=web.connections,
        )


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Turn a request away."""
    await send_reply(send, _CROWDED)


class _HeadTooLarge(Exception):
    """Ends the parser's work on a head."""


class _QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """uvicorn's log without what clients can bring about; an answer that the core did not finish is not ours either."""

    level = logging.WARNING

    def warning(self, msg: object, *args: object, **more: Any) -> None:
        pass

    def error(self, msg: object, *args: object, **more: Any) -> None:
        if msg != _UNFINISHED:
            super().error(msg, *args, **more)


def limited_protocol(limits: ServerLimits, note: RefusalCounter = lambda why: None) -> type[HttpToolsProtocol]:
    """Return a protocol that keeps limits; ``note`` is told of whatever they end."""

    class LimitedProtocol(HttpToolsProtocol):
        """One connection."""

        _head = 0
        _told = 0  # bytes of the head that the parser has made out
        _is_head = True
        _is_mixed = False  # the piece that came last has the end of one request and the beginning of the next
        _unoffered = b""  # a head that offered another protocol, without the offer
        _timer: asyncio.TimerHandle | None = None
        _stall: asyncio.TimerHandle | None = None
        _unread = 0  # bytes, when that time began
        _trickle: asyncio.TimerHandle | None = None
        _running: RequestResponseCycle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(BufferedTransport(transport, self.loop))
            self.logger = _QuietLogger(self.logger)  # type: ignore[assignment]
            if len(self.connections) > limits.connections:
                self.app = crowded
                note("crowded")
            self._timer = self.loop.call_later(limits.head_within, self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._timer, self._stall, self._trickle):
                if timer is not None:
                    timer.cancel()
            # With requests behind it, the one that is being answered would not hear that its client has left.
            if self._running is not None and not self._running.response_complete:
                self._running.disconnected = True
                self._running.message_event.set()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            self._is_head = True
            self._told = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            super().on_url(url)
            self._count_told(len(url))

        def on_header(self, name: bytes, value: bytes) -> None:
            super().on_header(name, value)
            self._count_told(len(name) + len(value) + 4)

        def _count_told(self, more: int) -> None:
            self._told += more
            if self._told > limits.head:
                raise _HeadTooLarge

        def send_400_response(self, msg: str) -> None:
            """Answer what the parser does not take, unless another answer is just being sent."""
            is_large = self._told > limits.head
            note("head_too_large" if is_large else "not_http")
            running = self._running
            if running is None or not running.response_started or running.response_complete:
                self.transport.write(_HEAD_TOO_LARGE if is_large else _NOT_HTTP)
            self._end()

        def on_headers_complete(self) -> None:
            self._is_head = False
            self._head = 0
            method = self.parser.get_method()
            if self.parser.should_upgrade() and method != b"CONNECT":
                fields = (b"%b: %b\r\n" % field for field in self.headers if field[0] != b"upgrade")
                start = b"%b %b HTTP/%b\r\n" % (method, self.url, self.parser.get_http_version().encode())
                self._unoffered = start + b"".join(fields) + b"\r\n"
                return
            super().on_headers_complete()
            if not self.pipeline:
                self._running = self.cycle

        def on_message_complete(self) -> None:
            self._is_mixed = True
            if self._unoffered:
                return
            super().on_message_complete()
            if self._trickle is not None:
                self._trickle.cancel()
                self._trickle = None

        def on_response_complete(self) -> None:
            # Answered before all of it came: the rest is read for a while, lest the client miss the answer.
            if self._running is not None and self._running.more_body and self._trickle is None:
                self._trickle = self.loop.call_later(limits.head_within, self._end)
            self._running = self.pipeline[-1][0] if self.pipeline else None
            super().on_response_complete()

        def data_received(self, data: bytes) -> None:
            self._is_mixed = False
            self._feed(data)
            if self._is_head:
                self._count_head(1 if self._is_mixed else len(data))  # what ended before the head is none of it
            elif self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if len(self.pipeline) > limits.pipelined:
                note("pipelined")
                self.transport.abort()

        def _feed(self, data: bytes) -> None:
            """Hand on what came. No other protocol is spoken, so that an offer of one is passed over (RFC 9110 7.8).

            The parser takes a body after an offer for that protocol's: it is given the head again, without the offer.
            """
            self._unset_keepalive_if_required()
            rest = memoryview(data)
            try:
                while rest:
                    try:
                        self.parser.feed_data(rest)
                        return
                    except httptools.HttpParserUpgrade as offer:
                        head, self._unoffered = self._unoffered, b""
                        rest = rest[offer.args[0] :]
                        self.parser.feed_data(head)
            except httptools.HttpParserError:
                self.send_400_response("")

        def _count_head(self, more: int) -> None:
            self._head += more
            if self._head > limits.head and not self.transport.is_closing():
                note("head_too_large")
                self.transport.write(_HEAD_TOO_LARGE)
                self._end()
            elif self._timer is None:
                self._timer = self.loop.call_later(limits.head_within, self._too_slow)

        def _too_slow(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                if self._head:
                    note("head_too_slow")
                    self.transport.write(_HEAD_TOO_SLOW)
                self._end()

        def timeout_keep_alive_handler(self) -> None:
            self._end()

        def _end(self) -> None:
            """Close; what the client does not read in time is thrown away."""
            self.transport.close()
            self._abort_later()

        def _abort_later(self) -> None:
            if self._stall is None:
                self._unread = self.transport.get_write_buffer_size()
                self._stall = self.loop.call_later(limits.stalled, self._abort)

        def _abort(self) -> None:
            self._stall = None
            if self._unread - self.transport.get_write_buffer_size() >= _STEADY:  # a long answer, and a slow line
                self._abort_later()
                return
            note("stalled")
            self.transport.abort()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._abort_later()

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._stall is not None and not self.transport.is_closing():
                self._stall.cancel()
                self._stall = None

    return LimitedProtocol


def uvicorn_options(limits: ServerLimits, note: RefusalCounter) -> dict[str, Any]:
    """Return what uvicorn is told beside its application."""
    return {
        "http": limited_protocol(limits, note),
        "ws": "none",
        "lifespan": "off",
        "log_config": None,
        "access_log": False,
        "proxy_headers": False,  # who asks is told by keys, never by a header
        "server_header": False,
        "timeout_graceful_shutdown": 5,
    }


_MOST: Final = 65_536  # bytes that are held back: more is written at once, lest a client that does not read goes unseen


class BufferedTransport(asyncio.Transport):
    """A transport that holds back what is written until its loop's next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __repr__(self) -> str:
        return f"Joined({self._transport!r}, {self._size} bytes held back)"

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > _MOST:
            self.flush()

    def flush(self) -> None:
        """Write what was held back."""
        parts = self._parts
        if not parts:
            return
        self._parts, self._size = [], 0
        if not self._transport.is_closing():  # it may be gone meanwhile, and uvloop takes that for our mistake
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._parts, self._size = [], 0
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return self._size + self._transport.get_write_buffer_size()

    # As it is

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
