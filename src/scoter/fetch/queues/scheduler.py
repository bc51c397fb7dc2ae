"""The workbench on an event loop: hands out slots, at most ``concurrency`` at a time.

New work waits as bytes in the workbench. When its slot comes it is passed to ``launch`` and runs between
``start_work`` and ``end_work``: the slot that launched it serves the first request it makes to that host, and is given
back unused if it makes none. Work in progress that needs another slot, because it fetched robots.txt first or follows
a redirect of robots.txt to another host, waits in ``acquire`` as a ``SlotWaiter``, before all new work of its own host
and in turn with that of another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeAlias

from scoter.core.reply import Reason
from scoter.errors import Defect
from scoter.fetch.queues.slots import UNUSED, QueueRefusal, QueueStats, SlotResult
from scoter.fetch.queues.workbench import Workbench

_WAITER_SIZE = 1_024  # bytes, about what a waiting coroutine costs


class SlotWaiter:
    """A coroutine that waits for a slot."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, is_guest: bool) -> None:
        """``is_guest``: it belongs to work of another host."""
        self.is_guest = is_guest
        self.answered: asyncio.Future[Reason | None] = loop.create_future()

    def begin(self) -> bool:
        """Give the waiter its slot; return false if it no longer waits."""
        if self.answered.done():  # cancelled
            return False
        self.answered.set_result(None)
        return True

    def refuse(self, reason: Reason) -> None:
        """Tell the waiter why it gets no slot."""
        if not self.answered.done():
            self.answered.set_result(reason)


Entry: TypeAlias = bytes | SlotWaiter


def size_of(entry: Entry) -> int:
    """Return the bytes that an entry counts for."""
    return len(entry) if isinstance(entry, bytes) else _WAITER_SIZE


class HeldSlot:
    """The slot that launched some work; ``is_free`` until a request uses it."""

    __slots__ = ("is_free", "key")

    def __init__(self, key: str) -> None:
        self.key = key
        self.is_free = True


_held: ContextVar[HeldSlot | None] = ContextVar("held", default=None)
_REFUSALS = {
    QueueRefusal.BLOCKED: Reason.PURGED,
    QueueRefusal.FULL: Reason.STOPPED,
    QueueRefusal.DRAINING: Reason.STOPPED,
}


def _drop(lists: dict[str, list[Any]], key: str, item: object) -> None:
    found = lists.get(key)
    if found is not None:
        with suppress(ValueError):
            found.remove(item)
        if not found:
            del lists[key]


def _no_handler(*_: object) -> None:
    raise Defect("queued work got its slot, but there is nothing to run it")


