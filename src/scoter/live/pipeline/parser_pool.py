"""Parser processes for pages that may take long, and the order in which pages get them.

A page has a limit on its CPU time, not on wall time, so that a busy machine fails no page. Pages wait until a process
is free. The order is fair, so that pages which were made to hang parsers delay few others:

- pages of demoted domains come last, and one at a time. A domain is demoted for a while when one of its pages exceeds
  a limit or crashes the parser;
- then the priority of the message decides. One process is reserved for pages that a person waits for;
- then the CPU time that the domain has used lately, then the size of the page;
- a page that has waited for long counts as urgent, and its domain not as demoted, so that every page gets its turn.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol

from msgspec import Struct

from scoter.config import Config
from scoter.core.bounded import BoundedMap
from scoter.core.page import Content
from scoter.live.records import Priority
from scoter.parse import ParseFailed
from scoter.parse.chain import ParserChain
from scoter.parse.parser_process import ParserProcess
from scoter.parse.records import ParseOutcome

DEMOTED_FOR: Final = 600.0  # seconds
PATIENCE: Final = 60.0  # seconds
_HALF_LIFE: Final = 60.0  # seconds after which half of the CPU time that a domain has used is forgotten
_DOMAINS: Final = 10_000
_WALL: Final = 10  # times parse.timeout: for a parser that hangs without using the CPU
_LIMITS: Final = frozenset(("cpu", "timeout", "memory", "crash"))
_TICKS: Final = 100  # per second, in proc_pid_stat(5): USER_HZ is 100 on every Linux that Python supports

_log = logging.getLogger(__name__)


class PageProcess(Protocol):
    """A process that parses one content at a time: ``parse.parser_process.ParserProcess``."""

    @property
    def pid(self) -> int | None: ...

    def parse(self, content: Content) -> ParseOutcome: ...

    def close(self) -> None: ...


class _ParseJob(Struct, frozen=True, eq=False):
    """A page that waits for a process."""

    number: int
    content: Content
    domain: str
    priority: Callable[[], Priority]
    entered: float
    parsed: asyncio.Future[ParseOutcome]


class _DomainUse(Struct):
    """CPU seconds that a domain's pages have used lately, as of ``at``; until when it is demoted."""

    seconds: float = 0.0
    at: float = 0.0
    demoted_until: float = 0.0

    def lately(self, now: float) -> float:
        return float(self.seconds * 0.5 ** ((now - self.at) / _HALF_LIFE))


