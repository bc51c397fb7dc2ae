"""The end of a URL's way: its record is stored and announced, and its message's entry closed, all at once."""

from __future__ import annotations

from msgspec.structs import replace

from scoter.errors import Defect
from scoter.live.context import Context
from scoter.live.ports import Done, Ledger


class Recording:
    """Records what came of a URL."""

    def __init__(self, reader: str, ledger: Ledger) -> None:
        self._reader = reader
        self._ledger = ledger

    async def __call__(self, context: Context) -> Context:
        if context.record is None:
            raise Defect(f"{context.url.text} came to its end without a record")
        done = Done(entry=context.entry, record=context.record, rows=context.rows)
        (event,) = await self._ledger.record(self._reader, [done])
        # One that lost its lease is somebody else's by now, who will record it.
        return replace(context, is_recorded=event is not None)
