"""The progress and the result of a fetch, from the reports of its workers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain
from operator import itemgetter

from msgspec import Struct

from scoter.batch.worker.process import FetchTaskReport
from scoter.core.reply import Reason
from scoter.errors import UserError
from scoter.fetch.progress import Snapshot
from scoter.fetch.queues.slots import sum_stats

_SLOWEST = 10


class FetchProgress(Struct, frozen=True, kw_only=True):
    """The state of a running fetch."""

    total: int
    done: int
    pages: int
    pages_per_second: float
    kilobytes_per_second: float
    active: int
    queued: int
    errors: int
    why: str = ""
    errors_by_kind: dict[str, int] = {}
    slowest: tuple[tuple[str, float], ...] = ()
    """The hosts that take longest to answer, and how many seconds."""
    hosts: int = 0
    """Hosts with queued URLs."""
    is_read: bool = False
    """All fetch lists were read to their ends."""

    @property
    def seconds_left(self) -> float | None:
        """The remaining time at the current rate, if known."""
        left = self.total - self.done
        return left / self.pages_per_second if self.pages_per_second > 0.01 and left > 0 else None


class FetchJobResult(Struct, frozen=True, kw_only=True):
    """The result of a fetch."""

    segment: str
    complete: bool
    urls: int
    done: int = 0
    pages: int = 0
    replies: dict[str, int] = {}
    not_requested: dict[str, int] = {}
    interrupted: int = 0
    """Requests that were in progress at the end, and got no answer."""
    deferred: dict[str, datetime] = {}
    """Hosts on hold whose URLs were not requested, and until when."""
    cpu: float = 0.0
    """CPU seconds of the workers, including their start."""
    end_reason: str = ""


class WorkerReports:
    """The reports of all workers."""

    def __init__(self, total: int, before: int, on_progress: Callable[[FetchProgress], None]) -> None:
        self._total = total
        self._before = before
        self._on_progress = on_progress
        self._last: dict[int, Snapshot] = {}
        self._ended: dict[int, FetchTaskReport] = {}

    def add(self, report: FetchTaskReport) -> None:
        if report.snapshot is not None:
            self._last[report.worker] = report.snapshot
        if report.ended:
            self._ended[report.worker] = report
        self._on_progress(self.state())

    def is_complete(self, workers: int) -> bool:
        """Return whether every worker has reported."""
        return len(self._last) == workers

    def problem(self) -> UserError | None:
        found = next((each.problem for each in self._ended.values() if each.problem is not None), None)
        return None if found is None else UserError(found[0], where=found[1], hint=found[2])

    def state(self) -> FetchProgress:
        last = self._last.values()
        troubles = dict.fromkeys(each.trouble for each in last)
        same = ("pages_per_second", "kilobytes_per_second", "active", "queued", "hosts")
        return FetchProgress(
            total=self._total + sum(each.added for each in last),
            done=self._before + sum(each.done for each in last),
            pages=sum(each.fetched for each in last),
            errors=sum(sum(each.errors.values()) for each in last),
            errors_by_kind=dict(sum((Counter(each.errors) for each in last), Counter())),
            slowest=tuple(heapq.nlargest(_SLOWEST, chain(*(each.slowest for each in last)), key=itemgetter(1))),
            why=", ".join(filter(None, (str(sum_stats([each.stats for each in last])), *troubles))),
            is_read=all(each.is_fed for each in last),
            **{name: sum(getattr(each, name) for each in last) for name in same},
        )

    def done(self, segment: str) -> FetchJobResult:
        state = self.state()
        replies = sum((Counter(each.replies) for each in self._last.values()), Counter())
        not_requested = sum((Counter(each.not_requested) for each in self._ended.values()), Counter())
        interrupted = sum(each.interrupted for each in self._last.values())
        return FetchJobResult(
            segment=segment,
            complete=all(each.complete for each in self._ended.values()),
            urls=state.total,
            done=state.done,
            pages=state.pages,
            replies=dict(replies),
            not_requested=dict(not_requested - Counter({Reason.STOPPED.value: interrupted})),
            interrupted=interrupted,
            deferred={
                host: datetime.fromtimestamp(until, UTC)
                for each in self._ended.values()
                for host, until in each.deferred.items()
            },
            cpu=sum(each.cpu for each in self._ended.values()),
            end_reason="; ".join(dict.fromkeys(each.end_reason for each in self._last.values() if each.end_reason)),
        )
