"""Whether a process of the service lives: it says so again and again, and is ended when it does not.

Its event loop says it, so that one that hangs is silent although the process is there. One that is silent but works
(a long calculation, a machine that has too much to do) is given more time than one that does nothing at all, as a
stopped process does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

BEATS: Final = 10  # signs of life within the time in which one is expected
_BUSY_TIMES: Final = 6
_BUSY: Final = 0.01  # of the time: a process that uses more of a processor than that does something


class Watch:
    """Tells when a process stands still, by what it was heard to say and by the processor's time that it used."""

    def __init__(
        self, silence: float, used: Callable[[], float | None], timer: Callable[[], float] = time.monotonic
    ) -> None:
        """``silence`` is how long nothing need be heard; ``used`` tells the process's seconds of processor time."""
        self._silence = silence
        self._used = used
        self._timer = timer
        self._heard = self._looked = timer()
        self._used_then: float | None = None
        self._is_ready = False

    def heard(self) -> None:
        """Note a sign of life."""
        self._heard = self._timer()
        self._used_then = None

    def is_ready(self) -> None:
        """Note that the process has begun its work. Until then it may be reading a long log, and say nothing."""
        self._is_ready = True
        self.heard()

    def stands_still(self) -> bool:
        """Tell whether the process has been silent for too long; to be asked ``BEATS`` times in that time."""
        now = self._timer()
        if now - self._looked > self._silence / 2:
            # It was the watcher who was away: what was said meanwhile has not been read yet.
            self.heard()
        self._looked = now
        used = self._used()
        if self._used_then is None:
            self._used_then = used
        silent = now - self._heard
        if silent < self._silence:
            return False
        is_busy = used is None or used - (self._used_then or 0.0) > _BUSY * silent
        if self._is_ready and not is_busy:
            return True
        # At its start a process that works is let work: nobody knows how much there is to mend.
        return silent >= _BUSY_TIMES * self._silence and (self._is_ready or not is_busy)


def processor_time(pid: int) -> float | None:
    """Return the seconds of processor time that a process has used; none where that cannot be told."""
    with suppress(OSError, ValueError, IndexError):
        # proc(5): the name, the second field, may hold blanks and brackets; utime and stime are the 14th and 15th.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None
