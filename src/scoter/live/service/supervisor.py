"""Starts the processes of a service, restarts those that die or hang, and stops them all when told to.

It does nothing else, so that nothing else can bring it down. If it is killed nevertheless, the others end: each is
connected to it by a socket.
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
from itertools import chain
from typing import Final

from msgspec.structs import replace

from scoter.live.background import DEFECT, VitalTasks
from scoter.live.service.plan import ServicePlan, ServiceRole
from scoter.live.service.process import (
    END_WITHIN,
    HEARTBEATS,
    READY,
    StallDetector,
    cpu_time,
    receive,
    send_plan,
)

CORE: Final = "scoter.live.service.core"
LOOKUPS: Final = "scoter.live.service.lookup_process"
API: Final = "scoter.live.service.roles.api"
PIPELINE: Final = "scoter.live.service.roles.pipeline"
WORKER: Final = "scoter.live.service.roles.worker"
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
_MOST_DOUBLINGS: Final = 10
_STABLE_AFTER: Final = 10.0
_GRACE: Final = 2.0  # seconds for a process to stop by itself
_TRACEBACK_TIME: Final = 0.5  # seconds for a hanging process to write its traceback
_MARK_EVERY: Final = 5.0
_log = logging.getLogger(__name__)


def pause_after(early_ends: int) -> float:
    """Return the seconds to wait before restarting a process, given how often it ended early.

    >>> pause_after(0), pause_after(3), pause_after(5_000)
    (0.1, 0.8, 10.0)
    """
    return min(_FIRST_PAUSE * 2.0 ** min(early_ends, _MOST_DOUBLINGS), _LONGEST_PAUSE)


class SupervisedProcess:
    """A process that is restarted whenever it ends, after a pause that grows while it keeps ending early."""

    def __init__(self, name: str, module: str, plan: ServicePlan, listening: socket.socket | None = None) -> None:
        """``listening`` is a socket passed to each new process, so that connections wait in the meantime."""
        self.name = name
        self._listening = listening
        self.ready = asyncio.Event()
        self._module = module
        self._plan = plan
        self._silence = plan.config.live.silence
        self._process: Process | None = None
        self._early_ends = 0
        self._stopping = asyncio.Event()

    async def keep(self) -> int:
        """Run it until ``stop``, or until it ends without ever being ready; return its last exit code."""
        while True:
            began = time.monotonic()
            try:
                code = await self._run()
            except OSError as error:  # out of memory, processes or files: temporary
                if not self.ready.is_set():
                    raise
                _log.warning("cannot start the %s now: %s", self.name, error)
            else:
                if self._stopping.is_set() or not self.ready.is_set():
                    return code
                _log.warning("restarting the %s, which ended (%s)", self.name, _describe_exit(code))
                self._plan = replace(self._plan, is_restart=True)
            self._early_ends = self._early_ends + 1 if time.monotonic() - began < _STABLE_AFTER else 0
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_after(self._early_ends)):
                    await self._stopping.wait()
                    return 0

    def stop(self) -> None:
        """Stop it, and do not restart it."""
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
                # Its own process group: Ctrl-C goes to the supervisor only, which stops the others in order.
                self._process = process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", self._module, *map(str, given), pass_fds=given, process_group=0
                )
            with suppress(OSError):  # it has already ended
                send_plan(ours, self._plan)
            ours.setblocking(False)
            detector = self._detector_of(process)
            tasks = VitalTasks()
            tasks.spawn(self._join(ours, detector))
            if detector is not None:
                tasks.spawn(self._kill_if_stalled(detector))
            if self._stopping.is_set():
                self.stop()
            try:
                return await process.wait()
            finally:
                await tasks.close()
                self._process = None

    async def _join(self, link: socket.socket, detector: StallDetector | None) -> None:
        while said := await receive(link):
            if detector is not None:
                detector.heard()
            if READY in said:
                self.ready.set()
                if detector is not None:
                    detector.is_ready()

    def _detector_of(self, process: Process) -> StallDetector | None:
        if not self._silence:
            return None
        return StallDetector(self._silence.total_seconds(), lambda: cpu_time(process.pid))

    async def _kill_if_stalled(self, detector: StallDetector) -> None:
        assert self._silence is not None  # noqa: S101 - otherwise nobody detectores
        while not detector.is_stalled():  # noqa: ASYNC110 - that nothing happens is not an event
            await asyncio.sleep(self._silence.total_seconds() / HEARTBEATS)
        _log.error("killing the %s (pid %s), which hangs", self.name, self.pid)
        self._signal(signal.SIGQUIT)  # makes it write a traceback
        await asyncio.sleep(_TRACEBACK_TIME)
        self.kill()

    def _signal(self, sign: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(sign)


def process_groups(plan: ServicePlan, listening: Sequence[socket.socket]) -> list[list[SupervisedProcess]]:
    """Return the processes of a service, in the order in which they start; those of a group start together."""
    match plan.role:
        case ServiceRole.ALL:
            # The core first: it creates the database that the others read.
            lookups = [
                SupervisedProcess(f"lookup process {number}", LOOKUPS, plan, each)
                for number, each in enumerate(listening, start=1)
            ]
            return [[SupervisedProcess("core", CORE, plan)], lookups]
        case ServiceRole.API:
            return [[SupervisedProcess(f"api {number}", API, plan, each) for number, each in enumerate(listening, 1)]]
        case ServiceRole.PIPELINE | ServiceRole.WORKER:
            numbers = range(1, plan.config.live.processes + 1)
            module = PIPELINE if plan.role is ServiceRole.PIPELINE else WORKER
            return [[SupervisedProcess(f"{plan.role} {number}", module, plan) for number in numbers]]


class Supervisor:
    """The processes of one service."""

    def __init__(self, plan: ServicePlan, listening: Sequence[socket.socket], ready: Callable[[], None]) -> None:
        """Each socket gets a lookup process, or an api process; ``ready`` is called when the service is ready."""
        self._ready = ready
        self._mark = plan.folder.ready
        self._groups = process_groups(plan, listening)
        self._tasks: list[asyncio.Task[int]] = []
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Serve until a signal arrives or a process cannot be started; return the exit code."""
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, self._stop)
        self._remove_mark()  # of a service that was killed
        serving = asyncio.create_task(self._serve())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        failed = serving.done() and not self._stopping.is_set()
        stopping.cancel()
        serving.cancel()
        await self._end()
        return serving.result() if failed else 0

    def _stop(self) -> None:
        if self._stopping.is_set():  # the second signal kills at once; nothing is lost
            self._kill()
        self._stopping.set()

    async def _serve(self) -> int:
        """Start all processes; return the exit code of the first that cannot be kept running."""
        for group in self._groups:
            started = [(process, self._keep(process)) for process in group]
            for process, task in started:
                if not await _is_ready(process, task):
                    return _exit_code(task.result())
        self._ready()
        marking = asyncio.create_task(self._keep_mark())
        try:
            ended, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            marking.cancel()
            self._remove_mark()
        return _exit_code(ended.pop().result())

    async def _keep_mark(self) -> None:
        """Touch the file that health checks look at, while all processes run."""
        while True:
            if all(process.pid is not None for process in chain.from_iterable(self._groups)):
                with suppress(OSError):
                    self._mark.touch()
            await asyncio.sleep(_MARK_EVERY)

    def _remove_mark(self) -> None:
        with suppress(OSError):
            self._mark.unlink(missing_ok=True)

    def _keep(self, process: SupervisedProcess) -> asyncio.Task[int]:
        task = asyncio.create_task(process.keep())
        self._tasks.append(task)
        return task

    async def _end(self) -> None:
        # All at once: the core ends the event streams that pass through lookup processes.
        for process in chain.from_iterable(self._groups):
            process.stop()
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=END_WITHIN + _GRACE)
        if late:
            _log.error("killing %d processes that did not end in time", len(late))
            self._kill()
            await asyncio.wait(late)

    def _kill(self) -> None:
        for process in chain.from_iterable(self._groups):
            process.kill()


async def _is_ready(process: SupervisedProcess, task: asyncio.Task[int]) -> bool:
    """Wait until a process is ready or has ended for good; return whether it is ready."""
    ready = asyncio.create_task(process.ready.wait())
    await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    return not task.done()


def _exit_code(code: int) -> int:
    return code if code >= 0 else DEFECT


def _describe_exit(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
