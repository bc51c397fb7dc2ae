"""The queue of one host: what waits, what is under way, when its next turn comes, and how the host has behaved.

A queue rests after each request: by its policy's delay, by the Crawl-delay of its robots.txt, or by what the generator
set. A host that has a delay of its own, or has asked to be left alone, is asked one request at a time even where the
policy allows more.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Generic, TypeVar

from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.turn import Turn

T = TypeVar("T")

SLOW: Final = 1.0  # seconds; quicker answers than this never lengthen a delay
LATENCY_FACTOR: Final = 2.0
SMOOTHING: Final = 0.25  # weight of the newest answer; one slow answer alone changes little
SLOWEST: Final = 300.0  # seconds; as long as Nutch leaves a host alone whose robots.txt answers 5xx
SLOWED_FROM: Final = 1.0  # seconds; doubling no delay at all would slow nobody
RECOVERY: Final = 10  # good answers in a row that take back one doubling
LONGEST_BACKOFF: Final = 3_600.0  # seconds; only a queue that no number of failures closes comes near it
_MOST_DOUBLINGS: Final = 16
_COMPACT: Final = 32


class Place(Enum):
    """Where the workbench keeps a queue: nowhere while it is empty or all its threads are in use."""

    IDLE = 0
    READY = 1
    WAITING = 2


class Conduct:
    """How a host has behaved; most hosts never need one."""

    __slots__ = ("doublings", "failures", "good", "latency", "trouble_at")

    def __init__(self) -> None:
        self.failures = 0
        self.doublings = 0
        self.good = 0
        self.latency = 0.0
        self.trouble_at = 0.0


class HostQueue(Generic[T]):
    """First in, first out; the list is read from ``head`` on, since an empty deque alone takes 600 bytes."""

    __slots__ = (
        "begun",
        "conduct",
        "count",
        "crawl_delay",
        "delay",
        "doomed",
        "entry",
        "head",
        "in_progress",
        "items",
        "key",
        "next",
        "own",
        "place",
        "policy",
        "ranks",
        "reserved",
        "rest",
        "size",
        "used",
    )

    def __init__(self, key: str, policy: Policy) -> None:
        self.key = key
        self.policy = policy
        self.items: list[T] = []
        self.head = 0
        self.count = 0
        self.begun = 0  # how many of the first items belong to work that has begun
        self.ranks: list[int] | None = None  # how many items of each rank follow them, before those that have none
        self.size = 0
        self.in_progress = 0
        self.rest = 0.0  # until when the host is left alone because of what ended
        self.own = 0.0  # the part of the rest that the host itself brought about, whatever its policy says
        self.next = 0.0  # until when nothing is handed out: the rest, or the pause since the last hand-out
        self.used = -LONGEST_BACKOFF  # when a request last began, where several may be under way
        self.place = Place.IDLE
        self.entry = 0  # which of its entries in the order of turns is valid
        self.reserved = False
        self.doomed = False
        self.delay: float | None = None
        self.crawl_delay: float | None = None  # as robots.txt has it
        self.conduct: Conduct | None = None

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        raise TypeError("a queue is neither true nor false: ask for its length, or whether it is None")

    def push(self, item: T) -> None:
        self.items.append(item)
        self.count += 1

    def push_ranked(self, item: T, rank: int) -> None:
        """Put an item behind those of its rank and before all that come after: rank 0 first, no rank last."""
        ranks = self.ranks = self.ranks or []
        ranks.extend([0] * (rank + 1 - len(ranks)))
        self.items.insert(self.head + self.begun + sum(ranks[: rank + 1]), item)
        ranks[rank] += 1
        self.count += 1

    def push_front(self, item: T) -> None:
        """Put an item before all others: it belongs to work that has begun."""
        self.begun += 1
        self.count += 1
        if self.head:
            self.head -= 1
            self.items[self.head] = item
        else:
            self.items.insert(0, item)

    def push_begun(self, item: T) -> None:
        """Put an item behind those of work that has begun, and before all others: it belongs to such work, too."""
        items, head, begun = self.items, self.head, self.begun
        if not begun:
            self.push_front(item)
            return
        self.begun += 1
        self.count += 1
        if head:
            self.head = head - 1
            items[head - 1 : head - 1 + begun] = items[head : head + begun]
            items[head - 1 + begun] = item
        else:
            items.insert(begun, item)

    def pop(self) -> T:
        items, head = self.items, self.head
        self.count -= 1
        if self.begun:
            self.begun -= 1
        elif self.ranks:
            self._count_out(self.ranks)
        item = items[head]
        head += 1
        if head == len(items):
            self.items = []  # not clear(): the list may have grown large once
            head = 0
        elif head >= _COMPACT and head * 2 >= len(items):
            del items[:head]
            head = 0
        else:
            items[head - 1] = None  # type: ignore[assignment]  # a handed-out item must not be kept alive
        self.head = head
        return item

    def clear(self) -> list[T]:
        """Return everything that waits, and keep nothing."""
        waiting = self.items[self.head :]
        self.items = []
        self.head = self.count = self.begun = 0
        self.ranks = None
        self.size = 0
        return waiting

    def _count_out(self, ranks: list[int]) -> None:
        first = next((rank for rank, count in enumerate(ranks) if count), None)
        if first is not None:
            ranks[first] -= 1

    @property
    def has_free_thread(self) -> bool:
        """Whether one more request may be under way."""
        return self.in_progress < self.threads

    @property
    def threads(self) -> int:
        """How many requests may be under way."""
        if self.delay is not None or self.crawl_delay is not None:
            return 1
        if self.conduct is not None and self.conduct.doublings:
            return 1
        return self.policy.threads

    def pause(self) -> float:
        """Return the seconds that the host rests after a request."""
        if self.delay is None and self.crawl_delay is None:
            policy = self.policy
            pause = (policy.delay if policy.threads == 1 else policy.min_delay).total_seconds()
        else:
            pause = self.delay or 0.0
            if self.crawl_delay is not None:
                pause = max(pause, self.crawl_delay, self.policy.min_crawl_delay.total_seconds())
        return pause if self.conduct is None else self._lengthened(pause, self.conduct)

    def _lengthened(self, pause: float, conduct: Conduct) -> float:
        policy, longest = self.policy, pause
        if policy.adaptive and conduct.latency >= SLOW:
            wanted = LATENCY_FACTOR * conduct.latency / self.threads
            most = policy.max_crawl_delay
            longest = max(pause, wanted if most is None else min(wanted, most.total_seconds()))
        if conduct.doublings:
            slowed = max(pause, SLOWED_FROM) * 2.0**conduct.doublings
            longest = max(longest, min(slowed, SLOWEST))
        return longest

    def set_policy(self, policy: Policy) -> None:
        """Treat the host in another way, in the rest that it is in, too."""
        before = self.pause()
        self.policy = policy
        longer = self.pause() - before
        if self.rest:
            self.rest = max(self.rest + longer, self.own)
        if self.next:
            self.next = max(self.next + longer, self.rest)

    def finish(self, turn: Turn, now: float) -> bool:
        """Set the rest that follows a request; tell whether the host has failed too often."""
        conduct = self.conduct
        if conduct is None and (turn.failed or turn.busy or turn.took >= SLOW):
            conduct = self.conduct = Conduct()
        if conduct is not None:
            self._remember(conduct, turn, now)
        rest, own = now + self.pause(), now
        if turn.retry_after is not None:
            own = now + turn.retry_after.total_seconds()
            rest = max(rest, own)
        too_often = False
        if turn.failed and conduct is not None:
            most = self.policy.max_exceptions
            too_often = most is not None and conduct.failures >= most
            backoff = self._backoff(conduct.failures)
            rest, own = rest + backoff, own + backoff
        self.own = max(self.own, own)
        self.rest = max(self.rest, rest)
        self.next = max(self.next, self.rest)
        return too_often

    def _remember(self, conduct: Conduct, turn: Turn, now: float) -> None:
        if turn.took:
            conduct.latency += SMOOTHING * (turn.took - conduct.latency)
        if turn.failed:
            conduct.failures += 1
        if turn.failed or turn.busy:
            conduct.trouble_at = now
            conduct.good = 0
        if turn.busy:
            # What was under way when the host first complained complains too: that is one complaint, not several.
            if turn.retry_after is not None:
                # It says itself for how long it wants to be left alone; being told again does not double that.
                conduct.doublings = max(conduct.doublings, 1)
            elif not conduct.doublings or now >= self.rest:
                conduct.doublings = min(conduct.doublings + 1, _MOST_DOUBLINGS)
        elif not turn.failed and conduct.doublings:
            conduct.good += 1
            if conduct.good >= RECOVERY:
                conduct.doublings -= 1
                conduct.good = 0

    def _backoff(self, failures: int) -> float:
        first = self.policy.exception_delay.total_seconds()
        return float(min(first * 2.0 ** min(failures - 1, 32), max(first, LONGEST_BACKOFF)))

    def quiet_at(self, *, forget_failures: bool) -> float:
        """Return from when on nothing is lost by forgetting the queue, should it stay empty."""
        conduct = self.conduct
        if conduct is None or not (conduct.doublings or (conduct.failures and not forget_failures)):
            return self.next
        return max(self.next, conduct.trouble_at + self.policy.clear_after.total_seconds())
