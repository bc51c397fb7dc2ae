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
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.causes import Cause, causes
from scoter.batch.crawldir.crawldb import count_by_status
from scoter.batch.crawldir.directory import STOP, CrawlDir, StopRequest, applied_segments
from scoter.batch.crawldir.segment import Segment
from scoter.batch.fetchlists.estimates import CrawlEstimate
from scoter.batch.fetchlists.picker import QueueLoad
from scoter.batch.fetchlists.traps import TrapHost
from scoter.batch.hosts.notable import NotableHost, notable_hosts
from scoter.batch.jobs.dedup import dedup
from scoter.batch.jobs.fetch import fetch
from scoter.batch.jobs.generate import GenerateOptions, generate
from scoter.batch.jobs.invertlinks import invertlinks
from scoter.batch.jobs.parse import parse
from scoter.batch.jobs.sitemap import SitemapReading, SitemapResult, Starts
from scoter.batch.jobs.updatedb import CrawldbUpdate
from scoter.batch.jobs.updatehostdb import is_behind, updatehostdb
from scoter.batch.urls.sitemap_starts import SitemapStart
from scoter.batch.worker.pool import FetchPool
from scoter.batch.worker.progress import FetchJobResult, FetchProgress
from scoter.config import Config
from scoter.core.display import count, size
from scoter.engine import Engine, TableSource
from scoter.errors import UserError, typed
from scoter.fetch.progress import Snapshot
from scoter.store.objects.copies import drop_copies

_DISK_CHECK_INTERVAL = 5.0
_LAST_SEGMENTS = 3
_WITH_PAGE = frozenset({"fetched", "notmodified", "duplicate"})


class CrawlProgress(Struct, frozen=True, kw_only=True):
    """The current round and step of a crawl."""

    round: int
    rounds: int | None
    step: str
    share: float | None = None
    fetch: FetchProgress | None = None
    sitemaps: Snapshot | None = None
    """How far the fetch of sitemaps is."""
    ended: RoundResult | None = None
    """Given once, at the end of a round."""


class RoundResult(Struct, frozen=True, kw_only=True):
    """The result of one round."""

    number: int
    segment: str
    urls: int
    """URLs that were requested, or refused before a request."""
    fetched: int
    """Those of them that gave a page, or whose page had not changed."""
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
    causes: tuple[Cause, ...]
    """Why URLs of this run gave no page; if the crawl has no page at all, also those of the runs before."""
    deferred: dict[str, datetime]
    """Hosts on hold that still have URLs to fetch, and until when."""
    cpu: dict[str, float]
    """CPU seconds of the steps after the rounds."""
    traps: tuple[TrapHost, ...] = ()
    """Possible crawler traps whose URLs were held back."""
    hosts: tuple[NotableHost, ...] = ()
    """Hosts that stand out among those fetched from in this run."""
    sitemaps: SitemapResult | None = None
    """What sitemaps added, if any were read."""
    next_due: datetime | None = None
    """If nothing is due: when the next URL will be."""

    @property
    def left(self) -> int:
        """The number of URLs that were not fetched yet."""
        return self.by_status.get("unfetched", 0)

    @property
    def has_succeeded(self) -> bool:
        """Whether this run fetched a page; or had none to fetch, because the crawl has fetched what is due."""
        if self.rounds:
            return any(each.fetched for each in self.rounds)
        return self.is_done and bool(self.by_status.keys() & _WITH_PAGE)


