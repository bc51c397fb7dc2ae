"""HTTP/1.1 on uvicorn's parser, with the limits that it lacks.

The parser accepts heads of any size for any time, and waits forever for a client that does not read. Here the size and
time of a head are limited, stalled connections are closed, and connections beyond a number get 503. What clients do
wrong is counted and answered, but not logged, so that they cannot flood the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import NOSNIFF, Receive, Scope, Send, send_reply
from scoter.http.problems import problem, reply_of
from scoter.http.records import Problem

_CROWDED: Final = reply_of(
    problem(503, "crowded", "There are too many connections.", retry_after=5), (b"connection", b"close")
)
_MAX_PIPELINED: Final = 100  # requests that may wait for the response to the first
_MAX_DISCARDED: Final = 32  # times the largest body: what is read after the response before the connection is closed
_PROGRESS: Final = 65_536  # bytes: a client that reads as much within the stall time is slow, not stalled
_UNFINISHED: Final = "ASGI callable returned without completing response."

RefusalCounter: TypeAlias = Callable[[str], None]
"""Called with the reason why a connection was refused or closed."""


def _final_response(found: Problem) -> bytes:
    """Return the bytes of a response after which the connection is closed."""
    reply = reply_of(found, (b"connection", b"close"))
    fields = (
        (b"content-type", reply.media_type),
        (b"content-length", b"%d" % len(reply.body)),
        NOSNIFF,
        *reply.headers,
    )
    head = b"HTTP/1.1 %d %b\r\n" % (reply.status, HTTPStatus(reply.status).phrase.encode())
    return head + b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n" + reply.body


_HEAD_TOO_LARGE: Final = _final_response(problem(431, "head-too-large", "The head of the request is too large."))
_HEAD_TOO_SLOW: Final = _final_response(problem(408, "too-slow", "The head of the request did not arrive in time."))
_NOT_HTTP: Final = _final_response(problem(400, "not-http", "This is not an HTTP/1.1 request."))
_WRONG_HOST: Final = _final_response(problem(400, "not-http", "The request must have exactly one Host header."))


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request."""
    await send_reply(send, _CROWDED)


class _HeadTooLarge(Exception):
    """Stops the parser in the middle of a head."""


class _WrongHost(Exception):
    """Stops the parser at the end of a head."""


class _QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """Drops log messages that clients can cause, and those about responses that the core did not finish."""

    level = logging.WARNING

    def warning(self, msg: object, *args: object, **more: Any) -> None:
        pass

    def error(self, msg: object, *args: object, **more: Any) -> None:
        if msg != _UNFINISHED:
            super().error(msg, *args, **more)