class ParserPool:
    """Parses contents in several processes, which start when they are needed."""

    def __init__(
        self,
        processes: Sequence[PageProcess],
        limit: timedelta,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``limit`` is the CPU time that each process allows for a content."""
        self._processes = processes
        self._limit = limit.total_seconds()
        self._clock = clock
        self._threads = ThreadPoolExecutor(len(processes), "parsing")
        self._free = list(range(len(processes)))  # a heap: the first ones are running already
        self._waiting: dict[int, _ParseJob] = {}
        self._running: Counter[str] = Counter()  # by domain
        self._uses: BoundedMap[str, _DomainUse] = BoundedMap(_DOMAINS)
        self._last = 0

    @classmethod
    def of(cls, config: Config) -> ParserPool:
        """Return a pool with the configured parsers and limits."""
        wall = None if config.parse.timeout is None else _WALL * config.parse.timeout
        make = partial(ParserChain.of, config)
        limit = config.live.parse_cpu
        return cls(
            [ParserProcess(make, wall, config.parse.memory, limit) for _ in range(config.live.parsers)],
            limit,
        )

    def __repr__(self) -> str:
        return f"ParserPool({len(self._waiting)} waiting, {self._running.total()} running)"

    def __enter__(self) -> ParserPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, and with them the contents being parsed."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.close()

    async def parse(self, content: Content, domain: str, priority: Callable[[], Priority]) -> ParseOutcome:
        """Parse a content of a registered domain when it is its turn. Its priority may rise while it waits."""
        self._last += 1
        parsed: asyncio.Future[ParseOutcome] = asyncio.get_running_loop().create_future()
        job = _ParseJob(self._last, content, domain, priority, self._clock(), parsed)
        self._waiting[job.number] = job
        self._start()
        try:
            return await parsed
        finally:
            self._waiting.pop(job.number, None)

    def _start(self) -> None:
        while self._free and (job := self._next()) is not None:
            del self._waiting[job.number]
            self._running[job.domain] += 1
            place = heapq.heappop(self._free)
            loop = asyncio.get_running_loop()
            work = loop.run_in_executor(self._threads, self._parse, self._processes[place], job.content)
            work.add_done_callback(partial(self._end, job, place))

    def _next(self) -> _ParseJob | None:
        """Return the job to start now, if any."""
        now, several = self._clock(), len(self._processes) > 1
        demoted = {domain for domain in self._running if self._is_demoted(domain, now)}
        most = max(1, len(self._processes) - 1)  # of one domain

        def may_start(job: _ParseJob) -> bool:
            if self._running[job.domain] >= most or (demoted and self._is_demoted(job.domain, now)):
                return False
            return not several or len(self._free) > 1 or job.priority() is Priority.PERSON

        return min(filter(may_start, self._waiting.values()), key=partial(self._order, now), default=None)

    def _order(self, now: float, job: _ParseJob) -> tuple[float, ...]:
        use = self._uses.peek(job.domain) or _DomainUse()
        running = self._running[job.domain]
        if now - job.entered > PATIENCE:
            return False, Priority.PERSON, running, 0.0, 0, job.number
        is_last = use.demoted_until > now
        return is_last, job.priority(), running, round(use.lately(now), 1), len(job.content.body), job.number

    def _is_demoted(self, domain: str, now: float) -> bool:
        use = self._uses.peek(domain)
        return use is not None and use.demoted_until > now

    def _parse(self, process: PageProcess, content: Content) -> tuple[ParseOutcome, float]:
        """Parse a content, in a thread; return the CPU seconds it took too."""
        pid = process.pid
        before = _cpu_seconds(pid)
        outcome = process.parse(content)
        if _limit_of(outcome):
            return outcome, self._limit
        return outcome, _cpu_seconds(pid) - before if pid == process.pid else 0.0

    def _end(self, job: _ParseJob, place: int, work: asyncio.Future[tuple[ParseOutcome, float]]) -> None:
        self._running[job.domain] -= 1
        if not self._running[job.domain]:
            del self._running[job.domain]
        heapq.heappush(self._free, place)
        if work.cancelled():  # the pool is closed
            job.parsed.cancel()
            return
        error = work.exception()
        if error is None:
            outcome, seconds = work.result()
            self._note(job, outcome, seconds)
            if not job.parsed.done():
                job.parsed.set_result(outcome)
        elif not job.parsed.done():
            job.parsed.set_exception(error)
        self._start()

    def _note(self, job: _ParseJob, outcome: ParseOutcome, seconds: float) -> None:
        now = self._clock()
        use = self._uses.get(job.domain) or _DomainUse()
        use.seconds, use.at = use.lately(now) + max(0.0, seconds), now
        if failed := _limit_of(outcome):
            use.demoted_until = now + DEMOTED_FOR
            _log.warning(
                "cannot parse %s: %s %s; pages of %s come last for %.0f s",
                *(job.content.url.text, failed.reason, failed.detail, job.domain, DEMOTED_FOR),
                extra={"url": job.content.url.text, "domain": job.domain},
            )
        self._uses.put(job.domain, use)


def _limit_of(outcome: ParseOutcome) -> ParseFailed | None:
    """Return the failure if a content exceeded a limit or crashed the parser."""
    return outcome if isinstance(outcome, ParseFailed) and outcome.reason in _LIMITS else None


def _cpu_seconds(pid: int | None) -> float:
    """Return the CPU time of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
