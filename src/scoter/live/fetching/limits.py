"""The limits and the configuration of worker processes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Config, Size
from scoter.fetch.queues.policy import Policy
from scoter.live.api.records import DomainRule

MAX_FRAME_BYTES: Final = 64 * 2**20  # of a message between processes; fetch.content_limit keeps bodies far smaller
MAX_BODY_BYTES: Final = MAX_FRAME_BYTES // 2
"""The largest body in bytes: with its headers it must fit into a frame, or the connection would be closed."""
_FOR_EVER = timedelta(days=36_500)


def worker_config(config: Config, processes: int, most: int) -> Config:
    """Return the configuration of one of ``processes`` workers that queues at most ``most`` requests."""
    fetch = config.fetch
    threads = -(-fetch.threads // processes)
    bandwidth = fetch.bandwidth_target
    limit = Size(min(fetch.content_limit or MAX_BODY_BYTES, MAX_BODY_BYTES))
    return replace(
        config,
        fetch=replace(
            fetch,
            queue_mode="domain",
            threads=threads,
            content_limit=limit,
            body_budget=Size(max(fetch.body_budget // processes, limit)),
            bandwidth_target=None if bandwidth is None else Size(max(bandwidth // processes, 1)),
            queue_depth_multiplier=max(fetch.queue_depth_multiplier, -(-2 * most // threads)),
            # An idle service does not hang, and it never gives up a host for the rest of a run.
            hung_after=_FOR_EVER,
            time_limit=None,
            throughput_threshold_pages=None,
            max_exceptions_per_queue=None,
            # A failed page must not delay others of its domain; the sender of the request decides about retries.
            exceptions_per_queue_delay=timedelta(0),
        ),
        http=replace(
            config.http,
            time_limit=config.http.time_limit if config.http.time_limit is not None else fetch.hung_after,
            robots_503_defer_visits=False,  # report it now, instead of after a quarter of an hour
        ),
    )


def rule_policy(rule: DomainRule, policy: Policy) -> Policy | None:
    """Return the policy of a domain under a rule; ``None`` if the rule changes nothing."""
    changes: dict[str, Any] = {}
    if rule.delay is not None:
        delay = timedelta(seconds=rule.delay)
        # As in fetch.hosts: robots.txt may lengthen the delay of a domain, but not shorten it.
        changes |= {"delay": delay, "min_delay": delay, "min_crawl_delay": delay}
    if rule.concurrency is not None:
        changes["threads"] = rule.concurrency
    return replace(policy, **changes) if changes else None


class WorkerLimits(Struct, frozen=True, kw_only=True):
    """The limits of fetching by worker processes.

    - ``per_worker``, ``per_domain``: requests at one worker, in all and of one domain
    - ``deepest``: requests in a worker's queue of one domain, direct requests included
    - ``patience``: requests to a domain that is on hold for longer are answered at once
    - ``idle``: idle domains that are remembered
    - ``alone_for``: how long a worker without a core stays after the last request
    """

    per_worker: int = 2_000
    per_domain: int = 16
    deepest: int = 64
    patience: timedelta = timedelta(minutes=2)
    idle: int = 10_000
    alone_for: timedelta = timedelta(minutes=10)
