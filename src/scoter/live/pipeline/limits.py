"""Limits on what the scheduler starts: a share per domain, and a pause while storage is unavailable."""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from scoter.core.url import Url
from scoter.errors import ContentUnavailable, Unavailable
from scoter.live.clock import steady_now
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority


class ScheduledEntry(Struct, frozen=True):
    """A journal entry with its parsed URL."""

    entry: JournalEntry
    url: Url


class DomainShares:
    """Limits how many entries of each domain are under way; holds the others, most urgent first."""

    def __init__(self, most: int, most_of_domain: int) -> None:
        self._most = most
        self._most_of_domain = most_of_domain
        self._under_way: Counter[str] = Counter()
        self._in_all = 0
        self._queues: dict[str, list[tuple[int, int]]] = {}  # (priority, id); may contain ids no longer in ``held``
        self.held: dict[int, ScheduledEntry] = {}

    def admit(self, job: ScheduledEntry) -> ScheduledEntry | None:
        """Add a job; return the job of its domain to start now, or ``None`` if all are held."""
        domain, begins = job.url.domain, job
        # Jobs that a person waits for are never held; the journal limits how many there are.
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
        """Return the held job that replaces one that has ended, or ``None``."""
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
        """Yield at most ``most`` held jobs that may start now, one per domain."""
        for domain in tuple(self._queues):
            if most <= 0:
                return
            if self._under_way[domain] < self._share() and (following := self._next(domain)) is not None:
                self._under_way[domain] += 1
                self._in_all += 1
                most -= 1
                yield following

    def _share(self) -> int:
        """Return how many entries of one domain may be under way: at least one, at most the free capacity."""
        return min(self._most_of_domain, max(1, self._most - self._in_all))

    def _next(self, domain: str) -> ScheduledEntry | None:
        queue = self._queues.get(domain, [])
        following = None
        while queue and following is None:
            following = self.held.pop(heapq.heappop(queue)[1], None)  # None: its lease was lost
        if not queue:
            self._queues.pop(domain, None)
        return following


FIRST: Final = 1.0
LONGEST: Final = 15.0
_SOON: Final = 60.0  # seconds: a pause that starts sooner than this after the last one continues its back-off

_log = logging.getLogger(__name__)


class StoragePause:
    """Stops work while storage is unavailable, and tries one entry at a time until it works again."""

    def __init__(
        self, *, first: float = FIRST, longest: float = LONGEST, steady_clock: Callable[[], float] = steady_now
    ) -> None:
        """The first trial comes after ``first`` seconds; each failed one doubles the time, up to ``longest``."""
        self._first = first
        self._longest = longest
        self._steady_clock = steady_clock
        self._trouble: Unavailable | None = None
        self._is_tried = False
        self._pause = 0.0
        self._until = 0.0
        self._ended = float("-inf")

    @property
    def trouble(self) -> str:
        """Why nothing can be stored; empty if all is well."""
        return "" if self._trouble is None else self._trouble.message

    def begin(self, error: Unavailable) -> None:
        """Start a pause. Entries that were under way and fail for the same reason do not extend it."""
        if self._trouble is not None and not self._is_tried:
            return
        now = self._steady_clock()
        goes_on = self._trouble is not None or now - self._ended < _SOON
        self._pause = min(self._longest, self._pause * 2) if goes_on and self._pause else self._first
        self._until = now + self._pause
        self._trouble, self._is_tried = error, False
        _log.warning("pausing for %.0f s, storage unavailable: %s", self._pause, error)

    def admits(self, most: int) -> int:
        """Return how many of ``most`` entries may start now: all, none, or one as a trial."""
        if self._trouble is None:
            return most
        now = self._steady_clock()
        if now < self._until:
            return 0
        self._until = now + self._pause
        self._is_tried = True
        return min(most, 1)

    def opened(self, count: int) -> None:
        """Note that the journal was read. This ends the pause, unless the archive failed and entries are waiting."""
        if self._trouble is not None and not (count and isinstance(self._trouble, ContentUnavailable)):
            self._end()

    def kept(self, *, archived: bool) -> None:
        """Note that an outcome was stored, and whether responses were archived with it."""
        if self._trouble is None or not self._is_tried:
            return
        if archived or not isinstance(self._trouble, ContentUnavailable):
            self._end()
        else:  # nothing was archived, so the archive is still untested: try the next entry at once
            self._until = self._steady_clock()

    def _end(self) -> None:
        self._trouble = None
        self._ended = self._steady_clock()
        _log.warning("storage is available again")
