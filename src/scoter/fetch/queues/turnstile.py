"""The workbench on an event loop: whoever wants to ask a host waits here for its turn.

A ``Waiter`` is a coroutine that stands at the turnstile itself. Work that is only queued is bytes in the workbench;
when its turn has come it is handed to ``launch``, and runs under ``holding``: the turn that started it then serves the
first request it makes to that host, and is given back unused if it makes none.
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
from scoter.fetch.queues.turn import UNUSED, Refusal, Stats, Turn
from scoter.fetch.queues.workbench import Workbench

_WAITER_SIZE = 1_024  # bytes, about what a waiting coroutine costs


class Waiter:
    """A coroutine that waits for a turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.answered: asyncio.Future[Reason | None] = loop.create_future()

    def begin(self) -> bool:
        """Go ahead, the turn is yours; false when nobody wants it any more."""
        if self.answered.done():  # whoever waited was cancelled
            return False
        self.answered.set_result(None)
        return True

    def refuse(self, reason: Reason) -> None:
        """Give up: the turn will not come."""
        if not self.answered.done():
            self.answered.set_result(reason)


Entry: TypeAlias = bytes | Waiter


def size_of(entry: Entry) -> int:
    """Return the bytes that an entry is reckoned at."""
    return len(entry) if isinstance(entry, bytes) else _WAITER_SIZE


class Held:
    """A turn that was given before the work began."""

    __slots__ = ("is_free", "key")

    def __init__(self, key: str) -> None:
        self.key = key
        self.is_free = True


_held: ContextVar[Held | None] = ContextVar("held", default=None)
_REFUSALS = {Refusal.BLOCKED: Reason.PURGED, Refusal.FULL: Reason.STOPPED, Refusal.DRAINING: Reason.STOPPED}


def _drop(lists: dict[str, list[Any]], key: str, item: object) -> None:
    found = lists.get(key)
    if found is not None:
        with suppress(ValueError):
            found.remove(item)
        if not found:
            del lists[key]


def _nobody(*_: object) -> None:
    raise Defect("queued work came to its turn, and nobody is there to do it")


