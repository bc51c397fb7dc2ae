"""The wall clock that the processes of a cluster share.

Records carry times: the newest fetch of a URL wins, and a record expires. If the clocks of two machines differ by
minutes, an older fetch could win. So processes take the time from Cassandra when their own clock is wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from scoter.errors import ScoterError
from scoter.live.clock import from_micros, utc_now
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.faults import FAULTS, FaultKind

TOLERATED: Final = timedelta(seconds=2)
"""Smaller differences are ignored: measuring them is not exact, and nobody notices them."""
_EVERY: Final = 60.0  # seconds
_SLOWEST: Final = 2.0  # seconds of a request after which its answer says little about the time
_NOW: Final = "SELECT toTimestamp(now()) FROM system.local"


class ClusterClock:
    """Returns the wall time: that of this machine, or Cassandra's if the two differ. ``measure`` it before use."""

    def __init__(
        self,
        session: CassandraSession,
        local: Callable[[], datetime] = utc_now,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._local = local
        self._timer = timer
        self.skew = timedelta()  # how far the clock of this machine is ahead

    def __call__(self) -> datetime:
        return self._local() - (self.skew if abs(self.skew) > TOLERATED else timedelta())

    def seconds(self) -> float:
        """Return the wall time in seconds since 1970."""
        return self().timestamp()

    def skew_seconds(self) -> float:
        """Return how far the clock of this machine is ahead, for metrics."""
        return round(self.skew.total_seconds(), 1)

    async def measure(self) -> None:
        """Compare the clock of this machine with Cassandra's."""
        began = self._timer()
        ((found,),) = await self._session.run(_NOW)
        took = self._timer() - began
        if took > _SLOWEST:
            return
        self.skew = self._local() - timedelta(seconds=took / 2) - _moment(found)
        if abs(self.skew) > TOLERATED:
            direction = "ahead of" if self.skew > timedelta() else "behind"
            seconds = abs(self.skew.total_seconds())
            FAULTS.note(
                "machine",
                FaultKind.CLOCK,
                f"the clock of this machine is {seconds:.0f} s {direction} Cassandra's, whose time is used",
            )

    async def run(self) -> None:
        """Compare the clocks once a minute."""
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self.measure()
            except ScoterError:  # the last comparison stays valid; the session counts its failures
                continue


def _moment(found: Any) -> datetime:
    """Return a time as the driver returns it: a datetime, or milliseconds since 1970."""
    if isinstance(found, datetime):
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return from_micros(int(found) * 1000)
