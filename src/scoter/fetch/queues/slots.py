"""How a slot ended, as far as politeness is concerned, and the other records of the workbench."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from itertools import chain
from operator import itemgetter
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from scoter.core.display import count
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Reason, Reply

Item = TypeVar("Item", covariant=True)


class SlotResult(Struct, frozen=True, kw_only=True, gc=False):
    """What a slot was used for.

    ``asked``: the host was sent a request. ``failed``: it counts as a failure of the host. ``busy``: the host answered
    429 or 503, or with a challenge. ``took``: seconds until the answer began.
    """

    asked: bool = True
    failed: bool = False
    busy: bool = False
    retry_after: timedelta | None = None
    took: float = 0.0


SERVED: Final = SlotResult()
UNUSED: Final = SlotResult(asked=False)

_UNWELCOME: Final = frozenset({Reason.BUSY, Reason.CHALLENGE})
# Nothing was sent, so no delay is due; what stops on our side is not the host's fault either.
_NOT_SENT: Final = frozenset(
    {
        Reason.ROBOTS_DENIED,
        Reason.CRAWL_DELAY,
        Reason.ROBOTS_UNREACHABLE,
        Reason.REFUSED_ADDRESS,
        Reason.REFUSED_PORT,
        Reason.REFUSED_SCHEME,
        Reason.PURGED,
        Reason.DEFERRED,
        Reason.STOPPED,
    }
)


def slot_result(reply: Reply) -> SlotResult:
    """Return what a reply says about the slot it used."""
    if type(reply) is Fetched:  # nearly always; isinstance is slow for classes with a metaclass, such as Structs
        return SlotResult(took=_latency(reply.exchange))
    if isinstance(reply, Failed | Gone) and reply.reason in _NOT_SENT:
        return UNUSED
    if isinstance(reply, Failed):
        return SlotResult(
            failed=reply.blames_host,
            busy=reply.reason in _UNWELCOME,
            retry_after=reply.retry_after,
            took=_latency(reply.exchange),
        )
    return SlotResult(took=_latency(reply.exchange))


def _latency(exchange: Exchange | None) -> float:
    # From the connection to the first byte: a long body, or our own pause in reading it, is not slowness.
    if exchange is None:
        return 0.0
    timings = exchange.timings
    return max(0.0, (timings.first_byte or timings.total) - max(timings.connected, timings.secured))


class QueueRefusal(StrEnum):
    """Why the workbench does not take an item."""

    BLOCKED = "blocked"  # the host has failed too often in this run
    FULL = "full"  # try again when something has been taken
    DRAINING = "draining"  # the run is ending


class Capacity(Struct, frozen=True, kw_only=True):
    """How much may be queued: ``bytes``, but never fewer than ``least`` items; and ``deepest`` items per queue."""

    bytes: int = 64 * 2**20
    least: int = 2_500
    deepest: int | None = None


class Overflow(Protocol[Item]):
    """Holds the items that do not fit in memory; the workbench fetches them in time."""

    def refill(self, key: str, items: int, size: int) -> Sequence[Item]:
        """Return what follows the ``items`` (of ``size`` bytes) still queued; nothing while those suffice."""

    def holds(self, key: str) -> bool:
        """Tell whether items of this host are here."""

    def release(self, key: str) -> Sequence[Item]:
        """Remove and return all items of this host."""


class QueueStats(Struct, frozen=True, kw_only=True):
    """The workbench at one moment; ``str`` explains why nothing is being fetched.

    >>> print(QueueStats(queued=40, queues=15, waiting=12, blocked=3, next_in=1.25, next_hosts=("a.test", "b.test")))
    40 queued, 12 hosts waiting for their delay (next in 1.2 s: a.test, b.test, …), 3 blocked
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
    next_hosts: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = ", ".join(self.next_hosts) + (", …" if self.waiting > len(self.next_hosts) else "")
        hosts = f": {named}" if self.next_hosts else ""
        soon = "" if self.next_in is None or not self.waiting else f" (next in {self.next_in:.1f} s{hosts})"
        parts = [
            f"{self.queued} queued",  # first, because the end may be cut off
            f"{self.in_progress} in progress" if self.in_progress else "",
            f"{count(self.ready, 'host')} ready" if self.ready else "",
            f"{count(self.waiting, 'host')} waiting for their delay{soon}" if self.waiting else "",
            f"{count(self.busy, 'host')} with all threads in use" if self.busy else "",
            f"{self.slowed} slowed" if self.slowed else "",
            f"{self.blocked} blocked" if self.blocked else "",
            "draining" if self.draining else "",
        ]
        return ", ".join(part for part in parts if part)


_COUNTS: Final = ("queued", "queued_bytes", "queues", "in_progress", "ready", "waiting", "busy", "slowed", "blocked")
_NAMED_TOGETHER: Final = 3


def sum_stats(stats: Sequence[QueueStats]) -> QueueStats:
    """Return the workbenches of several processes as one; it is draining if all of them are.

    >>> print(sum_stats([QueueStats(draining=True), QueueStats(queued=190, waiting=2, next_in=1.0)]))
    190 queued, 2 hosts waiting for their delay (next in 1.0 s)
    """
    nearest = sorted(((each.next_in, each.next_hosts) for each in stats if each.next_in is not None), key=itemgetter(0))
    return QueueStats(
        **{name: sum(getattr(each, name) for each in stats) for name in _COUNTS},
        draining=bool(stats) and all(each.draining for each in stats),
        next_in=nearest[0][0] if nearest else None,
        next_hosts=tuple(chain.from_iterable(hosts for _, hosts in nearest))[:_NAMED_TOGETHER],
    )
