"""What happens to a request, in order, and why in this order.

A request goes in and a reply comes out. What the web does, an error status, a broken connection, a disallowed URL, is a
value (``core/reply.py``), never an exception. One request is one hop: the stack does not follow redirects but returns
``Moved``.

    request
      │
      ▼
    Count      counts requests and replies
    Check      refuses a scheme, port or address that must not be asked        -> Failed(REFUSED_…)
    Robots     fetches robots.txt once per site and refuses what it disallows  -> Gone(ROBOTS_DENIED)
    Retry      repeats a request once if the connection broke
    Polite     waits for a slot of the host                                    -> Failed(PURGED, STOPPED)
    Recognize  tells challenges and walls from pages                           -> Failed(CHALLENGE, WALL)
    Deadline   ends a hop that takes too long                                  -> Failed(TIMEOUT)
      │
      ▼
    transport  the protocol plug-in of the URL's scheme (``protocols/``)

Each filter may answer by itself, as shown on the right, or pass the request on and look at the reply. ``filters.py``
and ``robots.py`` hold the filters, ``fetcher.py`` runs many requests through one stack.
"""

from __future__ import annotations

from datetime import timedelta

from scoter.compose import Service, guard
from scoter.config import Config
from scoter.core.reply import Reply, Request
from scoter.fetch.challenges import RecognizeChallenges
from scoter.fetch.filters import Check, Count, Deadline, KeyOf, Polite, Retry
from scoter.fetch.network.guard import Guard
from scoter.fetch.queues.scheduler import SlotScheduler
from scoter.fetch.robots import RobotsFilter

GRACE = timedelta(seconds=5)
"""What the deadline adds so that the transport can enforce its own time limits first."""


def stack(
    transport: Service[Request, Reply],
    *,
    config: Config,
    count: Count,
    address_guard: Guard,
    robots: RobotsFilter | None,
    retry: Retry,
    scheduler: SlotScheduler,
    key_of: KeyOf,
) -> Service[Request, Reply]:
    """Return the polite fetch core over a transport.

    Pass ``robots=None`` for hops that are part of fetching a robots.txt.
    """
    return guard(
        transport,
        count,  # outermost: refusals and timeouts count too
        Check(address_guard),  # before robots: a forbidden address must not even be asked for robots.txt
        *(() if robots is None else (robots,)),  # before the slot: a disallowed URL must not use one up
        retry,  # outside the slot: a retry waits for its own slot
        Polite(scheduler, key_of),  # outside the deadline: waiting for a slot is not the server's fault
        # Inside the slot: a host with a challenge gets a longer delay. A robots.txt is judged by its status alone.
        *(() if robots is None else (RecognizeChallenges(),)),
        Deadline(deadline(config)),  # innermost: ends whatever hangs below, resolver or server
    )


def deadline(config: Config) -> timedelta:
    """Return the deadline of a hop, in case no limit of the transport ends it."""
    limit = config.http.time_limit
    return (limit if limit is not None else config.fetch.hung_after) + 2 * config.http.timeout + GRACE
