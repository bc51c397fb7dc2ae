"""The fetching processes of a core: started, given their shards, watched, buried and replaced."""

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
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self

from scoter.config import Config
from scoter.errors import Defect, UsageError
from scoter.live.workers.domains import DomainQueue, QueuedHop
from scoter.live.workers.lease import take_over
from scoter.live.workers.limits import WorkerLimits, worker_config
from scoter.live.workers.shards import Grant, Kill, Order, Recall, Renew, ShardAssignment
from scoter.live.workers.wire import (
    VERSION,
    DomainHold,
    FrameConnection,
    GrantShards,
    RecallShards,
    RenewLease,
    ShardsReturned,
    StartWorker,
    StopWorker,
    WireMessage,
    WorkerReady,
    WorkerReport,
    frames_over,
)

SILENCE: Final = 3.0  # seconds after which a fetcher is taken for dead; its shards move within five
MAX_FOLDER_BYTES: Final = 80  # bytes; a Unix socket's path has 107 in all
START_TIMEOUT: Final = 60.0  # seconds after which a fetcher that has not said hello does not begin any more
_MOST_FAILED_STARTS: Final = 3
_TICKS: Final = 4  # within a lease
_FIRST_RESTART: Final = 0.1
_SLOWEST_RESTART: Final = 10.0
_MOST_DOUBLINGS: Final = 10
_LIVED_WELL: Final = 10.0

_log = logging.getLogger(__name__)


class PoolOwner(Protocol):
    """Who has work for the household."""

    def receive(self, member: WorkerHandle, message: WireMessage) -> None:
        """Take what a fetcher says, other than what concerns its shards."""

    def welcome(self, member: WorkerHandle) -> None:
        """Tell a new fetcher what it must know before it is given shards."""

    def rests(self, shards: frozenset[int], since: float) -> tuple[DomainHold, ...]:
        """Return the domains of shards that are to be left alone for longer than from ``since`` by their policy."""

    def moved(self, shards: Sequence[int]) -> None:
        """Note that shards have a holder again."""

    def lost(self, member: WorkerHandle) -> None:
        """Take back what a dead fetcher had."""


class WorkerPool:
    """Keeps as many fetchers as the configuration says, and each shard with one of them."""

    def __init__(
        self, config: Config, folder: Path, keeper: PoolOwner, bounds: WorkerLimits, now: Callable[[], float]
    ) -> None:
        live = config.live
        self._config = worker_config(config, live.processes, bounds.per_fetcher)
        self._processes = live.processes
        self._shards = live.shards
        self._lease = live.shard_lease.total_seconds()
        self._folder = folder
        self._keeper = keeper
        self._bounds = bounds
        self._now = now
        self._assignment = ShardAssignment(self._shards, lease=self._lease, silence=SILENCE)
        self._members: dict[int, WorkerHandle] = {}
        self._dead: list[Path] = []  # locks of the dead, kept until somebody else has made a promise
        self._tasks: set[asyncio.Task[None]] = set()
        self._quick_deaths = 0
        self._is_stopping = False
        self.started = 0
        self._joined = asyncio.Event()
        self._failed_starts = 0

    def __repr__(self) -> str:
        return f"Household({len(self._members)} processes, {self._assignment!r})"

    def __iter__(self) -> Iterator[WorkerHandle]:
        """Yield the fetchers that have said hello."""
        return (member for member in self._members.values() if member.has_joined)

    @property
    def restarts(self) -> int:
        return max(self.started - self._processes, 0)

    def owner(self, shard: int) -> WorkerHandle | None:
        """Return who holds a shard; nobody while it is on its way."""
        number = self._assignment.owner(shard)
        return None if number is None else self._members.get(number)

    async def open(self) -> None:
        """End whoever is left of an earlier core, and start the processes."""
        if len(os.fsencode(self._folder)) > MAX_FOLDER_BYTES:
            raise UsageError(
                "the path is too long for the fetching processes' sockets",
                where=str(self._folder),
                hint=f"Choose a folder with at most {MAX_FOLDER_BYTES} characters.",
            )
        since = await take_over(self._folder, self._now)
        self._assignment = ShardAssignment(self._shards, lease=self._lease, silence=SILENCE, since=since)
        self.spawn(self._tick())
        for _ in range(self._processes):
            await self._start()

    async def ready(self) -> None:
        """Return when a process is there that fetches; that they all end before they begin is a ``UsageError``."""
        await self._joined.wait()
        if self._failed_starts >= _MOST_FAILED_STARTS:
            raise UsageError(
                "the fetching processes end before they begin",
                where="live",
                hint="What they have written to the error output tells why; a plug-in may not be found there.",
            )

    async def close(self, within: float) -> None:
        """End all processes."""
        self._is_stopping = True
        members = list(self._members.values())
        for member in members:
            member.send(StopWorker(within))
        with suppress(TimeoutError):
            async with asyncio.timeout(within + 1.0):
                await asyncio.gather(*(member.gone.wait() for member in members))
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        members = list(self._members.values())
        for member in members:
            member.kill()
        await asyncio.gather(*(member.gone.wait() for member in members))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the background, until the household is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self) -> None:
        self.started += 1
        number = self.started
        member = await WorkerHandle.start(number, self._receive, self._bury)
        self._members[number] = member
        bounds = self._bounds
        member.send(
            StartWorker(
                VERSION,
                pickle.dumps(self._config),
                self._shards,
                str(self._folder),
                bounds.deepest,
                bounds.patience.total_seconds(),
                bounds.alone_for.total_seconds(),
            )
        )

    async def _start_again(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._start()
            except (OSError, RuntimeError) as error:  # no memory, no more files, processes or threads: that passes
                _log.warning("no fetcher can be started now: %s", error)
                seconds = min(2 * seconds, _SLOWEST_RESTART)
            else:
                return

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._lease / _TICKS)
            self._do(self._assignment.tick(self._now()))
            for member in self._members.values():
                if not member.has_joined and member.lived() > START_TIMEOUT:
                    _log.warning("fetcher %d (pid %d) does not begin, and is killed", member.number, member.pid)
                    member.kill()

    def _receive(self, member: WorkerHandle, message: WireMessage) -> None:
        now = self._now()
        self._assignment.heard(member.number, now)
        match message:
            case WorkerReady(version, _):
                self._welcome(member, version)
            case ShardsReturned(since):
                self._assignment.returned(member.number, since)
                self._do(self._assignment.tick(now))
            case WorkerReport():
                member.report = message
            case _:
                self._keeper.receive(member, message)

    def _welcome(self, member: WorkerHandle, version: int) -> None:
        if version != VERSION:
            raise Defect(f"a fetcher of version {version} has been started by a core of version {VERSION}")
        member.has_joined = True
        self._keeper.welcome(member)
        for path in self._dead:
            path.unlink(missing_ok=True)
        self._dead.clear()
        self._assignment.join(member.number, self._now())
        self._do(self._assignment.tick(self._now()))
        self._failed_starts = 0
        self._joined.set()

    def _bury(self, member: WorkerHandle) -> None:
        now = self._now()
        self._members.pop(member.number, None)
        self._assignment.died(member.number, now)
        lock = self._folder / f"fetcher-{member.pid}.lock"
        self._dead.append(lock)
        lock.with_suffix(".sock").unlink(missing_ok=True)
        if not self._is_stopping:
            _log.warning("fetcher %d (pid %d) ended with %d requests", member.number, member.pid, len(member.under_way))
            self._failed_starts += not member.has_joined
            if self._failed_starts >= _MOST_FAILED_STARTS:
                self._joined.set()
            self._quick_deaths = self._quick_deaths + 1 if member.lived() < _LIVED_WELL else 0
            pause = min(_FIRST_RESTART * 2.0 ** min(self._quick_deaths, _MOST_DOUBLINGS), _SLOWEST_RESTART)
            self.spawn(self._start_again(pause))
            self._do(self._assignment.tick(now))
        self._keeper.lost(member)

    def _do(self, orders: Sequence[Order]) -> None:
        for order in orders:
            member = self._members.get(order.fetcher)
            if member is None:
                continue
            match order:
                case Renew(_, until):
                    member.send(RenewLease(until))
                case Grant(_, shards, since):
                    member.send(GrantShards(shards, since, self._keeper.rests(frozenset(shards), since)))
                    self._keeper.moved(shards)
                case Recall(_, shards):
                    member.send(RecallShards(shards))
                case Kill():
                    _log.warning("fetcher %d (pid %d) is silent, and is killed", member.number, member.pid)
                    member.kill()


