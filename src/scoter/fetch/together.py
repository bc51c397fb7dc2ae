"""Replies handed to a sink several at a time.

Fetching a page and writing it down need other code and other memory. A process that changes between the two with every
page finds neither in the processor's caches: a crawl whose pages are archived, parsed and written a dozen or two at a
time takes an eighth less CPU than one that does so page by page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from scoter.core.reply import Reply, Request

ManySink: TypeAlias = Callable[[Sequence[tuple[Request, Reply]]], Sequence[Awaitable[None] | None]]
"""Takes replies; says of each, in their order, that it is done with it (none) or what is to be awaited until it is."""

_MOST = 32
_MOST_BYTES = 2**20  # of bodies: what large pages hold up meanwhile stays some tens of milliseconds
_WAIT = 0.003


class Together:
    """A sink for single replies that gathers them for one that takes many.

    They are handed on when there are ``most``, or a mebibyte of bodies, or milliseconds after the first of them came;
    what has nothing to be archived or parsed, such as a request that was handed back, at once and alone: at the end of
    a run a million of them may come, one after the other. A sink that fails has failed with all that it was handed.
    """

    def __init__(self, sink: ManySink, most: int = _MOST) -> None:
        self._sink = sink
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._replies: list[tuple[Request, Reply]] = []
        self._ends: list[asyncio.Future[None]] = []
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unfinished: set[asyncio.Future[None]] = set()
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"Together({len(self._replies)} replies, {len(self._unfinished)} with the sink)"

    def take(self, request: Request, reply: Reply) -> Awaitable[None] | None:
        """Take a reply; what comes back ends when the sink is done with it, and is none where that is so already."""
        if reply.exchange is None:
            return self._sink([(request, reply)])[0]
        end: asyncio.Future[None] = self._loop.create_future()
        self._replies.append((request, reply))
        self._ends.append(end)
        self._bytes += len(reply.exchange.body)
        if len(self._replies) >= self._most or self._bytes >= _MOST_BYTES:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(_WAIT, self.flush)
        return end

    def flush(self) -> None:
        """Hand on what there is."""
        replies, ends = self._replies, self._ends
        self.drop()
        if not replies:
            return
        try:
            left = self._sink(replies)
        except Exception as error:
            for end in ends:
                self._end(end, error)
            return
        for end, rest in zip(ends, left, strict=True):
            if rest is None:
                self._end(end, None)
            else:
                self._await(rest, end)

    async def settle(self, within: float) -> None:
        """Hand on what there is, and give the sink so many seconds to be done with all of it; what failed is raised.

        For the end of a run, when those who waited may have been sent away, and with them the errors.
        """
        self.flush()
        if self._unfinished:
            await asyncio.wait(self._unfinished, timeout=within)
            for each in tuple(self._unfinished):
                each.cancel()
        if self._error is not None:
            raise self._error

    def drop(self) -> None:
        """Forget what was not handed on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._replies, self._ends, self._bytes = [], [], 0

    def _await(self, rest: Awaitable[None], end: asyncio.Future[None]) -> None:
        task = asyncio.ensure_future(rest)
        self._unfinished.add(task)

        def done(task: asyncio.Future[None]) -> None:
            self._unfinished.discard(task)
            if task.cancelled():
                end.cancel()
            else:
                self._end(end, task.exception())

        task.add_done_callback(done)

    def _end(self, end: asyncio.Future[None], error: BaseException | None) -> None:
        self._error = self._error or error
        if end.done():  # whoever waited was sent away
            return
        if error is None:
            end.set_result(None)
        else:
            end.set_exception(error)
