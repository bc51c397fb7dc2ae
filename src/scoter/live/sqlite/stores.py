"""All stores of a live service, in one SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from scoter.live.memory.turns import MOST_TRIES, PATIENCE
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.deliveries import SqliteDeliveries
from scoter.live.sqlite.events import SqliteEvents
from scoter.live.sqlite.journal import SqliteJournal
from scoter.live.sqlite.keys import SqliteKeys
from scoter.live.sqlite.ledger import SqliteLedger
from scoter.live.sqlite.metadata import SqliteMetadata, key_of
from scoter.live.sqlite.rules import SqliteRules


class SqliteStores:
    """What a service keeps."""

    def __init__(
        self,
        db: ServiceDb,
        *,
        messages_kept: timedelta = timedelta(days=1),
        events_kept: timedelta = timedelta(days=7),
        most_events: int = 1_000_000,
        patience: timedelta = PATIENCE,
        most_tries: int = MOST_TRIES,
        key: Callable[[str], int] = key_of,
    ) -> None:
        self.db = db
        self.journal = SqliteJournal(db, kept=messages_kept, patience=patience, most_tries=most_tries)
        self.metadata = SqliteMetadata(db, key)
        self.ledger = SqliteLedger(db, key)
        self.events = SqliteEvents(db, most=most_events, kept=events_kept)
        self.deliveries = SqliteDeliveries(db)
        self.rules = SqliteRules(db)
        self.keys = SqliteKeys(db)

    async def sweep(self, most: int) -> int:
        """Forget at most so many of each that were kept long enough, and note uses of keys; return how many went."""
        gone = await self.metadata.expire(most)
        gone += await self.journal.prune(most)
        gone += await self.events.prune(most)
        gone += await self.deliveries.prune(most)
        await self.keys.note_uses()
        return gone

    def close(self) -> None:
        """Carry out what is waiting, then let go of the file."""
        self.db.close()
