"""The tasks of a fetch on a cluster, as the driver sees them."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from scoter.batch.crawldir.segment import Segment, SegmentInfo
from scoter.batch.spark.coordinator import FetchCoordinator
from scoter.batch.spark.task import ListRunner
from scoter.batch.worker.process import FetchTask, FetchTaskReport
from scoter.config import Config
from scoter.engine import Engine
from scoter.errors import UsageError, UserError
from scoter.store.objects.leases import steady_clock

_LOOK: Final = 0.2
_MOST_OWNERS: Final = 4  # of one list


@runtime_checkable
class TaskEngine(Protocol):
    """An engine with executors that can run tasks."""

    @property
    def driver_host(self) -> str: ...
    @property
    def bind_address(self) -> str: ...
    def run_tasks(self, function: Callable[[int], None], numbers: Sequence[int]) -> None: ...
    def cancel_tasks(self) -> None: ...


class ClusterPool:
    """Runs each fetch list as a task on an executor.

    Spark starts a task again if it loses its executor. A task whose executor is alive but silent is started again here.
    """

    def __init__(self, engine: TaskEngine, coordinator: FetchCoordinator) -> None:
        self._engine = engine
        self._coordinator = coordinator
        self._failure: BaseException | None = None
        self._running = 0
        self._guard = threading.Lock()

    def __repr__(self) -> str:
        return f"ClusterPool({self._coordinator!r})"

    def run(
        self,
        tasks: Sequence[FetchTask],
        on_report: Callable[[FetchTaskReport], None],
        should_stop: Callable[[], bool],
        should_end: Callable[[], str] = lambda: "",
    ) -> None:
        """Run tasks until all lists have ended, or ``should_stop``."""
        made, leases = self._coordinator, self._coordinator.leases
        runner = ListRunner(tuple(tasks), (self._engine.driver_host, made.port), made.secret)
        self._start(runner, range(len(tasks)))
        restarts: Counter[int] = Counter()
        ended: set[int] = set()
        while len(ended) < len(tasks):
            with suppress(queue.Empty):
                report = made.reports.get(timeout=_LOOK)
                on_report(report)
                if report.ended:
                    ended.add(report.worker)
            made.stopping = made.stopping or should_stop()
            if not made.stopping and (reason := should_end()):
                made.end_lists(reason)
            if not self._running and made.reports.empty():  # Spark has given up, or was told to stop
                break
            for number in leases.abandoned(steady_clock()) if not made.stopping else ():
                if restarts[number] < min(leases.owners(number), _MOST_OWNERS):
                    restarts[number] += 1
                    self._start(runner, [number])
        self._engine.cancel_tasks()
        missing = [number for number in range(len(tasks)) if number not in ended]
        if missing and not made.stopping:
            raise UserError(
                f"executors were lost again and again, and {len(missing)} of {len(tasks)} lists are not done",
                where="fetch.where",
                hint=f"Fetched pages are kept: run the command again. {_first_line(self._failure)}".strip(),
            ) from self._failure
        for number in missing:
            on_report(FetchTaskReport(number, ended=True))

    def _start(self, runner: Callable[[int], None], numbers: Sequence[int]) -> None:
        with self._guard:
            self._running += 1
        threading.Thread(target=self._run, args=(runner, numbers), name="scoter-fetch-job", daemon=True).start()

    def _run(self, runner: Callable[[int], None], numbers: Sequence[int]) -> None:
        try:
            self._engine.run_tasks(runner, numbers)
        except BaseException as error:
            self._failure = error
        finally:
            with self._guard:
                self._running -= 1


def _first_line(error: BaseException | None) -> str:
    return "" if error is None else str(error).partition("\n")[0][:300]


def checked_engine(engine: Engine) -> TaskEngine:
    """Return an engine that can run the tasks of a fetch, or raise."""
    if not isinstance(engine, TaskEngine):
        hint = 'Set engine.kind = "spark", or fetch.where = "here".'
        raise UsageError("only Spark can fetch on a cluster", where="fetch.where", hint=hint)
    return engine


@contextmanager
def cluster_pool(
    segment: Segment, config: Config, engine: Engine, *, robots: Path, holds: Path, parses: bool
) -> Iterator[tuple[ClusterPool, list[FetchTask]]]:
    """Yield a pool whose executors may fetch the segment until the context ends, and a task for each of its lists."""
    spark = checked_engine(engine)
    info, lists = segment.info(), segment.crawl_generate().files
    lease, grace = config.fetch.lease.total_seconds(), config.fetch.lease_grace.total_seconds()
    segment.note_executors(lease + grace)
    with FetchCoordinator(
        segment,
        lists=info.lists,
        partition=info.partition,
        buckets=info.buckets,
        lease=lease,
        grace=grace,
        robots=robots,
        holds=holds,
        address=(spark.bind_address, config.fetch.driver_port),
    ) as coordinator:
        tasks = cluster_tasks(config, str(segment.path.absolute()), info, lists, parses)
        try:
            yield ClusterPool(spark, coordinator), tasks
        finally:
            if not coordinator.leases.is_any_owned:
                segment.forget_executors()


def cluster_tasks(
    config: Config, segment: str, info: SegmentInfo, lists: Sequence[str], parses: bool
) -> list[FetchTask]:
    """Return a task per list; limits such as ``fetch.threads`` hold for each of them."""
    return [
        FetchTask(
            config=config,
            segment=segment,
            worker=number,
            attempt=0,
            files=(file,),
            numbers=(number,),
            lists=info.lists,
            partition=info.partition,
            buckets=info.buckets,
            parses=parses,
            robots="",
            holds="",
        )
        for number, file in enumerate(lists)
    ]
