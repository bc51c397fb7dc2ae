"""What goes when its time has come, a little at a time."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from scoter.errors import ScoterError
from scoter.live.content.retention import AT_ONCE, Retention
from scoter.live.sqlite.stores import SqliteStores

_EVERY: Final = 30.0
_SOON: Final = 1.0
_log = logging.getLogger(__name__)


class Upkeep:
    """Clears away what was kept long enough.

    Not ``SqliteStores.sweep``, which forgets announcements by age alone: here the log must have them first.
    """

    def __init__(self, stores: SqliteStores, retention: Retention, at_once: int = AT_ONCE) -> None:
        self._stores = stores
        self._retention = retention
        self._at_once = at_once

    async def run(self) -> None:
        """Sweep now and then, until this is cancelled."""
        while True:
            has_more = await self._has_more()
            await asyncio.sleep(_SOON if has_more else _EVERY)

    async def _has_more(self) -> bool:
        try:
            return await self.sweep()
        except ScoterError as error:  # a full disk, say: what is past its time stays a little longer
            _log.warning("nothing could be cleared away: %s", error)
            return False

    async def sweep(self) -> bool:
        """Remove a bounded number of everything; tell whether there may be more."""
        swept = await self._retention.sweep()
        messages = await self._stores.journal.prune(self._at_once)
        deliveries = await self._stores.deliveries.prune(self._at_once)
        await self._stores.keys.note_uses()
        gone = (swept.records, swept.events, messages, deliveries)
        if any(gone) or swept.archives or swept.log_files:
            _log.info("cleared away: %s, %d messages, %d deliveries", swept, messages, deliveries)
        return max(gone) >= self._at_once
