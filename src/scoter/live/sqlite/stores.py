"""All stores of a live service, in one SQLite file."""

from __future__ import annotations

from scoter.config.sections.live import LiveSettings
from scoter.live.intake.journal_rules import MOST_GIVEN_UP
from scoter.live.sqlite.access import SqliteHolds, SqliteKeys, SqliteRules
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.events import SqliteDeliveries, SqliteEvents
from scoter.live.sqlite.journal import SqliteJournal, SqliteOutcomes
from scoter.live.sqlite.metadata import SqliteMetadata


class SqliteStores:
    """The stores of a service."""

    def __init__(
        self,
        db: ServiceDb,
        live: LiveSettings = LiveSettings(),  # noqa: B008 - frozen
        *,
        most_given_up: int = MOST_GIVEN_UP,
    ) -> None:
        self.db = db
        self.journal = SqliteJournal(db, live)
        self.metadata = SqliteMetadata(db)
        self.outcomes = SqliteOutcomes(db, live)
        self.events = SqliteEvents(db, most=live.events_most, kept=live.events_for)
        self.deliveries = SqliteDeliveries(db, most_given_up)
        self.rules = SqliteRules(db)
        self.holds = SqliteHolds(db)
        self.keys = SqliteKeys(db)

    def close(self) -> None:
        """Apply queued writes and close the file."""
        self.db.close()
