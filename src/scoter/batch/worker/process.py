"""A worker: reads fetch lists and writes finished parts; sends statistics through a pipe, which also tells it to stop.

When the pipe closes, the parent is gone: the worker starts no more requests, finishes those in progress and its part,
and exits. While it runs it holds a shared lock on the segment, so that no other fetch starts.
"""

from __future__ import annotations

import asyncio
import fcntl
import signal
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, suppress
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from scoter import __version__
from scoter.batch.crawldir.schemas import column_names, plugin_columns
from scoter.batch.crawldir.segment import Segment
from scoter.batch.fetchlists.lists import list_number, read_requests
from scoter.batch.worker.outcomes import OutcomeWriter
from scoter.batch.worker.pages import PageProcessor
from scoter.batch.worker.records import datum_of
from scoter.batch.worker.segment_part import FetchPart
from scoter.config import Config
from scoter.core.reply import Exchange
from scoter.core.robots_cache import RobotsCache
from scoter.core.url import Url, queue_key
from scoter.errors import UserError
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.progress import Snapshot
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.protocols.request_headers import user_agent
from scoter.fetch.queues.holds import HoldStore, KeptHolds
from scoter.fetch.sinks import BatchingSink
from scoter.heap import collect_less, give_back, keep_memory
from scoter.parse.parser_process import ParserProcess
from scoter.plugins import chain
from scoter.store.arrow import limit_arrow_memory
from scoter.store.disk import Scratch
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.objects.path import any_path
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.warc.capture import ArchiveInfo

STOP_WITHIN = 15.0
_WITHOUT_FILES = frozenset({"language", "metatags", "headings", "reltag", "creativecommons"})  # parse filters
_LAST = 1.0  # seconds to finish the last replies


class FetchTask(Struct, frozen=True, kw_only=True):
    """The work of one worker."""

    config: Config
    segment: str
    worker: int
    attempt: int
    files: tuple[str, ...]
    numbers: tuple[int, ...]
    lists: int
    partition: str
    buckets: tuple[int, ...]
    parses: bool
    robots: str
    holds: str
    lock: str = ""
    """The token of the segment's lock, which is checked before a part is published."""


class FetchTaskReport(Struct, frozen=True):
    """A report of a worker: its statistics, and in the last one the result."""

    worker: int
    snapshot: Snapshot | None = None
    ended: bool = False
    complete: bool = False
    not_requested: dict[str, int] = {}
    deferred: dict[str, float] = {}
    """Hosts whose URLs were not requested, with the Unix time until which they are on hold."""
    problem: tuple[str, str, str] | None = None
    cpu: float = 0.0


class WorkerPipe(Protocol):
    """How a worker reports, and is told to stop."""

    def send(self, report: FetchTaskReport, /) -> None: ...
    def poll(self) -> bool: ...
    def recv(self) -> str | None: ...


class WorkerPlace:
    """Where a worker runs: on this machine, where it shares files with the others."""

    def protocols(self, config: Config) -> Protocols:
        """Return what makes requests."""
        return Protocols(chain("protocol", config), datum_of)

    def robots(self, task: FetchTask) -> AbstractContextManager[RobotsCache]:
        """Return the cache of robots.txt files."""
        return SqliteRobotsCache(Path(task.robots))

    def holds(self, store: HoldStore) -> HoldStore:
        """Return a store of holds that others learn of."""
        return store

    def publish(self, part: str) -> None:
        """Make a finished part known."""


def run_worker(pipe: Connection) -> None:
    """Run tasks until the pipe closes."""
    limit_arrow_memory()
    keep_memory()
    collect_less()
    used = 0.0
    with closing(KeptParser()) as parser:
        while True:
            try:
                task: FetchTask | str | None = pipe.recv()
            except (EOFError, OSError):
                return
            if isinstance(task, FetchTask):  # anything else is a late order
                report = _run_task(task, pipe, parser.process_for(task.config))
                before, used = used, time.process_time()
                with suppress(OSError):
                    pipe.send(replace(report, cpu=used - before))
                give_back()  # while other processes need memory for their jobs


class KeptParser:
    """The parser process of a worker, which serves one segment after another: each start takes 0.3 seconds."""

    def __init__(self) -> None:
        self._config: Config | None = None
        self._process: ParserProcess | None = None

    def process_for(self, config: Config) -> ParserProcess | None:
        """Return the process; ``None`` if each segment needs its own, which reads the files of parse filters anew."""
        if not _WITHOUT_FILES.issuperset(config.parse.filters):
            return None
        if self._process is None or config != self._config:
            self.close()
            self._config, self._process = config, ParserProcess.of(config)
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()


def _run_task(task: FetchTask, pipe: Connection, parser: ParserProcess | None) -> FetchTaskReport:
    """Run a task; user errors are reported, any other exception ends the worker with a traceback."""
    with Segment(any_path(task.segment)).workers_lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(SegmentWorker(task, pipe, parser=parser).run())
        except UserError as error:
            return FetchTaskReport(task.worker, ended=True, problem=(error.message, error.where, error.hint))


