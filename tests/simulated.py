"""Simulated time: an event loop on which nobody waits, so that tests about time take none."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")


class _Idle(selectors.SelectSelector):
    """Never waits: when nothing is ready, it sets the loop's clock to the next timer."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for somebody")
        if not ready and timeout:
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with simulated time, which raises if nothing can ever happen again."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Idle()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def simulated(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test on a virtual loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def ticks() -> float:
    return asyncio.get_running_loop().time()
