"""crawl: run rounds of generate, fetch, parse and updatedb until nothing is due; then dedup and invertlinks.

A crawl stores no state of its own: the next step follows from the directory. The oldest segment that is not in the
crawldb yet is finished first, whichever step it was in. ``dedup`` and ``invertlinks`` run once at the end: no round
needs them, and each takes time proportional to the whole crawl. A stopped crawl leaves them to the next run.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime

from msgspec import Struct

from scoter.batch.crawldir.crawldb import count_by_status
from scoter.batch.crawldir.directory import STOP, CrawlDir, StopRequest, applied_segments
from scoter.batch.crawldir.segment import Segment
from scoter.batch.dedup import dedup
from scoter.batch.fetch import FetchJobResult, FetchProgress, fetch
from scoter.batch.generate import generate
from scoter.batch.invertlinks import invertlinks
from scoter.batch.parse import parse
from scoter.batch.updatedb import CrawldbUpdate
from scoter.batch.worker.pool import FetchPool
from scoter.config import Config
from scoter.core.display import count, size
from scoter.engine import Engine
from scoter.errors import UserError

_DISK_CHECK_INTERVAL = 5.0


class CrawlProgress(Struct, frozen=True, kw_only=True):
    """The current round and step of a crawl."""

    round: int
    rounds: int | None
    step: str
    share: float | None = None
    fetch: FetchProgress | None = None


class RoundResult(Struct, frozen=True, kw_only=True):
    """The result of one round."""

    number: int
    segment: str
    fetched: int
    pages: int
    new: int
    seconds: float
    cpu: dict[str, float]
    """CPU seconds of each step, including the workers."""


class CrawlResult(Struct, frozen=True, kw_only=True):
    """The result of a crawl, and why it ended."""

    rounds: tuple[RoundResult, ...]
    ended_by: str
    is_done: bool
    by_status: dict[str, int]
    cpu: dict[str, float]
    """CPU seconds of the steps after the rounds."""


class CrawlLimits(Struct, frozen=True, kw_only=True):
    """The limits of a crawl."""

    most: int | None = 5
    top_n: int | None = 50_000
    add_days: int = 0
    dedup: bool = True


def crawl(
    directory: CrawlDir,
    engine: Engine,
    config: Config,
    *,
    rounds: CrawlLimits,
    on_progress: Callable[[CrawlProgress], None] = lambda progress: None,
    on_message: Callable[[str], None] = lambda text: None,
    stopping: StopRequest | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    pool: FetchPool | None = None,
) -> CrawlResult:
    """Continue a crawl until its rounds are done, nothing is due, or it is asked to stop.

    Without a pool, workers are started for this crawl.
    """
    stop = StopRequest() if stopping is None else stopping  # an unused one is false
    with ExitStack() as stack:
        pool = pool or stack.enter_context(FetchPool())
        update = CrawldbUpdate(config)
        run = _CrawlRun(directory, engine, config, rounds, on_progress, on_message, stop, clock, pool, update)
        return run.run()


class _CrawlRun(Struct):
    """One run of a crawl."""

    directory: CrawlDir
    engine: Engine
    config: Config
    rounds: CrawlLimits
    on_progress: Callable[[CrawlProgress], None]
    on_message: Callable[[str], None]
    stopping: StopRequest
    clock: Callable[[], datetime]
    pool: FetchPool
    update: CrawldbUpdate
    number: int = 0
    done: list[RoundResult] = []
    next_disk_check: float = 0.0
    cpu: dict[str, float] = {}
    step_now: tuple[str, float] = ("", 0.0)

    def run(self) -> CrawlResult:
        while not self.stopping:
            if self.rounds.most is not None and self.number >= self.rounds.most:
                return self._ended(f"{count(self.number, 'round')} done", is_done=False)
            if not self._has_disk_space():
                break
            self.number += 1
            if not self._round():
                return self._ended("nothing is due", is_done=True)
        (self.directory.path / STOP).unlink(missing_ok=True)
        return self._ended(f"stopped by {self.stopping.by}", is_done=False)

    def _round(self) -> bool:
        """Run a round or the rest of one; return false if there was nothing to do."""
        started = time.monotonic()
        segment = self._open_segment() or self._generated()
        if segment is None:
            return False
        fetched = None if segment.is_fetched else self._fetch(segment)
        if self.stopping:
            return True
        if not segment.is_fetched:
            raise UserError(
                "a worker was asked to stop before it was done",
                where=str(segment.path),
                hint="Fetched pages are kept. To fetch the rest, run the command again.",
            )
        if not segment.is_parsed:
            self._step("parse")
            parse(
                segment,
                self.config,
                on_progress=lambda done, total: self._step("parse", done / max(total, 1)),
                stopping=self.stopping,
            )
            if self.stopping:
                return True
        self._step("updatedb")
        updated = self.update.run(self.directory, self.engine, [segment], now=self.clock())
        self.done.append(
            RoundResult(
                number=self.number,
                segment=segment.name,
                fetched=updated.fetched,
                pages=0 if fetched is None else fetched.pages,
                new=updated.new,
                seconds=time.monotonic() - started,
                cpu=self._spent(),
            )
        )
        return True

    def _open_segment(self) -> Segment | None:
        """Return the oldest segment that is not in the crawldb yet."""
        known = applied_segments(self.directory.crawldb) or ()
        return next((each for each in self.directory.all_segments() if not each.is_in(known)), None)

    def _generated(self) -> Segment | None:
        self._step("generate")
        made = generate(
            self.directory,
            self.engine,
            self.config,
            now=self.clock(),
            top_n=self.rounds.top_n,
            add_days=self.rounds.add_days,
        )
        return self.directory.segment(next(iter(made.segments))) if made.segments else None

    def _fetch(self, segment: Segment) -> FetchJobResult:
        self._step("fetch")
        done = fetch(
            self.directory,
            segment,
            self.config,
            engine=lambda: self.engine,
            parses=True,
            on_progress=self._fetching,
            on_message=self.on_message,
            stopping=self.stopping,
            pool=self.pool,
        )
        self.cpu["fetch"] = self.cpu.get("fetch", 0.0) + done.cpu
        return done

    def _fetching(self, state: FetchProgress) -> None:
        self.on_progress(CrawlProgress(round=self.number, rounds=self.rounds.most, step="fetch", fetch=state))
        self._has_disk_space()

    def _link(self) -> None:
        """Mark duplicates, and add the links of all segments in the crawldb to the linkdb."""
        in_crawldb, in_linkdb = (
            applied_segments(table) or () for table in (self.directory.crawldb, self.directory.linkdb)
        )
        behind = [
            each
            for each in self.directory.all_segments()
            if each.is_parsed and each.is_in(in_crawldb) and not each.is_in(in_linkdb)
        ]
        if not behind:
            return
        if self.rounds.dedup:
            self._step("dedup")
            dedup(self.directory, self.engine, self.config, now=self.clock())
        self._step("invertlinks")
        # Links were filtered and normalised when the pages were parsed.
        invertlinks(self.directory, self.engine, self.config, behind, now=self.clock(), filter=False, normalize=False)

    def _has_disk_space(self) -> bool:
        """Check the disk every few seconds; request a stop if less than ``store.disk_floor`` is free."""
        floor = self.config.store.disk_floor
        if time.monotonic() >= self.next_disk_check:
            self.next_disk_check = time.monotonic() + _DISK_CHECK_INTERVAL
            free = shutil.disk_usage(self.directory.path).free
            if free < floor and not self.stopping.by:
                self.stopping.by = f"low disk space: only {size(free)} free; store.disk_floor requires {size(floor)}"
        return not self.stopping.by

    def _spent(self) -> dict[str, float]:
        """Return the CPU seconds of the steps since the last call."""
        self._start_step_clock("")
        spent, self.cpu = self.cpu, {}
        return {name: round(seconds, 3) for name, seconds in spent.items()}

    def _start_step_clock(self, step: str) -> None:
        before, since = self.step_now
        now = time.process_time()
        if before:
            self.cpu[before] = self.cpu.get(before, 0.0) + now - since
        self.step_now = (step, now)

    def _step(self, name: str, share: float | None = None) -> None:
        self._start_step_clock(name)
        self.on_progress(CrawlProgress(round=self.number, rounds=self.rounds.most, step=name, share=share))

    def _ended(self, why: str, *, is_done: bool) -> CrawlResult:
        if not self.stopping:
            self._link()
        return CrawlResult(
            rounds=tuple(self.done),
            ended_by=why,
            is_done=is_done,
            by_status=count_by_status(self.directory, self.engine),
            cpu=self._spent(),
        )
