"""Answers from the store if a fresh record exists."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from scoter.compose import Service
from scoter.live.pipeline.context import Context, OutcomeSource
from scoter.live.ports import MetadataStore, StoredRecord
from scoter.live.records import State, UrlRecord

_records = msgspec.json.Decoder(UrlRecord)


class FreshRecords:
    """Records that are recent enough to answer with, and the last good ones."""

    def __init__(self, store: MetadataStore, known_for: timedelta, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._known_for = known_for
        self._clock = clock

    async def get(self, url: str) -> UrlRecord | None:
        """Return the record of a URL."""
        found = await self._store.get(url)
        if found is None:
            return None
        now = self._clock()
        # abs(): a fetch time in the future dates from before the clock was set back.
        if not abs(now - found.fetched_at) < self._known_for:
            return None
        record = _decoded(found)
        return None if record is None or record.is_due(now) else record

    async def failures(self, url: str) -> int:
        """Return how often a URL has failed since its last success, as far as its record tells."""
        found = await self._store.last(url)
        record = _decoded(found) if found is not None else None
        if record is None:
            return 0
        return record.failures if record.stale is None else record.stale.failures

    async def last_good(self, url: str) -> UrlRecord | None:
        """Return the result of the last successful request for a URL, even if it has expired but is still stored."""
        found = await self._store.last(url)
        record = _decoded(found) if found is not None else None
        return record if record is not None and record.state is State.OK else None


def _decoded(stored: StoredRecord) -> UrlRecord | None:
    try:
        return _records.decode(stored.value)
    except msgspec.MsgspecError:  # written by another version: treat it as unknown
        return None


class AnswerKnown:
    """Answers from the store, unless the message forces a fetch."""

    def __init__(self, fresh: FreshRecords, record: Service[Context, Context], timer: Callable[[], float]) -> None:
        """``record`` is called with each answer."""
        self._fresh = fresh
        self._record = record
        self._timer = timer

    async def __call__(self, context: Context, service: Service[Context, Context], /) -> Context:
        began = self._timer()
        found = None if context.entry.force else await self._fresh.get(context.url.text)
        context = context.timed("known", self._timer() - began)
        if found is None:
            return await service(context)
        return await self._record(replace(context, record=found, source=OutcomeSource.KNOWN))
