"""Two filters before anything is fetched: what is known is not asked again, what is under way is asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from scoter.compose import Service
from scoter.live.context import Context
from scoter.live.ports import MetadataStore
from scoter.live.records import UrlRecord

_records = msgspec.json.Decoder(UrlRecord)


class Known:
    """Answers from the store, unless a fetch is asked for whatever is known."""

    def __init__(self, store: MetadataStore, known_for: timedelta, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._known_for = known_for
        self._clock = clock

    async def __call__(self, context: Context, service: Service[Context, Context], /) -> Context:
        found = None if context.entry.force else self._store.get(context.url.text)
        if found is None or found.fetched_at + self._known_for <= self._clock():
            return await service(context)
        return replace(context, record=_records.decode(found.value))


class UnderWay:
    """Lets those who ask for a URL that is being fetched wait for the same outcome.

    The first one's fetch goes on when the first is cancelled, since others may wait for it.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Context]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    async def __call__(self, context: Context, service: Service[Context, Context], /) -> Context:
        url = context.url.text
        task = self._tasks.get(url)
        if task is not None:
            done = await asyncio.shield(task)
            return replace(done, entry=context.entry, rows=(), is_recorded=False)
        task = self._tasks[url] = asyncio.ensure_future(service(context))
        task.add_done_callback(lambda _: self._tasks.pop(url, None))
        return await asyncio.shield(task)
