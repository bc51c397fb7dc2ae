"""fetch: distribute the fetch lists of a segment to workers and monitor them.

On an unfinished segment ``fetch`` continues: URLs in a finished part are not fetched again.
"""

from __future__ import annotations

import heapq
import itertools
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.directory import HOLDS, ROBOTS_CACHE, CrawlDir, StopRequest, applied_segments
from scoter.batch.crawldir.segment import FETCHED, PARSED, Segment
from scoter.batch.fetchlists.lists import process_count
from scoter.batch.fetchlists.slow_hosts import SlowHosts
from scoter.batch.worker.pool import FetchPool, WorkerDied
from scoter.batch.worker.process import FetchTask, FetchTaskReport, assign_lists, share_limits
from scoter.batch.worker.segment_part import recover_fetch
from scoter.config import Config
from scoter.core.reply import Reason
from scoter.engine import Engine, source_of
from scoter.errors import Defect, UsageError, UserError
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.request_headers import user_agent
from scoter.fetch.queues.slots import sum_stats
from scoter.store.disk import try_lock
from scoter.store.objects.copies import local_file

if TYPE_CHECKING:
    from scoter.batch.spark.pool import ClusterPool

MAX_ATTEMPTS = 3
"""How many times the workers are started in one run, if they are killed."""
_WAIT_FOR_OTHERS = 60.0
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
    done: int
    pages: int
    replies: dict[str, int]
    not_requested: dict[str, int]
    interrupted: int = 0
    """Requests that were in progress at the end, and got no answer."""
    deferred: dict[str, datetime] = {}
    """Hosts on hold whose URLs were not requested, and until when."""
    cpu: float = 0.0
    """CPU seconds of the workers, including their start."""
    end_reason: str = ""


def fetch(
    crawl: CrawlDir,
    segment: Segment,
    config: Config,
    *,
    engine: Callable[[], Engine],
    parses: bool | None = None,
    on_progress: Callable[[FetchProgress], None] = lambda state: None,
    on_message: Callable[[str], None] = lambda text: None,
    stopping: StopRequest | None = None,
    pool: FetchPool | None = None,
    leaves_slow_hosts: bool = False,
) -> FetchJobResult:
    """Fetch the rest of a segment; ``engine`` is called only on a cluster, or if some URLs are already fetched.

    Without a pool, workers are started for this segment. ``leaves_slow_hosts``: end without the URLs of the last hosts
    if these take much longer than all others (``slow_hosts.py``).
    """
    user_agent(config)  # fail early if there is no agent name
    if segment.is_fetched:
        is_done = segment.is_in(applied_segments(crawl.crawldb) or ())
        problem = "this segment is already fetched" + (" and in the crawldb" if is_done else "")
        hint = f"Run: scoter {'generate' if is_done else 'updatedb'} {crawl.path}"
        raise UsageError(problem, where=str(segment.path), hint=hint)
    parses = config.fetch.parse if parses is None else parses
    if not parses and not config.fetch.store_content:
        raise UsageError(
            "pages would be neither parsed nor stored", hint="Use --parse, or set fetch.store_content = true."
        )
    with segment.lock("fetch") as lock, ExitStack() as stack:
        stopping = StopRequest() if stopping is None else stopping  # an unused one is false
        pool = pool or stack.enter_context(FetchPool())
        robots, holds = (stack.enter_context(crawl.shared_file(name)) for name in (ROBOTS_CACHE, HOLDS))
        shared = _SharedState(str(robots), str(holds), lock.token)
        for attempt in itertools.count(1):
            if not _wait_for_executors(segment, on_message, stopping):
                urls = segment.info().urls
                return FetchJobResult(
                    segment=segment.name, complete=False, urls=urls, done=0, pages=0, replies={}, not_requested={}
                )
            _wait_for_others(segment, on_message)
            recover_fetch(segment)
            run = _FetchRun(
                segment=segment,
                config=config,
                engine=engine,
                parses=parses,
                on_progress=on_progress,
                stopping=stopping,
                slow=SlowHosts() if leaves_slow_hosts else None,
                shared=shared,
            )
            try:
                done = _run_here(run, pool) if config.fetch.where == "here" else _run_on_cluster(run)
                break
            except WorkerDied as ended:
                if ended.code is not None and ended.code > 0:
                    raise Defect(f"a worker failed ({ended}); see its traceback above") from ended
                if attempt >= MAX_ATTEMPTS:
                    raise UserError(
                        f"workers keep being killed (the last one by {ended})",
                        where=str(segment.path),
                        hint="Check the available memory. Finished parts are kept; to fetch the rest, run it again.",
                    ) from ended
                on_message(f"A worker was killed by {ended}; its unfinished URLs are fetched again.")
        if done.complete:
            lock.check()
            shutil.rmtree(segment.scratch, ignore_errors=True)
            segment.remove_offers()
            # An earlier run may have fetched without parsing; that is left to `parse`.
            if parses and set(segment.crawl_fetch().finished()) <= set(segment.parse_data().finished()):
                segment.finish(PARSED)
            segment.finish(FETCHED)
        return done


class _SharedState(Struct, frozen=True):
    """What the workers of a fetch share: the paths of the robots.txt cache and the holds, and the segment's lock."""

    robots: str
    holds: str
    lock: str


