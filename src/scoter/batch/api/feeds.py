"""The progress of crawls as event streams: each watched crawl is read once a second, however many viewers it has."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.batch.api.records import JobInfo
from scoter.batch.crawldir.progress import PROGRESS, parse_points
from scoter.http.asgi import ApiStream, Receive, Send
from scoter.http.shares import Shares
from scoter.http.streams import STREAM_HEADERS, Streams, StreamTimings

_KEPT: Final = 1_000
_TAIL: Final = 256 * 1024
_encode: Final = msgspec.json.Encoder().encode


class FeedEvent(Struct, frozen=True):
    """An event of a crawl: ``number`` is its time in microseconds, ``kind`` is ``progress`` or ``job``."""

    number: int
    kind: str
    data: Any


class ProgressFeed:
    """The latest events of one crawl (``http.streams.EventSource``)."""

    def __init__(self, path: Path, job: Callable[[], JobInfo | None]) -> None:
        self._file = path / PROGRESS
        self._job = job
        self._events: deque[FeedEvent] = deque(maxlen=_KEPT)
        self._inode = self._offset = 0
        self._rest = b""
        self._shown: JobInfo | None = None
        self.read()

    def read(self) -> None:
        """Read what was appended since the last call."""
        try:
            with self._file.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_ino != self._inode or found.st_size < self._offset:
                    # The first look, or the file was replaced by a thinned one: only its end is new.
                    self._inode, self._offset = found.st_ino, max(0, found.st_size - _TAIL)
                    self._rest = b""
                file.seek(self._offset)
                data = self._rest + file.read(_TAIL)
                self._offset = file.tell()
        except OSError:
            data = b""
        whole, _, self._rest = data.rpartition(b"\n")
        for point in parse_points(whole):
            self._add(_micros(point.time), "progress", point)
        job = self._job()
        if job is not None and job != self._shown:
            self._shown = job
            self._add(_micros(job.ended or job.started), "job", job)

    def _add(self, number: int, kind: str, data: Any) -> None:
        last = self.last()
        if kind == "progress" and number <= last:
            return  # a point of the old file
        self._events.append(FeedEvent(max(number, last + 1), kind, data))

    def first(self) -> int:
        return self._events[0].number if self._events else 0

    def last(self) -> int:
        return self._events[-1].number if self._events else 0

    async def since(self, number: int, most: int) -> Sequence[FeedEvent]:
        self.read()
        return [event for event in self._events if event.number > number][:most]


def feed_frame(event: FeedEvent) -> bytes:
    """Return an event in the stream format."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.number, event.kind.encode(), _encode(event.data))


class ProgressFeeds:
    """The feeds of all crawls that somebody watches."""

    def __init__(
        self,
        *,
        most: int = 1_000,
        share: float = 1.0,
        pace: StreamTimings = StreamTimings(look=1.0),  # noqa: B008  frozen
    ) -> None:
        """``share`` is the part of the streams that one caller may have open."""
        self._most = most
        self._shares = Shares("event streams", most, share)
        self._pace = pace
        self._open: dict[str, tuple[Streams, asyncio.Task[None]]] = {}
        self._is_closing = False

    def __len__(self) -> int:
        return sum(len(streams) for streams, _ in self._open.values())

    @property
    def is_full(self) -> bool:
        return len(self) >= self._most or self._is_closing

    def stream(
        self, name: str, path: Path, job: Callable[[], JobInfo | None], after: int | None, caller: str = ""
    ) -> ApiStream:
        """Return a stream of the events of a crawl after a number; without one, it starts with the latest state."""
        self._shares.check(caller)
        return ApiStream(partial(self._counted, caller, partial(self._serve, name, path, job, after)), STREAM_HEADERS)

    async def _counted(
        self, caller: str, serve: Callable[[Receive, Send], Awaitable[None]], receive: Receive, send: Send
    ) -> None:
        with self._shares.use(caller):
            await serve(receive, send)

    async def _serve(
        self,
        name: str,
        path: Path,
        job: Callable[[], JobInfo | None],
        after: int | None,
        receive: Receive,
        send: Send,
    ) -> None:
        found = self._open.get(name)
        if found is None:
            feed = ProgressFeed(path, job)
            streams = Streams(feed, most=self._most, pace=self._pace, encode=feed_frame)
            found = self._open[name] = streams, asyncio.create_task(streams.run())
        streams, task = found
        start = streams.latest() if after is None else after
        try:
            await streams.serve(start, receive, send)
        finally:
            if not len(streams):
                self._open.pop(name, None)
                streams.close()
                task.cancel()

    def close(self) -> None:
        """End every stream; clients reconnect by themselves."""
        self._is_closing = True
        for streams, _ in self._open.values():
            streams.close()


def _micros(moment: datetime | None) -> int:
    return 0 if moment is None else int(moment.timestamp() * 1_000_000)
