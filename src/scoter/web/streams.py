"""Events for those who listen (Server-Sent Events), each from where it left off.

One reader asks the store for what is new and keeps the latest as ready-made text; a stream that is further behind
reads the store itself, a little at a time. A client that does not read what it is sent is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from bisect import bisect_right
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from scoter.api import EventsQuery, Gap, StreamedEvent
from scoter.errors import ScoterError
from scoter.live.ports import Events
from scoter.live.records import Event
from scoter.web.asgi import ApiRequest, ApiStream, Receive, Send, unless_disconnected
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, Route

_log = logging.getLogger(__name__)
STREAM_HEADERS: Final = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"))
_KEPT: Final = 1_000
_AT_ONCE: Final = 100
_encode: Final = msgspec.json.Encoder().encode


class StreamTimings(Struct, frozen=True, kw_only=True):
    """How streams behave: seconds between signs of life, until a slow client is dropped, and between looks."""

    heartbeat: float = 15.0
    slow: float = 10.0
    look: float = 0.5


class Streams:
    """All who listen to events."""

    def __init__(self, events: Events, *, most: int = 1_000, pace: StreamTimings = StreamTimings()) -> None:  # noqa: B008  frozen
        self._events = events
        self._most = most
        self._pace = pace
        self._count = 0
        # The latest events: their numbers, and beside them their text.
        self._numbers: list[int] = []
        self._frames: list[bytes] = []
        self._last = events.last()
        self._stirred = asyncio.Event()
        self._moved = asyncio.Event()
        self._is_closing = False

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        return self._count >= self._most or self._is_closing

    def wake(self) -> None:
        """Look for new events now: something was announced."""
        self._stirred.set()

    def close(self) -> None:
        """End every stream; clients come back by themselves."""
        self._is_closing = True
        self._stirred.set()
        self._announce()

    async def run(self) -> None:
        """Read new events until ``close``."""
        while not self._is_closing:
            self._stirred.clear()
            try:
                if self._advance():
                    self._stirred.set()  # there may be more; the streams come first
            except ScoterError as error:
                _log.warning("events could not be read: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace.look):
                    await self._stirred.wait()

    def _advance(self) -> bool:
        """Take in what is new; tell whether there may be more."""
        if not self._count:
            self._numbers, self._frames = [], []
            self._last = self._events.last()
            return False
        found = self._events.since(self._last, _AT_ONCE)
        if not found:
            return False
        self._numbers += [event.number for event in found]
        self._frames += map(frame, found)
        if len(self._numbers) > 2 * _KEPT:
            del self._numbers[:-_KEPT], self._frames[:-_KEPT]
        self._last = found[-1].number
        self._announce()
        return len(found) == _AT_ONCE

    def _announce(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def serve(self, after: int | None, receive: Receive, send: Send) -> None:
        """Send events after a number until the client leaves, falls behind, or the service ends."""
        self._count += 1
        try:
            await unless_disconnected(self._send(after, send), receive)
        except ScoterError as error:  # the store cannot be read: the client comes back, and may find it mended
            _log.warning("a stream ends: %s", error)
        finally:
            self._count -= 1

    async def _send(self, after: int | None, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(STREAM_HEADERS)})
        at, text = self._resume(after)
        # The number lets a client that hears nothing before the line breaks come back to where it began.
        text = b"id: %d\nretry: 2000\n\n" % at + text
        while await self._is_taken(send, text) and not self._is_closing:
            moved = self._moved
            at, text = self._next(at)
            if not text:
                try:
                    async with asyncio.timeout(self._pace.heartbeat):
                        await moved.wait()
                except TimeoutError:
                    text = b":\n\n"
                else:
                    at, text = self._next(at)

    async def _is_taken(self, send: Send, text: bytes) -> bool:
        try:
            async with asyncio.timeout(self._pace.slow):
                await send({"type": "http.response.body", "body": text, "more_body": not self._is_closing})
        except TimeoutError:
            return False
        return True

    def _resume(self, after: int | None) -> tuple[int, bytes]:
        last = self._events.last()
        if after is None:
            return last, b""
        if after > last:  # a number of another database: what it stood for cannot be told
            return last, _gap(after, last + 1)
        return after, b""

    def _next(self, at: int) -> tuple[int, bytes]:
        """Return what comes after a number, and up to which; nothing when there is nothing new."""
        if self._numbers and self._numbers[0] <= at + 1:
            start = bisect_right(self._numbers, at)
            ready = self._frames[start : start + _AT_ONCE]
            return (self._numbers[start + len(ready) - 1], b"".join(ready)) if ready else (at, b"")
        lost, first = b"", self._events.first()
        if at + 1 < first:
            at, lost = first - 1, _gap(at, first)
        found = self._events.since(at, _AT_ONCE)
        return found[-1].number if found else at, lost + b"".join(map(frame, found))


def frame(event: Event) -> bytes:
    """Return an event as a stream has it."""
    return b"id: %d\nevent: url\ndata: %b\n\n" % (event.number, _encode(event))


def _gap(after: int, first: int) -> bytes:
    return b"id: %d\nevent: gap\ndata: %b\n\n" % (first - 1, _encode(Gap(after, first)))


_MOST_DIGITS = 18


class EventRoutes:
    """Opens streams of events, so many and no more."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/v1/events",
                run=self.listen,
                told="Listen to events (SSE), from Last-Event-ID or `after` on.",
                query=EventsQuery,
                responses={
                    200: ResponseSpec(
                        "Events `url`, and `gap` where some are no longer kept.", StreamedEvent, "text/event-stream"
                    )
                },
                problems=(503,),
            )
        ]

    async def listen(self, call: ApiRequest[None]) -> HandlerResult:
        """Begin where the client left off."""
        query: EventsQuery = call.query
        after = query.after
        last = call.headers.get(b"last-event-id", b"").strip()
        if last:  # a browser that comes back sends the same query as before, and where it has got to in this field
            if not last.isdigit() or len(last) > _MOST_DIGITS:
                return problem(422, "invalid", "Last-Event-ID is not the number of an event.", where="Last-Event-ID")
            after = int(last)
        if self._streams.is_full:
            return problem(503, "crowded", "Too many are listening.", retry_after=30)
        return ApiStream(partial(self._streams.serve, after), STREAM_HEADERS)
