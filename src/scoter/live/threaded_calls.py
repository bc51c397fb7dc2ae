"""A thread that carries out the calls of coroutines in batches."""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from msgspec import Struct

from scoter.errors import Defect
from scoter.live.background import VitalThread

_log = logging.getLogger(__name__)


class ThreadedCall(Struct, eq=False):
    """A call that a coroutine waits for; the thread sets ``result`` or ``error``."""

    work: Any
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class BatchThread(ABC):
    """Carries out queued calls, at most ``together`` at a time; at most ``most_waiting`` are queued.

    If the thread itself fails, the process ends: callers would wait forever.
    A subclass starts ``_thread`` when it is ready.
    """

    def __init__(self, name: str, *, most_waiting: int, together: int) -> None:
        self._together = together
        self._queue: SimpleQueue[ThreadedCall | None] = SimpleQueue()
        self._room = asyncio.Semaphore(most_waiting)
        self._closed = False
        self._closing = threading.Lock()
        self._thread = VitalThread(self._run, name)

    def close(self) -> None:
        """Carry out queued calls, then end the thread. Blocks until done."""
        with self._closing:  # no call may be queued after the end marker, even by another thread
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    @abstractmethod
    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        """Set the results of calls, in the thread."""

    @abstractmethod
    def _finish(self) -> None:
        """Release what the thread has used, in the thread."""

    def _wait(self) -> ThreadedCall | None:
        """Return the next call, ``None`` at the end; may raise ``Empty``."""
        return self._queue.get()

    def _after_batch(self) -> None:  # noqa: B027 - optional
        """Do what can wait until the results are delivered."""

    async def _call(self, work: Any) -> Any:
        async with self._room:
            future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            with self._closing:
                if self._closed:
                    raise Defect(f"{self._thread.name}: used after closing")
                self._queue.put(ThreadedCall(work, future))
            return await future

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._gather()
            if batch:
                self._try(batch)
                _deliver_results(batch)
            self._after_batch()
        self._finish()

    def _try(self, batch: Sequence[ThreadedCall]) -> None:
        """Carry out calls; whatever happens, each gets an answer, and the thread goes on."""
        try:
            self._carry_out(batch)
        except Exception as error:
            _log.exception("%s: calls have failed", self._thread.name)
            for call in batch:
                call.error = call.error or error

    def _gather(self) -> tuple[list[ThreadedCall], bool]:
        """Wait for a call; return it and those queued behind it, and false at the end."""
        batch: list[ThreadedCall] = []
        with suppress(Empty):
            call = self._wait()
            while call is not None:
                batch.append(call)
                if len(batch) >= self._together:
                    return batch, True
                call = self._queue.get_nowait()
            return batch, False
        return batch, True


def _deliver_results(batch: Sequence[ThreadedCall]) -> None:
    """Pass results to the waiting coroutines, with one call into each event loop."""
    for loop in {call.future.get_loop() for call in batch}:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_set_results, [call for call in batch if call.future.get_loop() is loop])


def _set_results(batch: Sequence[ThreadedCall]) -> None:
    for call in batch:
        if call.future.done():  # its caller was cancelled
            continue
        if call.error is not None:
            call.future.set_exception(call.error)
        else:
            call.future.set_result(call.result)
