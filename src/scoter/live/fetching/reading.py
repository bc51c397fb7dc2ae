"""Reading what was fetched, in the process that fetched it, as far as that cannot take long.

The core, which everything passes through, has the time for other things then. What may take long, or fails here for
want of memory, goes to the core as it came: there a process of its own reads it, which may hang or die.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from scoter.core.reply import Exchange
from scoter.live.records import Read

# Seconds. A hostile page may take one: a few of them without a pause, and the core would take the process for dead.
_BREATH: Final = 0.02


class InTurn:
    """Reads one answer after another, and lets the event loop see to everything else in between."""

    def __init__(
        self, at_once: Callable[[Exchange], Read | None], timer: Callable[[], float] = time.perf_counter
    ) -> None:
        """``at_once`` reads an answer, or tells by none that it may take long."""
        self._at_once = at_once
        self._timer = timer
        self._turn = asyncio.Lock()
        self._spent = 0.0

    async def __call__(self, exchange: Exchange) -> Read | None:
        """Return what an answer holds; none if it is to be read elsewhere."""
        async with self._turn:
            if self._spent > _BREATH:
                self._spent = 0.0
                await asyncio.sleep(0)
            began = self._timer()
            try:
                return self._at_once(exchange)
            except Exception:  # the core meets it again, and knows whom to tell; this process has others to fetch for
                return None
            finally:
                self._spent += self._timer() - began
