"""The clock that all processes of a machine share: seconds since it was started, those in which it slept included."""

from __future__ import annotations

import time
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def now() -> float:
    """Return the time of the shared clock, which never goes back."""
    # Without it, on systems other than Linux, a sleeping machine's leases outlast the sleep by what was left of them.
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def boot() -> str:
    """Return what names this start of the machine: times of another one cannot be compared."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
