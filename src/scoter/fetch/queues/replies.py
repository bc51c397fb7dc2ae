"""What a reply means for the queue that its URL stood in."""

from __future__ import annotations

from typing import Final

from scoter.core.reply import Exchange, Failed, Fetched, Gone, Reason, Reply
from scoter.fetch.queues.turn import UNUSED, Turn

# Nothing was sent, so the host owes us no rest; what stops on our side is no fault of the host's either.
_UNASKED: Final = frozenset(
    {
        Reason.ROBOTS_DENIED,
        Reason.CRAWL_DELAY,
        Reason.ROBOTS_UNREACHABLE,
        Reason.REFUSED_ADDRESS,
        Reason.REFUSED_PORT,
        Reason.REFUSED_SCHEME,
        Reason.PURGED,
        Reason.STOPPED,
    }
)


def turn_of(reply: Reply) -> Turn:
    """Return how a turn ended that a reply came of."""
    if type(reply) is Fetched:  # nearly always; isinstance is slow where a class has a metaclass, as all of these have
        return Turn(took=_latency(reply.exchange))
    if isinstance(reply, Failed):
        if reply.reason in _UNASKED:
            return UNUSED
        return Turn(
            failed=reply.blames_host,
            busy=reply.reason is Reason.BUSY,
            retry_after=reply.retry_after,
            took=_latency(reply.exchange),
        )
    if isinstance(reply, Gone) and reply.reason in _UNASKED:
        return UNUSED
    return Turn(took=_latency(reply.exchange))


def _latency(exchange: Exchange | None) -> float:
    # Up to the first byte and from the connection on: a long body, or our own pause in reading it, is not slowness.
    if exchange is None:
        return 0.0
    timings = exchange.timings
    return max(0.0, (timings.first_byte or timings.total) - max(timings.connected, timings.secured))
