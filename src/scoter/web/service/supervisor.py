"""Starts the processes of a service, starts again what dies or stands still, and ends all when it is told to.

It does nothing else, so that nothing else can bring it down. If it is killed all the same, the others end: each is
joined to it by a socket.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from scoter.web.service.plan import ServicePlan
from scoter.web.service.process import (
    DEFECT,
    END_WITHIN,
    HEARTBEATS,
    READY,
    StallDetector,
    cpu_time,
    receive,
    send_plan,
)

CORE: Final = "scoter.web.service.core"
LOOKUPS: Final = "scoter.web.service.lookup_process"
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
_MOST_DOUBLINGS: Final = 10
_LIVED_WELL: Final = 10.0
_GRACE: Final = 2.0  # seconds for a process to bring its own end about
_TELLING: Final = 0.5  # seconds for a process that hangs to write where it stands
_log = logging.getLogger(__name__)


def pause_after(quick_ends: int) -> float:
    """Return the seconds before a process is started again that has ended soon so many times.

    >>> pause_after(0), pause_after(3), pause_after(5_000)
    (0.1, 0.8, 10.0)
    """
    return min(_FIRST_PAUSE * 2.0 ** min(quick_ends, _MOST_DOUBLINGS), _LONGEST_PAUSE)


class SupervisedProcess:
    """A process that is started again whenever it ends, after a pause that grows while it ends soon."""

    def __init__(self, name: str, module: str, plan: ServicePlan, listening: socket.socket | None = None) -> None:
        """``listening`` is a socket that it is given each time, so that whoever connects meanwhile waits for it."""
        self.name = name
        self._listening = listening
        self.ready = asyncio.Event()
        self._module = module
        self._plan = plan
        self._silence = plan.config.live.silence
        self._process: Process | None = None
        self._quick_ends = 0
        self._stopping = asyncio.Event()

    async def keep(self) -> int:
        """Run it until ``stop``, or until it ends without ever having been ready; return its last exit code."""
        while True:
            began = time.monotonic()
            try:
                code = await self._run()
            except OSError as error:  # no memory, no more processes or files: that passes
                if not self.ready.is_set():
                    raise
                _log.warning("the %s cannot be started now: %s", self.name, error)
            else:
                if self._stopping.is_set() or not self.ready.is_set():
                    return code
                _log.warning("the %s ended (%s), and is started again", self.name, _told(code))
            self._quick_ends = self._quick_ends + 1 if time.monotonic() - began < _LIVED_WELL else 0
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_after(self._quick_ends)):
                    await self._stopping.wait()
                    return 0

    def stop(self) -> None:
        """Ask it to end, and to stay so."""
        self._stopping.set()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def _run(self) -> int:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                given = [theirs.fileno(), *([self._listening.fileno()] if self._listening is not None else ())]
                # A group of its own: a person's Ctrl-C is for the supervisor, which ends the others in order.
                self._process = process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", self._module, *map(str, given), pass_fds=given, process_group=0
                )
            with suppress(OSError):  # it has ended already
                send_plan(ours, self._plan)
            ours.setblocking(False)
            watch = self._watch_of(process)
            tasks = [asyncio.create_task(self._join(ours, watch))]
            if watch is not None:
                tasks.append(asyncio.create_task(self._end_if_still(watch)))
            if self._stopping.is_set():
                self.stop()
            try:
                return await process.wait()
            finally:
                for task in tasks:
                    task.cancel()
                self._process = None

    async def _join(self, link: socket.socket, watch: StallDetector | None) -> None:
        while said := await receive(link):
            if watch is not None:
                watch.heard()
            if READY in said:
                self.ready.set()
                if watch is not None:
                    watch.is_ready()

    def _watch_of(self, process: Process) -> StallDetector | None:
        if not self._silence:
            return None
        return StallDetector(self._silence.total_seconds(), lambda: cpu_time(process.pid))

    async def _end_if_still(self, watch: StallDetector) -> None:
        assert self._silence is not None  # noqa: S101 - otherwise nobody watches
        while not watch.stands_still():  # noqa: ASYNC110 - that nothing happens is not an event
            await asyncio.sleep(self._silence.total_seconds() / HEARTBEATS)
        _log.error("the %s (pid %s) stands still, and is killed", self.name, self.pid)
        self._signal(signal.SIGQUIT)  # it says where it stands, if it can
        await asyncio.sleep(_TELLING)
        self.kill()

    def _signal(self, sign: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(sign)


class Supervisor:
    """The processes of one service."""

    def __init__(self, plan: ServicePlan, listening: Sequence[socket.socket], ready: Callable[[], None]) -> None:
        """Each of the sockets gets a lookup process; ``ready`` is called when the service can be used."""
        self._ready = ready
        self._core = SupervisedProcess("core", CORE, plan)
        self._lookups = [
            SupervisedProcess(f"lookup process {number}", LOOKUPS, plan, each)
            for number, each in enumerate(listening, start=1)
        ]
        self._tasks: list[asyncio.Task[int]] = []
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Serve until a signal comes, or until a process cannot be started; return the exit code."""
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, self._stop)
        serving = asyncio.create_task(self._serve())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        failed = serving.done() and not self._stopping.is_set()
        stopping.cancel()
        serving.cancel()
        await self._end()
        return serving.result() if failed else 0

    def _stop(self) -> None:
        if self._stopping.is_set():  # whoever asks twice is in a hurry, and nothing is lost by it
            self._kill()
        self._stopping.set()

    async def _serve(self) -> int:
        """Start everything; return the exit code of the first that cannot be kept."""
        # The core first: it makes the database that the others read.
        core = self._keep(self._core)
        if not await _is_ready(self._core, core):
            return _as_exit(core.result())
        lookups = [(kept, self._keep(kept)) for kept in self._lookups]
        for kept, task in lookups:
            if not await _is_ready(kept, task):
                return _as_exit(task.result())
        self._ready()
        ended, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        return _as_exit(ended.pop().result())

    def _keep(self, kept: SupervisedProcess) -> asyncio.Task[int]:
        task = asyncio.create_task(kept.keep())
        self._tasks.append(task)
        return task

    async def _end(self) -> None:
        # All at once: whoever streams events through a lookup process is let go by the core.
        for kept in (self._core, *self._lookups):
            kept.stop()
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=END_WITHIN + _GRACE)
        if late:
            _log.error("%d processes did not end in time, and are killed", len(late))
            self._kill()
            await asyncio.wait(late)

    def _kill(self) -> None:
        for kept in (self._core, *self._lookups):
            kept.kill()


async def _is_ready(kept: SupervisedProcess, task: asyncio.Task[int]) -> bool:
    """Wait until a process is ready, or has ended for good."""
    ready = asyncio.create_task(kept.ready.wait())
    await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    return not task.done()


def _as_exit(code: int) -> int:
    return code if code >= 0 else DEFECT


def _told(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