class SlotScheduler:
    """Lets at most ``concurrency`` requests run at once, each in a slot of its host."""

    def __init__(
        self,
        bench: Workbench[Entry],
        *,
        concurrency: int,
        clock: Callable[[], float] = time.monotonic,
        launch: Callable[[str, bytes], None] = _no_handler,
        lose: Callable[[bytes, Reason], None] = _no_handler,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self.bench = bench
        self._launch = launch
        self._lose = lose
        self._has_room = has_room
        self.concurrency = concurrency
        self.clock = clock
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._lent: dict[str, list[HeldSlot]] = {}  # slots of work that waits for other work of the host
        self._lent_count = 0
        self._waiters: dict[str, list[SlotWaiter]] = {}  # work in progress that needs another slot
        self._is_blocked = False
        self._delegated = 0  # slots whose requests another process makes
        self._wakes = 0.0  # when the timer fires
        self._is_closed = False

    def __repr__(self) -> str:
        return f"SlotScheduler({self.bench!r})"

    @property
    def has_free_slots(self) -> bool:
        """Whether more requests may be in progress."""
        # Work that lends its slot makes no request. If it counted, the work it waits for might never get a slot.
        return self.bench.in_progress - self._delegated - self._lent_count < self.concurrency

    async def acquire(self, key: str) -> Reason | None:
        """Wait for a slot of a host; return ``None``, or why there will be none."""
        if self.use_held(key):
            return None
        # Work in progress goes before new work; otherwise all new work would start, and then wait.
        held = _held.get()
        is_started = held is not None
        waiter = SlotWaiter(self._loop, is_guest=held is not None and held.key != key)
        if held is not None and waiter.is_guest:
            self.end_work(held)  # while it waits for another host, this slot would be wasted
        refusal = self.bench.add(
            key, waiter, self.clock(), started=is_started, is_guest=waiter.is_guest, even_if_full=is_started
        )
        if refusal is not None:
            return _REFUSALS[refusal]
        if is_started:
            self._waiters.setdefault(key, []).append(waiter)
            while self._borrow(key):  # this waiter is the first to get them when the delay is over
                self.release(key, UNUSED)
        self.pump()
        try:
            return await waiter.answered
        except asyncio.CancelledError:
            if waiter.answered.done() and not waiter.answered.cancelled() and waiter.answered.result() is None:
                self.release(key, UNUSED)  # the slot came together with the cancellation
            raise
        finally:
            if is_started:
                _drop(self._waiters, key, waiter)

    def use_held(self, key: str) -> bool:
        """Use the slot of this host that this work holds or other work lends; return false if there is none."""
        held = _held.get()
        if held is not None and held.is_free and held.key == key:
            held.is_free = False
        elif not self.has_free_slots or not self._borrow(key):
            return False
        if self.bench.begin(key, self.clock()):
            return True
        self.release(key, UNUSED)  # kept for too long: another request has just started or ended
        return False

    def release(self, key: str, result: SlotResult) -> None:
        """End a slot."""
        lost = self.bench.done(key, result, self.clock())
        if lost:
            self._refuse(lost, Reason.PURGED)
        self.pump()

    def start_work(self, key: str) -> HeldSlot:
        """Start launched work in this task: its slot serves its first request to the host."""
        held = HeldSlot(key)
        _held.set(held)
        return held

    def end_work(self, held: HeldSlot) -> None:
        """End the work; give back its slot if no request has used it."""
        if held.is_free:
            held.is_free = False
            self.release(held.key, UNUSED)

    @contextmanager
    def as_started(self) -> Iterator[None]:
        """Count as work in progress without its own slot: work that holds one elsewhere waits for it."""
        held = HeldSlot("")
        held.is_free = False
        token = _held.set(held)
        try:
            yield
        finally:
            _held.reset(token)

    @contextmanager
    def lend(self) -> Iterator[None]:
        """Wait for other work of the same host, and let that work use this slot meanwhile."""
        held = _held.get()
        if held is None or not held.is_free:
            yield
            return
        if any(not waiter.answered.done() for waiter in self._waiters.get(held.key, ())):
            self.end_work(held)  # other work already waits for a slot, and gets it first
            yield
            return
        self._lent.setdefault(held.key, []).append(held)
        self._lent_count += 1
        self.pump()
        try:
            yield
        finally:
            self._take_back(held)

    def _borrow(self, key: str) -> bool:
        """Use a lent slot of a host; return false if there is none."""
        lent = self._lent.get(key)
        if not lent:
            return False
        lent[-1].is_free = False
        self._end_loan(lent[-1])
        return True

    def _take_back(self, held: HeldSlot) -> None:
        """End a loan that was not used; give up the slot too if other work runs in its place."""
        if held.is_free:
            is_room = self.has_free_slots
            self._end_loan(held)
            if not is_room:
                self.end_work(held)

    def _end_loan(self, held: HeldSlot) -> None:
        _drop(self._lent, held.key, held)
        self._lent_count -= 1

    @contextmanager
    def delegated(self) -> Iterator[None]:
        """Wait, in a slot, for a request that another process makes; the slot does not count as in use meanwhile.

        That process may wait for one of ours in the same way. If these slots counted, all processes could wait for each
        other with no slot left to make a request.
        """
        self._delegated += 1
        self.pump()
        try:
            yield
        finally:
            self._delegated -= 1

    def defer(self, key: str, seconds: float, *, by_policy: bool = False) -> None:
        """Put a host on hold for a while; ``by_policy``: as after a request."""
        self.bench.defer(key, self.clock() + seconds, by_policy=by_policy)

    def set_policy(self, key: str) -> None:
        """Apply a host's changed policy: its next slot may come sooner or later."""
        self.bench.set_policy(key, self.clock())
        self.pump()

    def purge(self, key: str, *, even_started: bool = False, reason: Reason = Reason.STOPPED) -> None:
        """Refuse a host's queued work, by default as at the end of a run; work in progress keeps its place.

        ``even_started`` refuses that, too.
        """
        now = self.clock()
        for entry in self.bench.purge(key, now):
            if isinstance(entry, bytes):
                self._lose(entry, reason)
            elif even_started:
                entry.refuse(reason)
            else:
                self.bench.add(key, entry, now, started=True, is_guest=entry.is_guest, even_if_full=True)
        self.pump()

    def hand_back_held(self, longest: float, longest_slow: float) -> dict[str, float]:
        """Refuse all work if every host is on hold for longer than is waited for; return until when they are.

        ``longest_slow`` is for hosts whose robots.txt asks for a longer delay than is usual.
        """
        held = self.bench.held(self.clock(), longest, longest_slow)
        for key in held:
            self.purge(key, even_started=True, reason=Reason.DEFERRED)
        return held

    def drain(self) -> None:
        """Refuse everything that waits or comes later."""
        self._refuse((entry for _, entry in self.bench.drain(self.clock())), Reason.STOPPED)

    def stats(self) -> QueueStats:
        return self.bench.stats(self.clock())

    def close(self) -> None:
        """Refuse everything that waits, and set no more timers."""
        self._is_closed = True
        self.drain()
        if self._timer is not None:
            self._timer.cancel()

    def pump(self) -> None:
        """Hand out the slots that are due, and set a timer for the next."""
        bench, now = self.bench, self.clock()
        self._is_blocked = False
        while self.has_free_slots and bench.queued:
            if not self._has_room():
                self._is_blocked = True
                return
            taken = bench.take(now)
            if taken is None:
                self._wake_at(bench.next_time(now), now)
                return
            key, entry = taken
            if isinstance(entry, bytes):
                self._launch(key, entry)
            elif entry.begin():
                bench.begin(key, now)
            else:
                bench.done(key, UNUSED, now)

    def spill(self) -> None:
        """Hand out the slots that had to wait for the sink."""
        if self._is_blocked:
            self.pump()

    def _wake_at(self, due: float | None, now: float) -> None:
        """Pump again when the next slot is due; a timer that fires too early does no harm."""
        if due is None or self._is_closed or (self._timer is not None and self._wakes <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._wakes = due
        self._timer = self._loop.call_later(max(due - now, 0.0), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self.pump()

    def _refuse(self, entries: Iterable[Entry], reason: Reason) -> None:
        for entry in entries:
            if isinstance(entry, bytes):
                self._lose(entry, reason)
            else:
                entry.refuse(reason)
