"""What a fetching process makes of the configuration: the same fetch core, but it runs for years and people wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.api import DomainRule
from scoter.config import Config, Size
from scoter.fetch.queues.policy import Policy
from scoter.live.workers.wire import MAX_FRAME_BYTES

MAX_BODY_BYTES: Final = MAX_FRAME_BYTES // 2
"""Bytes of the longest body: with all that goes along it must fit into a frame, or it would end the connection."""
_FOR_EVER = timedelta(days=36_500)


def worker_config(config: Config, processes: int, most: int) -> Config:
    """Return the configuration of one of so many processes, at most ``most`` requests of which wait at a time."""
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
            # A service that has nothing to do does not hang, and has no end at which a host is given up.
            hung_after=_FOR_EVER,
            time_limit=None,
            throughput_threshold_pages=None,
            max_exceptions_per_queue=None,
            # One page that fails must not keep the domain's others waiting: whoever asks decides about another try.
            exceptions_per_queue_delay=timedelta(0),
        ),
        http=replace(
            config.http,
            time_limit=config.http.time_limit if config.http.time_limit is not None else fetch.hung_after,
            robots_503_defer_visits=False,  # whoever waits is told so, and not in a quarter of an hour
        ),
    )


def rule_policy(rule: DomainRule, policy: Policy) -> Policy | None:
    """Return how a domain is treated under a rule; none, as without one."""
    changes: dict[str, Any] = {}
    if rule.delay is not None:
        delay = timedelta(seconds=rule.delay)
        # As in fetch.hosts: robots.txt may ask a domain's own delay to be longer, not shorter.
        changes |= {"delay": delay, "min_delay": delay, "min_crawl_delay": delay}
    if rule.concurrency is not None:
        changes["threads"] = rule.concurrency
    return replace(policy, **changes) if changes else None


class WorkerLimits(Struct, frozen=True, kw_only=True):
    """The limits of fetching by processes.

    ``per_fetcher`` requests are with one fetcher, ``per_domain`` of one domain; ``deepest`` may wait in a fetcher's own
    queue of a domain, direct requests included. Nobody waits for a domain that wants to be left alone for longer than
    ``patience``. ``idle`` domains are remembered. A fetcher without a core stays ``alone_for`` after the last request.
    """

    per_fetcher: int = 2_000
    per_domain: int = 16
    deepest: int = 64
    patience: timedelta = timedelta(minutes=2)
    idle: int = 10_000
    alone_for: timedelta = timedelta(minutes=10)
