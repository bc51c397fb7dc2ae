"""Two filters before anything is fetched: what is known is not asked again, what is under way is asked once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from scoter.compose import Service
from scoter.live.context import Context, OutcomeSource
from scoter.live.ports import MetadataStore
from scoter.live.records import UrlRecord

_records = msgspec.json.Decoder(UrlRecord)


class FreshRecords:
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


class AnswerKnown:
    """Answers what is known, unless a fetch is asked for whatever is known."""

    def __init__(
        self, lately: FreshRecords, record: Service[Context, Context], timer: Callable[[], float] = time.perf_counter
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
        return await self._record(replace(context, record=found, source=OutcomeSource.KNOWN))