class SegmentWorker:
    """Fetches some fetch lists."""

    def __init__(
        self,
        task: FetchTask,
        pipe: WorkerPipe,
        place: WorkerPlace | None = None,
        parser: ParserProcess | None = None,
    ) -> None:
        self._task = task
        self._pipe = pipe
        self._place = place or WorkerPlace()
        self._parser = parser
        self._segment = Segment(any_path(task.segment))
        self._columns = plugin_columns(chain("scoring", task.config))
        self._about = _about(task.config) if task.config.fetch.store_content else None
        self._size = task.config.store.warc_size
        self._age = task.config.store.warc_age
        self._open: FetchPart | None = None
        self._number = 0
        self._finishing: asyncio.Task[None] | None = None
        self._fetcher: Fetcher | None = None
        self._was_stopped = False

    async def run(self) -> FetchTaskReport:
        """Fetch the lists, until they end or the worker is asked to stop."""
        task, extra = self._task, column_names(self._columns)
        with (
            Scratch(self._segment.scratch, f"worker-{task.worker}") as scratch,
            closing(PageProcessor(task.config, self._parser)) as pages,
            self._place.robots(task) as robots,
            SqliteHostHolds(Path(task.holds)) as stored_holds,
        ):
            holds = KeptHolds(self._place.holds(stored_holds))
            outcomes = OutcomeWriter(
                task.config, extra, part=self._part, pages=pages, parses=task.parses, belongs=self._belongs
            )
            self._fetcher = Fetcher(
                task.config,
                protocols=self._place.protocols(task.config),
                folder=scratch.path,
                robots_cache=robots,
                holds=holds,
                on_robots=self._keep_robots,
                on_snapshot=self._tick,
            )
            outcomes.add = self._fetcher.add
            sink = BatchingSink(outcomes.take)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
            try:
                requests = read_requests(list(map(Path, task.files)), extra, self._set_delay)
                last = await self._fetcher.run(requests, sink.take)
                await sink.settle(_LAST)
                await self._finish_all()
            finally:
                sink.drop()
                if self._open is not None:
                    self._open.discard()
        return FetchTaskReport(
            task.worker,
            last,
            ended=True,
            complete=not self._was_stopped,
            not_requested=dict(outcomes.not_requested),
            deferred=holds.deferred,
        )

    def _set_delay(self, url: Url, delay: timedelta) -> None:
        mode = self._task.config.fetch.queue_mode
        # A queue of an address may be shared by hosts with other delays.
        if self._fetcher is not None and mode != "ip":
            self._fetcher.set_delay(queue_key(url, mode), delay)

    # Parts

    def _keep_robots(self, exchange: Exchange) -> None:
        if self._task.config.fetch.store_robotstxt and exchange.response_head:
            self._part().archive(exchange)

    def _part(self) -> FetchPart:
        if self._finishing is not None and self._finishing.done():
            self._finishing.result()  # raises if the disk was full
            self._finishing = None
        if self._open is None:
            self._number += 1
            name = f"part-{self._task.worker:03d}-{self._task.attempt:03d}-{self._number:05d}"
            now, parses = datetime.now(UTC), self._task.parses
            self._open = FetchPart(self._segment, name, self._columns, about=self._about, parses=parses, opened=now)
        return self._open

    def _rotate_if_due(self) -> None:
        part = self._open
        if part is None or self._finishing is not None:
            return  # one at a time: a slow disk makes parts longer, not more numerous
        if part.size >= self._size or datetime.now(UTC) - part.opened >= self._age:
            self._open = None
            self._finishing = asyncio.create_task(asyncio.to_thread(self._finish, part))

    async def _finish_all(self) -> None:
        if self._finishing is not None:
            await self._finishing
        part, self._open = self._open, None
        if part is not None:
            await asyncio.to_thread(self._finish, part)

    def _finish(self, part: FetchPart) -> None:
        part.finish(self._check_lock)
        self._place.publish(part.name)

    def _check_lock(self) -> None:
        self._segment.check_lock(self._task.lock)

    # The pipe

    def _tick(self, snapshot: Snapshot) -> None:
        """Every second: rotate the part if due, send a report, and check for a request to stop."""
        self._rotate_if_due()
        try:
            self._pipe.send(FetchTaskReport(self._task.worker, snapshot))
            # Polled, because the event loop would make the pipe non-blocking for its other users.
            if self._pipe.poll():
                self._obey(self._pipe.recv())
        except (EOFError, OSError):
            self._stop()

    def _obey(self, order: str | None) -> None:
        if order is None:
            self._stop()
        elif self._fetcher is not None:  # the segment is done without what is still queued
            self._fetcher.stop(STOP_WITHIN, order)

    def _stop(self) -> None:
        self._was_stopped = True
        if self._fetcher is not None:
            self._fetcher.stop(STOP_WITHIN)

    def _belongs(self, url: Url) -> bool:
        task = self._task
        return list_number(url, task.partition, task.lists, task.buckets) in task.numbers


def _about(config: Config) -> ArchiveInfo:
    agent = config.agent
    return ArchiveInfo(software=f"Scoter/{__version__}", agent=user_agent(config), operator=agent.email or agent.url)


def share_limits(config: Config, processes: int) -> Config:
    """Return the configuration of one of several workers: global limits are divided among them."""
    if processes == 1:
        return config
    fetch = config.fetch
    floor = fetch.throughput_threshold_pages
    return replace(
        config,
        fetch=replace(
            fetch,
            threads=max(1, -(-fetch.threads // processes)),
            max_num_threads=max(1, fetch.max_num_threads // processes),
            bandwidth_target=None if fetch.bandwidth_target is None else fetch.bandwidth_target / processes,
            throughput_threshold_pages=None if floor is None else floor / processes,
            body_budget=type(fetch.body_budget)(max(fetch.body_budget // processes, 2**20)),
            queue_buffer=type(fetch.queue_buffer)(max(fetch.queue_buffer // processes, 2**20)),
        ),
    )


def assign_lists(files: Sequence[str], processes: int) -> list[list[int]]:
    """Return the numbers of the lists of each worker.

    >>> assign_lists(["a", "b", "c"], 2)
    [[0, 2], [1]]
    """
    return [list(range(first, len(files), processes)) for first in range(min(processes, len(files)))]
