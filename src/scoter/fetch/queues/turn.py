"""What became of a host's turn, as far as politeness is concerned, and the words the workbench answers with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from scoter.core.display import count

Item = TypeVar("Item", covariant=True)


class Turn(Struct, frozen=True, kw_only=True, gc=False):
    """The end of a turn.

    ``asked`` says whether the host was sent anything, ``failed`` whether it has one more failure to its name,
    ``busy`` whether it said so itself (429, 503), and ``took`` in how many seconds it began to answer.
    """

    asked: bool = True
    failed: bool = False
    busy: bool = False
    retry_after: timedelta | None = None
    took: float = 0.0


SERVED: Final = Turn()
UNUSED: Final = Turn(asked=False)


class Refusal(StrEnum):
    """Why the workbench does not take an item."""

    BLOCKED = "blocked"  # the host has failed too often in this run
    FULL = "full"  # come back when something has been taken
    DRAINING = "draining"  # the run is coming to its end


class Capacity(Struct, frozen=True, kw_only=True):
    """How much may be queued: ``bytes``, but never fewer than ``least`` items; and ``deepest`` in one queue."""

    bytes: int = 64 * 2**20
    least: int = 2_500
    deepest: int | None = None


class Reserve(Protocol[Item]):
    """Where items of a host wait that have no room in memory; the workbench asks for them in time."""

    def refill(self, key: str, items: int, size: int) -> Sequence[Item]:
        """Return what should follow the ``items`` (of ``size`` bytes) still queued; nothing while they suffice."""

    def holds(self, key: str) -> bool:
        """Tell whether anything of this host waits here."""

    def release(self, key: str) -> Sequence[Item]:
        """Return all that waits of this host, and forget it."""


class Stats(Struct, frozen=True, kw_only=True):
    """The workbench at one moment; ``str`` tells why nothing is being fetched.

    >>> print(Stats(queued=40, queues=15, waiting=12, blocked=3, next_in=1.25))
    12 hosts waiting for their delay (next in 1.2 s), 3 blocked, 40 queued
    """

    queued: int = 0
    queued_bytes: int = 0
    queues: int = 0
    in_progress: int = 0
    ready: int = 0
    waiting: int = 0
    busy: int = 0
    slowed: int = 0
    blocked: int = 0
    draining: bool = False
    next_in: float | None = None

    def __str__(self) -> str:
        soon = "" if self.next_in is None or not self.waiting else f" (next in {self.next_in:.1f} s)"
        parts = [
            f"{self.in_progress} in progress" if self.in_progress else "",
            f"{count(self.ready, 'host')} ready" if self.ready else "",
            f"{count(self.waiting, 'host')} waiting for their delay{soon}" if self.waiting else "",
            f"{count(self.busy, 'host')} with all threads in use" if self.busy else "",
            f"{self.slowed} slowed" if self.slowed else "",
            f"{self.blocked} blocked" if self.blocked else "",
            f"{self.queued} queued",
            "draining" if self.draining else "",
        ]
        return ", ".join(part for part in parts if part)
