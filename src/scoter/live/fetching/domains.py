"""The request queue of each domain, in the core.

Only a few requests of a domain are at its worker. The others wait here, ordered by priority and arrival. Idle domains
are forgotten, the longest idle first, unless they are on hold.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from scoter.core.reply import Request
from scoter.live.ports import HopReply
from scoter.live.records import Priority


class QueuedHop(Struct, eq=False):
    """A request that waits for its reply.

    ``deaths`` counts workers that died with it, ``refusals`` those that did not hold its shard.
    """

    id: int
    request: Request
    priority: Priority
    domain: DomainQueue
    answered: asyncio.Future[HopReply]
    entered: float
    sent: float
    is_forwarded: bool = False
    is_read: bool = False
    deaths: int = 0
    refusals: int = 0

    def __lt__(self, other: QueuedHop) -> bool:
        return (not self.is_forwarded, self.priority, self.id) < (not other.is_forwarded, other.priority, other.id)

    def __repr__(self) -> str:
        return f"QueuedHop({self.id}, {self.request.url.text!r}, {self.priority.name})"


RATE_SECONDS: Final = 60.0


class DomainQueue(Struct, eq=False):
    """The queue of one registered domain; ``pause`` is the seconds between requests to it, if known.

    ``why`` is the reason of the hold. ``rate`` is a decaying average of requests per second at the time ``rated``.
    """

    name: str
    shard: int
    waiting: list[QueuedHop] = []
    under_way: int = 0
    hold_until: float = 0.0
    pause: float | None = None
    asked: int = 0
    why: str = ""
    rate: float = 0.0
    rated: float = 0.0

    def note_request(self, now: float) -> None:
        """Count a request."""
        self.rate, self.rated = self.rate_at(now) + 1 / RATE_SECONDS, now
        self.asked += 1

    def rate_at(self, now: float) -> float:
        """Return the requests per second of about the last minute."""
        return self.rate * math.exp(min(0.0, self.rated - now) / RATE_SECONDS)

    def __repr__(self) -> str:
        return f"DomainQueue({self.name}, {len(self.waiting)} waiting, {self.under_way} under way)"

    @property
    def is_idle(self) -> bool:
        return not self.waiting and not self.under_way

    def push(self, pending: QueuedHop) -> None:
        heapq.heappush(self.waiting, pending)

    def first(self) -> QueuedHop | None:
        """Return the next request without removing it; requests of cancelled callers are dropped."""
        while self.waiting and self.waiting[0].answered.done():
            heapq.heappop(self.waiting)
        return self.waiting[0] if self.waiting else None

    def raise_priority(self, url: str, priority: Priority) -> bool:
        """Raise the priority of queued requests for a URL; return whether any changed."""
        late = [pending for pending in self.waiting if pending.priority > priority and pending.request.url.text == url]
        for pending in late:
            pending.priority = priority
        if late:
            heapq.heapify(self.waiting)
        return bool(late)

    def pop(self) -> QueuedHop:
        return heapq.heappop(self.waiting)


class DomainQueues:
    """The queues of all busy domains, and of those that became idle last."""

    def __init__(self, most_idle: int) -> None:
        self._most_idle = most_idle
        self._all: dict[str, DomainQueue] = {}
        self._idle: OrderedDict[str, None] = OrderedDict()

    def __repr__(self) -> str:
        return f"DomainQueues({len(self._all)}, {len(self._idle)} of them idle)"

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[DomainQueue]:
        return iter(self._all.values())

    def get(self, name: str) -> DomainQueue | None:
        return self._all.get(name)

    def busy(self, name: str, shard: int) -> DomainQueue:
        """Return the queue of a domain, and mark it busy."""
        found = self._all.get(name)
        if found is None:
            found = self._all[name] = DomainQueue(name, shard)
        self._idle.pop(name, None)
        return found

    def settle(self, domain: DomainQueue, now: float) -> None:
        """Mark a domain idle if it has no requests left."""
        if domain.first() is not None or not domain.is_idle or self._all.get(domain.name) is not domain:
            return
        self._idle[domain.name] = None
        self._idle.move_to_end(domain.name)
        if len(self._idle) > self._most_idle:
            self.sweep(now, 2)

    def sweep(self, now: float, most: int) -> None:
        """Forget idle domains beyond the limit, checking at most ``most``, the longest idle first."""
        for _ in range(min(len(self._idle) - self._most_idle, most)):
            name, _ = self._idle.popitem(last=False)
            if self._all[name].hold_until > now:
                self._idle[name] = None
            else:
                del self._all[name]
