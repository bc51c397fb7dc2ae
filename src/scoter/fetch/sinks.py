"""Sinks: where replies go, one at a time or in batches.

Fetching a page and writing it need different code and data. A process that switches between the two for every page
finds neither in the processor's caches: archiving, parsing and writing pages in batches of one or two dozen saves an
eighth of a crawl's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from scoter.core.reply import Reply, Request

MIN_BACKLOG = 64
"""Replies that a sink may always have pending, however low the concurrency: some sinks batch them."""

Sink: TypeAlias = Callable[[Request, Reply], Awaitable[None] | None]


class SinkBacklog:
    """Hands replies to a sink and counts those that it has not finished with."""

    def __init__(self, max_replies: int, max_bytes: int, on_room: Callable[[], None]) -> None:
        """``on_room`` is called when the sink has finished with a reply."""
        self.sink: Sink = lambda request, reply: None
        self._max_replies, self._max_bytes = max_replies, max_bytes
        self._on_room = on_room
        self._count = self._bytes = 0

    def __len__(self) -> int:
        """Return how many replies the sink has not finished with."""
        return self._count

    def has_room(self) -> bool:
        """Tell whether the sink keeps up; otherwise bodies would pile up in memory."""
        return self._count < self._max_replies and self._bytes < self._max_bytes

    def hand(self, request: Request, reply: Reply) -> Awaitable[None] | None:
        """Hand a reply to the sink; the caller awaits what is returned, if anything."""
        pending = self.sink(request, reply)
        return None if pending is None else self._finish(pending, reply)

    async def _finish(self, pending: Awaitable[None], reply: Reply) -> None:
        size = len(reply.exchange.body) if reply.exchange is not None else 0
        self._count += 1
        self._bytes += size
        try:
            await pending
        finally:
            self._count -= 1
            self._bytes -= size
            self._on_room()


BatchSink: TypeAlias = Callable[[Sequence[tuple[Request, Reply]]], Sequence[Awaitable[None] | None]]
"""Takes a batch of replies; returns for each ``None`` if it is finished with it, or an awaitable until it is."""

_BATCH = 32
_BATCH_BYTES = 2**20  # of bodies: a batch of large pages blocks the loop for some tens of milliseconds at most
_WAIT = 0.003


class BatchingSink:
    """Collects single replies for a sink that takes batches.

    A batch is handed on when it has ``batch`` replies or a mebibyte of bodies, or a few milliseconds after its first
    reply. A reply without an exchange, such as a returned request, is passed on immediately: there is nothing
    to archive or parse, and at the end of a run a million of them may come in a row. If the sink fails, it has failed
    for the whole batch.
    """

    def __init__(self, sink: BatchSink, batch: int = _BATCH) -> None:
        self._sink = sink
        self._batch = batch
        self._loop = asyncio.get_running_loop()
        self._replies: list[tuple[Request, Reply]] = []
        self._futures: list[asyncio.Future[None]] = []
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._pending: set[asyncio.Future[None]] = set()
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"BatchingSink({len(self._replies)} replies, {len(self._pending)} with the sink)"

    def take(self, request: Request, reply: Reply) -> Awaitable[None] | None:
        """Take a reply; return an awaitable until the sink has finished with it, or ``None`` if it already has."""
        if reply.exchange is None:
            return self._sink([(request, reply)])[0]
        future: asyncio.Future[None] = self._loop.create_future()
        self._replies.append((request, reply))
        self._futures.append(future)
        self._bytes += len(reply.exchange.body)
        if len(self._replies) >= self._batch or self._bytes >= _BATCH_BYTES:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(_WAIT, self.flush)
        return future

    def flush(self) -> None:
        """Hand on the current batch."""
        replies, futures = self._replies, self._futures
        self.drop()
        if not replies:
            return
        try:
            pending = self._sink(replies)
        except Exception as error:
            for future in futures:
                self._end(future, error)
            return
        for future, rest in zip(futures, pending, strict=True):
            if rest is None:
                self._end(future, None)
            else:
                self._await(rest, future)

    async def settle(self, within: float) -> None:
        """Hand on the current batch, wait up to ``within`` seconds for the sink, and raise its error if it failed.

        For the end of a run, when the tasks that waited may have been cancelled and the errors lost with them.
        """
        self.flush()
        if self._pending:
            await asyncio.wait(self._pending, timeout=within)
            for each in tuple(self._pending):
                each.cancel()
        if self._error is not None:
            raise self._error

    def drop(self) -> None:
        """Discard the current batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._replies, self._futures, self._bytes = [], [], 0

    def _await(self, rest: Awaitable[None], future: asyncio.Future[None]) -> None:
        task = asyncio.ensure_future(rest)
        self._pending.add(task)

        def done(task: asyncio.Future[None]) -> None:
            self._pending.discard(task)
            if task.cancelled():
                future.cancel()
            else:
                self._end(future, task.exception())

        task.add_done_callback(done)

    def _end(self, future: asyncio.Future[None], error: BaseException | None) -> None:
        self._error = self._error or error
        if future.done():  # the task that waited was cancelled
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
