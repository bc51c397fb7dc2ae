"""All stores of a live service, in memory: the second implementation that the contract tests run against."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tests.live.memory.access import MemoryHolds, MemoryKeys, MemoryRules
from tests.live.memory.events import MemoryDeliveries, MemoryEvents
from tests.live.memory.journal import MemoryJournal
from tests.live.memory.metadata import MemoryMetadata

from scoter.config.sections.live import LiveSettings
from scoter.live.clock import steady_now, utc_now
from scoter.live.intake.journal_rules import MOST_GIVEN_UP


class MemoryStores:
    """The counterpart of ``SqliteStores``."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = utc_now,
        steady_clock: Callable[[], float] = steady_now,
        live: LiveSettings = LiveSettings(),  # noqa: B008 - frozen
        most_given_up: int = MOST_GIVEN_UP,
    ) -> None:
        self.metadata = MemoryMetadata(clock)
        self.events = MemoryEvents(clock, most=live.events_most, kept=live.events_for)
        self.deliveries = MemoryDeliveries(clock, steady_clock, most_given_up=most_given_up)
        self.journal = MemoryJournal(
            clock,
            steady_clock,
            self.metadata,
            self.events,
            self.deliveries,
            live,
        )
        self.outcomes = self.journal
        self.rules = MemoryRules()
        self.holds = MemoryHolds(clock)
        self.keys = MemoryKeys(clock)

    def close(self) -> None:
        """Do nothing: nothing is open."""
