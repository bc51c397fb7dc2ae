"""Removes expired and excess data, a little at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from scoter.errors import ScoterError
from scoter.live.clock import steady_now, utc_now
from scoter.live.content.retention import AT_ONCE, Retention
from scoter.live.sqlite.stores import SqliteStores

_EVERY: Final = 30.0
_SOON: Final = 1.0
_LONG_LOG: Final = 512 * 2**20
_STEADY: Final = 600.0
_MAX_ADJUSTMENT: Final = 60.0  # seconds: time synchronisation moves a clock by less
_log = logging.getLogger(__name__)


class Cleanup:
    """Removes expired and excess data; events only once they are in the log."""

    def __init__(
        self,
        stores: SqliteStores,
        retention: Retention,
        at_once: int = AT_ONCE,
        *,
        is_steady: Callable[[], bool] = lambda: True,
    ) -> None:
        """``is_steady`` tells whether the wall clock can be trusted to decide what has expired.

        While it cannot, limits on number and size still apply.
        """
        self._stores = stores
        self._retention = retention
        self._at_once = at_once
        self._is_steady = is_steady

    async def run(self) -> None:
        """Sweep periodically until cancelled."""
        while True:
            has_more = await self._has_more()
            await asyncio.sleep(_SOON if has_more else _EVERY)

    async def _has_more(self) -> bool:
        try:
            return await self.sweep()
        except ScoterError as error:  # a full disk, for example; retry later
            _log.warning("cleanup failed: %s", error)
            return False

    async def sweep(self) -> bool:
        """Remove a bounded number of each; return whether there may be more."""
        by_age = self._is_steady()
        if (size := self._stores.db.log_bytes) > _LONG_LOG:
            _log.warning("the write-ahead log has %d bytes: some program has been reading the database for long", size)
        swept = await self._retention.sweep(by_age=by_age)
        messages = await self._stores.journal.prune(self._at_once, by_age=by_age)
        deliveries = await self._stores.deliveries.prune(self._at_once, by_age=by_age)
        await self._stores.keys.note_uses()
        gone = (swept.records, swept.events, messages, deliveries)
        if any(gone) or swept.archives or swept.log_files:
            _log.info("removed: %s, %d messages, %d deliveries", swept, messages, deliveries)
        return max(gone) >= self._at_once


class SteadyClock:
    """Whether the wall clock can be trusted: it has run in step with the monotonic clock for ten minutes.

    If it is set a year ahead by mistake, everything looks expired, and what is removed cannot be restored.
    """

    def __init__(self, clock: Callable[[], datetime] = utc_now, steady_clock: Callable[[], float] = steady_now) -> None:
        self._clock = clock
        self._steady_clock = steady_clock
        self._apart = self._difference()
        self._since = steady_clock()

    def __call__(self) -> bool:
        apart = self._difference()
        if abs(apart - self._apart) > _MAX_ADJUSTMENT:
            _log.warning("the clock was set by %.0f s: nothing is removed by age for ten minutes", apart - self._apart)
            self._apart, self._since = apart, self._steady_clock()
        return self._steady_clock() - self._since >= _STEADY

    def _difference(self) -> float:
        return self._clock().timestamp() - self._steady_clock()
