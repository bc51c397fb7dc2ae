"""All stores of a live service, in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from scoter.live.memory.access import MemoryKeys, MemoryRules
from scoter.live.memory.announcing import MemoryDeliveries, MemoryEvents
from scoter.live.memory.journal import MemoryJournal
from scoter.live.memory.records import MemoryMetadata
from scoter.live.memory.turns import MOST_TRIES, PATIENCE


class MemoryStores:
    """What a service keeps, for as long as the process lives. The journal is the ledger too."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        ticks: Callable[[], float] = time.monotonic,
        messages_kept: timedelta = timedelta(days=1),
        events_kept: timedelta = timedelta(days=7),
        most_events: int = 100_000,
        patience: timedelta = PATIENCE,
        most_tries: int = MOST_TRIES,
    ) -> None:
        self.metadata = MemoryMetadata(clock)
        self.events = MemoryEvents(clock, most=most_events, kept=events_kept)
        self.deliveries = MemoryDeliveries(clock, ticks)
        self.journal = MemoryJournal(
            clock,
            ticks,
            self.metadata,
            self.events,
            self.deliveries,
            kept=messages_kept,
            patience=patience,
            most_tries=most_tries,
        )
        self.ledger = self.journal
        self.rules = MemoryRules()
        self.keys = MemoryKeys(clock)

    async def sweep(self, most: int) -> int:
        """Forget at most so many of each that were kept long enough, and note uses of keys; return how many went."""
        gone = await self.metadata.expire(most)
        gone += await self.journal.prune(most)
        gone += await self.events.prune(most)
        gone += await self.deliveries.prune(most)
        await self.keys.note_uses()
        return gone

    def close(self) -> None:
        """Nothing: what was kept is gone with this."""
