"""The tasks that run the fetcher's requests; a task that has finished one takes the next.

Creating a task for every request would cost a tenth of a fetch. So new work waits until the end of the event loop's
current iteration for a task that becomes free. Tasks are created only for the work that is left then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

_IN_A_ROW = 16  # items after which a task yields, since work may end without ever waiting


class TaskPool:
    """Runs all the work it is given concurrently.

    ``run`` is awaited for each item, with its host and its bytes. ``on_end`` is called whenever a task ends, with its
    error or ``None``.
    """

    def __init__(
        self, run: Callable[[str, bytes], Awaitable[None]], on_end: Callable[[BaseException | None], None]
    ) -> None:
        self._run = run
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_scheduled = False

    def __repr__(self) -> str:
        return f"TaskPool({len(self._tasks)} tasks, {len(self._waiting)} items waiting)"

    def __len__(self) -> int:
        """Return the number of tasks and of items that wait for one."""
        return len(self._tasks) + len(self._waiting)

    def start(self, key: str, data: bytes) -> None:
        """Run an item."""
        self._waiting.append((key, data))
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._create_tasks)

    def cancel(self) -> list[tuple[str, bytes]]:
        """Cancel all tasks, and return the items that none has taken."""
        for task in tuple(self._tasks):
            task.cancel()
        unstarted = list(self._waiting)
        self._waiting.clear()
        return unstarted

    async def join(self) -> None:
        """Return when all tasks have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _create_tasks(self) -> None:
        self._is_scheduled = False
        for _ in range(len(self._waiting)):
            task = self._loop.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._on_done)

    async def _work(self) -> None:
        # A task takes its items itself: one that is cancelled before it starts leaves its item in the queue.
        done = 0
        while self._waiting:
            await self._run(*self._waiting.popleft())
            done += 1
            if done % _IN_A_ROW == 0:
                await asyncio.sleep(0)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_end(None if task.cancelled() else task.exception())
