"""Requests whose names must be looked up before they can be queued.

Several names are looked up at a time, so that one whose server does not answer holds up none but its own requests. What
comes for a name meanwhile waits behind what came for it before: a host's order stays as it was.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key")

MOST_NAMES: Final = 64
MOST_REQUESTS: Final = 4_096


class Lookups(Generic[Key]):
    """Hands on each request when the key of its name is known.

    ``take`` is awaited for each, with the key; ``failed`` is told what went wrong with a lookup, or with taking.
    """

    def __init__(
        self,
        take: Callable[[Key, bytes], Awaitable[object]],
        failed: Callable[[BaseException], None],
        *,
        names: int = MOST_NAMES,
        requests: int = MOST_REQUESTS,
    ) -> None:
        """``names`` are looked up at a time, and so many ``requests`` wait, at most."""
        self._take = take
        self._failed = failed
        self._most_names = names
        self._most_requests = requests
        self._waiting: dict[str, deque[bytes]] = {}
        self._requests = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_ended = asyncio.Event()

    def __repr__(self) -> str:
        return f"Lookups({len(self._waiting)} names, {self._requests} requests)"

    def __len__(self) -> int:
        """Return how many names have requests here."""
        return len(self._waiting)

    def __contains__(self, name: str) -> bool:
        return name in self._waiting

    async def add(self, name: str, data: bytes, look_up: Callable[[], Awaitable[Key]]) -> None:
        """Take a request in; when too many wait, not before there is room."""
        while self._requests >= self._most_requests or (
            name not in self._waiting and len(self._waiting) >= self._most_names
        ):
            self._has_ended.clear()
            await self._has_ended.wait()
        self._requests += 1
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.append(data)
            return
        self._waiting[name] = deque([data])
        task = asyncio.create_task(self._run(name, look_up))
        self._tasks.add(task)
        task.add_done_callback(self._bury)

    async def join(self) -> None:
        """Return when nothing waits any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cancel(self) -> list[bytes]:
        """End all lookups, and return what waits for them."""
        for task in self._tasks:
            task.cancel()
        left = [data for waiting in self._waiting.values() for data in waiting]
        self._waiting.clear()
        self._requests = 0
        return left

    async def _run(self, name: str, look_up: Callable[[], Awaitable[Key]]) -> None:
        key = await look_up()
        while waiting := self._waiting.get(name):
            await self._take(key, waiting[0])
            waiting.popleft()
            self._requests -= 1
            self._has_ended.set()
        self._waiting.pop(name, None)

    def _bury(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._has_ended.set()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed(error)
