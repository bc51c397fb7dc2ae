"""Crawl in rounds: generate, fetch and parse, updatedb, until nothing is due; then dedup and invertlinks.

A crawl holds no state of its own. What is to be done next is read from the directory: the oldest segment that is not
in the crawldb yet is brought to its end first, whichever step it was in when somebody stopped or killed it. Duplicates
and the linkdb, which no round asks for, come once at the end: each takes time for all that was ever crawled. A crawl
that is stopped leaves them to the next one, or to their own commands.
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

_LOOK_AT_DISK = 5.0


class CrawlProgress(Struct, frozen=True, kw_only=True):
    """Where a crawl stands."""

    round: int
    rounds: int | None
    step: str
    share: float | None = None
    fetch: FetchProgress | None = None


class RoundResult(Struct, frozen=True, kw_only=True):
    """What one round did."""

    number: int
    segment: str
    fetched: int
    pages: int
    new: int
    seconds: float
    cpu: dict[str, float]
    """CPU seconds of each step, those of fetching processes included."""


class CrawlResult(Struct, frozen=True, kw_only=True):
    """What a crawl did, and why it ended."""

    rounds: tuple[RoundResult, ...]
    ended_by: str
    is_done: bool
    by_status: dict[str, int]
    cpu: dict[str, float]
    """CPU seconds of what was done after the rounds."""


class CrawlLimits(Struct, frozen=True, kw_only=True):
    """How far a crawl is to go."""

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
    tell: Callable[[CrawlProgress], None] = lambda progress: None,
    note: Callable[[str], None] = lambda text: None,
    stopping: StopRequest | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    pool: FetchPool | None = None,
) -> CrawlResult:
    """Go on with a crawl until its rounds are done, nothing is due, or the end is wanted.

    The processes that fetch are those of a pool, or started for this.
    """
    wish = StopRequest() if stopping is None else stopping  # one that nobody has used yet is false
    with ExitStack() as stack:
        pool = pool or stack.enter_context(FetchPool())
        return _CrawlRun(directory, engine, config, rounds, tell, note, wish, clock, pool).run()


class _CrawlRun:
    """One run over a crawl directory."""

    def __init__(
        self,
        directory: CrawlDir,
        engine: Engine,
        config: Config,
        rounds: CrawlLimits,
        tell: Callable[[CrawlProgress], None],
        note: Callable[[str], None],
        stopping: StopRequest,
        clock: Callable[[], datetime],
        pool: FetchPool,
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._config = config
        self._rounds = rounds
        self._tell = tell
        self._note = note
        self._stopping = stopping
        self._clock = clock
        self._pool = pool
        self._update = CrawldbUpdate(config)
        self._number = 0
        self._done: list[RoundResult] = []
        self._next_look = 0.0
        self._cpu: dict[str, float] = {}
        self._step_now = ("", 0.0)

    def run(self) -> CrawlResult:
        while not self._stopping:
            if self._rounds.most is not None and self._number >= self._rounds.most:
                return self._ended(f"{count(self._number, 'round')} done", is_done=False)
            if not self._has_room():
                break
            self._number += 1
            if not self._round():
                return self._ended("nothing is due", is_done=True)
        (self._directory.path / STOP).unlink(missing_ok=True)
        return self._ended(f"stopped by {self._stopping.by}", is_done=False)

    def _round(self) -> bool:
        """Do a round, or the rest of one; false when there was nothing to do."""
        started = time.monotonic()
        segment = self._open_segment() or self._generated()
        if segment is None:
            return False
        fetched = None if segment.is_fetched else self._fetch(segment)
        if self._stopping:
            return True
        if not segment.is_fetched:
            raise UserError(
                "a fetching process was told to end, and did, before its work was done",
                where=str(segment.path),
                hint="What was fetched is kept; the same command does the rest.",
            )
        if not segment.is_parsed:
            self._step("parse")
            parse(
                segment,
                self._config,
                tell=lambda done, total: self._step("parse", done / max(total, 1)),
                stopping=self._stopping,
            )
            if self._stopping:
                return True
        self._step("updatedb")
        updated = self._update.run(self._directory, self._engine, [segment], now=self._clock())
        self._done.append(
            RoundResult(
                number=self._number,
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
        known = applied_segments(self._directory.crawldb) or ()
        return next((each for each in self._directory.all_segments() if not each.is_in(known)), None)

    def _generated(self) -> Segment | None:
        self._step("generate")
        made = generate(
            self._directory,
            self._engine,
            self._config,
            now=self._clock(),
            top_n=self._rounds.top_n,
            add_days=self._rounds.add_days,
        )
        return self._directory.segment(next(iter(made.segments))) if made.segments else None

    def _fetch(self, segment: Segment) -> FetchJobResult:
        self._step("fetch")
        done = fetch(
            self._directory,
            segment,
            self._config,
            engine=lambda: self._engine,
            parses=True,
            tell=self._fetching,
            note=self._note,
            stopping=self._stopping,
            pool=self._pool,
        )
        self._cpu["fetch"] = self._cpu.get("fetch", 0.0) + done.cpu
        return done

    def _fetching(self, state: FetchProgress) -> None:
        self._tell(CrawlProgress(round=self._number, rounds=self._rounds.most, step="fetch", fetch=state))
        self._has_room()

    def _link(self) -> None:
        """Mark duplicates, and bring the links of all segments into the linkdb that are in the crawldb."""
        in_crawldb, in_linkdb = (
            applied_segments(table) or () for table in (self._directory.crawldb, self._directory.linkdb)
        )
        behind = [
            each
            for each in self._directory.all_segments()
            if each.is_parsed and each.is_in(in_crawldb) and not each.is_in(in_linkdb)
        ]
        if not behind:
            return
        if self._rounds.dedup:
            self._step("dedup")
            dedup(self._directory, self._engine, self._config, now=self._clock())
        self._step("invertlinks")
        # Their links went through filters and normalisers as they were parsed.
        invertlinks(
            self._directory, self._engine, self._config, behind, now=self._clock(), filter=False, normalize=False
        )

    def _has_room(self) -> bool:
        """Look at the disk now and then; below ``store.disk_floor`` the crawl comes to its end until there is room."""
        floor = self._config.store.disk_floor
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_AT_DISK
            free = shutil.disk_usage(self._directory.path).free
            if free < floor and not self._stopping.by:
                self._stopping.by = f"low disk space: only {size(free)} free; store.disk_floor requires {size(floor)}"
        return not self._stopping.by

    def _spent(self) -> dict[str, float]:
        """Return the CPU seconds of the steps since the last time this was asked."""
        self._clock_in("")
        spent, self._cpu = self._cpu, {}
        return {name: round(seconds, 3) for name, seconds in spent.items()}

    def _clock_in(self, step: str) -> None:
        before, since = self._step_now
        now = time.process_time()
        if before:
            self._cpu[before] = self._cpu.get(before, 0.0) + now - since
        self._step_now = (step, now)

    def _step(self, name: str, share: float | None = None) -> None:
        self._clock_in(name)
        self._tell(CrawlProgress(round=self._number, rounds=self._rounds.most, step=name, share=share))

    def _ended(self, why: str, *, is_done: bool) -> CrawlResult:
        if not self._stopping:
            self._link()
        return CrawlResult(
            rounds=tuple(self._done),
            ended_by=why,
            is_done=is_done,
            by_status=count_by_status(self._directory, self._engine),
            cpu=self._spent(),
        )
