"""All stores of a live service, in memory: the second implementation that the contract tests run against."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from tests.live.memory.access import MemoryKeys, MemoryRules
from tests.live.memory.events import MemoryDeliveries, MemoryEvents
from tests.live.memory.journal import MemoryJournal
from tests.live.memory.metadata import MemoryMetadata

from scoter.live.clock import lease_now, utc_now
from scoter.live.journal_rules import MOST_GIVEN_UP, MOST_MESSAGES, MOST_TRIES, PATIENCE, WINDOW


class MemoryStores:
    """The counterpart of ``SqliteStores``."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = utc_now,
        lease_clock: Callable[[], float] = lease_now,
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
        self.deliveries = MemoryDeliveries(clock, lease_clock, most_given_up=most_given_up)
        self.journal = MemoryJournal(
            clock,
            lease_clock,
            self.metadata,
            self.events,
            self.deliveries,
            kept=messages_kept,
            most_messages=most_messages,
            patience=patience,
            most_tries=most_tries,
            window=window,
        )
        self.outcomes = self.journal
        self.rules = MemoryRules()
        self.keys = MemoryKeys(clock)

    def close(self) -> None:
        """Do nothing: nothing is open."""
