"""HTTP/1.1 on uvicorn's parser, with the limits that it lacks.

The parser accepts heads of any size for any time, and waits forever for a client that does not read. Here the size and
time of a head are limited (``head``), stalled connections are closed (``transport``), and connections beyond a number
get 503. What clients do wrong is counted and answered (``refusals``), but not logged, so that they cannot flood the
log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import httptools

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import ApiResponse, encode_reply
from scoter.http.head import HeadWatch, WrongHost, check_host, with_authority, without_upgrade
from scoter.http.refusals import (
    HEAD_TOO_LARGE,
    HEAD_TOO_SLOW,
    NOT_HTTP,
    WRONG_HOST,
    QuietLogger,
    RefusalCounter,
    crowded,
)
from scoter.http.transport import BufferedTransport, StallWatch
from scoter.http.uvicorn_names import HttpToolsProtocol, RequestResponseCycle

_MAX_PIPELINED: Final = 100  # requests that may wait for the response to the first
_MAX_DISCARDED: Final = 32  # times the largest body: what is read after the response before the connection is closed
_NOT_AT_ONCE: Final = frozenset((b"content-length", b"transfer-encoding", b"expect", b"upgrade"))

QuickAnswer: TypeAlias = Callable[[bytes, Sequence[tuple[bytes, bytes]]], ApiResponse | None]
"""Called with the target and the headers of a GET request; returns the response if that needs no waiting."""


def limited_protocol(
    limits: WebSettings, note: RefusalCounter = lambda why: None, at_once: QuickAnswer | None = None
) -> type[HttpToolsProtocol]:
    """Return a protocol that enforces limits; ``note`` is called with the reason for each connection it closes.

    Requests that ``at_once`` answers do not reach the application. They cost little more than half of others, which
    need a task.
    """
    chosen = {
        "limits": limits,
        "note": staticmethod(note),
        "at_once": None if at_once is None else staticmethod(at_once),
    }
    return type("LimitedProtocol", (LimitedProtocol,), chosen)


class LateBody:
    """The rest of a body that arrives after the response, and is discarded.

    It is read for a while, so that the client sees the response, up to a number of bytes; then ``on_end`` is called.
    """

    def __init__(self, limits: WebSettings, loop: asyncio.AbstractEventLoop, on_end: Callable[[], None]) -> None:
        self._limits = limits
        self._loop = loop
        self._on_end = on_end
        self._timer: asyncio.TimerHandle | None = None
        self._discarded = 0

    @property
    def is_expected(self) -> bool:
        return self._timer is not None

    def begin(self) -> None:
        if self._timer is None:
            self._discarded = 0
            self._timer = self._loop.call_later(self._limits.head_time.total_seconds(), self._on_end)

    def discard(self, body: bytes) -> bool:
        """Return whether it is too much."""
        self._discarded += len(body)
        return self._discarded > self._limits.body_size * _MAX_DISCARDED

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class LimitedProtocol(HttpToolsProtocol):
    """One connection; ``limited_protocol`` sets its limits."""

    limits: WebSettings
    note: RefusalCounter
    at_once: QuickAnswer | None
    _head: HeadWatch
    _stall: StallWatch
    _late: LateBody
    _has_wrong_host = False
    _is_mixed = False  # the last chunk has the end of one request and the start of the next
    _plain_head = b""  # a head that offered a protocol upgrade, without the offer
    _running: RequestResponseCycle | None = None
    _is_answered = False  # the request that is being received
    _idle_since: float | None = None  # when the last response ended, if nothing has arrived since

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        limits, note = self.limits, self.note
        super().connection_made(BufferedTransport(transport, self.loop))
        self.logger = QuietLogger(self.logger)  # type: ignore[assignment]
        self._stall = StallWatch(self.transport, self.loop, limits.stalled.total_seconds(), lambda: note("stalled"))
        self._late = LateBody(limits, self.loop, self._end)
        self._head = HeadWatch(limits, self.loop, self._too_slow)
        if len(self.connections) > limits.connections:
            self.app = crowded
            note("crowded")

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.stop_timer()
        self._stall.end()
        self._late.end()
        self._unset_keepalive_if_required()
        # With pipelined requests, uvicorn does not tell the running one that its client disconnected.
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._is_mixed = False
        self._feed(data)
        if self._head.is_open:
            # The end of the previous request is not part of the head.
            self._head.add_arrived(1 if self._is_mixed else len(data))
            if self._head.is_too_large and not self.transport.is_closing():
                self._refuse("head_too_large", HEAD_TOO_LARGE)
            else:
                self._head.start_timer()
        else:
            self._head.stop_timer()
        if len(self.pipeline) > _MAX_PIPELINED:
            self.note("pipelined")
            self.transport.abort()

    def _feed(self, data: bytes) -> None:
        """Feed the parser. An offer to upgrade the protocol is ignored (RFC 9110 7.8).

        After an offer the parser would not parse a body as HTTP, so it gets the head again without the offer.
        """
        self._idle_since = None
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

    # The head of a request

    def on_message_begin(self) -> None:
        self._head.begin()
        self._idle_since = None  # it may arrive in one piece with the request before
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head.add_parsed(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head.add_parsed(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        self._head.complete()
        version = self.parser.get_http_version()
        try:
            check_host(self.headers, version)
            if not self.url.startswith((b"/", b"*")):
                self.headers[:] = with_authority(self.url, self.headers)
        except WrongHost:
            self._has_wrong_host = True
            raise
        method = self.parser.get_method()
        if self.parser.should_upgrade() and method != b"CONNECT":
            self._plain_head = without_upgrade(method, self.url, version, self.headers)
            return
        if self.at_once is not None and method == b"GET" and self._answer_at_once(self.at_once, version):
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()  # only now: what it prepares is for the application
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle

    def _answer_at_once(self, answer: QuickAnswer, version: str) -> bool:
        """Write the response to a request without a body, if it is known at once and no other comes first."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy or self.flow.write_paused or self.transport.is_closing() or self.app is crowded:
            return False
        if version != "1.1" or not self.parser.should_keep_alive():
            return False
        if not _NOT_AT_ONCE.isdisjoint([name for name, _ in self.headers]):
            return False
        try:
            reply = answer(self.url, self.headers)
        except Exception:  # the parser would take it for a malformed request; the application logs it
            return False
        if reply is None:
            return False
        self.transport.write(encode_reply(reply, self.server_state.default_headers))
        self._is_answered = True
        return True

    # Its body, and the response

    def on_body(self, body: bytes) -> None:
        if not self._late.is_expected:
            super().on_body(body)
        elif self._late.discard(body) and not self.transport.is_closing():
            self._refuse("body_too_large")

    def on_message_complete(self) -> None:
        self._is_mixed = True
        if self._plain_head:
            return
        if self._is_answered:
            self._is_answered = False
            self.server_state.total_requests += 1
            self._await_next()
            return
        super().on_message_complete()
        if self._late.is_expected:
            self._late.end()
            self._await_next()

    def on_response_complete(self) -> None:
        if self._running is not None and self._running.more_body:
            self._late.begin()
        self._running = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        self._idle_since = self.loop.time() if self._running is None else None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall.begin()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stall.end()

    # The end

    def send_400_response(self, msg: str) -> None:
        """Respond to what the parser rejects, unless another response is being sent."""
        is_large = self._head.is_too_large
        running = self._running
        response = b""
        if running is None or not running.response_started or running.response_complete:
            response = HEAD_TOO_LARGE if is_large else WRONG_HOST if self._has_wrong_host else NOT_HTTP
        self._refuse("head_too_large" if is_large else "not_http", response)

    def _await_next(self) -> None:
        """Close the connection if it is idle for too long from now on."""
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._start_idle_timer(self.timeout_keep_alive)

    def _start_idle_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        # One timer serves many requests: at its end it looks at how long the connection has been idle.
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return  # a request is under way; its response starts a new timer
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._start_idle_timer(left)
        else:
            self._end()

    def _too_slow(self) -> None:
        if self.transport.is_closing():
            return
        if self._head.has_begun:
            self._refuse("head_too_slow", HEAD_TOO_SLOW)
        else:
            self._end()

    def _refuse(self, why: str, response: bytes = b"") -> None:
        self.note(why)
        self.transport.write(response)
        self._end()

    def _end(self) -> None:
        """Close the connection; what the client does not read in time is discarded."""
        self.transport.close()
        self._stall.begin()
