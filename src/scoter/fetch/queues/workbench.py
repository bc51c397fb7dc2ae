"""The workbench: items of many hosts, handed out one by one so that no host is asked too often.

The name comes from BUbiNG (Boldi, Marino, Santini, Vigna): a heap of hosts by the time of their next request. Each host
has a queue, and a queue goes through these states:

- *ready*: it has items, a free thread, and its delay is over. Ready queues are served in the order in which they became
  ready, queues with work in progress first.
- *waiting*: its host is on hold. Waiting queues are in a heap, sorted by the time of their next slot.
- *idle*: it is empty, or all its threads are in use.

``take`` hands out an item together with a slot, and exactly one ``done`` ends the slot, frees the thread and starts the
delay. An empty queue is kept while its host is on hold, so that an item that comes late does not miss the delay, and is
then dropped. When a host has failed too often its queue is emptied and the host blocked for the rest of the run.

Nothing here waits, reads a clock or opens a socket: the caller passes the time, in seconds of a monotonic clock. All
methods take O(log queues) except ``drain``, ``slowest`` and ``source_ended``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from scoter.errors import Defect
from scoter.fetch.queues.holds import KeptHolds
from scoter.fetch.queues.hostqueue import HostQueue, QueueState
from scoter.fetch.queues.order import HostOrder
from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.slots import Capacity, Overflow, QueueRefusal, QueueStats, SlotResult

T = TypeVar("T")
_NAMED = 3  # hosts that a message names


class Workbench(Generic[T]):
    """Hands out the items of many hosts, each in a slot of its host."""

    def __init__(
        self,
        policy_of: Callable[[str], Policy],
        size_of: Callable[[T], int],
        capacity: Capacity = Capacity(),  # noqa: B008 - frozen
        overflow: Overflow[T] | None = None,
        holds: KeptHolds | None = None,
    ) -> None:
        self._policy_of = policy_of
        self._size_of = size_of
        self._overflow = overflow
        self._holds = holds
        self._queues: dict[str, HostQueue[T]] = {}
        self._blocked: set[str] = set()
        self._order: HostOrder[T] = HostOrder()
        self._expiries: list[tuple[float, int, HostQueue[T]]] = []
        self._expiry_count = 0
        self._source_ended = False
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

    # Adding

    def refusal(self, key: str) -> QueueRefusal | None:
        """Return why an item of a host would be refused; ``None`` if it would be taken."""
        if self.draining:
            return QueueRefusal.DRAINING
        if key in self._blocked:
            return QueueRefusal.BLOCKED
        return QueueRefusal.FULL if self.full else None

    def add(
        self,
        key: str,
        item: T,
        now: float,
        *,
        even_if_full: bool = False,
        started: bool = False,
        is_guest: bool = False,
        rank: int | None = None,
    ) -> QueueRefusal | None:
        """Queue an item behind its host's others; return ``None``, or why it was refused.

        ``even_if_full`` is for redirects and retries: they come from items that were handed out, so they are few.
        ``started`` is for work in progress that needs another slot: it goes before all new work, or alternates with the
        host's own work if it comes from another host (``is_guest``). An item with a ``rank`` goes before those with a
        higher rank or none.
        """
        if self.draining or key in self._blocked or (not even_if_full and self.full):
            return self.refusal(key)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queue(key)
        deepest = self.capacity.deepest
        if deepest is not None and queue.count >= deepest and not even_if_full:
            return QueueRefusal.FULL
        if started:
            (queue.push_guest if is_guest else queue.push_started)(item)
            self._order.expedite(queue)
        elif rank is not None:
            queue.push_ranked(item, rank)
        else:
            queue.push(item)
        self._count_in(queue, item)
        if queue.state is QueueState.IDLE:
            self._settle(queue, now)
        return None

    def note_overflow(self, key: str, now: float) -> None:
        """Note that more items of a host are in the overflow."""
        queue = self._queue(key)
        queue.has_overflow = True
        self._refill(queue)
        if queue.state is QueueState.IDLE:
            self._settle(queue, now)

    # Handing out

    def take(self, now: float) -> tuple[str, T] | None:
        """Hand out the next item of the host that has been ready longest; ``None`` if no host is ready."""
        queue = self._order.pop(now)
        if queue is None:
            return None
        item = queue.pop()
        self._count_out(queue, item)
        queue.in_progress += 1
        self.in_progress += 1
        if queue.has_overflow:
            self._refill(queue)
        if queue.policy.threads > 1 and queue.threads > 1:
            queue.next = max(queue.next, now + queue.delay())
            self._settle(queue, now)
        return queue.key, item

    def begin(self, key: str, now: float) -> bool:
        """Use a slot that was handed out, perhaps a while ago; return false if it must be given back.

        A queue with several threads keeps its delay between the starts of requests. If several slots were kept waiting,
        for robots.txt say, only the first may be used when the wait is over; none if the host is on hold by then.
        """
        queue = self._queues[key]
        if queue.hold > now:
            return False
        if queue.policy.threads == 1:
            return True
        delay = queue.delay()
        if queue.last_start + delay > now:
            return False
        queue.last_start = now
        queue.next = max(queue.next, now + delay)
        return True

    def begin_late(self, key: str, now: float) -> float:
        """Return in how many seconds a slot that was kept waiting may be used, and reserve that moment for it."""
        queue = self._queues[key]
        if queue.policy.threads == 1:
            return 0.0
        delay = queue.delay()
        at = max(now, queue.last_start + delay)
        queue.last_start = at
        queue.next = max(queue.next, at + delay)
        return at - now

    def next_time(self, now: float) -> float | None:
        """Return when ``take`` may next hand something out; ``None`` until something is added or done."""
        return self._order.next_time(now)

    # Afterwards

    def done(self, key: str, result: SlotResult, now: float) -> Sequence[T]:
        """End a slot and start the host's delay.

        If this was one failure too many, the host is blocked and all its queued items are returned for the caller to
        record.
        """
        queue = self._queues.get(key)
        if queue is None or not queue.in_progress:
            raise Defect(f"a slot of {key} was ended that had not been taken")
        queue.in_progress -= 1
        self.in_progress -= 1
        if result.asked:
            slowed = _is_slowed(queue)
            if queue.finish(result, now):
                self._blocked.add(key)
            if queue.health is not None:
                self._slowed += _is_slowed(queue) - slowed
            if self._holds is not None:
                self._holds.note(key, queue.hold, queue.awaited_delay())
        elif not queue.in_progress and queue.next != queue.hold:
            # No request was made since the hold began, so there is no further delay to keep.
            queue.next = queue.hold
            if queue.state is QueueState.WAITING:
                self._order.leave(queue)
        lost = self._emptied(queue) if self._blocked and key in self._blocked else ()
        self._settle(queue, now)
        return lost

    def set_policy(self, key: str, now: float) -> None:
        """Apply a host's changed policy, also to the delay that is running."""
        queue = self._queues.get(key)
        if queue is not None:
            queue.set_policy(self._policy_of(key))
            if queue.state is QueueState.WAITING:  # perhaps longer than the new policy demands
                self._order.leave(queue)
            self._settle(queue, now)

    def set_crawl_delay(self, key: str, seconds: float | None) -> None:
        """Set the Crawl-delay of robots.txt, which the policy's minimum may lengthen; ``None`` if there is none."""
        queue = self._queue(key)
        before = queue.hold
        queue.set_crawl_delay(seconds)
        if self._holds is not None and queue.hold > before:
            self._holds.note(key, queue.hold, queue.awaited_delay())

    def defer(self, key: str, until: float, *, by_policy: bool = False) -> None:
        """Put a host on hold until the given time, for instance while its robots.txt answers 5xx.

        ``by_policy`` marks a delay like that after a request, which changes with the host's policy.
        """
        queue = self._queue(key)
        if not by_policy:
            queue.own_hold = max(queue.own_hold, until)
        queue.hold = max(queue.hold, until)
        queue.next = max(queue.next, until)
        if self._holds is not None:
            self._holds.note(key, queue.hold, queue.awaited_delay())

    def purge(self, key: str, now: float) -> Sequence[T]:
        """Remove and return all queued items of a host; its delay stays."""
        queue = self._queues.get(key)
        if queue is None:
            return ()
        lost = self._emptied(queue)
        self._settle(queue, now)
        return lost

    def drain(self, now: float) -> list[tuple[str, T]]:
        """Remove and return everything queued in memory, and take no more; requests in progress may still end.

        Items in the overflow stay there for its owner to hand on.
        """
        self.draining = True
        lost: list[tuple[str, T]] = []
        self._order.clear()
        for queue in self._queues.values():
            if len(queue) or queue.has_overflow:
                queue.has_overflow = False
                lost.extend((queue.key, item) for item in self._emptied(queue))
                self._settle(queue, now)
        return lost

    def source_ended(self) -> None:
        """Note that no more items will come: an empty queue need not be kept to remember failures."""
        self._source_ended = True
        # The times follow the old rule; a queue that must stay longer is put off again when its time comes.
        self._expiries = [(queue.next, number, queue) for _, number, queue in self._expiries]
        heapq.heapify(self._expiries)

    def drop_expired(self, now: float) -> int:
        """Drop queues that are empty and no longer needed, and return how many; call it about once a second."""
        dropped, expiries = 0, self._expiries
        while expiries and expiries[0][0] <= now:
            _, _, queue = heapq.heappop(expiries)
            queue.expires = False
            if len(queue) or queue.in_progress:
                continue
            if queue.droppable_at(forget_failures=self._source_ended) > now:
                self._expire_later(queue)
                continue
            del self._queues[queue.key]
            self._slowed -= _is_slowed(queue)
            dropped += 1
        return dropped

    # Inspecting

    def depth(self, key: str) -> tuple[int, int]:
        """Return how many items of a host are queued in memory, and their bytes."""
        queue = self._queues.get(key)
        return (len(queue), queue.size) if queue is not None else (0, 0)

    def keys(self) -> list[str]:
        """Return the hosts that have a queue: with items, with requests in progress, or on hold."""
        return list(self._queues)

    def hold(self, key: str, now: float) -> tuple[float, float]:
        """Return for how many more seconds a host is on hold, and the politeness delay that is worth waiting for."""
        queue = self._queues.get(key)
        if queue is None:
            return 0.0, HostQueue[T](key, self._policy_of(key)).delay()
        return max(queue.next - now, 0.0), 0.0 if queue.is_slow else queue.delay()

    def held(self, now: float, longest: float, longest_slow: float = 0.0) -> dict[str, float]:
        """Return the hosts with items and until when they are on hold, if nothing can be handed out for a while.

        Nothing is returned if a request is in progress, or a host is on hold for no more than ``longest`` seconds or
        its usual delay; for one that asks for a longer delay than is usual, no more than ``longest_slow``.
        """
        due = self.next_time(now)
        if self.in_progress or due is None or due - now <= longest:
            return {}
        found: dict[str, float] = {}
        for queue in self._queues.values():
            if queue.count:
                if queue.next - now <= max(longest, longest_slow if queue.is_slow else queue.usual_delay()):
                    return {}
                found[queue.key] = queue.next
        return found

    def stats(self, now: float) -> QueueStats:
        """Return counts that show whether something is being fetched, and if not, why."""
        # Which hosts are waited for matters only if nothing else happens.
        hosts = () if self.in_progress or self._order.ready else self._order.first_waiting(_NAMED)
        return self._stats(self.next_time(now), now, hosts)

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """Return the slowest hosts with their smoothed latency in seconds, the slowest first."""
        slow = ((queue.health.latency, queue.key) for queue in self._queues.values() if queue.health is not None)
        return [(key, latency) for latency, key in heapq.nlargest(count, slow) if latency > 0]

    def _stats(self, next_time: float | None, now: float = 0.0, hosts: Sequence[str] = ()) -> QueueStats:
        return QueueStats(
            queued=self.queued,
            queued_bytes=self.queued_bytes,
            queues=len(self._queues),
            in_progress=self.in_progress,
            ready=self._order.ready,
            waiting=self._order.waiting,
            busy=self.occupied - self._order.waiting - self._order.ready,
            slowed=self._slowed,
            blocked=len(self._blocked),
            draining=self.draining,
            next_in=None if next_time is None else next_time - now,
            next_hosts=tuple(hosts),
        )

    # Internals

    def _queue(self, key: str) -> HostQueue[T]:
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = HostQueue(key, self._policy_of(key))
            if self._holds is not None:
                queue.own_hold = queue.hold = queue.next = self._holds.until(key)
            self._expire_later(queue)
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

    def _settle(self, queue: HostQueue[T], now: float) -> None:
        """Put an idle queue into the order, or let it expire; one that is ready or waiting stays where it is."""
        if not queue.count:
            if not queue.in_progress and not queue.expires:
                self._expire_later(queue)
        elif queue.state is QueueState.IDLE and (not queue.in_progress or queue.has_free_thread):
            self._order.enter(queue, now)

    def _emptied(self, queue: HostQueue[T]) -> Sequence[T]:
        self._order.leave(queue)
        if len(queue):
            self.occupied -= 1
        self.queued -= len(queue)
        self.queued_bytes -= queue.size
        lost = queue.clear()
        if queue.has_overflow and self._overflow is not None:
            lost += self._overflow.release(queue.key)
            queue.has_overflow = False
        return lost

    def _refill(self, queue: HostQueue[T]) -> None:
        if self._overflow is None:
            return
        for item in self._overflow.refill(queue.key, len(queue), queue.size):
            queue.push(item)
            self._count_in(queue, item)
        queue.has_overflow = self._overflow.holds(queue.key)

    def _expire_later(self, queue: HostQueue[T]) -> None:
        queue.expires = True
        self._expiry_count += 1
        heapq.heappush(
            self._expiries, (queue.droppable_at(forget_failures=self._source_ended), self._expiry_count, queue)
        )


def _is_slowed(queue: HostQueue[T]) -> bool:
    return queue.health is not None and queue.health.doublings > 0
