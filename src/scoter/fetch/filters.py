"""The filters of the stack, except for robots.txt: count, check, retry, polite, deadline."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final

from scoter.compose import Service
from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request
from scoter.core.url import Url
from scoter.errors import Defect
from scoter.fetch.network.guard import Guard
from scoter.fetch.queues.scheduler import SlotScheduler
from scoter.fetch.queues.slots import SERVED, slot_result

Hop = Service[Request, Reply]
KeyOf = Callable[[Url], "str | Awaitable[str | Failed]"]
NOT_REQUESTED: Final = {
    Reason.PURGED: "its host failed too often",
    Reason.DEFERRED: "its host asked to be left alone, or must be",
    Reason.STOPPED: "the run ended",
}
_SLICES: Final = 10


class Count:
    """Counts requests, and replies by kind."""

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
        self.note(reply)
        exchange = reply.exchange
        if exchange is not None:
            self.bytes += len(exchange.body) + len(exchange.response_head)
        return reply

    def note(self, reply: Reply) -> None:
        """Count a reply by its kind; for those that did not come through the stack."""
        self.replies[kind_of(reply)] += 1


class Check:
    """Refuses a URL whose scheme, port or literal address must not be asked."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        refusal = self._guard.check_url(request.url)
        if refusal is not None:
            return Failed(request.url, refusal.reason, refusal.detail, blames_host=False)
        return await service(request)


class RetryBudget:
    """Limits retries to a share of the requests, so that an outage is not answered with a storm.

    As in Finagle, retries stay below a ratio of the requests over a sliding window, and a few per second are always
    free, so that a process that has just started can retry at all.

    >>> budget = RetryBudget(ratio=0.5, floor=0.0)
    >>> budget.request(now=0.0)
    >>> budget.request(now=0.0)
    >>> budget.try_retry(now=0.0), budget.try_retry(now=0.0)
    (True, False)
    """

    def __init__(self, ratio: float, floor: float = 1.0, window: float = 10.0) -> None:
        """Allow ``ratio`` retries per request and ``floor`` per second, both counted over ``window`` seconds."""
        self._ratio = ratio
        self._free = floor * window
        self._slice = window / _SLICES
        self._counts: deque[list[int]] = deque()  # slice number, requests, retries
        self.requests = 0
        self.retries = 0
        self.refused = 0

    def __repr__(self) -> str:
        return f"RetryBudget({self.retries} retries for {self.requests} requests lately, {self.refused} refused)"

    def request(self, now: float) -> None:
        """Count a request that is not a retry."""
        counts = self._counts
        current = counts[-1] if counts and counts[-1][0] == now // self._slice else self._current(now)
        current[1] += 1
        self.requests += 1

    def try_retry(self, now: float) -> bool:
        """Tell whether the budget allows one more retry, and count it if so."""
        current = self._current(now)
        # A tolerance for 0.1 + 0.2: rounding must not cost the third of three allowed retries.
        if self.retries + 1 > self._ratio * self.requests + self._free + 1e-9:
            self.refused += 1
            return False
        current[2] += 1
        self.retries += 1
        return True

    def _current(self, now: float) -> list[int]:
        number = int(now // self._slice)
        counts = self._counts
        while counts and counts[0][0] <= number - _SLICES:
            _, requests, retries = counts.popleft()
            self.requests -= requests
            self.retries -= retries
        if not counts or counts[-1][0] != number:
            counts.append([number, 0, 0])
        return counts[-1]


class Retry:
    """Repeats a request once, within the budget of the process.

    It does so if the connection broke before any answer, or if the transport wants to ask in another way.
    """

    def __init__(self, budget: RetryBudget, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._clock = clock

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        self._budget.request(self._clock())
        reply = await service(request)
        if not isinstance(reply, Failed):
            return reply
        broke = reply.reason is Reason.RESET and reply.exchange is None
        if (broke or reply.is_repeatable) and self._budget.try_retry(self._clock()):
            return await service(request)
        return reply


class Polite:
    """Waits for a slot of the request's host, and ends the slot with what the reply shows."""

    def __init__(self, scheduler: SlotScheduler, key_of: KeyOf) -> None:
        self._scheduler = scheduler
        self._key_of = key_of

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        key = self._key_of(request.url)
        if not isinstance(key, str):
            found = await key
            if isinstance(found, Failed):
                return found
            key = found
        if not self._scheduler.use_held(key):
            refused = await self._scheduler.acquire(key)
            if refused is not None:
                return Failed(request.url, refused, NOT_REQUESTED[refused], blames_host=False)
        # However the request ends, the host was asked and gets its delay.
        result = SERVED
        try:
            reply = await service(request)
            result = slot_result(reply)
            return reply
        finally:
            self._scheduler.release(key, result)


class _TimedHop:
    """A hop in progress: its task, when its time is up, and whether it was ended for that."""

    __slots__ = ("cancellations", "expires", "is_late", "task")

    def __init__(self, task: asyncio.Task[Any], expires: float) -> None:
        self.task = task
        self.expires = expires
        self.cancellations = task.cancelling()  # by others, before the hop began
        self.is_late = False


class Deadline:
    """Ends a hop that takes too long, wherever it hangs.

    All hops have the same time limit, so they run out in the order in which they began: one timer, for the oldest,
    serves all of them.
    """

    def __init__(self, limit: timedelta) -> None:
        self._seconds = limit.total_seconds()
        self._hops: dict[_TimedHop, None] = {}
        self._is_timed = False

    async def __call__(self, request: Request, service: Hop, /) -> Reply:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise Defect("a hop was made outside of any task, where nothing can end it")
        hop = _TimedHop(task, loop.time() + self._seconds)
        self._time(hop, loop)
        token = _current_hop.set((self, hop))
        try:
            return await service(request)
        except asyncio.CancelledError:
            if not hop.is_late or task.uncancel() > hop.cancellations:
                raise
            return Failed(request.url, Reason.TIMEOUT, f"no answer within {self._seconds:g} s")
        finally:
            _current_hop.reset(token)
            self._hops.pop(hop, None)

    @contextmanager
    def untimed(self, hop: _TimedHop) -> Iterator[None]:
        """Suspend a hop's time limit; it starts anew afterwards."""
        self._hops.pop(hop, None)
        try:
            yield
        finally:
            loop = asyncio.get_running_loop()
            hop.expires = loop.time() + self._seconds
            self._time(hop, loop)

    def _time(self, hop: _TimedHop, loop: asyncio.AbstractEventLoop) -> None:
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


_current_hop: ContextVar[tuple[Deadline, _TimedHop] | None] = ContextVar("current_hop", default=None)


def untimed() -> AbstractContextManager[None]:
    """Suspend the time limit of the current hop while it waits for something that is not the server's fault."""
    found = _current_hop.get()
    return nullcontext() if found is None else found[0].untimed(found[1])


def is_handed_back(reply: Reply) -> bool:
    """Return whether a reply only says that its URL was not requested, because the run or the host's turn ended."""
    return isinstance(reply, Failed) and reply.reason in NOT_REQUESTED


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
