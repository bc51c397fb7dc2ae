"""TODO: describe."""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from scoter.core.url import Url
from scoter.errors import ContentUnavailable, Unavailable
from scoter.live.clock import lease_now
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority


class ScheduledEntry(Struct, frozen=True):
    entry: JournalEntry
    url: Url


class DomainShares:
    """How much of each domain is under way, and what is held until there is less, the most urgent first."""

    def __init__(self, most: int, most_of_domain: int) -> None:
        self._most = most
        self._most_of_domain = most_of_domain
        self._under_way: Counter[str] = Counter()
        self._in_all = 0
        self._queues: dict[str, list[tuple[int, int]]] = {}  # priorities and ids; of those given up some are left
        self.held: dict[int, ScheduledEntry] = {}

    def admit(self, job: ScheduledEntry) -> ScheduledEntry | None:
        """Take in a job; return which one of its domain begins now, if any does: the others are held."""
        domain, begins = job.url.domain, job
        # A person does not wait behind what nobody waits for; how many persons there may be is the journal's to say.
        if job.entry.priority is not Priority.PERSON:
            heapq.heappush(self._queues.setdefault(domain, []), (job.entry.priority, job.entry.id))
            self.held[job.entry.id] = job
            if self._under_way[domain] >= self._share():
                return None
            begins = self._next(domain) or job
        self._under_way[domain] += 1
        self._in_all += 1
        return begins

    def after(self, job: ScheduledEntry) -> ScheduledEntry | None:
        """Return the job that takes the place of one that has ended, if its domain has one and may have as many."""
        domain = job.url.domain
        self._under_way[domain] -= 1
        self._in_all -= 1
        following = self._next(domain) if self._under_way[domain] < self._share() else None
        if following is not None:
            self._under_way[domain] += 1
            self._in_all += 1
        elif not self._under_way[domain]:
            del self._under_way[domain]
        return following

    def more(self, most: int) -> Iterator[ScheduledEntry]:
        """Give at most so many jobs that were held and may begin by now, one of each domain."""
        for domain in tuple(self._queues):
            if most <= 0:
                return
            if self._under_way[domain] < self._share() and (following := self._next(domain)) is not None:
                self._under_way[domain] += 1
                self._in_all += 1
                most -= 1
                yield following

    def _share(self) -> int:
        """Return how many of one domain may be under way: one at least, and no more than there is room left."""
        return min(self._most_of_domain, max(1, self._most - self._in_all))

    def _next(self, domain: str) -> ScheduledEntry | None:
        queue = self._queues.get(domain, [])
        following = None
        while queue and following is None:
            following = self.held.pop(heapq.heappop(queue)[1], None)  # none: it was given up meanwhile
        if not queue:
            self._queues.pop(domain, None)
        return following


FIRST: Final = 1.0
LONGEST: Final = 15.0
_SOON: Final = 60.0  # seconds after the end of a recess in which the next one begins where that one left off

_log = logging.getLogger(__name__)


class StoragePause:
    """How much may be taken up, by what became of the last that was."""

    def __init__(
        self, *, first: float = FIRST, longest: float = LONGEST, lease_clock: Callable[[], float] = lease_now
    ) -> None:
        """A trial is made after ``first`` seconds; each that fails doubles them, up to ``longest``."""
        self._first = first
        self._longest = longest
        self._lease_clock = lease_clock
        self._trouble: Unavailable | None = None
        self._is_tried = False
        self._pause = 0.0
        self._until = 0.0
        self._ended = float("-inf")

    @property
    def trouble(self) -> str:
        """Why nothing can be kept, or nothing."""
        return "" if self._trouble is None else self._trouble.message

    def begin(self, error: Unavailable) -> None:
        """Take up nothing for a while. Those who were under way and fail like the first do not prolong it."""
        if self._trouble is not None and not self._is_tried:
            return
        now = self._lease_clock()
        goes_on = self._trouble is not None or now - self._ended < _SOON
        self._pause = min(self._longest, self._pause * 2) if goes_on and self._pause else self._first
        self._until = now + self._pause
        self._trouble, self._is_tried = error, False
        _log.warning("pausing for %.0f s, storage unavailable: %s", self._pause, error)

    def admits(self, most: int) -> int:
        """Return how many of so many may be taken up now: all, none, or one for a trial."""
        if self._trouble is None:
            return most
        now = self._lease_clock()
        if now < self._until:
            return 0
        self._until = now + self._pause
        self._is_tried = True
        return min(most, 1)

    def opened(self, count: int) -> None:
        """Note that the journal could be read: that is all that was missing, or nothing waits for the archive."""
        if self._trouble is not None and not (count and isinstance(self._trouble, ContentUnavailable)):
            self._end()

    def kept(self, *, archived: bool) -> None:
        """Note that an outcome was kept, and whether answers were archived with it."""
        if self._trouble is None or not self._is_tried:
            return
        if archived or not isinstance(self._trouble, ContentUnavailable):
            self._end()
        else:  # it needed no room in the archive, and told nothing of it: the next trial need not wait
            self._until = self._lease_clock()

    def _end(self) -> None:
        self._trouble = None
        self._ended = self._lease_clock()
        _log.warning("storage is available again")
