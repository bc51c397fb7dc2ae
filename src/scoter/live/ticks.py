"""The clock that leases run by: one that every process of this machine shares, and that nobody can set."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
# Linux: CLOCK_BOOTTIME goes on while the machine sleeps, so that a lease runs out by then; CLOCK_MONOTONIC stops.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def ticks() -> float:
    """Return the seconds since the machine was started.

    Wall time will not do for leases: set forward it ends all of them at once while their holders work on, set back it
    keeps a dead reader's entries. This clock counts the same for all processes of one kernel, whoever sets the other;
    it begins again when the machine does, which ``boot`` tells.
    """
    return time.clock_gettime(_CLOCK)


def boot() -> str:
    """Return what names this run of the machine: a lease from another one is nobody's any more."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:  # not Linux: the moment of starting, to ten seconds, since the wall clock is slewed
        return str(round((time.time() - ticks()) / 10))
