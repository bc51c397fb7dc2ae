"""How long an outcome took, from where it is known to where it is logged.

The last stage's own time is known only when the outcome is recorded, so that it cannot be part of the record. It waits
here, in memory, for the log; a kill loses the timings of the last seconds, never the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from msgspec import Struct

from scoter.live.context import Context
from scoter.store.warc.writer import utc_now

MOST: Final = 50_000
"""Outcomes whose timings wait for the log: some three minutes of 300 a second, about 25 MB."""


class Timing(Struct, frozen=True, gc=False):
    """Milliseconds: by stage, waiting for domains' turns, waiting for servers, and from acceptance to the record."""

    stages: tuple[tuple[str, float], ...] = ()
    waited: float = 0.0
    remote: float = 0.0
    total: float = 0.0


def timing_of(context: Context, now: datetime) -> Timing:
    """Return how long an outcome took that has just been recorded."""
    return Timing(
        stages=tuple((name, seconds * 1000) for name, seconds in context.timings),
        waited=context.waited * 1000,
        remote=context.remote * 1000,
        total=max(0.0, (now - context.entry.accepted).total_seconds() * 1000),
    )


class Timings:
    """Timings by message and URL, until the log takes them; of too many the oldest go."""

    def __init__(self, most: int = MOST, clock: Callable[[], datetime] = utc_now) -> None:
        self._most = most
        self._clock = clock
        self._found: dict[tuple[str, str], Timing] = {}

    def __len__(self) -> int:
        return len(self._found)

    def note(self, context: Context) -> None:
        """Remember how long an outcome took (for ``Scheduler``'s ``on_done``)."""
        self.put(context.entry.message, context.entry.url, timing_of(context, self._clock()))

    def put(self, message: str, url: str, timing: Timing) -> None:
        self._found[message, url] = timing
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]

    def get(self, message: str, url: str) -> Timing | None:
        return self._found.get((message, url))

    def forget(self, logged: Iterable[tuple[str, str]]) -> None:
        """Let go of what is in the log."""
        for each in logged:
            self._found.pop(each, None)
