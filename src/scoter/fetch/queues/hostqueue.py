"""The queue of one host: waiting items, requests in progress, the time of its next slot, and the host's health.

After each request the host is left alone: for its policy's delay, or for the Crawl-delay of its robots.txt. A host with
a Crawl-delay, or one that has answered 429 or 503, gets one request at a time even if its policy allows more.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Generic, TypeVar

from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.slots import SlotResult

T = TypeVar("T")

SLOW: Final = 1.0  # seconds; faster answers never lengthen the delay
LATENCY_FACTOR: Final = 2.0
SMOOTHING: Final = 0.25  # weight of the newest answer; one slow answer alone changes little
MAX_SLOWED_DELAY: Final = 300.0  # seconds; as long as Nutch defers a host whose robots.txt answers 5xx
MIN_SLOWED_DELAY: Final = 1.0  # seconds; doubling a delay of zero would have no effect
RECOVERY: Final = 10  # consecutive good answers that undo one doubling
LONGEST_BACKOFF: Final = 3_600.0  # seconds; reached only where max_exceptions is off
_MAX_DOUBLINGS: Final = 16
_COMPACT: Final = 32


class QueueState(Enum):
    """Where the workbench keeps a queue: nowhere while it is empty or all its threads are in use."""

    IDLE = 0
    READY = 1
    WAITING = 2


class HostHealth:
    """Failures and latency of a host; most hosts never need one."""

    __slots__ = ("doublings", "failures", "good", "latency", "trouble_at")

    def __init__(self) -> None:
        self.failures = 0
        self.doublings = 0
        self.good = 0
        self.latency = 0.0
        self.trouble_at = 0.0


class HostQueue(Generic[T]):
    """A FIFO queue: a list read from ``head`` on, since even an empty deque takes 600 bytes."""

    __slots__ = (
        "count",
        "crawl_delay",
        "entry",
        "expires",
        "guest_last",
        "guests",
        "has_overflow",
        "head",
        "health",
        "hold",
        "in_progress",
        "items",
        "key",
        "last_end",
        "last_start",
        "next",
        "own_hold",
        "policy",
        "ranks",
        "size",
        "started",
        "state",
    )

    def __init__(self, key: str, policy: Policy) -> None:
        self.key = key
        self.policy = policy
        self.items: list[T] = []
        self.head = 0
        self.count = 0
        self.started = 0  # how many of the first items belong to work in progress
        self.guests: list[T] | None = None  # items of work in progress of other hosts
        self.guest_last = False  # whether the last item that was taken was one of them
        self.ranks: list[int] | None = None  # how many items of each rank follow, before those without a rank
        self.size = 0
        self.in_progress = 0
        self.hold = 0.0  # until when the host is left alone after what has ended
        self.own_hold = 0.0  # the part of the hold that the host caused itself, whatever its policy says
        self.next = 0.0  # when the next slot comes: after the hold, or after the delay since the last slot
        self.last_end: float | None = None  # when a request last ended
        self.last_start = -LONGEST_BACKOFF  # when a request last began, where several may be in progress
        self.state = QueueState.IDLE
        self.entry = 0  # number of the queue's valid entry in HostOrder
        self.has_overflow = False
        self.expires = False  # whether the workbench will drop the queue if it stays empty
        self.crawl_delay: float | None = None  # from robots.txt
        self.health: HostHealth | None = None

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        raise TypeError("a HostQueue has no truth value: compare len(queue) or `queue is None`")

    def push(self, item: T) -> None:
        self.items.append(item)
        self.count += 1

    def push_ranked(self, item: T, rank: int) -> None:
        """Insert an item behind those of its rank; rank 0 comes first, items without a rank last."""
        ranks = self.ranks = self.ranks or []
        ranks.extend([0] * (rank + 1 - len(ranks)))
        self.items.insert(self.head + self.started + sum(ranks[: rank + 1]), item)
        ranks[rank] += 1
        self.count += 1

    def push_started(self, item: T) -> None:
        """Insert an item that belongs to work in progress: behind other such items, before all the rest."""
        items, head, started = self.items, self.head, self.started
        self.started += 1
        self.count += 1
        if head:
            self.head = head - 1
            items[head - 1 : head - 1 + started] = items[head : head + started]
            items[head - 1 + started] = item
        else:
            items.insert(started, item)

    def push_guest(self, item: T) -> None:
        """Add an item of other hosts' work in progress, such as a hop of their robots.txt: every second slot is theirs.

        If they came first, a host to which many robots.txt files redirect would not get to its own pages; if they came
        last, all that work would wait for the whole queue.
        """
        if self.guests is None:
            self.guests = []
        self.guests.append(item)
        self.count += 1

    @property
    def is_urgent(self) -> bool:
        """Whether the next item belongs to work in progress."""
        return self.started > 0 or (self.guests is not None and self._is_turn_of(self.guests))

    def _is_turn_of(self, guests: list[T]) -> bool:
        return len(guests) > 0 and not (self.guest_last and self.count > len(guests))

    def pop(self) -> T:
        items, head = self.items, self.head
        if self.guests is not None and self._is_turn_of(self.guests):
            self.guest_last = True
            self.count -= 1
            return self.guests.pop(0)
        self.guest_last = False
        self.count -= 1
        if self.started:
            self.started -= 1
        elif self.ranks:
            self._count_out(self.ranks)
        item = items[head]
        head += 1
        if head == len(items):
            self.items = []  # not clear(): the list may once have been large
            head = 0
        elif head >= _COMPACT and head * 2 >= len(items):
            del items[:head]
            head = 0
        else:
            items[head - 1] = None  # type: ignore[assignment]  # do not keep a handed-out item alive
        self.head = head
        return item

    def clear(self) -> list[T]:
        """Remove and return all waiting items."""
        waiting = self.items[self.head :] + (self.guests or [])
        self.items = []
        self.guests = None
        self.head = self.count = self.started = 0
        self.ranks = None
        self.size = 0
        return waiting

    def _count_out(self, ranks: list[int]) -> None:
        first = next((rank for rank, count in enumerate(ranks) if count), None)
        if first is not None:
            ranks[first] -= 1

    @property
    def has_free_thread(self) -> bool:
        """Whether one more request may be in progress."""
        return self.in_progress < self.threads

    @property
    def threads(self) -> int:
        """How many requests may be in progress."""
        if self.crawl_delay is not None or (self.health is not None and self.health.doublings):
            return 1
        return self.policy.threads

    def delay(self) -> float:
        """Return the politeness delay in seconds."""
        delay = self.usual_delay()
        return delay if self.health is None else self._lengthened(delay, self.health)

    def usual_delay(self) -> float:
        """Return the delay of the policy or of robots.txt, whatever the host's health."""
        policy = self.policy
        if self.crawl_delay is not None:
            return max(self.crawl_delay, policy.min_crawl_delay.total_seconds())
        return (policy.delay if policy.threads == 1 else policy.min_delay).total_seconds()

    @property
    def is_slow(self) -> bool:
        """Whether robots.txt asks for a longer delay than is usual."""
        most = self.policy.max_crawl_delay
        return self.crawl_delay is not None and most is not None and self.crawl_delay > most.total_seconds()

    def awaited_delay(self) -> float:
        """Return the usual delay if a fetch waits for it at any rate, 0 if it is too long for that."""
        return 0.0 if self.is_slow else self.usual_delay()

    def _lengthened(self, delay: float, health: HostHealth) -> float:
        policy, longest = self.policy, delay
        if policy.adaptive and health.latency >= SLOW:
            wanted = LATENCY_FACTOR * health.latency / self.threads
            most = policy.max_crawl_delay
            longest = max(delay, wanted if most is None else min(wanted, most.total_seconds()))
        if health.doublings:
            slowed = max(delay, MIN_SLOWED_DELAY) * 2.0**health.doublings
            longest = max(longest, min(slowed, MAX_SLOWED_DELAY))
        return longest

    def set_policy(self, policy: Policy) -> None:
        """Change the policy; a delay that is already running changes with it."""
        before = self.delay()
        self.policy = policy
        longer = self.delay() - before
        if self.hold:
            self.hold = max(self.hold + longer, self.own_hold)
        if self.next:
            self.next = max(self.next + longer, self.hold)

    def set_crawl_delay(self, seconds: float | None) -> None:
        """Set the Crawl-delay; it counts from the last request, usually the one for robots.txt."""
        self.crawl_delay = seconds or None
        if self.crawl_delay is not None and self.last_end is not None:
            self.hold = max(self.hold, self.last_end + self.delay())
            self.next = max(self.next, self.hold)

    def finish(self, result: SlotResult, now: float) -> bool:
        """Put the host on hold after a request; return whether it has failed too often."""
        self.last_end = now
        health = self.health
        if health is None and (result.failed or result.busy or result.took >= SLOW):
            health = self.health = HostHealth()
        if health is not None:
            self._record(health, result, now)
        hold, own = now + self.delay(), now
        if result.retry_after is not None:
            own = now + result.retry_after.total_seconds()
            hold = max(hold, own)
        too_often = False
        if result.failed and health is not None:
            most = self.policy.max_exceptions
            too_often = most is not None and health.failures >= most
            backoff = self._backoff(health.failures)
            hold, own = hold + backoff, own + backoff
        self.own_hold = max(self.own_hold, own)
        self.hold = max(self.hold, hold)
        self.next = max(self.next, self.hold)
        return too_often

    def _record(self, health: HostHealth, result: SlotResult, now: float) -> None:
        if result.took:
            health.latency += SMOOTHING * (result.took - health.latency)
        if result.failed:
            health.failures += 1
        if result.failed or result.busy:
            health.trouble_at = now
            health.good = 0
        if result.busy:
            # Requests that were in progress at the first 429 or 503 get one too: that counts as one complaint.
            if result.retry_after is not None:
                # The host says itself how long to wait; a second such answer does not double the delay.
                health.doublings = max(health.doublings, 1)
            elif not health.doublings or now >= self.hold:
                health.doublings = min(health.doublings + 1, _MAX_DOUBLINGS)
        elif not result.failed and health.doublings:
            health.good += 1
            if health.good >= RECOVERY:
                health.doublings -= 1
                health.good = 0

    def _backoff(self, failures: int) -> float:
        first = self.policy.exception_delay.total_seconds()
        return float(min(first * 2.0 ** min(failures - 1, 32), max(first, LONGEST_BACKOFF)))

    def droppable_at(self, *, forget_failures: bool) -> float:
        """Return from when on the queue can be dropped without loss, if it stays empty."""
        health = self.health
        if health is None or not (health.doublings or (health.failures and not forget_failures)):
            return self.next
        return max(self.next, health.trouble_at + self.policy.clear_after.total_seconds())
