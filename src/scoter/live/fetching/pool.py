"""The worker pool: starts the processes that fetch, assigns their shards, watches and replaces them."""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self

from scoter.config import Config
from scoter.errors import Defect, UsageError
from scoter.live.background import BackgroundTasks, VitalTasks, VitalThread
from scoter.live.fetching.domains import DomainQueue, QueuedHop
from scoter.live.fetching.lease import take_over
from scoter.live.fetching.limits import WorkerLimits, worker_config
from scoter.live.fetching.shards import Grant, Kill, Order, Recall, Renew, ShardAssignment
from scoter.live.fetching.wire import (
    VERSION,
    DomainHold,
    FrameConnection,
    GrantShards,
    LiveWorkerReport,
    RecallShards,
    RenewLease,
    ShardsReturned,
    StartWorker,
    StopWorker,
    WireMessage,
    WorkerReady,
    frames_over,
)

SILENCE: Final = 3.0  # seconds without a message after which a worker is killed; its shards move within five
MAX_FOLDER_BYTES: Final = 80  # a Unix socket's path has 107 bytes in all
START_TIMEOUT: Final = 60.0  # seconds
_MAX_FAILED_STARTS: Final = 3
_TICKS_PER_LEASE: Final = 4
_FIRST_RESTART: Final = 0.1
_SLOWEST_RESTART: Final = 10.0
_MAX_DOUBLINGS: Final = 10
_LONG_LIFE: Final = 10.0  # seconds; a worker that lives longer ends the back-off of restarts

_log = logging.getLogger(__name__)


class HopMaker(Protocol):
    """A worker, as the dispatcher sees it; or all workers of a cluster."""

    number: int
    report: LiveWorkerReport | None
    under_way: dict[int, QueuedHop]

    @property
    def pid(self) -> int: ...

    def send(self, message: WireMessage) -> None: ...

    def line_up(self, domain: DomainQueue, first: QueuedHop) -> None:
        """Note that a domain waits for room."""

    def next_in_line(self) -> DomainQueue | None:
        """Return the domain that gets the next room, and forget that it waits."""