def limited_protocol(limits: WebSettings, note: RefusalCounter = lambda why: None) -> type[HttpToolsProtocol]:
    """Return a protocol that enforces limits; ``note`` is called with the reason for each connection it closes."""

    class LimitedProtocol(HttpToolsProtocol):
        """One connection."""

        _head = 0
        _parsed = 0  # bytes of the head that the parser has reported
        _is_head = True
        _has_wrong_host = False
        _is_mixed = False  # the last chunk has the end of one request and the start of the next
        _plain_head = b""  # a head that offered a protocol upgrade, without the offer
        _timer: asyncio.TimerHandle | None = None
        _stall: asyncio.TimerHandle | None = None
        _unread = 0  # bytes, when the stall timer started
        _trickle: asyncio.TimerHandle | None = None
        _discarded = 0  # bytes of a body that arrived after the response
        _running: RequestResponseCycle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(BufferedTransport(transport, self.loop))
            self.logger = _QuietLogger(self.logger)  # type: ignore[assignment]
            if len(self.connections) > limits.connections:
                self.app = crowded
                note("crowded")
            self._timer = self.loop.call_later(limits.head_time.total_seconds(), self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._timer, self._stall, self._trickle):
                if timer is not None:
                    timer.cancel()
            # With pipelined requests, uvicorn does not tell the running one that its client disconnected.
            if self._running is not None and not self._running.response_complete:
                self._running.disconnected = True
                self._running.message_event.set()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            self._is_head = True
            self._parsed = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            super().on_url(url)
            self._count_parsed(len(url))

        def on_header(self, name: bytes, value: bytes) -> None:
            super().on_header(name, value)
            self._count_parsed(len(name) + len(value) + 4)

        def _count_parsed(self, more: int) -> None:
            self._parsed += more
            if self._parsed > limits.head_size:
                raise _HeadTooLarge

        def send_400_response(self, msg: str) -> None:
            """Respond to what the parser rejects, unless another response is being sent."""
            is_large = self._parsed > limits.head_size
            note("head_too_large" if is_large else "not_http")
            running = self._running
            if running is None or not running.response_started or running.response_complete:
                wrong = _WRONG_HOST if self._has_wrong_host else _NOT_HTTP
                self.transport.write(_HEAD_TOO_LARGE if is_large else wrong)
            self._end()

        def on_headers_complete(self) -> None:
            self._is_head = False
            self._head = 0
            # RFC 9112 3.2: one Host header, which only HTTP/1.0 may omit.
            hosts = [name for name, _ in self.headers].count(b"host")
            if hosts != 1 and (hosts or self.parser.get_http_version() != "1.0"):
                self._has_wrong_host = True
                raise _WrongHost
            if not self.url.startswith((b"/", b"*")):
                self._take_authority()
            method = self.parser.get_method()
            if self.parser.should_upgrade() and method != b"CONNECT":
                fields = (b"%b: %b\r\n" % field for field in self.headers if field[0] != b"upgrade")
                start = b"%b %b HTTP/%b\r\n" % (method, self.url, self.parser.get_http_version().encode())
                self._plain_head = start + b"".join(fields) + b"\r\n"
                return
            super().on_headers_complete()
            if not self.pipeline:
                self._running = self.cycle

        def _take_authority(self) -> None:
            """Put the authority of an absolute target in place of the Host header (RFC 9112 3.2.2)."""
            try:
                found = httptools.parse_url(self.url)
            except httptools.HttpParserInvalidURLError:
                found = None
            if found is None or not found.host or found.schema.lower() not in (b"http", b"https"):
                self._has_wrong_host = True
                raise _WrongHost
            host = b"[%b]" % found.host if b":" in found.host else found.host
            if found.port:
                host += b":%d" % found.port
            self.headers[:] = [(name, host if name == b"host" else value) for name, value in self.headers]

        def on_body(self, body: bytes) -> None:
            if self._trickle is None:
                super().on_body(body)
                return
            self._discarded += len(body)
            if self._discarded > limits.body_size * _MAX_DISCARDED and not self.transport.is_closing():
                note("body_too_large")
                self._end()

        def on_message_complete(self) -> None:
            self._is_mixed = True
            if self._plain_head:
                return
            super().on_message_complete()
            if self._trickle is not None:
                self._trickle.cancel()
                self._trickle = None
                # What arrived after the response has cancelled uvicorn's own timer.
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

        def on_response_complete(self) -> None:
            # Answered before the whole body arrived: keep reading for a while, so that the client sees the response.
            if self._running is not None and self._running.more_body and self._trickle is None:
                self._discarded = 0
                self._trickle = self.loop.call_later(limits.head_time.total_seconds(), self._end)
            self._running = self.pipeline[-1][0] if self.pipeline else None
            super().on_response_complete()

        def data_received(self, data: bytes) -> None:
            self._is_mixed = False
            self._feed(data)
            if self._is_head:
                # The end of the previous request is not part of the head.
                self._count_head(1 if self._is_mixed else len(data))
            elif self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if len(self.pipeline) > _MAX_PIPELINED:
                note("pipelined")
                self.transport.abort()

        def _feed(self, data: bytes) -> None:
            """Feed the parser. An offer to upgrade the protocol is ignored (RFC 9110 7.8).

            After an offer the parser would not parse a body as HTTP, so it gets the head again without the offer.
            """
            self._unset_keepalive_if_required()
            rest = memoryview(data)
            try:
                while rest:
                    try:
                        self.parser.feed_data(rest)
                        return
                    except httptools.HttpParserUpgrade as offer:
                        head, self._plain_head = self._plain_head, b""
                        rest = rest[offer.args[0] :]
                        self.parser.feed_data(head)
            except httptools.HttpParserError:
                self.send_400_response("")

        def _count_head(self, more: int) -> None:
            self._head += more
            if self._head > limits.head_size and not self.transport.is_closing():
                note("head_too_large")
                self.transport.write(_HEAD_TOO_LARGE)
                self._end()
            elif self._timer is None:
                self._timer = self.loop.call_later(limits.head_time.total_seconds(), self._too_slow)

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
            """Close the connection; what the client does not read in time is discarded."""
            self.transport.close()
            self._abort_later()

        def _abort_later(self) -> None:
            if self._stall is None:
                self._unread = self.transport.get_write_buffer_size()
                self._stall = self.loop.call_later(limits.stalled.total_seconds(), self._abort)

        def _abort(self) -> None:
            self._stall = None
            if self._unread - self.transport.get_write_buffer_size() >= _PROGRESS:
                self._abort_later()  # a long response over a slow connection
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


_MAX_BUFFERED: Final = 65_536  # bytes: more is written at once, so that back-pressure works


class BufferedTransport(asyncio.Transport):
    """A transport that sends everything written within one iteration of the event loop in one system call.

    uvloop writes at once. Waking the other side for a head, only to wait for the body, costs more than most requests.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __repr__(self) -> str:
        return f"BufferedTransport({self._transport!r}, {self._size} bytes buffered)"

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > _MAX_BUFFERED:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered."""
        parts = self._parts
        if not parts:
            return
        self._parts, self._size = [], 0
        if not self._transport.is_closing():  # uvloop logs a warning for a write after close
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._parts, self._size = [], 0
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return self._size + self._transport.get_write_buffer_size()

    # Delegated

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
