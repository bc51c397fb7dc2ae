"""fetch: distribute the fetch lists of a segment to workers and monitor them.

On an unfinished segment ``fetch`` continues: URLs in a finished part are not fetched again.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scoter.batch.crawldir.directory import HOLDS, ROBOTS_CACHE, CrawlDir, StopRequest, applied_segments
from scoter.batch.crawldir.segment import FETCHED, PARSED, Segment
from scoter.batch.fetchlists.slow_hosts import SlowHosts
from scoter.batch.spark.leases import wait_for_executors
from scoter.batch.urls.refusals import note_settings
from scoter.batch.worker.pool import FetchPool, WorkerDied
from scoter.batch.worker.process import FetchTask
from scoter.batch.worker.progress import FetchJobResult, FetchProgress, WorkerReports
from scoter.batch.worker.segment_part import recover_fetch
from scoter.batch.worker.tasks import SharedState, local_tasks, wait_for_workers
from scoter.config import Config
from scoter.engine import Engine
from scoter.errors import Defect, UsageError, UserError, typed
from scoter.fetch.protocols.request_headers import user_agent

if TYPE_CHECKING:
    from scoter.batch.spark.pool import ClusterPool

MAX_ATTEMPTS = 3
"""How many times the workers are started in one run, if they are killed."""


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
    parses = config.fetch.parse if parses is None else parses
    _check(crawl, segment, config, parses)
    with segment.lock("fetch") as lock, ExitStack() as stack:
        note_settings(crawl, config)
        stopping = StopRequest() if stopping is None else stopping  # an unused one is false
        pool = pool or stack.enter_context(FetchPool())
        robots, holds = (stack.enter_context(crawl.shared_file(name)) for name in (ROBOTS_CACHE, HOLDS))
        shared = SharedState(str(robots), str(holds), lock.token)
        for attempt in itertools.count(1):
            if not wait_for_executors(segment, on_message, stopping):
                return FetchJobResult(segment=segment.name, complete=False, urls=segment.info().urls)
            wait_for_workers(segment, on_message)
            recover_fetch(segment)
            finished = segment.crawl_fetch().finished()
            before = segment.crawl_fetch().count() if finished else 0
            reports = WorkerReports(total=segment.info().urls, before=before, on_progress=on_progress)
            slow = SlowHosts() if leaves_slow_hosts else None
            try:
                with _opened(pool, segment, config, shared, finished, parses=parses, engine=engine) as (workers, tasks):
                    _run(workers, tasks, reports, stopping, slow)
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
        done = reports.done(segment.name)
        if done.complete:
            lock.check()
            shutil.rmtree(segment.scratch, ignore_errors=True)
            segment.remove_offers()
            # An earlier run may have fetched without parsing; that is left to `parse`.
            if parses and set(segment.crawl_fetch().finished()) <= set(segment.parse_data().finished()):
                segment.finish(PARSED)
            segment.finish(FETCHED)
        return done


def _check(crawl: CrawlDir, segment: Segment, config: Config, parses: bool) -> None:
    user_agent(config)  # fail early if there is no agent name
    if segment.is_fetched:
        is_done = segment.is_in(applied_segments(crawl.crawldb) or ())
        problem = "this segment is already fetched" + (" and in the crawldb" if is_done else "")
        hint = f"Run: scoter {'generate' if is_done else 'updatedb'} {typed(crawl.path)}"
        raise UsageError(problem, where=str(segment.path), hint=hint)
    if not parses and not config.fetch.store_content:
        raise UsageError(
            "pages would be neither parsed nor stored", hint="Use --parse, or set fetch.store_content = true."
        )


@contextmanager
def _opened(
    pool: FetchPool,
    segment: Segment,
    config: Config,
    shared: SharedState,
    finished: Sequence[str],
    *,
    parses: bool,
    engine: Callable[[], Engine],
) -> Iterator[tuple[FetchPool | ClusterPool, list[FetchTask]]]:
    """Yield what runs the workers, here or on a cluster, and the task of each."""
    if config.fetch.where == "here":
        yield pool, local_tasks(segment, config, shared, finished, parses=parses, engine=engine)
        return
    from scoter.batch.spark.pool import cluster_pool

    robots, holds = Path(shared.robots), Path(shared.holds)
    with cluster_pool(segment, config, engine(), robots=robots, holds=holds, parses=parses) as opened:
        yield opened


def _run(
    workers: FetchPool | ClusterPool,
    tasks: Sequence[FetchTask],
    reports: WorkerReports,
    stopping: StopRequest,
    slow: SlowHosts | None,
) -> None:
    def end_reason() -> str:
        if slow is None or not reports.is_complete(len(tasks)):
            return ""
        state = reports.state()
        return slow.reason(state.hosts, is_read=state.is_read, now=time.monotonic())

    workers.run(tasks, reports.add, lambda: bool(stopping) or reports.problem() is not None, end_reason)
    problem = reports.problem()
    if problem is not None:
        raise problem
