"""Threads and tasks that a process cannot do without: if one of them fails, the process ends.

A process that went on without its writer thread would accept requests that nobody answers; one without the thread that
reads Kafka would keep its partitions and do nothing with them. The supervisor starts a new process instead.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, Final, NoReturn

DEFECT: Final = 70
"""The exit code of a process that ends because of a defect."""
_SLICES: Final = 3
_log = logging.getLogger(__name__)


def end_process(why: str, error: BaseException | None = None) -> NoReturn:
    """End this process at once; log the reason."""
    _log.critical("this process ends: %s", why, exc_info=error)
    os._exit(DEFECT)


def call_in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], Any], within: float) -> Any:
    """Call something in an event loop, from another thread; return its result."""
    done: Future[Any] = Future()

    def call() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    loop.call_soon_threadsafe(call)
    for _ in range(_SLICES):  # if the process is suspended, the current wait is over at once afterwards
        if wait([done], within / _SLICES).done:
            break
    return done.result(0)


class VitalThread(threading.Thread):
    """A thread; if its function raises something, the process ends."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work

    def run(self) -> None:
        is_done = False
        try:
            self._work()
            is_done = True
        finally:
            # No clause that catches: what librdkafka passes on from a callback may be no exception, and match none.
            if not is_done:
                _log.critical("the thread %s has failed", self.name, exc_info=True)
                end_process("a thread has failed")


class BackgroundTasks:
    """Tasks in the background; if one raises an exception, it is logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._check)
        return task

    async def close(self) -> None:
        """Cancel all tasks."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _check(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        _log.error("defect in a task", exc_info=error)


class VitalTasks(BackgroundTasks):
    """Tasks in the background; if one raises an exception, the process ends."""

    def _failed(self, error: BaseException) -> None:
        end_process("a task has failed", error)
