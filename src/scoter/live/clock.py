"""The clocks of the live service: wall time for records, and one steady clock for every lease, hold and back-off.

Wall time is unsuitable for leases: setting it forward would end leases that are in use, setting it back would prolong
those of dead processes. ``steady_now`` is the same in all processes of a machine and cannot be set. It restarts with
the machine, so compare ``boot_id`` before using a stored time.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
# Linux: CLOCK_BOOTTIME includes the time the machine sleeps, so leases expire; CLOCK_MONOTONIC does not.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Return the current wall time."""
    return datetime.now(UTC)


def steady_now() -> float:
    """Return the seconds since the machine started, including the time it slept."""
    return time.clock_gettime(_CLOCK)


def boot_id() -> str:
    """Return an identifier of the current boot; leases of an earlier boot have expired."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:  # not Linux: the boot time, rounded to ten seconds because the wall clock is slewed
        return str(round((time.time() - steady_now()) / 10))


def to_micros(moment: datetime) -> int:
    """Return a time as exact microseconds since 1970.

    >>> to_micros(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005
    """
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the time of a number of microseconds since 1970.

    >>> from_micros(1_000_005)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=datetime.timezone.utc)
    """
    return _EPOCH + timedelta(0, 0, micros)
