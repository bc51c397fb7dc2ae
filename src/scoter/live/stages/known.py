"""Two filters before anything is fetched: what is known is not asked again, what is under way is asked once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from scoter.compose import Service
from scoter.live.context import Context, Source
from scoter.live.ports import MetadataStore
from scoter.live.records import Priority, UrlRecord
from scoter.live.stages.sharing import Shared

_records = msgspec.json.Decoder(UrlRecord)


class Lately:
    """What is known of URLs, and new enough to count."""

    def __init__(self, store: MetadataStore, known_for: timedelta, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._known_for = known_for
        self._clock = clock

    def get(self, url: str, *, is_direct: bool = False) -> UrlRecord | None:
        """Return the record of a URL; ``is_direct``: only if the URL itself was asked for."""
        found = self._store.get(url)
        if found is None or (is_direct and not found.is_direct):
            return None
        # One that lies ahead is from before the clock was set back: it must not be known for ever.
        if not abs(self._clock() - found.fetched_at) < self._known_for:
            return None
        try:
            return _records.decode(found.value)
        except msgspec.MsgspecError:  # of another version, which may be older or newer: as good as not known
            return None


class Known:
    """Answers what is known, unless a fetch is asked for whatever is known."""

    def __init__(
        self, lately: Lately, record: Service[Context, Context], timer: Callable[[], float] = time.perf_counter
    ) -> None:
        """``record`` is what to do with an answer."""
        self._lately = lately
        self._record = record
        self._timer = timer

    async def __call__(self, context: Context, service: Service[Context, Context], /) -> Context:
        began = self._timer()
        found = None if context.entry.force else self._lately.get(context.url.text)
        context = context.timed("known", self._timer() - began)
        if found is None:
            return await service(context)
        return await self._record(replace(context, record=found, source=Source.KNOWN))


class UnderWay:
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
        self._fetches: dict[str, Shared[Context]] = {}
        self._names: dict[Shared[Context], str] = {}

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
            shared = self._fetches[url] = Shared(_run(service, context))
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

    async def _join(self, context: Context, shared: Shared[Context]) -> Context | None:
        """Return what came of another's fetch; none if it had come already when a new one was asked for."""
        began = self._timer()
        done = await shared.outcome()
        if context.entry.force and done.record is not None and done.record.fetched_at < context.entry.accepted:
            return None
        context = context.timed("joined", self._timer() - began)
        # What was kept is not kept again: it may have been replaced by something newer.
        rows = () if done.is_recorded else done.rows
        return await self._record(replace(context, record=done.record, rows=rows, source=Source.JOINED))


def _can_be_joined(shared: Shared[Context], context: Context) -> bool:
    if shared.is_going_on:
        return True
    done = shared.value
    return done is not None and not done.is_recorded and not context.entry.force


async def _run(service: Service[Context, Context], context: Context) -> Context:
    return await service(context)