class WorkerHandle:
    """A fetching process. ``on_death`` is told when it is gone and everything that it said has been read."""

    def __init__(self, number: int, process: subprocess.Popen[bytes]) -> None:
        self.number = number
        self.under_way: dict[int, QueuedHop] = {}
        self.has_joined = False
        self.report: WorkerReport | None = None
        self._process = process
        self._frames: FrameConnection | None = None
        self._backlog: list[tuple[int, int, DomainQueue]] = []
        self._left = 2  # the process and its socket, each of which has an end
        self.gone = asyncio.Event()
        self._since = time.monotonic()

    def __repr__(self) -> str:
        return f"Member({self.number}, pid {self.pid}, {len(self.under_way)} under way)"

    @classmethod
    async def start(
        cls,
        number: int,
        on_message: Callable[[WorkerHandle, WireMessage], None],
        on_death: Callable[[WorkerHandle], None],
    ) -> Self:
        """Start a process, which says hello when it is ready."""
        ours, theirs = socket.socketpair()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module, and begun in a millisecond
                [sys.executable, "-m", "scoter.live.workers.process", str(theirs.fileno())],
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
        member, loop = cls(number, process), asyncio.get_running_loop()

        def left() -> None:
            member._left -= 1
            if not member._left:
                member.gone.set()
                on_death(member)
            else:
                member.kill()  # one that has closed its socket is of no use any more

        def wait() -> None:
            process.wait()
            with suppress(RuntimeError):  # the loop is closed: nobody is interested
                loop.call_soon_threadsafe(left)

        try:
            member._frames = await frames_over(ours, lambda message: on_message(member, message), left)
            threading.Thread(target=wait, name=f"wait-{process.pid}", daemon=True).start()
        except BaseException:
            if member._frames is None:
                ours.close()
            else:
                member._frames.close()
            process.kill()
            process.wait()
            raise
        return member

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def frames(self) -> FrameConnection:
        if self._frames is None:
            raise RuntimeError("the process has not been started")
        return self._frames

    def lived(self) -> float:
        """Return for how many seconds the process has been there."""
        return time.monotonic() - self._since

    def send(self, message: WireMessage) -> None:
        self.frames.send(message)

    def kill(self) -> None:
        """See to it that the process runs no further; one that is stopped ends, too."""
        self._process.send_signal(signal.SIGKILL)  # does nothing once it has been waited for

    # Domains that have something to send, while there is no room for it

    def line_up(self, domain: DomainQueue, first: QueuedHop) -> None:
        heapq.heappush(self._backlog, (first.priority, first.id, domain))

    def next_in_line(self) -> DomainQueue | None:
        return heapq.heappop(self._backlog)[2] if self._backlog else None
