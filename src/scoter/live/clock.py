"""The clocks of the live service: wall time for records, and one clock for every lease, hold and back-off.

Wall time does not do for leases: set forward it ends all of them while their holders work on, set back it keeps a dead
reader's entries. ``lease_now`` is the same in all processes of a machine, and nobody can set it. It starts over when
the machine does; compare ``boot_id`` before you use a time that was written down.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
# Linux: CLOCK_BOOTTIME runs on while the machine sleeps, so that leases expire; CLOCK_MONOTONIC stops.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Return the wall time."""
    return datetime.now(UTC)


def lease_now() -> float:
    """Return the seconds since the machine was started, including those in which it slept."""
    return time.clock_gettime(_CLOCK)


def boot_id() -> str:
    """Return the identifier of this run of the machine; a lease from another run has expired."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:  # not Linux: the time of the start, to ten seconds, since the wall clock is slewed
        return str(round((time.time() - lease_now()) / 10))


def to_micros(moment: datetime) -> int:
    """Return the microseconds since 1970, exactly.

    >>> to_micros(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005
    """
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the time that is this many microseconds after 1970.

    >>> from_micros(1_000_005)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=datetime.timezone.utc)
    """
    return _EPOCH + timedelta(0, 0, micros)
