"""Whose turn it is: items of many hosts, handed out one by one so that no host is asked too often.

The life of a queue. It is made by the first item of its host. While it has items, a free thread and no rest to keep it
is *ready*, and ready queues are served in the order in which they became so, those first that have work begun. While
its host rests it is *waiting*, in a heap by the time of its next turn. Empty, or with all threads in use, it is *idle*
and in neither. Each ``take`` is answered by exactly one ``done`` or ``put_back``, which frees the thread and begins the
rest. An empty queue is kept as long as its host rests, so that no item that comes late finds the host without its
delay, and is then reaped. A queue with too many failures is emptied and its host blocked for the rest of the run.

Nothing here waits, reads a clock or sees a socket: every method that needs the time is told it, in seconds of a clock
that never goes back. All of them take O(log queues), but for ``drain``, ``slowest`` and ``source_ended``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from scoter.errors import Defect
from scoter.fetch.queues.hostqueue import HostQueue, Place
from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.turn import SERVED, UNUSED, Capacity, Refusal, Reserve, Stats, Turn
from scoter.fetch.queues.turns import Turns

T = TypeVar("T")


class Workbench(Generic[T]):
    """Items by host, and the turns of the hosts."""

    def __init__(
        self,
        policy_of: Callable[[str], Policy],
        size_of: Callable[[T], int],
        capacity: Capacity = Capacity(),  # noqa: B008 - frozen
        reserve: Reserve[T] | None = None,
    ) -> None:
        self._policy_of = policy_of
        self._size_of = size_of
        self._reserve = reserve
        self._queues: dict[str, HostQueue[T]] = {}
        self._blocked: set[str] = set()
        self._turns: Turns[T] = Turns()
        self._deaths: list[tuple[float, int, HostQueue[T]]] = []
        self._dooms = 0
        self._ended = False
        self._slowed = 0
        self.capacity = capacity
        self.queued = 0
        self.queued_bytes = 0
        self.in_progress = 0
        self.occupied = 0  # queues that are not empty
        self.draining = False

    def __repr__(self) -> str:
        return f"Workbench({self._stats(None)})"

    def __len__(self) -> int:
        return self.queued

    @property
    def full(self) -> bool:
        return self.queued_bytes >= self.capacity.bytes and self.queued >= self.capacity.least

    # In

    def refusal(self, key: str) -> Refusal | None:
        """Return why an item of a host would not be taken; none if it would."""
        if self.draining:
            return Refusal.DRAINING
        if key in self._blocked:
            return Refusal.BLOCKED
        return Refusal.FULL if self.full else None

    def add(
        self,
        key: str,
        item: T,
        now: float,
        *,
        even_if_full: bool = False,
        first: bool = False,
        rank: int | None = None,
    ) -> Refusal | None:
        """Queue an item behind its host's others; the answer is none, or why it was not taken.

        ``even_if_full`` is for redirects and retries: they stem from turns that were handed out, so they are few.
        ``first`` puts the item before all that has not begun, for work that has and needs one more turn; ``rank``
        before those of a higher rank or none.
        """
        if self.draining or key in self._blocked or (not even_if_full and self.full):
            return self.refusal(key)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queue(key)
        deepest = self.capacity.deepest
        if deepest is not None and queue.count >= deepest and not even_if_full:
            return Refusal.FULL
        if first:
            queue.push_begun(item)
            self._turns.hurry(queue)
        elif rank is not None:
            queue.push_ranked(item, rank)
        else:
            queue.push(item)
        self._count_in(queue, item)
        if queue.place is Place.IDLE:
            self._settle(queue, now)
        return None

    def put_back(self, key: str, item: T, now: float, *, asked: bool = False) -> Refusal | None:
        """End a turn and queue its item before all others of its host; the answer is none, or why it was not taken.

        ``asked`` says whether the host was asked for something else meanwhile, such as robots.txt, and so needs its
        rest. The thread is free in any case. What is refused is the caller's to record.
        """
        queue = self._end(key, SERVED if asked else UNUSED, now)
        refusal = self.refusal(key)
        if refusal is None or refusal is Refusal.FULL:
            refusal = None  # it had its room before
            queue.push_front(item)
            self._count_in(queue, item)
        self._settle(queue, now)
        return refusal

    def reserve(self, key: str, now: float) -> None:
        """Note that the reserve holds items of a host which follow those queued here."""
        queue = self._queue(key)
        queue.reserved = True
        self._refill(queue)
        if queue.place is Place.IDLE:
            self._settle(queue, now)

    # Out

    def take(self, now: float) -> tuple[str, T] | None:
        """Hand out the next item of the host that has been ready longest, or nothing when no host is."""
        queue = self._turns.pop(now)
        if queue is None:
            return None
        item = queue.pop()
        self._count_out(queue, item)
        queue.in_progress += 1
        self.in_progress += 1
        if queue.reserved:
            self._refill(queue)
        if queue.policy.threads > 1 and queue.threads > 1:
            queue.next = max(queue.next, now + queue.pause())
            self._settle(queue, now)
        return queue.key, item

    def begin(self, key: str, now: float) -> bool:
        """Use a turn that was handed out, perhaps a while ago; false when it has to be given back for another.

        The pause of a queue with several threads lies between requests. Of turns that were all kept waiting, for a
        robots.txt say, only the first may be used when the wait is over; and none while the host rests that has begun
        to rest meanwhile.
        """
        queue = self._queues[key]
        if queue.rest > now:
            return False
        if queue.policy.threads == 1:
            return True
        pause = queue.pause()
        if queue.used + pause > now:
            return False
        queue.used = now
        queue.next = max(queue.next, now + pause)
        return True

    def begin_late(self, key: str, now: float) -> float:
        """Return in how many seconds a turn may be used that was kept waiting since; that moment is its own."""
        queue = self._queues[key]
        if queue.policy.threads == 1:
            return 0.0
        pause = queue.pause()
        at = max(now, queue.used + pause)
        queue.used = at
        queue.next = max(queue.next, at + pause)
        return at - now

    def next_time(self, now: float) -> float | None:
        """Return when ``take`` may next hand something out; none as long as nothing is added or done."""
        return self._turns.next_time(now)

    # After

    def done(self, key: str, turn: Turn, now: float) -> Sequence[T]:
        """End a turn and begin the host's rest.

        The answer is empty, or, when this failure was one too many, all that was queued: the host is then blocked, and
        its items are the caller's to record.
        """
        queue = self._end(key, turn, now)
        lost = self._emptied(queue) if self._blocked and key in self._blocked else ()
        self._settle(queue, now)
        return lost

    def set_delay(self, key: str, seconds: float | None) -> None:
        """Give a host a delay of its own instead of its policy's, or take it back."""
        self._queue(key).delay = seconds

    def set_policy(self, key: str, now: float) -> None:
        """Look up anew the policy of a host, which has changed; it holds for the present rest, too."""
        queue = self._queues.get(key)
        if queue is not None:
            queue.set_policy(self._policy_of(key))
            if queue.place is Place.WAITING:  # perhaps for longer than it has to
                self._turns.leave(queue)
            self._settle(queue, now)

    def set_crawl_delay(self, key: str, seconds: float | None) -> None:
        """Keep what robots.txt asks for, but not less than the policy's minimum; none when it asks for nothing."""
        self._queue(key).crawl_delay = seconds or None

    def defer(self, key: str, until: float, *, by_policy: bool = False) -> None:
        """Hand out nothing of a host before the given time, such as while its robots.txt answers 5xx.

        ``by_policy`` is for a pause like that after a request: it changes with the host's policy.
        """
        queue = self._queue(key)
        if not by_policy:
            queue.own = max(queue.own, until)
        queue.rest = max(queue.rest, until)
        queue.next = max(queue.next, until)

    def block(self, key: str, now: float) -> Sequence[T]:
        """Refuse a host for the rest of the run; the answer is all that was queued of it."""
        self._blocked.add(key)
        return self.purge(key, now)

    def purge(self, key: str, now: float) -> Sequence[T]:
        """Return all that is queued of a host, and keep its rest."""
        queue = self._queues.get(key)
        if queue is None:
            return ()
        lost = self._emptied(queue)
        self._settle(queue, now)
        return lost

    def drain(self, now: float) -> list[tuple[str, T]]:
        """Return all that is queued in memory and take no more; what is in progress may still end.

        What the reserve holds stays there, for whoever has it to hand on piece by piece.
        """
        self.draining = True
        lost: list[tuple[str, T]] = []
        self._turns.clear()
        for queue in self._queues.values():
            if len(queue) or queue.reserved:
                queue.reserved = False
                lost.extend((queue.key, item) for item in self._emptied(queue))
                self._settle(queue, now)
        return lost

    def source_ended(self) -> None:
        """From now on an empty queue need not be kept for its failures' sake."""
        self._ended = True
        # The times were found under the old rule; a queue that must rest longer is put off again when its time comes.
        self._deaths = [(queue.next, number, queue) for _, number, queue in self._deaths]
        heapq.heapify(self._deaths)

    def reap(self, now: float) -> int:
        """Forget queues that are empty and quiet, and return how many; to be called about once a second."""
        reaped, deaths = 0, self._deaths
        while deaths and deaths[0][0] <= now:
            _, _, queue = heapq.heappop(deaths)
            queue.doomed = False
            if len(queue) or queue.in_progress:
                continue
            if queue.quiet_at(forget_failures=self._ended) > now:
                self._doom(queue)
                continue
            del self._queues[queue.key]
            self._slowed -= _is_slowed(queue)
            reaped += 1
        return reaped

    # Looking

    def depth(self, key: str) -> tuple[int, int]:
        """Return how many items of a host are queued here, and their bytes."""
        queue = self._queues.get(key)
        return (len(queue), queue.size) if queue is not None else (0, 0)

    def keys(self) -> list[str]:
        """Return the hosts that have a queue: something waits, is under way, or they rest."""
        return list(self._queues)

    def rest(self, key: str, now: float) -> tuple[float, float]:
        """Return for how many seconds a host is still left alone, and how long it rests after each request."""
        queue = self._queues.get(key)
        if queue is None:
            return 0.0, HostQueue[T](key, self._policy_of(key)).pause()
        return max(queue.next - now, 0.0), queue.pause()

    def stats(self, now: float) -> Stats:
        """Return the counts that tell why nothing is being fetched, or that something is."""
        return self._stats(self.next_time(now), now)

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """Return hosts that answer slowly, with their smoothed latency in seconds, the slowest first."""
        slow = ((queue.conduct.latency, queue.key) for queue in self._queues.values() if queue.conduct is not None)
        return [(key, latency) for latency, key in heapq.nlargest(count, slow) if latency > 0]

    def _stats(self, next_time: float | None, now: float = 0.0) -> Stats:
        return Stats(
            queued=self.queued,
            queued_bytes=self.queued_bytes,
            queues=len(self._queues),
            in_progress=self.in_progress,
            ready=self._turns.ready,
            waiting=self._turns.waiting,
            busy=self.occupied - self._turns.waiting - self._turns.ready,
            slowed=self._slowed,
            blocked=len(self._blocked),
            draining=self.draining,
            next_in=None if next_time is None else next_time - now,
        )

    # Within

    def _queue(self, key: str) -> HostQueue[T]:
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = HostQueue(key, self._policy_of(key))
            self._doom(queue)
        return queue

    def _count_in(self, queue: HostQueue[T], item: T) -> None:
        size = self._size_of(item)
        queue.size += size
        self.queued += 1
        self.queued_bytes += size
        if queue.count == 1:
            self.occupied += 1

    def _count_out(self, queue: HostQueue[T], item: T) -> None:
        size = self._size_of(item)
        queue.size -= size
        self.queued -= 1
        self.queued_bytes -= size
        if not queue.count:
            self.occupied -= 1

    def _end(self, key: str, turn: Turn, now: float) -> HostQueue[T]:
        """Free a thread and set the rest; a host that has failed too often is blocked, its items still queued."""
        queue = self._queues.get(key)
        if queue is None or not queue.in_progress:
            raise Defect(f"a turn of {key} was ended that had not been taken")
        queue.in_progress -= 1
        self.in_progress -= 1
        if turn.asked:
            slowed = _is_slowed(queue)
            if queue.finish(turn, now):
                self._blocked.add(key)
            if queue.conduct is not None:
                self._slowed += _is_slowed(queue) - slowed
        elif not queue.in_progress and queue.next != queue.rest:
            # Nothing was asked since the last rest began, so there is nothing to keep a pause from.
            queue.next = queue.rest
            if queue.place is Place.WAITING:
                self._turns.leave(queue)
        return queue

    def _settle(self, queue: HostQueue[T], now: float) -> None:
        """Put a queue where it belongs; one that is ready or waiting stays, and is looked at when its time comes."""
        if not queue.count:
            if not queue.in_progress and not queue.doomed:
                self._doom(queue)
        elif queue.place is Place.IDLE and (not queue.in_progress or queue.has_free_thread):
            self._turns.enter(queue, now)

    def _emptied(self, queue: HostQueue[T]) -> Sequence[T]:
        self._turns.leave(queue)
        if len(queue):
            self.occupied -= 1
        self.queued -= len(queue)
        self.queued_bytes -= queue.size
        lost = queue.clear()
        if queue.reserved and self._reserve is not None:
            lost += self._reserve.release(queue.key)
            queue.reserved = False
        return lost

    def _refill(self, queue: HostQueue[T]) -> None:
        if self._reserve is None:
            return
        for item in self._reserve.refill(queue.key, len(queue), queue.size):
            queue.push(item)
            self._count_in(queue, item)
        queue.reserved = self._reserve.holds(queue.key)

    def _doom(self, queue: HostQueue[T]) -> None:
        queue.doomed = True
        self._dooms += 1
        heapq.heappush(self._deaths, (queue.quiet_at(forget_failures=self._ended), self._dooms, queue))


def _is_slowed(queue: HostQueue[T]) -> bool:
    return queue.conduct is not None and queue.conduct.doublings > 0