class HopMakers(Protocol):
    """The workers, as the dispatcher sees them."""

    @property
    def restarts(self) -> int: ...

    def __iter__(self) -> Iterator[HopMaker]:
        """Yield those that are ready."""

    def owner(self, shard: int) -> HopMaker | None:
        """Return the one that holds a shard, or ``None`` while the shard moves."""

    async def open(self) -> None: ...

    async def ready(self) -> None: ...

    async def close(self, within: float) -> None: ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background."""


class PoolOwner(Protocol):
    """The dispatcher, as the pool sees it."""

    def receive(self, worker: HopMaker, message: WireMessage) -> None:
        """Handle a message from a worker that is not about its shards."""

    def welcome(self, worker: HopMaker) -> None:
        """Send a new worker what it must know before it gets shards."""

    def domain_holds(self, shards: frozenset[int], since: float) -> tuple[DomainHold, ...]:
        """Return the domains of these shards that are on hold."""

    def moved(self, shards: Sequence[int]) -> None:
        """Handle that shards have a holder again."""

    def lost(self, worker: HopMaker) -> None:
        """Take back the requests of a dead worker."""


class WorkerPool:
    """Keeps the configured number of workers running, and each shard with one of them."""

    def __init__(
        self, config: Config, folder: Path, owner: PoolOwner, bounds: WorkerLimits, now: Callable[[], float]
    ) -> None:
        live = config.live
        self._config = worker_config(config, live.processes, bounds.per_worker)
        self._processes = live.processes
        self._shards = live.shards
        self._lease = live.shard_lease.total_seconds()
        self._folder = folder
        self._owner = owner
        self._bounds = bounds
        self._now = now
        self._assignment = ShardAssignment(self._shards, lease=self._lease, silence=SILENCE)
        self._workers: dict[int, WorkerHandle] = {}
        self._dead: list[Path] = []  # lock files of dead workers, kept until another worker has written its own
        self._tasks = BackgroundTasks()
        self._vital_tasks = VitalTasks()
        self._quick_deaths = 0
        self._is_stopping = False
        self.started = 0
        self._joined = asyncio.Event()
        self._failed_starts = 0

    def __repr__(self) -> str:
        return f"WorkerPool({len(self._workers)} processes, {self._assignment!r})"

    def __iter__(self) -> Iterator[WorkerHandle]:
        """Yield the workers that are ready."""
        return (worker for worker in self._workers.values() if worker.has_joined)

    @property
    def restarts(self) -> int:
        return max(self.started - self._processes, 0)

    def owner(self, shard: int) -> WorkerHandle | None:
        """Return the worker that holds a shard, or ``None`` while the shard moves."""
        number = self._assignment.owner(shard)
        return None if number is None else self._workers.get(number)

    async def open(self) -> None:
        """End the workers of an earlier core, and start new ones."""
        if len(os.fsencode(self._folder)) > MAX_FOLDER_BYTES:
            raise UsageError(
                "the path is too long for the sockets of the worker processes",
                where=str(self._folder),
                hint=f"Choose a folder whose path has at most {MAX_FOLDER_BYTES} bytes.",
            )
        since = await take_over(self._folder, self._now)
        self._assignment = ShardAssignment(self._shards, lease=self._lease, silence=SILENCE, since=since)
        self._vital_tasks.spawn(self._run_ticks())
        for _ in range(self._processes):
            await self._start()

    async def ready(self) -> None:
        """Wait until a worker is ready; raise ``UsageError`` if they all fail to start."""
        await self._joined.wait()
        if self._failed_starts >= _MAX_FAILED_STARTS:
            raise UsageError(
                "the worker processes end before they are ready",
                where="live",
                hint="See their error output for the cause, for example a plug-in that cannot be imported there.",
            )

    async def close(self, within: float) -> None:
        """End all workers."""
        self._is_stopping = True
        workers = list(self._workers.values())
        for worker in workers:
            worker.send(StopWorker(within))
        with suppress(TimeoutError):
            async with asyncio.timeout(within + 1.0):
                await asyncio.gather(*(worker.gone.wait() for worker in workers))
        await self._tasks.close()
        await self._vital_tasks.close()
        workers = list(self._workers.values())
        for worker in workers:
            worker.kill()
        await asyncio.gather(*(worker.gone.wait() for worker in workers))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the pool is closed."""
        self._tasks.spawn(work)

    async def _start(self) -> None:
        self.started += 1
        number = self.started
        worker = await WorkerHandle.start(number, self._now(), self._receive, self._remove)
        self._workers[number] = worker
        worker.send(StartWorker(VERSION, pickle.dumps(self._config), str(self._folder), self._bounds))

    async def _start_again(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._start()
            except (OSError, RuntimeError) as error:  # out of memory, files, processes or threads: retry
                _log.warning("cannot start a worker now: %s", error)
                seconds = min(2 * seconds, _SLOWEST_RESTART)
            else:
                return

    async def _run_ticks(self) -> None:
        while True:
            await asyncio.sleep(self._lease / _TICKS_PER_LEASE)
            self._tick()

    def _tick(self) -> None:
        now = self._now()
        self._do(self._assignment.tick(now))
        for worker in self._workers.values():
            if not worker.has_joined and now - worker.started_at > START_TIMEOUT:
                _log.warning("killing worker %d (pid %d): it did not start in time", worker.number, worker.pid)
                worker.kill()

    def _receive(self, worker: WorkerHandle, message: WireMessage) -> None:
        now = self._now()
        self._assignment.heard(worker.number, now)
        match message:
            case WorkerReady(version, _):
                self._welcome(worker, version)
            case ShardsReturned(since):
                self._assignment.returned(worker.number, since)
                self._do(self._assignment.tick(now))
            case LiveWorkerReport():
                worker.report = message
            case _:
                self._owner.receive(worker, message)

    def _welcome(self, worker: WorkerHandle, version: int) -> None:
        if version != VERSION:
            raise Defect(f"worker has protocol version {version}, the core has {VERSION}")
        worker.has_joined = True
        self._owner.welcome(worker)
        for path in self._dead:
            path.unlink(missing_ok=True)
        self._dead.clear()
        self._assignment.join(worker.number, self._now())
        self._do(self._assignment.tick(self._now()))
        self._failed_starts = 0
        self._joined.set()

    def _remove(self, worker: WorkerHandle) -> None:
        now = self._now()
        self._workers.pop(worker.number, None)
        self._assignment.died(worker.number, now)
        lock = self._folder / f"fetcher-{worker.pid}.lock"
        self._dead.append(lock)
        lock.with_suffix(".sock").unlink(missing_ok=True)
        if not self._is_stopping:
            _log.warning(
                "worker %d (pid %d) ended with %d requests under way", worker.number, worker.pid, len(worker.under_way)
            )
            self._failed_starts += not worker.has_joined
            if self._failed_starts >= _MAX_FAILED_STARTS:
                self._joined.set()
            self._quick_deaths = self._quick_deaths + 1 if now - worker.started_at < _LONG_LIFE else 0
            pause = min(_FIRST_RESTART * 2.0 ** min(self._quick_deaths, _MAX_DOUBLINGS), _SLOWEST_RESTART)
            self._vital_tasks.spawn(self._start_again(pause))
        self._owner.lost(worker)
        if not self._is_stopping:  # afterwards: the next holder of its shards must know which domains are on hold
            self._do(self._assignment.tick(now))

    def _do(self, orders: Sequence[Order]) -> None:
        for order in orders:
            worker = self._workers.get(order.worker)
            if worker is None:
                continue
            match order:
                case Renew(_, until):
                    worker.send(RenewLease(until))
                case Grant(_, shards, since):
                    worker.send(GrantShards(shards, since, self._owner.domain_holds(frozenset(shards), since)))
                    self._owner.moved(shards)
                case Recall(_, shards):
                    worker.send(RecallShards(shards))
                case Kill():
                    _log.warning("killing worker %d (pid %d): no heartbeat", worker.number, worker.pid)
                    worker.kill()


class WorkerHandle:
    """A worker process. ``on_death`` is called when it has ended and all its messages have been read."""

    def __init__(self, number: int, process: subprocess.Popen[bytes], started_at: float) -> None:
        self.number = number
        self.under_way: dict[int, QueuedHop] = {}
        self.has_joined = False
        self.report: LiveWorkerReport | None = None
        self._process = process
        self._frames: FrameConnection | None = None
        self._backlog: list[tuple[int, int, DomainQueue]] = []
        self._left = 2  # ends to wait for: the process and its socket
        self.gone = asyncio.Event()
        self.started_at = started_at

    def __repr__(self) -> str:
        return f"WorkerHandle({self.number}, pid {self.pid}, {len(self.under_way)} under way)"

    @classmethod
    async def start(
        cls,
        number: int,
        now: float,
        on_message: Callable[[WorkerHandle, WireMessage], None],
        on_death: Callable[[WorkerHandle], None],
    ) -> Self:
        """Start a process, which sends ``WorkerReady`` when it is ready."""
        ours, theirs = socket.socketpair()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module, and begun in a millisecond
                [sys.executable, "-m", "scoter.live.fetching.process", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        worker, loop = cls(number, process, now), asyncio.get_running_loop()

        def left() -> None:
            worker._left -= 1
            if not worker._left:
                worker.gone.set()
                on_death(worker)
            else:
                worker.kill()  # a worker without its socket is useless

        def wait() -> None:
            process.wait()
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(left)

        try:
            worker._frames = await frames_over(ours, lambda message: on_message(worker, message), left)
            VitalThread(wait, f"wait-{process.pid}").start()
        except BaseException:
            if worker._frames is None:
                ours.close()
            else:
                worker._frames.close()
            process.kill()
            process.wait()
            raise
        return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: WireMessage) -> None:
        if self._frames is not None:
            self._frames.send(message)

    def kill(self) -> None:
        """Kill the process, even if it is stopped."""
        self._process.send_signal(signal.SIGKILL)  # does nothing once it has been waited for

    # Domains that wait for room at this worker

    def line_up(self, domain: DomainQueue, first: QueuedHop) -> None:
        heapq.heappush(self._backlog, (first.priority, first.id, domain))

    def next_in_line(self) -> DomainQueue | None:
        return heapq.heappop(self._backlog)[2] if self._backlog else None
