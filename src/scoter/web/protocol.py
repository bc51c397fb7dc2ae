"""HTTP/1.1 on uvicorn's parser, with the limits that it lacks.

The parser takes a head of any size for any time, and a client that does not read is waited for without end. Here a
head has a size and a time, a connection that stands still is ended, and those beyond a number are turned away politely.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from scoter.web.asgi import Receive, Scope, Send, send_reply
from scoter.web.problems import problem, reply_of

_CROWDED: Final = reply_of(
    problem(503, "crowded", "There are too many connections.", retry_after=5), (b"connection", b"close")
)
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
_HEAD_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Limits(Struct, frozen=True, kw_only=True):
    """What a client may do: bytes and seconds for a head, seconds without reading, connections in all.

    ``pipelined`` requests may wait for the answer to the first.
    """

    head: int = 32 * 1024
    head_within: float = 10.0
    stalled: float = 30.0
    connections: int = 20_000
    pipelined: int = 100


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Turn a request away."""
    await send_reply(send, _CROWDED)


def limited(limits: Limits) -> type[HttpToolsProtocol]:
    """Return a protocol that keeps limits."""

    class LimitedProtocol(HttpToolsProtocol):
        """One connection."""

        _head = 0
        _is_head = True
        _timer: asyncio.TimerHandle | None = None
        _stall: asyncio.TimerHandle | None = None
        _trickle: asyncio.TimerHandle | None = None
        _running: RequestResponseCycle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self.app = crowded
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
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._is_head = False
            self._head = 0
            super().on_headers_complete()
            if not self.pipeline:
                self._running = self.cycle

        def on_message_complete(self) -> None:
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
            super().data_received(data)
            if self._is_head:
                self._count_head(len(data))
            elif self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if len(self.pipeline) > limits.pipelined:
                self.transport.abort()

        def _count_head(self, more: int) -> None:
            self._head += more
            if self._head > limits.head and not self.transport.is_closing():
                self.transport.write(_HEAD_TOO_LARGE)
                self._end()
            elif self._timer is None:
                self._timer = self.loop.call_later(limits.head_within, self._too_slow)

        def _too_slow(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                if self._head:
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
                self._stall = self.loop.call_later(limits.stalled, self._abort)

        def _abort(self) -> None:
            self._stall = None
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


def options(limits: Limits) -> dict[str, Any]:
    """Return what uvicorn is told beside its application."""
    return {
        "http": limited(limits),
        "ws": "none",
        "lifespan": "off",
        "log_config": None,
        "access_log": False,
        "proxy_headers": False,  # who asks is told by keys, never by a header
        "server_header": False,
        "timeout_graceful_shutdown": 5,
    }