class _FetchRun(Struct, frozen=True, kw_only=True):
    """One run over the rest of a segment."""

    segment: Segment
    config: Config
    engine: Callable[[], Engine]
    parses: bool
    on_progress: Callable[[FetchProgress], None]
    stopping: StopRequest
    slow: SlowHosts | None
    shared: _SharedState


def _run_here(run: _FetchRun, pool: FetchPool) -> FetchJobResult:
    segment, config, shared = run.segment, run.config, run.shared
    info = segment.info()
    finished = segment.crawl_fetch().finished()
    before = segment.crawl_fetch().count() if finished else 0
    lists = (
        _remaining(segment, config, run.engine())
        if finished
        else [Path(local_file(each)) for each in segment.crawl_generate().files]
    )
    attempt = segment.begin_attempt(finished)
    processes = min(process_count(config), len(lists) or 1)
    own = share_limits(config, processes)
    tasks = [
        FetchTask(
            config=own,
            segment=str(segment.path),
            worker=worker,
            attempt=attempt,
            files=tuple(str(lists[number]) for number in numbers),
            numbers=tuple(numbers),
            lists=info.lists,
            partition=info.partition,
            buckets=info.buckets,
            parses=run.parses,
            robots=shared.robots,
            holds=shared.holds,
            lock=shared.lock,
        )
        for worker, numbers in enumerate(assign_lists(list(map(str, lists)), processes))
    ]
    return _run_tasks(run, pool, tasks, before)


def _run_on_cluster(run: _FetchRun) -> FetchJobResult:
    from scoter.batch.spark.coordinator import FetchCoordinator
    from scoter.batch.spark.pool import ClusterPool, checked_engine, cluster_tasks

    segment, config = run.segment, run.config
    engine = checked_engine(run.engine())
    info, generated = segment.info(), segment.crawl_generate()
    lease, grace = config.fetch.lease.total_seconds(), config.fetch.lease_grace.total_seconds()
    before = segment.crawl_fetch().count() if segment.crawl_fetch().finished() else 0
    segment.note_executors(lease + grace)
    with FetchCoordinator(
        segment,
        lists=info.lists,
        partition=info.partition,
        buckets=info.buckets,
        lease=lease,
        grace=grace,
        robots=Path(run.shared.robots),
        holds=Path(run.shared.holds),
        address=(engine.bind_address, config.fetch.driver_port),
    ) as coordinator:
        tasks = cluster_tasks(config, str(segment.path.absolute()), info, generated.files, run.parses)
        try:
            return _run_tasks(run, ClusterPool(engine, coordinator), tasks, before)
        finally:
            if not coordinator.leases.is_any_owned:
                segment.forget_executors()


def _run_tasks(
    run: _FetchRun, pool: FetchPool | ClusterPool, tasks: Sequence[FetchTask], before: int
) -> FetchJobResult:
    watch = WorkerReports(total=run.segment.info().urls, before=before, on_progress=run.on_progress)

    def end_reason() -> str:
        if run.slow is None or not watch.is_complete(len(tasks)):
            return ""
        state = watch.state()
        return run.slow.reason(state.hosts, is_read=state.is_read, now=time.monotonic())

    pool.run(tasks, watch.add, lambda: bool(run.stopping) or watch.problem() is not None, end_reason)
    problem = watch.problem()
    if problem is not None:
        raise problem
    return watch.done(run.segment.name)


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


def _remaining(segment: Segment, config: Config, engine: Engine) -> list[Path]:
    """Write the fetch lists again without the URLs of finished parts, and return the files."""
    extra = scoring_columns(config)
    done = engine.read(source_of(segment.crawl_fetch(extra), ["url"]))
    generated = segment.crawl_generate(extra)
    whole = source_of(generated)
    folder = segment.scratch / "remaining"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = [folder / f"list-{number:05d}.parquet" for number in range(len(whole.files))]
    for file, path in zip(whole.files, found, strict=True):
        rows = engine.read(replace(whole, files=(file,))).anti_join(done, "url")
        engine.save(rows, generated.schema, path)
    return found


def _wait_for_executors(segment: Segment, on_message: Callable[[str], None], stopping: StopRequest) -> bool:
    """Wait until executors of a killed fetch make no more requests; return false if asked to stop before."""
    if silence := segment.executors_silence():
        on_message(f"Waiting {silence:g} seconds, because executors of an earlier fetch may still be making requests.")
        until = time.monotonic() + silence
        while (left := until - time.monotonic()) > 0:
            if stopping:
                return False
            time.sleep(min(left, 0.2))
        segment.forget_executors()
    return True


def _wait_for_others(segment: Segment, on_message: Callable[[str], None]) -> None:
    """Wait until the workers of a killed fetch have finished their parts."""
    until = time.monotonic() + _WAIT_FOR_OTHERS
    with segment.workers_lock.open("ab") as file:
        if try_lock(file.fileno()):
            return
        on_message("Waiting for the workers of an earlier fetch to finish.")
        while not try_lock(file.fileno()):
            if time.monotonic() > until:
                raise UsageError(
                    "workers of an earlier fetch are still running on this segment",
                    where=str(segment.path),
                    hint="Wait until they are done, or kill them.",
                )
            time.sleep(0.2)
