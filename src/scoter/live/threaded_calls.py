"""From a thread that works for coroutines back to them: each gets its result, or why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any


class ThreadedCall:
    """Work that a coroutine waits for; the thread fills in ``result`` or ``error``."""

    __slots__ = ("error", "future", "loop", "result")

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self.future = future
        self.loop = future.get_loop()
        self.result: Any = None
        self.error: BaseException | None = None


def deliver_results(batch: Sequence[ThreadedCall]) -> None:
    """Tell the callers, with one call into each event loop."""
    for loop in {work.loop for work in batch}:
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, [work for work in batch if work.loop is loop])


def _tell(batch: Sequence[ThreadedCall]) -> None:
    for work in batch:
        if work.future.done():  # its caller was cancelled
            continue
        if work.error is not None:
            work.future.set_exception(work.error)
        else:
            work.future.set_result(work.result)
