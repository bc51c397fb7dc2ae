"""What happens to a request, in order, with the reason for the order.

One request is one hop: the stack never follows a redirect, ``Moved`` comes back. A request goes in, a value comes out;
no answer of the web is an exception.
"""

from __future__ import annotations

from datetime import timedelta

from scoter.compose import Service, guard
from scoter.config import Config
from scoter.core.reply import Reply, Request
from scoter.fetch.filters import Check, Count, Deadline, KeyOf, Polite, Retry
from scoter.fetch.queues.turnstile import Turnstile
from scoter.fetch.reach.guard import Guard
from scoter.fetch.robots import RobotsFilter

GRACE = timedelta(seconds=5)
"""What the deadline leaves the transport to keep its own time limits."""


def stack(
    transport: Service[Request, Reply],
    *,
    config: Config,
    count: Count,
    gate: Guard,
    robots: RobotsFilter | None,
    retry: Retry,
    turnstile: Turnstile,
    key_of: KeyOf,
) -> Service[Request, Reply]:
    """Return the polite fetch core over a transport; without robots, for a hop that belongs to reading one."""
    allowed = () if robots is None else (robots,)
    return guard(
        transport,
        count,  # outermost, so that refusals and time-outs are counted too
        Check(gate),  # before robots: an address that may not be asked may not be asked for robots.txt either
        *allowed,  # before the turn: a refused URL must not cost its host a turn; robots.txt itself takes one, below
        retry,  # outside the turn: another try waits for another turn
        Polite(turnstile, key_of),  # outside the deadline: waiting for a turn is not the server's fault
        Deadline(deadline(config)),  # innermost: whatever hangs below, resolver or server, ends
    )


def deadline(config: Config) -> timedelta:
    """Return after how long a hop is given up, whatever its own limits say."""
    limit = config.http.time_limit
    return (limit if limit is not None else config.fetch.hung_after) + 2 * config.http.timeout + GRACE
