"""Fetch a segment: deal its lists out to processes, watch them, and say when all of it is done.

``fetch`` on an unfinished segment goes on with it: what stands in a finished part is not fetched again.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.directory import CrawlDir, StopRequest, applied_segments
from scoter.batch.crawldir.schemas import plugin_columns
from scoter.batch.crawldir.segment import FETCHED, PARSED, Segment
from scoter.batch.fetchlists.lists import process_count
from scoter.batch.worker.parts import recover_fetch
from scoter.batch.worker.pool import FetchPool, WorkerDied
from scoter.batch.worker.process import WORKERS_LOCK, FetchTask, WorkerReport, assign_lists, share_limits
from scoter.config import Config
from scoter.engine import Engine, source_of
from scoter.errors import Defect, UsageError, UserError
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.request_headers import user_agent
from scoter.plugins import chain

MAX_ATTEMPTS = 3
"""How often processes that were killed are replaced within one run."""
_WAIT_FOR_OTHERS = 60.0


class FetchProgress(Struct, frozen=True, kw_only=True):
    """A fetch at one moment."""

    total: int
    done: int
    pages: int
    pages_per_second: float
    kilobytes_per_second: float
    active: int
    queued: int
    errors: int
    why: str = ""

    @property
    def seconds_left(self) -> float | None:
        """How long it will take at this rate, if it can be said."""
        left = self.total - self.done
        return left / self.pages_per_second if self.pages_per_second > 0.01 and left > 0 else None


class FetchJobResult(Struct, frozen=True, kw_only=True):
    """What came of a fetch."""

    segment: str
    complete: bool
    urls: int
    done: int
    pages: int
    replies: dict[str, int]
    not_requested: dict[str, int]
    cpu: float = 0.0
    """CPU seconds of the fetching processes, their start included."""
    told: str = ""


def fetch(
    crawl: CrawlDir,
    segment: Segment,
    config: Config,
    *,
    engine: Callable[[], Engine],
    parses: bool | None = None,
    tell: Callable[[FetchProgress], None] = lambda state: None,
    note: Callable[[str], None] = lambda text: None,
    stopping: StopRequest | None = None,
    pool: FetchPool | None = None,
) -> FetchJobResult:
    """Fetch what is left of a segment; ``engine`` is asked for only if there is something to leave out.

    Processes are those of a pool, or started for this.
    """
    user_agent(config)  # without a name nothing is fetched, and nothing else should be done before that is said
    if segment.is_fetched:
        is_done = segment.is_in(applied_segments(crawl.crawldb) or ())
        problem = "this segment is fetched already" + (", and in the crawldb" if is_done else "")
        hint = f"Run: scoter {'generate' if is_done else 'updatedb'} {crawl.path}"
        raise UsageError(problem, where=str(segment.path), hint=hint)
    parses = config.fetch.parse if parses is None else parses
    if not parses and not config.fetch.store_content:
        raise UsageError(
            "the pages would be neither parsed nor kept", hint="Give --parse, or set fetch.store_content = true."
        )
    with segment.lock("fetch"), ExitStack() as stack:
        stopping = StopRequest() if stopping is None else stopping  # one that nobody has used yet is false
        pool = pool or stack.enter_context(FetchPool())
        for attempt in itertools.count(1):
            _wait_for_others(segment, note)
            recover_fetch(segment)
            try:
                done = _run(crawl, segment, config, engine, parses, tell, stopping, pool)
                break
            except WorkerDied as ended:
                if ended.code is not None and ended.code > 0:
                    raise Defect(f"a fetching process failed ({ended}); it said why above") from ended
                if attempt >= MAX_ATTEMPTS:
                    raise UserError(
                        f"fetching processes keep being killed (the last by {ended})",
                        where=str(segment.path),
                        hint="Is there enough memory? What was finished is kept; the same command does the rest.",
                    ) from ended
                note(f"A fetching process was ended by {ended}; what it had not finished is fetched again.")
        if done.complete:
            shutil.rmtree(segment.path / "tmp", ignore_errors=True)
            # An earlier run may have fetched without parsing: what it has fetched is left to `parse`.
            if parses and set(segment.crawl_fetch().finished()) <= set(segment.parse_data().finished()):
                segment.finish(PARSED)
            segment.finish(FETCHED)
        return done


def _run(
    crawl: CrawlDir,
    segment: Segment,
    config: Config,
    engine: Callable[[], Engine],
    parses: bool,
    tell: Callable[[FetchProgress], None],
    stopping: StopRequest,
    pool: FetchPool,
) -> FetchJobResult:
    about = segment.info()
    finished = segment.crawl_fetch().finished()
    before = segment.crawl_fetch().count() if finished else 0
    lists = _remaining(segment, config, engine()) if finished else list(map(Path, segment.crawl_generate().files))
    attempt = 1 + max((int(name.split("-")[2]) for name in finished), default=0)
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
            lists=about.lists,
            partition=about.partition,
            parses=parses,
            robots=str(crawl.path / "robots.sqlite"),
        )
        for worker, numbers in enumerate(assign_lists(list(map(str, lists)), processes))
    ]
    watch = _WorkerReports(total=about.urls, before=before, tell=tell)
    pool.run(tasks, watch.hear, lambda: bool(stopping) or watch.problem() is not None)
    problem = watch.problem()
    if problem is not None:
        raise problem
    return watch.done(segment.name)


class _WorkerReports:
    """What the processes have told."""

    def __init__(self, total: int, before: int, tell: Callable[[FetchProgress], None]) -> None:
        self._total = total
        self._before = before
        self._tell = tell
        self._last: dict[int, Snapshot] = {}
        self._ended: dict[int, WorkerReport] = {}

    def hear(self, said: WorkerReport) -> None:
        if said.snapshot is not None:
            self._last[said.worker] = said.snapshot
        if said.ended:
            self._ended[said.worker] = said
        self._tell(self.state())

    def problem(self) -> UserError | None:
        found = next((said.problem for said in self._ended.values() if said.problem is not None), None)
        return None if found is None else UserError(found[0], where=found[1], hint=found[2])

    def state(self) -> FetchProgress:
        last = self._last.values()
        return FetchProgress(
            total=self._total,
            done=self._before + sum(each.done for each in last),
            pages=sum(each.fetched for each in last),
            pages_per_second=sum(each.pages_per_second for each in last),
            kilobytes_per_second=sum(each.kilobytes_per_second for each in last),
            active=sum(each.active for each in last),
            queued=sum(each.queued for each in last),
            errors=sum(sum(each.errors.values()) for each in last),
            why="; ".join(dict.fromkeys(each.why for each in last if each.why)),
        )

    def done(self, segment: str) -> FetchJobResult:
        state = self.state()
        replies: Counter[str] = Counter()
        not_requested: Counter[str] = Counter()
        for snapshot in self._last.values():
            replies.update(snapshot.replies)
        for said in self._ended.values():
            not_requested.update(said.not_requested)
        return FetchJobResult(
            segment=segment,
            complete=all(said.complete for said in self._ended.values()),
            urls=self._total,
            done=state.done - sum(not_requested.values()),
            pages=state.pages,
            replies=dict(replies),
            not_requested=dict(not_requested),
            cpu=sum(said.cpu for said in self._ended.values()),
            told="; ".join(dict.fromkeys(each.end_reason for each in self._last.values() if each.end_reason)),
        )


def _remaining(segment: Segment, config: Config, engine: Engine) -> list[Path]:
    """Write the lists again without what finished parts hold, and return them."""
    extra = plugin_columns(chain("scoring", config))
    done = engine.read(source_of(segment.crawl_fetch(extra), ["url"]))
    generated = segment.crawl_generate(extra)
    whole = source_of(generated)
    folder = segment.path / "tmp" / "remaining"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = []
    for number, file in enumerate(whole.files):
        rows = engine.read(replace(whole, files=(file,))).anti_join(done, "url")
        path = folder / f"list-{number:05d}.parquet"
        engine.save(rows, generated.schema, path)
        found.append(path)
    return found


def _wait_for_others(segment: Segment, note: Callable[[str], None]) -> None:
    """Wait until the processes of a fetch that was killed have finished what they were at."""
    handle = os.open(segment.path / WORKERS_LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    until = time.monotonic() + _WAIT_FOR_OTHERS
    told = False
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise UsageError(
                        "processes of an earlier fetch still work on this segment",
                        where=str(segment.path),
                        hint="Wait until they are done, or end them.",
                    ) from None
                if not told:
                    note("Waiting for the processes of an earlier fetch to finish what they are at.")
                    told = True
                time.sleep(0.2)
            else:
                return
    finally:
        os.close(handle)