class CrawlLimits(Struct, frozen=True, kw_only=True):
    """The limits of a crawl."""

    most: int | None = 5
    top_n: int | None = 50_000
    max_per_host: int | None = None
    """``None`` means ``generate.max_count``."""
    add_days: int = 0
    dedup: bool = True
    hostdb: bool = False
    """Keep the hostdb up to date, and generate segments by it."""
    sitemaps: Literal["never", "once", "always"] = "never"
    """Before which rounds the sitemaps of all known sites are read."""


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

    The workers of the pool end before the last jobs. Without a pool, they are started for this crawl.
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
    deferred: dict[str, datetime] = {}
    partial: str = ""
    done: list[RoundResult] = []
    next_disk_check: float = 0.0
    cpu: dict[str, float] = {}
    step_now: tuple[str, float] = ("", 0.0)
    traps: dict[tuple[str, str, str], TrapHost] = {}
    sitemaps: SitemapReading | None = None
    next_due: datetime | None = None
    estimate: CrawlEstimate | None = None
    filtered: tuple[int, str] = (0, "")
    """How many URLs the filters dropped from the last fetch list, and one of them."""

    def run(self) -> CrawlResult:
        while not self.stopping:
            if self.rounds.most is not None and self.number >= self.rounds.most:
                return self._ended(f"{count(self.number, 'round')} done", is_done=False)
            if not self._has_disk_space():
                break
            self.number += 1
            if not self._round():
                if self._on_hold():
                    return self._ended("all URLs that are due belong to hosts on hold", is_done=False)
                return self._ended("only possible traps are due" if self.traps else "nothing is due", is_done=True)
        if (stop := self.directory.path / STOP).is_file():
            stop.unlink(missing_ok=True)
        return self._ended(f"stopped by {self.stopping.by}{self.partial}", is_done=False)

    def _round(self) -> bool:
        """Run a round or the rest of one; return false if there was nothing to do."""
        started = time.monotonic()
        segment = self._open_segment()
        if segment is None:
            self._read_sitemaps()
            segment = None if self.stopping else self._generated()
            if segment is None and self._continue_sitemaps():
                segment = self._generated()
        if segment is None:
            return bool(self.stopping)
        fetched = None if segment.is_fetched else self._fetch(segment)
        if self.stopping:
            if fetched is not None:
                self.partial = f" in round {self.number}, after {fetched.done:,} of {count(fetched.urls, 'URL')}"
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
        drop_copies(str(segment.path))
        self.done.append(
            RoundResult(
                number=self.number,
                segment=segment.name,
                urls=updated.outcomes,
                fetched=updated.fetched,
                pages=0 if fetched is None else fetched.pages,
                new=updated.new,
                seconds=time.monotonic() - started,
                cpu=self._spent(),
            )
        )
        self.on_progress(
            CrawlProgress(round=self.number, rounds=self.rounds.most, step="updatedb", share=1.0, ended=self.done[-1])
        )
        return True

    def _open_segment(self) -> Segment | None:
        """Return the oldest segment that is not in the crawldb yet."""
        known = applied_segments(self.directory.crawldb) or ()
        return next((each for each in self.directory.all_segments() if not each.is_in(known)), None)

    def _read_sitemaps(self) -> None:
        wanted, reading = self.rounds.sitemaps, self.sitemaps
        if wanted == "never":
            return
        if reading is None:
            reading = self.sitemaps = SitemapReading(
                self.directory,
                self.engine,
                self.config,
                is_stopping=lambda: not self._has_disk_space() or bool(self.stopping),
                on_progress=self._reading_sitemaps,
            )
            starts: Starts = reading.of_crawldb
        elif wanted == "always":
            starts = reading.of_crawldb
        elif reading.sites_left:
            starts = _no_starts
        else:
            return
        self._step("sitemap")
        reading.run(starts, now=self.clock(), may_suspend=True)

    def _continue_sitemaps(self) -> bool:
        """Read the sitemaps of slow sites when there is nothing else to do; return false if there are none."""
        if self.stopping or self.sitemaps is None or not self.sitemaps.sites_left:
            return False
        self._step("sitemap")
        self.sitemaps.run(_no_starts, now=self.clock())
        return not self.stopping

    def _reading_sitemaps(self, snapshot: Snapshot, kept: int) -> None:
        self.on_progress(CrawlProgress(round=self.number, rounds=self.rounds.most, step="sitemap", sitemaps=snapshot))

    def _update_hosts(self) -> None:
        if self.rounds.hostdb and is_behind(self.directory):
            self._step("updatehostdb")
            updatehostdb(self.directory, self.engine, self.config, now=self.clock())

    def _generated(self) -> Segment | None:
        self._update_hosts()
        self._step("generate")
        limits = self.config.generate
        if self.rounds.max_per_host is not None:
            limits = replace(limits, max_count=self.rounds.max_per_host)
        config = replace(self.config, generate=limits)
        rounds = self.rounds
        options = GenerateOptions(top_n=rounds.top_n, add_days=rounds.add_days, hostdb=rounds.hostdb)
        made = generate(self.directory, self.engine, config, now=self.clock(), options=options)
        self.traps |= {(each.host, each.reason, each.pattern): each for each in made.traps}
        self.deferred.update(made.deferred)
        self.next_due = made.next_due
        self.filtered = (made.filtered, made.a_filtered)
        if made.slowest is not None:
            self._announce(made.slowest)
        return self.directory.segment(next(iter(made.segments))) if made.segments else None

    def _announce(self, load: QueueLoad) -> None:
        """Say how long the crawl takes, unless that is short or was said."""
        limits = self.rounds
        if self.estimate is None:
            most = (limits.max_per_host or self.config.generate.max_count, limits.top_n)
            self.estimate = CrawlEstimate(limits.most, min((each for each in most if each), default=None))
        is_new = self.number == 1 and not applied_segments(self.directory.crawldb)
        if said := self.estimate.sentence(load, self.number, is_new=is_new):
            self.on_message(f"{said} If the site is yours: scoter crawl {typed(self.directory.path)} --own-site")

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
            # After the last round, nobody would fetch them.
            leaves_slow_hosts=self.config.fetch.leave_slow_hosts and self.number != self.rounds.most,
        )
        if done.end_reason:
            self.on_message(f"Round {self.number} ended early: {done.end_reason}.")
        self.deferred.update(done.deferred)
        self.cpu["fetch"] = self.cpu.get("fetch", 0.0) + done.cpu
        return done

    def _on_hold(self) -> dict[str, datetime]:
        """Return the deferred hosts that are still on hold, those that end first first."""
        now = self.clock()
        by_end = sorted(self.deferred.items(), key=lambda each: each[1])
        return {host: until for host, until in by_end if until > now}

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

    def _causes(self, by_status: dict[str, int]) -> tuple[Cause, ...]:
        segments = [self.directory.segment(each.segment) for each in self.done]
        if not segments and not by_status.keys() & _WITH_PAGE:
            segments = self.directory.all_segments()[-_LAST_SEGMENTS:]
        fetched = [each for each in segments if each.is_fetched]
        return causes(fetched, self.config, filtered=self.filtered[0], example=self.filtered[1])

    def _has_disk_space(self) -> bool:
        """Check the disk every few seconds; request a stop if less than ``store.disk_floor`` is free."""
        floor = self.config.store.disk_floor
        if time.monotonic() >= self.next_disk_check:
            self.next_disk_check = time.monotonic() + _DISK_CHECK_INTERVAL
            free = shutil.disk_usage(self.directory.disk).free
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
        self.pool.close()  # the jobs at the end need the memory of the workers
        if not self.stopping:
            self._link()
            self._update_hosts()
        by_status = count_by_status(self.directory, self.engine)
        return CrawlResult(
            rounds=tuple(self.done),
            ended_by=why,
            is_done=is_done,
            by_status=by_status,
            causes=self._causes(by_status),
            next_due=self.next_due,
            deferred=self._on_hold(),
            hosts=notable_hosts(self.engine, [self.directory.segment(each.segment) for each in self.done]),
            cpu=self._spent(),
            traps=tuple(sorted(self.traps.values(), key=lambda each: (-each.urls, each.host))),
            sitemaps=None if self.sitemaps is None else self.sitemaps.result(),
        )


def _no_starts(folder: Path, known: TableSource) -> tuple[SitemapStart, ...]:
    return ()
