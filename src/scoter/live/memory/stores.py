"""All stores of a live service, in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from scoter.live.memory.access import MemoryKeys, MemoryRules
from scoter.live.memory.announcing import MemoryDeliveries, MemoryEvents
from scoter.live.memory.journal import MemoryJournal
from scoter.live.memory.records import MemoryMetadata
from scoter.live.memory.turns import MOST_GIVEN_UP, MOST_MESSAGES, MOST_TRIES, PATIENCE, WINDOW


class MemoryStores:
    """What a service keeps, for as long as the process lives. The journal is the ledger too."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        ticks: Callable[[], float] = time.monotonic,
        messages_kept: timedelta = timedelta(days=1),
        most_messages: int = MOST_MESSAGES,
        events_kept: timedelta = timedelta(days=7),
        most_events: int = 100_000,
        most_given_up: int = MOST_GIVEN_UP,
        patience: timedelta = PATIENCE,
        most_tries: int = MOST_TRIES,
        window: int = WINDOW,
    ) -> None:
        self.metadata = MemoryMetadata(clock)
        self.events = MemoryEvents(clock, most=most_events, kept=events_kept)
        self.deliveries = MemoryDeliveries(clock, ticks, most_given_up=most_given_up)
        self.journal = MemoryJournal(
            clock,
            ticks,
            self.metadata,
            self.events,
            self.deliveries,
            kept=messages_kept,
            most_messages=most_messages,
            patience=patience,
            most_tries=most_tries,
            window=window,
        )
        self.ledger = self.journal
        self.rules = MemoryRules()
        self.keys = MemoryKeys(clock)

    def close(self) -> None:
        """Nothing: what was kept is gone with this."""
