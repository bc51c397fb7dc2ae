"""Joins a fetch of the same URL that is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from scoter.compose import Service
from scoter.live.pipeline.context import Context, OutcomeSource
from scoter.live.records import Priority


class JoinFetch:
    """Entries for a URL that is being fetched wait for the same outcome, which is recorded for each of them.

    The fetch continues if the first entry is cancelled, as long as others wait for it. If the first entry lost its
    lease, nothing was stored: then an entry that joined stores the records, and until it has, others may still join.
    """

    def __init__(
        self,
        record: Service[Context, Context],
        timer: Callable[[], float],
        raise_priority: Callable[[str, Priority], None],
    ) -> None:
        """``raise_priority`` is called with the priority of each entry that joins a fetch."""
        self._record = record
        self._timer = timer
        self._raise_priority = raise_priority
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
            self._raise_priority(self._names[shared], context.entry.priority)
        shared.hold()
        try:
            return await (shared.outcome() if is_first else self._join(context, shared))
        finally:
            if await shared.let_go():
                del self._names[shared]
                if self._fetches.get(url) is shared:
                    del self._fetches[url]

    async def _join(self, context: Context, shared: SharedTask[Context]) -> Context | None:
        """Return the outcome of another fetch; ``None`` if it is older than a message that forces a fetch."""
        began = self._timer()
        done = await shared.outcome()
        if context.entry.force and done.record is not None and done.record.attempted_at < context.entry.accepted:
            return None
        context = context.timed("joined", self._timer() - began)
        # Do not store records again: newer ones may have replaced them.
        rows = () if done.is_recorded else done.rows
        joined = replace(context, record=done.record, rows=rows, source=OutcomeSource.JOINED)
        if done.continues is not None:
            joined = replace(joined, continues=done.continues, hops=done.hops)
        return await self._record(joined)


def _can_be_joined(shared: SharedTask[Context], context: Context) -> bool:
    if shared.is_going_on:
        return True
    done = shared.value
    return done is not None and not done.is_recorded and not context.entry.force


async def _run(service: Service[Context, Context], context: Context) -> Context:
    return await service(context)


T = TypeVar("T")


class SharedTask(Generic[T]):
    """A task with several holders. It is cancelled when the last holder lets go before it is done."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._holders = 0
        self._is_abandoned = False

    @property
    def is_going_on(self) -> bool:
        return not self._task.done() and not self._is_abandoned

    @property
    def value(self) -> T | None:
        """The result, or ``None`` if the task is not done or has failed."""
        if not self._task.done() or self._task.cancelled() or self._task.exception() is not None:
            return None
        return self._task.result()

    def hold(self) -> None:
        self._holders += 1

    async def outcome(self) -> T:
        """Wait for the result. Cancelling the caller does not cancel the task."""
        return await asyncio.shield(self._task)

    async def let_go(self) -> bool:
        """Release the task; return whether this was the last holder."""
        self._holders -= 1
        if self._holders:
            return False
        if not self._task.done():
            self._is_abandoned = True
            self._task.cancel()
            await asyncio.wait((self._task,))
        return True
