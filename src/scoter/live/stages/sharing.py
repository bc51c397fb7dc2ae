"""Work that several may wait for: it goes on while anybody holds on to it, whoever began it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """One piece of work and how many hold on to it. The last one who lets go ends it, if it has not ended."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._holders = 0
        self._is_abandoned = False

    @property
    def is_going_on(self) -> bool:
        return not self._task.done() and not self._is_abandoned

    @property
    def value(self) -> T | None:
        """What came of it, if it has ended well."""
        if not self._task.done() or self._task.cancelled() or self._task.exception() is not None:
            return None
        return self._task.result()

    def hold(self) -> None:
        self._holders += 1

    async def outcome(self) -> T:
        """Wait for it. Whoever is cancelled meanwhile waits no longer; the work goes on for the others."""
        return await asyncio.shield(self._task)

    async def let_go(self) -> bool:
        """Hold on no longer; tell whether nobody does."""
        self._holders -= 1
        if self._holders:
            return False
        if not self._task.done():
            self._is_abandoned = True
            self._task.cancel()
            await asyncio.wait((self._task,))
        return True
