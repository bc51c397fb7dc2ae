"""Event streams (Server-Sent Events) that clients can resume.

One reader polls the store for new events and keeps the latest ones encoded; a stream that is further behind reads the
store itself, a little at a time. A client that does not read is disconnected. The stream of a tenant skips the events
of others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from scoter.errors import ScoterError
from scoter.http.asgi import NOSNIFF, Receive, Send, unless_disconnected
from scoter.http.records import Gap

_log = logging.getLogger(__name__)
STREAM_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    NOSNIFF,
)
_CACHED: Final = 1_000
_BATCH: Final = 100
_encode: Final = msgspec.json.Encoder().encode
_Frame: TypeAlias = tuple[str, bytes]


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
        """``encode`` returns an event in the stream format; by default as the event ``url``."""
        self._events = events
        self._encode = encode or frame
        self._most = most
        self._pace = pace
        self._count = 0
        # The latest events: their numbers, and their tenants with their encoded text.
        self._numbers: list[int] = []
        self._frames: list[_Frame] = []
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
        self._frames += map(self._framed, found)
        if len(self._numbers) > 2 * _CACHED:
            del self._numbers[:-_CACHED], self._frames[:-_CACHED]
        self._last = found[-1].number
        self._announce()
        return len(found) == _BATCH

    def _announce(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _framed(self, event: Any) -> _Frame:
        return getattr(event, "tenant", ""), self._encode(event)  # the progress of a crawl has no tenant

    async def serve(self, after: int | None, receive: Receive, send: Send, *, tenant: str | None = None) -> None:
        """Send events after a number until the client disconnects or stalls, or the service shuts down.

        With a ``tenant``, send only its events.
        """
        self._count += 1
        try:
            await unless_disconnected(self._send(after, tenant, send), receive)
        except ScoterError as error:  # the store cannot be read; the client will reconnect
            _log.warning("an event stream ended: %s", error)
        finally:
            self._count -= 1

    async def _send(self, after: int | None, tenant: str | None, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(STREAM_HEADERS)})
        at, text = self._resume(after)
        # The ID lets a client resume here even if the connection breaks before the first event.
        text = b"id: %d\nretry: 2000\n\n" % at + text
        while await self._is_taken(send, text) and not self._is_closing:
            at, text = await self._following(at, tenant)

    async def _following(self, at: int, tenant: str | None) -> tuple[int, bytes]:
        """Wait for events after a number; return their text and the last number. Without any, return a heartbeat."""
        start, until = at, asyncio.get_running_loop().time() + self._pace.heartbeat
        while True:
            moved, before = self._moved, at
            at, text = await self._next(at, tenant)
            if text or self._is_closing:
                return at, text
            try:
                async with asyncio.timeout_at(until):
                    # If there were events of other tenants only, there may be more behind them.
                    await (asyncio.sleep(0) if at > before else moved.wait())
            except TimeoutError:
                return at, _position(at) if at > start else b":\n\n"

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

    async def _next(self, at: int, tenant: str | None) -> tuple[int, bytes]:
        """Return the text of a tenant's events among the next ones, and the last number of these."""
        if self._numbers and self._numbers[0] <= at + 1:
            start = bisect_right(self._numbers, at)
            ready = self._frames[start : start + _BATCH]
            if not ready:
                return at, b""
            last = self._numbers[start + len(ready) - 1]
            return last, _text(ready, tenant, last)
        lost, first = b"", self._events.first()
        if at + 1 < first:
            at, lost = first - 1, _gap(at, first)
        found = await self._events.since(at, _BATCH)
        if not found:
            return at, lost
        last = found[-1].number
        return last, lost + _text(list(map(self._framed, found)), tenant, last)


def _text(frames: Sequence[_Frame], tenant: str | None, last: int) -> bytes:
    """Return the events of a tenant, and the position behind them if the last one is another tenant's."""
    own = [text for owner, text in frames if tenant in (None, owner)]
    if own and tenant not in (None, frames[-1][0]):
        own.append(_position(last))
    return b"".join(own)


def _position(number: int) -> bytes:
    """Return the ID of an event without the event: a client that resumes there need not skip events of others."""
    return b"id: %d\n\n" % number


def frame(event: Any) -> bytes:
    """Return an event in the stream format."""
    return b"id: %d\nevent: url\ndata: %b\n\n" % (event.number, _encode(event))


def _gap(after: int, first: int) -> bytes:
    return b"id: %d\nevent: gap\ndata: %b\n\n" % (first - 1, _encode(Gap(after, first)))
