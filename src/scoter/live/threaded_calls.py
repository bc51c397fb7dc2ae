"""Calls from coroutines to a worker thread, and the way back of their results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar


class ThreadedCall:
    """A call that a coroutine waits for; the thread sets ``result`` or ``error``."""

    __slots__ = ("error", "future", "loop", "result")

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self.future = future
        self.loop = future.get_loop()
        self.result: Any = None
        self.error: BaseException | None = None


CallT = TypeVar("CallT", bound=ThreadedCall)


def take_batch(queue: SimpleQueue[CallT | None], first: CallT | None, most: int) -> tuple[list[CallT], bool]:
    """Return ``first`` and the calls queued behind it, at most ``most``; and false if ``None`` ended the queue."""
    batch: list[CallT] = []
    call = first
    while call is not None:
        batch.append(call)
        if len(batch) >= most:
            return batch, True
        try:
            call = queue.get_nowait()
        except Empty:
            return batch, True
    return batch, False


def deliver_results(batch: Sequence[ThreadedCall]) -> None:
    """Pass results to the waiting coroutines, with one call into each event loop."""
    for loop in {work.loop for work in batch}:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_set_results, [work for work in batch if work.loop is loop])


def _set_results(batch: Sequence[ThreadedCall]) -> None:
    for work in batch:
        if work.future.done():  # its caller was cancelled
            continue
        if work.error is not None:
            work.future.set_exception(work.error)
        else:
            work.future.set_result(work.result)
