"""The filters of the stack that fit on a page each: count, check, retry, polite, deadline."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from scoter.compose import Service
from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request
from scoter.core.url import Url
from scoter.errors import Defect
from scoter.fetch.queues.budget import RetryBudget
from scoter.fetch.queues.replies import turn_of
from scoter.fetch.queues.turn import SERVED
from scoter.fetch.queues.turnstile import Turnstile
from scoter.fetch.reach.guard import Guard

Hop = Service[Request, Reply]
KeyOf = Callable[[Url], "str | Awaitable[str | Failed]"]


class Count:
    """Counts what was asked and what came of it."""

    def __init__(self) -> None:
        self.asked = 0
        self.active = 0
        self.bytes = 0
        self.replies: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"Count({self.asked} asked, {self.active} active, {dict(self.replies)})"

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        self.asked += 1
        self.active += 1
        try:
            reply = await service(request)
        finally:
            self.active -= 1
        self.replies[kind_of(reply)] += 1
        exchange = reply.exchange
        if exchange is not None:
            self.bytes += len(exchange.body) + len(exchange.response_head)
        return reply


class Check:
    """Refuses what may not be asked by its URL alone: a scheme, a port, an address."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        refusal = self._guard.check_url(request.url)
        if refusal is not None:
            return Failed(request.url, refusal.reason, refusal.detail, blames_host=False)
        return await service(request)


class Retry:
    """Asks once more when a connection broke before anything came, within a budget for the whole process."""

    def __init__(self, budget: RetryBudget, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._clock = clock

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        self._budget.request(self._clock())
        reply = await service(request)
        broke = isinstance(reply, Failed) and reply.reason is Reason.RESET and reply.exchange is None
        if broke and self._budget.try_retry(self._clock()):
            return await service(request)
        return reply


class Polite:
    """Waits for the turn of the request's host, and tells the queue what came of it."""

    def __init__(self, turnstile: Turnstile, key_of: KeyOf) -> None:
        self._turnstile = turnstile
        self._key_of = key_of

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        key = self._key_of(request.url)
        if not isinstance(key, str):
            found = await key
            if isinstance(found, Failed):
                return found
            key = found
        if not self._turnstile.use_held(key):
            refused = await self._turnstile.enter(key)
            if refused is not None:
                detail = "its host failed too often" if refused is Reason.PURGED else "the run came to its end"
                return Failed(request.url, refused, detail, blames_host=False)
        # Whatever ends the request, the host has been asked and gets its rest.
        turn = SERVED
        try:
            reply = await service(request)
            turn = turn_of(reply)
            return reply
        finally:
            self._turnstile.leave(key, turn)


class _Hop:
    """A hop under way: whose it is, when its time is up, and whether it was."""

    __slots__ = ("asked_to_stop", "expires", "is_late", "task")

    def __init__(self, task: asyncio.Task[Any], expires: float) -> None:
        self.task = task
        self.expires = expires
        self.asked_to_stop = task.cancelling()  # by others, before the hop began
        self.is_late = False


class Deadline:
    """Ends a hop that takes too long, wherever it hangs.

    All hops have the same time, so that they run out in the order in which they began: one timer, for the oldest,
    does for all of them.
    """

    def __init__(self, limit: timedelta) -> None:
        self._seconds = limit.total_seconds()
        self._hops: dict[_Hop, None] = {}
        self._is_timed = False

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise Defect("a hop is made outside of any task, where nothing could end it")
        hop = _Hop(task, loop.time() + self._seconds)
        self._time(hop, loop)
        token = _under_way.set((self, hop))
        try:
            return await service(request)
        except asyncio.CancelledError:
            if not hop.is_late or task.uncancel() > hop.asked_to_stop:
                raise
            return Failed(request.url, Reason.TIMEOUT, f"no answer within {self._seconds:g} s")
        finally:
            _under_way.reset(token)
            self._hops.pop(hop, None)

    @contextmanager
    def untimed(self, hop: _Hop) -> Iterator[None]:
        """Let a hop's time begin anew after this."""
        self._hops.pop(hop, None)
        try:
            yield
        finally:
            loop = asyncio.get_running_loop()
            hop.expires = loop.time() + self._seconds
            self._time(hop, loop)

    def _time(self, hop: _Hop, loop: asyncio.AbstractEventLoop) -> None:
        self._hops[hop] = None
        if not self._is_timed:
            self._is_timed = True
            loop.call_at(hop.expires, self._end_late, loop)

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        while self._hops:
            hop = next(iter(self._hops))
            if hop.expires > now:
                loop.call_at(hop.expires, self._end_late, loop)
                return
            del self._hops[hop]
            hop.is_late = True
            hop.task.cancel()
        self._is_timed = False


_under_way: ContextVar[tuple[Deadline, _Hop] | None] = ContextVar("under_way", default=None)


def untimed() -> AbstractContextManager[None]:
    """Wait, within a hop, for something that is not the server's fault: its time begins anew afterwards."""
    found = _under_way.get()
    return nullcontext() if found is None else found[0].untimed(found[1])


def kind_of(reply: Reply) -> str:
    """Return the word under which a reply is counted."""
    match reply:
        case Fetched():
            return "fetched"
        case Moved():
            return "moved"
        case NotModified():
            return "not_modified"
        case Gone(reason=reason) | Failed(reason=reason):
            return reason.value
