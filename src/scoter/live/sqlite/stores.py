"""All stores of a live service, in one SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from scoter.live.journal_rules import MOST_GIVEN_UP, MOST_MESSAGES, MOST_TRIES, PATIENCE, WINDOW
from scoter.live.sqlite.access import SqliteKeys, SqliteRules
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.events import SqliteDeliveries, SqliteEvents
from scoter.live.sqlite.journal import SqliteJournal, SqliteOutcomes
from scoter.live.sqlite.metadata import SqliteMetadata, key_of


class SqliteStores:
    """The stores of a service."""

    def __init__(
        self,
        db: ServiceDb,
        *,
        messages_kept: timedelta = timedelta(days=1),
        most_messages: int = MOST_MESSAGES,
        events_kept: timedelta = timedelta(days=7),
        most_events: int = 1_000_000,
        most_given_up: int = MOST_GIVEN_UP,
        patience: timedelta = PATIENCE,
        most_tries: int = MOST_TRIES,
        window: int = WINDOW,
        key: Callable[[str], int] = key_of,
    ) -> None:
        self.db = db
        self.journal = SqliteJournal(
            db,
            kept=messages_kept,
            most_messages=most_messages,
            patience=patience,
            most_tries=most_tries,
            window=window,
        )
        self.metadata = SqliteMetadata(db, key)
        self.outcomes = SqliteOutcomes(db, key)
        self.events = SqliteEvents(db, most=most_events, kept=events_kept)
        self.deliveries = SqliteDeliveries(db, most_given_up=most_given_up)
        self.rules = SqliteRules(db)
        self.keys = SqliteKeys(db)

    def close(self) -> None:
        """Apply queued writes and close the file."""
        self.db.close()
