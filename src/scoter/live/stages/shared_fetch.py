"""TODO: describe."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from scoter.compose import Service
from scoter.live.context import Context, OutcomeSource
from scoter.live.records import Priority


class JoinFetch:
    """Lets those who ask for a URL that is being fetched wait for the same outcome, and records it for each.

    The fetch goes on when the first one is cancelled, as long as others wait for it. The first one's entry may have
    been lent to somebody else by then, so that nothing was kept of what came: those who joined keep it, and until one
    of them has done so the next may still join.
    """

    def __init__(
        self,
        record: Service[Context, Context],
        timer: Callable[[], float] = time.perf_counter,
        hurry: Callable[[str, Priority], None] = lambda fetch, priority: None,
    ) -> None:
        """``hurry`` is told of everybody who joins a fetch: he may be more urgent than those who wait already."""
        self._record = record
        self._timer = timer
        self._hurry = hurry
        self._fetches: dict[str, SharedTask[Context]] = {}
        self._names: dict[SharedTask[Context], str] = {}

    def __len__(self) -> int:
        return len(self._fetches)

    async def __call__(self, context: Context, service: Service[Context, Context], /) -> Context:
        while (done := await self._attempt(context, service)) is None:
            pass
        return done

    async def _attempt(self, context: Context, service: Service[Context, Context]) -> Context | None:
        url = context.url.text
        shared = self._fetches.get(url)
        is_first = shared is None or not _can_be_joined(shared, context)
        if shared is None or is_first:
            shared = self._fetches[url] = SharedTask(_run(service, context))
            self._names[shared] = context.fetch
        else:
            self._hurry(self._names[shared], context.entry.priority)
        shared.hold()
        try:
            return await (shared.outcome() if is_first else self._join(context, shared))
        finally:
            if await shared.let_go():
                del self._names[shared]
                if self._fetches.get(url) is shared:
                    del self._fetches[url]

    async def _join(self, context: Context, shared: SharedTask[Context]) -> Context | None:
        """Return what came of another's fetch; none if it had come already when a new one was asked for."""
        began = self._timer()
        done = await shared.outcome()
        if context.entry.force and done.record is not None and done.record.fetched_at < context.entry.accepted:
            return None
        context = context.timed("joined", self._timer() - began)
        # What was kept is not kept again: it may have been replaced by something newer.
        rows = () if done.is_recorded else done.rows
        return await self._record(replace(context, record=done.record, rows=rows, source=OutcomeSource.JOINED))


def _can_be_joined(shared: SharedTask[Context], context: Context) -> bool:
    if shared.is_going_on:
        return True
    done = shared.value
    return done is not None and not done.is_recorded and not context.entry.force


async def _run(service: Service[Context, Context], context: Context) -> Context:
    return await service(context)


T = TypeVar("T")


class SharedTask(Generic[T]):
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