class Turnstile:
    """Lets at most ``concurrency`` requests pass at once, each in its host's turn."""

    def __init__(
        self,
        bench: Workbench[Entry],
        *,
        concurrency: int,
        clock: Callable[[], float] = time.monotonic,
        launch: Callable[[str, bytes], None] = _nobody,
        lose: Callable[[bytes, Reason], None] = _nobody,
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
        self._lent: dict[str, list[Held]] = {}  # turns of those who wait for others of the host
        self._lent_count = 0
        self._begun: dict[str, list[Waiter]] = {}  # those who have begun and need one more turn
        self._is_held_up = False
        self._away = 0  # turns in use whose requests others make
        self._wakes = 0.0  # when the timer fires
        self._is_closed = False

    def __repr__(self) -> str:
        return f"Turnstile({self.bench!r})"

    @property
    def has_free_turns(self) -> bool:
        """Whether more requests may be under way than are."""
        # Whoever lends his turn asks nothing. Did he count, the one for whom he waits might never come to ask.
        return self.bench.in_progress - self._away - self._lent_count < self.concurrency

    async def enter(self, key: str) -> Reason | None:
        """Wait for a host's turn; the answer is none, or why it will not come."""
        if self.use_held(key):
            return None
        waiter = Waiter(self._loop)
        # Work that has begun comes before what is only queued, lest all that is queued began and waited.
        held = _held.get()
        begun = held is not None
        if held is not None and held.key != key:
            self.let_go(held)  # whoever waits for another host must not keep the turn that nobody else then has
        refusal = self.bench.add(key, waiter, self.clock(), first=begun, even_if_full=begun)
        if refusal is not None:
            return _REFUSALS[refusal]
        if begun:
            self._begun.setdefault(key, []).append(waiter)
            while self._borrow(key):  # he is the first to get them, when the host's time has come
                self.leave(key, UNUSED)
        self.pump()
        try:
            return await waiter.answered
        except asyncio.CancelledError:
            if waiter.answered.done() and not waiter.answered.cancelled() and waiter.answered.result() is None:
                self.leave(key, UNUSED)  # the turn came together with the cancellation
            raise
        finally:
            if begun:
                _drop(self._begun, key, waiter)

    def use_held(self, key: str) -> bool:
        """Use the turn of this host that the running work holds, or that another lends; false when there is none."""
        held = _held.get()
        if held is not None and held.is_free and held.key == key:
            held.is_free = False
        elif not self.has_free_turns or not self._borrow(key):
            return False
        if self.bench.begin(key, self.clock()):
            return True
        self.leave(key, UNUSED)  # it was kept for too long: another request has begun or ended just now
        return False

    def leave(self, key: str, turn: Turn) -> None:
        """End a turn."""
        lost = self.bench.done(key, turn, self.clock())
        if lost:
            self._refuse(lost, Reason.PURGED)
        self.pump()

    def hold(self, key: str) -> Held:
        """Begin work whose entry was let in, in this task: the turn serves its first request to the host."""
        held = Held(key)
        _held.set(held)
        return held

    def let_go(self, held: Held) -> None:
        """End work that was begun; a turn that no request has used is given back."""
        if held.is_free:
            held.is_free = False
            self.leave(held.key, UNUSED)

    @contextmanager
    def holding(self, key: str) -> Iterator[None]:
        """Do both: ``hold`` and, however it ends, ``let_go``."""
        held = self.hold(key)
        try:
            yield
        finally:
            _held.set(None)
            self.let_go(held)

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Count as work that has begun without a turn of its own: somebody waits for it who holds one elsewhere."""
        held = Held("")
        held.is_free = False
        token = _held.set(held)
        try:
            yield
        finally:
            _held.reset(token)

    @contextmanager
    def lending(self) -> Iterator[None]:
        """Wait for others of the same host without keeping from them the turn that they may need."""
        held = _held.get()
        if held is None or not held.is_free:
            yield
            return
        if any(not waiter.answered.done() for waiter in self._begun.get(held.key, ())):
            self.let_go(held)  # somebody waits for it already, and is the first to get it
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
        """Take a turn of a host that somebody lends; false when nobody does."""
        lent = self._lent.get(key)
        if not lent:
            return False
        lent[-1].is_free = False
        self._end_loan(lent[-1])
        return True

    def _take_back(self, held: Held) -> None:
        """End a loan that nobody used; where others are under way instead, the turn goes with it."""
        if held.is_free:
            is_room = self.has_free_turns
            self._end_loan(held)
            if not is_room:
                self.let_go(held)

    def _end_loan(self, held: Held) -> None:
        _drop(self._lent, held.key, held)
        self._lent_count -= 1

    @contextmanager
    def away(self) -> Iterator[None]:
        """Wait, in a turn, for a request that another process makes: here it does not count as under way.

        The other may wait for one of ours in the same way. Did it count, all there and all here could wait for each
        other, with nobody left to ask.
        """
        self._away += 1
        self.pump()
        try:
            yield
        finally:
            self._away -= 1

    def defer(self, key: str, seconds: float, *, by_policy: bool = False) -> None:
        """Let nobody of a host pass for a while; ``by_policy``: as after a request."""
        self.bench.defer(key, self.clock() + seconds, by_policy=by_policy)

    def set_policy(self, key: str) -> None:
        """Treat a host by the policy that it has now: its turn may come sooner, or later."""
        self.bench.set_policy(key, self.clock())
        self.pump()

    def purge(self, key: str, *, even_begun: bool = False) -> None:
        """Refuse what is only queued of a host, as at the end of a run; those who have begun keep their places.

        ``even_begun`` refuses them, too.
        """
        now = self.clock()
        for entry in self.bench.purge(key, now):
            if isinstance(entry, bytes):
                self._lose(entry, Reason.STOPPED)
            elif even_begun:
                entry.refuse(Reason.STOPPED)
            else:
                self.bench.add(key, entry, now, first=True, even_if_full=True)
        self.pump()

    def drain(self) -> None:
        """Refuse all that wait, and all that come."""
        self._refuse((entry for _, entry in self.bench.drain(self.clock())), Reason.STOPPED)

    def stats(self) -> Stats:
        return self.bench.stats(self.clock())

    def close(self) -> None:
        """Refuse all that wait, and set no more timers."""
        self._is_closed = True
        self.drain()
        if self._timer is not None:
            self._timer.cancel()

    def pump(self) -> None:
        """Let pass whose turn has come, and wake up for the next."""
        bench, now = self.bench, self.clock()
        self._is_held_up = False
        while self.has_free_turns and bench.queued:
            if not self._has_room():
                self._is_held_up = True
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

    def make_room(self) -> None:
        """Note that there is room again: turns are handed out that had to wait for it."""
        if self._is_held_up:
            self.pump()

    def _wake_at(self, due: float | None, now: float) -> None:
        """Pump again when the next turn comes; a timer that fires too early does no harm."""
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
