"""The tasks that do the fetcher's work: one for each piece under way, which goes on with the next if there is one.

A task that is made, begun and buried for every request would cost as much as a tenth of a fetch does. So a piece of
work waits for the end of the event loop's turn, and whichever task becomes free until then takes it; only for what is
left a task is made.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

_IN_A_ROW = 16  # pieces after which a task lets others go first, since work may end without ever waiting


class Crew:
    """Does each piece of work that it is given, at once and side by side.

    ``do`` is awaited for each, with its host and its bytes; ``ended`` is told whenever a task ends, with the error that
    ended it or none.
    """

    def __init__(
        self, do: Callable[[str, bytes], Awaitable[None]], ended: Callable[[BaseException | None], None]
    ) -> None:
        self._do = do
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_handing_out = False

    def __repr__(self) -> str:
        return f"Crew({len(self._tasks)} tasks, {len(self._waiting)} pieces of work not begun)"

    def __len__(self) -> int:
        """Return how many tasks there are, and pieces of work that wait for one."""
        return len(self._tasks) + len(self._waiting)

    def begin(self, key: str, data: bytes) -> None:
        """Do a piece of work."""
        self._waiting.append((key, data))
        if not self._is_handing_out:
            self._is_handing_out = True
            self._loop.call_soon(self._hand_out)

    def cancel(self) -> list[tuple[str, bytes]]:
        """Cancel all tasks, and return the work that nobody has begun."""
        for task in tuple(self._tasks):
            task.cancel()
        unbegun = list(self._waiting)
        self._waiting.clear()
        return unbegun

    async def join(self) -> None:
        """Return when all tasks have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _hand_out(self) -> None:
        self._is_handing_out = False
        for _ in range(len(self._waiting)):
            task = self._loop.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._bury)

    async def _work(self) -> None:
        # A task takes its work itself: one that is cancelled before it begins then leaves it where it was.
        done = 0
        while self._waiting:
            await self._do(*self._waiting.popleft())
            done += 1
            if done % _IN_A_ROW == 0:
                await asyncio.sleep(0)

    def _bury(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._ended(None if task.cancelled() else task.exception())
