"""How far a fetch is: a record for programs, a line for people, and events for publisher plug-ins."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.reply import Fetched, Reply
from scoter.fetch.filters import NOT_REQUESTED, Count, is_handed_back
from scoter.fetch.queues.slots import QueueStats
from scoter.plugins import Publisher

_WINDOW = 10.0  # seconds over which rates are computed
_log = logging.getLogger(__name__)
_NO_ERRORS = frozenset({"fetched", "moved", "not_modified", "not_found", "removed", "robots_denied"})
_HANDED_BACK = frozenset(reason.value for reason in NOT_REQUESTED)


class Snapshot(Struct, frozen=True, kw_only=True):
    """A fetch at one moment; ``why`` explains its speed, ``end_reason`` why it was ended early.

    ``done`` does not count requests that were handed back; ``added`` counts those that did not come from the source.

    >>> print(Snapshot(active=3, waiting=2, queued=40, done=7, pages_per_second=1.5, kilobytes_per_second=12.0))
    3 active, 2 waiting, 40 queued, 7 done, 1.5 pages/s, 12 kB/s, 0 errors
    """

    active: int = 0
    waiting: int = 0
    queued: int = 0
    done: int = 0
    fetched: int = 0
    added: int = 0
    interrupted: int = 0
    """Requests that were ended while they were in progress, and handed back."""
    pages_per_second: float = 0.0
    kilobytes_per_second: float = 0.0
    errors: dict[str, int] = {}
    replies: dict[str, int] = {}
    slowest: tuple[tuple[str, float], ...] = ()
    hosts: int = 0
    """Hosts with queued requests."""
    is_fed: bool = False
    """The source has ended."""
    why: str = ""
    trouble: str = ""
    """What is wrong here, if anything; part of ``why``."""
    stats: QueueStats = QueueStats()
    end_reason: str = ""

    def __str__(self) -> str:
        worst = max(self.errors, key=lambda kind: self.errors[kind], default="")
        most = f" (most: {worst})" if worst else ""
        return (
            f"{self.active} active, {self.waiting} waiting, {self.queued} queued, {self.done} done, "
            f"{self.pages_per_second:.1f} pages/s, {self.kilobytes_per_second:,.0f} kB/s, "
            f"{sum(self.errors.values())} errors{most}"
        )


class FetchRates:
    """Computes rates over the last seconds."""

    def __init__(self, now: float) -> None:
        self.done = 0
        self.fetched = 0
        self.added = 0
        self.interrupted = 0
        self.end_reason = ""
        self._marks: deque[tuple[float, int, int]] = deque([(now, 0, 0)])

    def note(self, reply: Reply) -> None:
        """Count a reply that reached the sink."""
        if isinstance(reply, Fetched):
            self.fetched += 1
            self.done += 1
        elif not is_handed_back(reply):
            self.done += 1

    def snapshot(
        self,
        count: Count,
        stats: QueueStats,
        queued: int,
        slowest: Sequence[tuple[str, float]],
        now: float,
        trouble: str = "",
        *,
        is_fed: bool = False,
    ) -> Snapshot:
        marks = self._marks
        if now > marks[-1][0]:
            marks.append((now, self.fetched, count.bytes))
        while len(marks) > 2 and marks[0][0] < now - _WINDOW:
            marks.popleft()
        (then, pages, size), passed = marks[0], max(now - marks[0][0], 1e-9)
        replies = {kind: number for kind, number in count.replies.items() if kind not in _HANDED_BACK}
        stats = replace(stats, queued=queued)  # including what waits on disk
        errors = {kind: number for kind, number in replies.items() if kind not in _NO_ERRORS}
        return Snapshot(
            active=stats.in_progress,
            waiting=max(count.active - stats.in_progress, 0),
            queued=queued,
            done=self.done,
            fetched=self.fetched,
            added=self.added,
            interrupted=self.interrupted,
            pages_per_second=(self.fetched - pages) / passed if now > then else 0.0,
            kilobytes_per_second=(count.bytes - size) / passed / 1000 if now > then else 0.0,
            errors=errors,
            replies=replies,
            slowest=tuple(slowest),
            hosts=stats.ready + stats.waiting + stats.busy,
            is_fed=is_fed,
            why=f"{stats}, {trouble}" if trouble else str(stats),
            trouble=trouble,
            stats=stats,
            end_reason=self.end_reason,
        )


class ProgressPublishers:
    """Sends events to all publisher plug-ins; one that fails does not affect the others or the fetch."""

    def __init__(self, publishers: Sequence[Publisher]) -> None:
        self._publishers = tuple(publishers)
        self._has_warned = False

    def publish(self, event: str, facts: dict[str, object]) -> None:
        for publisher in self._publishers:
            try:
                publisher.publish(event, facts)
            except Exception as error:
                if not self._has_warned:
                    _log.warning("%s fails: %s: %s", type(publisher).__name__, type(error).__name__, error)
                self._has_warned = True

    def close(self) -> None:
        """Close the publishers that can be closed."""
        for publisher in self._publishers:
            close = getattr(publisher, "close", None)
            if close is None:
                continue
            try:
                close()
            except Exception as error:
                _log.warning("%s cannot be closed: %s: %s", type(publisher).__name__, type(error).__name__, error)
