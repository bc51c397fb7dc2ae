"""Event streams (Server-Sent Events) that clients can resume.

One reader polls the store for new events and keeps the latest ones encoded; a stream that is further behind reads the
store itself, a little at a time. A client that does not read is disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from scoter.api import Gap
from scoter.errors import ScoterError
from scoter.live.records import Event
from scoter.web.asgi import NOSNIFF, Receive, Send, unless_disconnected

_log = logging.getLogger(__name__)
STREAM_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    NOSNIFF,
)
_CACHED: Final = 1_000
_BATCH: Final = 100
_encode: Final = msgspec.json.Encoder().encode


class StreamTimings(Struct, frozen=True, kw_only=True):
    """Seconds between heartbeats, until a slow client is disconnected, and between polls of the store."""

    heartbeat: float = 15.0
    slow: float = 10.0
    look: float = 0.5


class EventSource(Protocol):
    """Numbered events: ``live.ports.Events``, or the progress of a crawl. Numbers only increase, but may skip some."""

    def first(self) -> int:
        """Return the number of the oldest event that is kept."""

    def last(self) -> int:
        """Return the number of the newest event, 0 if there was none."""

    async def since(self, number: int, most: int) -> Sequence[Any]:
        """Return the oldest events after a number; each has its ``number``."""


class Streams:
    """All open event streams of one source."""

    def __init__(
        self,
        events: EventSource,
        *,
        most: int = 1_000,
        pace: StreamTimings = StreamTimings(),  # noqa: B008  frozen
        encode: Callable[[Any], bytes] | None = None,
    ) -> None:
        """``encode`` returns an event in the stream format; by default for events of the live service."""
        self._events = events
        self._frame = encode or frame
        self._most = most
        self._pace = pace
        self._count = 0
        # The latest events: their numbers, and their encoded text.
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

    def latest(self) -> int:
        """Return the number before the newest event, for a stream that starts with it."""
        return max(0, self._events.last() - 1)

    def wake(self) -> None:
        """Poll the store now: something was announced."""
        self._stirred.set()

    def close(self) -> None:
        """End every stream; clients reconnect by themselves."""
        self._is_closing = True
        self._stirred.set()
        self._announce()

    async def run(self) -> None:
        """Read new events until ``close``."""
        while not self._is_closing:
            self._stirred.clear()
            try:
                if await self._advance():
                    self._stirred.set()  # there may be more, but first let the streams run
            except ScoterError as error:
                _log.warning("cannot read events: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace.look):
                    await self._stirred.wait()

    async def _advance(self) -> bool:
        """Read new events; return whether there may be more."""
        if not self._count:
            self._numbers, self._frames = [], []
            self._last = self._events.last()
            return False
        found = await self._events.since(self._last, _BATCH)
        if not found:
            return False
        self._numbers += [event.number for event in found]
        self._frames += map(self._frame, found)
        if len(self._numbers) > 2 * _CACHED:
            del self._numbers[:-_CACHED], self._frames[:-_CACHED]
        self._last = found[-1].number
        self._announce()
        return len(found) == _BATCH

    def _announce(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def serve(self, after: int | None, receive: Receive, send: Send) -> None:
        """Send events after a number until the client disconnects or stalls, or the service shuts down."""
        self._count += 1
        try:
            await unless_disconnected(self._send(after, send), receive)
        except ScoterError as error:  # the store cannot be read; the client will reconnect
            _log.warning("an event stream ended: %s", error)
        finally:
            self._count -= 1

    async def _send(self, after: int | None, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(STREAM_HEADERS)})
        at, text = self._resume(after)
        # The ID lets a client resume here even if the connection breaks before the first event.
        text = b"id: %d\nretry: 2000\n\n" % at + text
        while await self._is_taken(send, text) and not self._is_closing:
            moved = self._moved
            at, text = await self._next(at)
            if not text:
                try:
                    async with asyncio.timeout(self._pace.heartbeat):
                        await moved.wait()
                except TimeoutError:
                    text = b":\n\n"
                else:
                    at, text = await self._next(at)

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
        if after > last:  # a number from another database, which means nothing here
            return last, _gap(after, last + 1)
        return after, b""

    async def _next(self, at: int) -> tuple[int, bytes]:
        """Return the text of the events after a number, and the last number in it; empty if there is nothing new."""
        if self._numbers and self._numbers[0] <= at + 1:
            start = bisect_right(self._numbers, at)
            ready = self._frames[start : start + _BATCH]
            return (self._numbers[start + len(ready) - 1], b"".join(ready)) if ready else (at, b"")
        lost, first = b"", self._events.first()
        if at + 1 < first:
            at, lost = first - 1, _gap(at, first)
        found = await self._events.since(at, _BATCH)
        return found[-1].number if found else at, lost + b"".join(map(self._frame, found))


def frame(event: Event) -> bytes:
    """Return an event in the stream format."""
    return b"id: %d\nevent: url\ndata: %b\n\n" % (event.number, _encode(event))


def _gap(after: int, first: int) -> bytes:
    return b"id: %d\nevent: gap\ndata: %b\n\n" % (first - 1, _encode(Gap(after, first)))
