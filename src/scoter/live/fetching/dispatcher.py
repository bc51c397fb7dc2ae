"""Dispatches requests to the workers (``ports.RequestQueues``).

A request waits in the queue of its domain until the worker that holds the domain's shard has room, is sent and
answered. If the worker dies the request goes back to its old place in the queue, and later to the next holder: it may
be made twice, but never before the domain's delay is over. Nothing is dropped.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from scoter.config import Config
from scoter.core.reply import Reply, Request
from scoter.core.robots_cache import MemoryRobotsCache, RobotsCache
from scoter.core.url import Url, queue_key
from scoter.errors import ScoterError
from scoter.live import clock
from scoter.live.api.records import DomainActivity, DomainRule
from scoter.live.fetching.domains import DomainQueue, DomainQueues, QueuedHop
from scoter.live.fetching.lease import GRACE
from scoter.live.fetching.limits import WorkerLimits
from scoter.live.fetching.pool import HopMaker, HopMakers, PoolOwner, WorkerPool
from scoter.live.fetching.requests import (
    abandoned_reply,
    blocked_reply,
    crashing_reply,
    hold_reason,
    on_hold_reply,
    stopping_reply,
)
from scoter.live.fetching.shards import shard_of
from scoter.live.fetching.wire import (
    CrawlDelayNotice,
    DomainHold,
    Heartbeat,
    HopDone,
    HopRefused,
    LiveWorkerReport,
    MakeHop,
    RefusalReason,
    RobotsAnswer,
    RobotsQuery,
    RobotsUpdate,
    SetRule,
    WireMessage,
)
from scoter.live.ports import DomainHoldStore, HopReply
from scoter.live.records import ContentSummary, Priority

MAX_CRASHES: Final = 20  # workers that may crash with one request before the request fails
MAX_REFUSALS: Final = 50  # by workers that do not hold the shard
_BUSY_AGAIN: Final = 0.1  # seconds
_ROBOTS_ENTRIES: Final = 50_000
_ROBOTS_BYTES: Final = 32 * 2**20
_SAME_HOLD: Final = 1.0  # seconds by which two reports of one hold may differ
_SLOW: Final = 0.1  # seconds of delay from which on requests wait in the core

_log = logging.getLogger(__name__)
_LOWEST_RATE: Final = 0.1  # requests per minute of a domain that is shown although it has none


class DispatcherView(Struct, frozen=True, kw_only=True):
    """The state of all workers at one moment."""

    workers: dict[int, LiveWorkerReport | None]
    waiting: int
    under_way: int
    domains: int
    restarts: int


class WorkerDispatcher:
    """Fetches with worker processes: ``async with WorkerDispatcher(config, folder) as fetching``."""

    def __init__(
        self,
        config: Config,
        folder: Path,
        *,
        robots: RobotsCache | None = None,
        rules: Iterable[DomainRule] = (),
        holds: DomainHoldStore | None = None,
        bounds: WorkerLimits = WorkerLimits(),  # noqa: B008 - frozen
        now: Callable[[], float] = clock.steady_now,
        pool: Callable[[PoolOwner], HopMakers] | None = None,
    ) -> None:
        """``folder`` must exist and belong to this service alone: it holds the workers' locks and sockets.

        ``pool`` replaces the worker processes of this machine by others that make the hops.
        """
        self._shards = config.live.shards
        self._threads = config.fetch.threads_per_queue
        self._delay = config.fetch.delay.total_seconds()
        self._robots: RobotsCache = robots or MemoryRobotsCache(
            entries=_ROBOTS_ENTRIES, size=_ROBOTS_BYTES, clock=time.time
        )
        self._rules = {rule.domain: rule for rule in rules}
        self._bounds = bounds
        self._patience = bounds.patience.total_seconds()
        self._now = now
        self._pool: HopMakers = WorkerPool(config, folder, self, bounds, now) if pool is None else pool(self)
        self._domains = DomainQueues(bounds.idle)
        self._stalled: dict[int, set[DomainQueue]] = {}  # domains that wait for a holder of their shard
        self._last = 0
        self._is_stopping = False
        self._holds = holds
        for name, hold in holds.all().items() if holds is not None else ():
            domain = self._domains.busy(name, shard_of(name, self._shards))
            domain.hold_until = now() + hold.total_seconds()
            domain.why = "on hold since before the service was started"
            self._domains.settle(domain, now())

    def __repr__(self) -> str:
        return f"WorkerDispatcher({self._pool!r}, {self._domains!r})"

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self, within: float = 5.0) -> None:
        """End all workers; requests that still wait are answered ``Failed(STOPPED)``."""
        self._is_stopping = True
        await self._pool.close(within)
        for domain in tuple(self._domains):
            for pending in domain.waiting:
                self._answer(pending, stopping_reply(pending.request))
            domain.waiting.clear()

    async def ready(self) -> None:
        """Wait until a worker is ready; raise ``UsageError`` if they all fail to start."""
        await self._pool.ready()

    @property
    def is_ready(self) -> bool:
        return any(True for _ in self._pool)

    async def fetch(
        self, request: Request, priority: Priority, *, is_forwarded: bool = False, is_read: bool = False
    ) -> HopReply:
        """Make one hop in a slot of its domain. Failures are replies. ``is_read`` lets the worker parse it."""
        name = queue_key(request.url, "domain")
        if self._is_stopping:
            return HopReply(stopping_reply(request))
        now = self._now()
        domain = self._domains.busy(name, shard_of(name, self._shards))
        self._last += 1
        answered: asyncio.Future[HopReply] = asyncio.get_running_loop().create_future()
        domain.push(QueuedHop(self._last, request, priority, domain, answered, now, now, is_forwarded, is_read))
        self._advance(domain)
        try:
            return await answered
        finally:
            self._domains.settle(domain, self._now())

    def raise_priority(self, url: Url, priority: Priority) -> None:
        """Raise the priority of queued hops to a URL; those at a worker are about to be made anyway."""
        domain = self._domains.get(queue_key(url, "domain"))
        if domain is not None and domain.raise_priority(url.text, priority):
            self._advance(domain)

    def seconds_to_slot(self, url: Url) -> float:
        """Return the seconds until a new request to a URL could start; infinite while its domain has requests."""
        domain = self._domains.get(queue_key(url, "domain"))
        if domain is None:
            return 0.0
        if domain.first() is not None or domain.under_way:
            return math.inf
        return max(domain.hold_until - self._now(), 0.0)

    def set_rule(self, rule: DomainRule) -> None:
        """Apply a domain rule from now on; queued requests to a blocked domain are answered."""
        self._rules[rule.domain] = rule
        for worker in self._pool:
            worker.send(SetRule(rule))
        domain = self._domains.get(rule.domain)
        if domain is not None:
            # Part of its hold may come from the previous rule and end with it; only its worker knows.
            domain.hold_until = min(domain.hold_until, self._now() + self._patience)
            self._advance(domain)

    # Views

    def domain(self, name: str) -> DomainQueue | None:
        """Return the queue of a domain, or ``None`` if it has been idle for long."""
        return self._domains.get(name)

    def snapshot(self) -> DispatcherView:
        """Return the state of all workers."""
        workers = list(self._pool)
        return DispatcherView(
            workers={worker.number: worker.report for worker in workers},
            waiting=sum(len(domain.waiting) for domain in self._domains),
            under_way=sum(len(worker.under_way) for worker in workers),
            domains=len(self._domains),
            restarts=self._pool.restarts,
        )

    def activity(self, most: int) -> list[DomainActivity]:
        """Return domains with requests or on hold: the longest pauses first, then the highest rates."""
        now, today = self._now(), clock.utc_now()
        found = []
        for domain in self._domains:
            rate, hold = domain.rate_at(now) * 60, domain.hold_until - now
            is_paused = hold > max(self._patience, domain.pause or 0.0)
            if is_paused or not domain.is_idle or rate >= _LOWEST_RATE:
                found.append((hold if is_paused else 0.0, rate, domain))
        busiest = heapq.nlargest(most, found, key=lambda each: each[:2])
        return [self._active(domain, rate, now, today) for _, rate, domain in busiest]

    def _active(self, domain: DomainQueue, rate: float, now: float, today: datetime) -> DomainActivity:
        rule, hold = self._rules.get(domain.name), domain.hold_until - now
        return DomainActivity(
            domain=domain.name,
            waiting=len(domain.waiting),
            active=domain.under_way,
            rate=round(rate, 2),
            delay=domain.pause,
            blocked=rule is not None and rule.blocked,
            until=today + timedelta(seconds=hold) if hold > 0 else None,
            why=domain.why if hold > 0 else "",
        )

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [worker.pid for worker in self._pool]

    # Requests

    def _advance(self, domain: DomainQueue) -> None:
        """Send as many requests of a domain as there is room for."""
        bounds, rule = self._bounds, self._rules.get(domain.name)
        while (pending := domain.first()) is not None:
            # A request under way waits for the forwarded hop; if the hop waited for it in turn, neither would end.
            if domain.under_way >= self._most_there(domain, rule) and not pending.is_forwarded:
                return
            now = self._now()
            hold = domain.hold_until - now
            if rule is not None and rule.blocked:
                self._answer(domain.pop(), blocked_reply(pending.request, rule))
                continue
            if hold > max(self._patience, domain.pause or 0.0):
                self._answer(domain.pop(), on_hold_reply(pending.request, hold))
                continue
            worker = self._pool.owner(domain.shard)
            if worker is None:
                self._stalled.setdefault(domain.shard, set()).add(domain)
                return
            if len(worker.under_way) >= bounds.per_worker and not pending.is_forwarded:
                worker.line_up(domain, pending)
                return
            domain.pop()
            domain.under_way += 1
            domain.note_request(now)
            pending.sent = now
            worker.under_way[pending.id] = pending
            # A response that may have crashed a worker is not parsed in another one.
            is_read = pending.is_read and not pending.deaths
            worker.send(MakeHop(pending.id, pending.request, pending.priority, pending.is_forwarded, is_read))

    def _most_there(self, domain: DomainQueue, rule: DomainRule | None) -> int:
        """Return how many requests of a domain may be at its worker.

        A domain with a delay needs one under way and the next one; the others wait here, where a more urgent request
        can still overtake them.
        """
        threads, pause = self._threads, domain.pause
        if rule is not None:
            threads = rule.concurrency or threads
            pause = rule.delay if pause is None else pause
        if (self._delay if pause is None else pause) < _SLOW:
            return self._bounds.per_domain
        return min(2 * threads, self._bounds.per_domain)

    def _advance_line(self, worker: HopMaker) -> None:
        while len(worker.under_way) < self._bounds.per_worker and (domain := worker.next_in_line()) is not None:
            self._advance(domain)

    # Replies

    def _done(self, worker: HopMaker, done: HopDone[Reply]) -> None:
        pending = worker.under_way.pop(done.id, None)
        if pending is None:
            return
        domain = pending.domain
        domain.under_way -= 1
        self._put_on_hold(domain, done.hold, done.pause, hold_reason(done.reply, done.hold, done.pause))
        if domain.pause is None or self._pool.owner(domain.shard) in (worker, None):
            domain.pause = done.pause
        self._answer(pending, done.reply, done.waited, done.read)
        self._advance_line(worker)  # first, or requests of this domain would always take its place
        self._advance(domain)
        self._domains.settle(domain, self._now())  # the caller may have been cancelled

    def _refused(self, worker: HopMaker, refused: HopRefused) -> None:
        pending = worker.under_way.pop(refused.id, None)
        if pending is None:
            return
        domain = pending.domain
        domain.under_way -= 1
        if refused.why is RefusalReason.ON_HOLD:
            self._put_on_hold(domain, refused.hold, domain.pause or 0.0, domain.why or "the site asked to wait")
            self._answer(pending, on_hold_reply(pending.request, refused.hold))
        elif refused.why is RefusalReason.MOVED and pending.refusals >= MAX_REFUSALS:
            self._answer(pending, abandoned_reply(pending.request))
        else:
            pending.refusals += refused.why is RefusalReason.MOVED
            domain.push(pending)
        if refused.why is RefusalReason.BUSY or self._pool.owner(domain.shard) is worker:
            # The queue is full, or the worker is about to end: retry in a moment.
            asyncio.get_running_loop().call_later(_BUSY_AGAIN, self._advance, domain)
        else:
            self._advance(domain)
        self._advance_line(worker)
        self._domains.settle(domain, self._now())

    def _put_on_hold(self, domain: DomainQueue, seconds: float, pause: float, why: str) -> None:
        until = self._now() + seconds
        # The message of a former holder may arrive late, and must not override what its successor reported.
        if until <= domain.hold_until:
            return
        is_news = until > domain.hold_until + _SAME_HOLD
        domain.hold_until, domain.why = until, why
        if is_news and self._holds is not None and seconds > max(self._patience, pause):
            self._pool.spawn(self._store_hold(self._holds, domain.name, timedelta(seconds=seconds)))

    async def _store_hold(self, holds: DomainHoldStore, domain: str, hold: timedelta) -> None:
        try:
            await holds.put(domain, hold)
        except ScoterError as error:  # it is lost only if the core ends before the hold does
            _log.warning("cannot store the hold of %s: %s", domain, error, extra={"domain": domain})

    def _answer(
        self, pending: QueuedHop, reply: Reply, waited: float = 0.0, read: ContentSummary | None = None
    ) -> None:
        if not pending.answered.done():
            waited += pending.sent - pending.entered
            pending.answered.set_result(HopReply(reply, waited, read, has_crashed_worker=pending.deaths > 0))

    # PoolOwner

    def receive(self, worker: HopMaker, message: WireMessage) -> None:
        match message:
            case HopDone():
                self._done(worker, message)
            case HopRefused():
                self._refused(worker, message)
            case Heartbeat():
                pass
            case RobotsQuery(origin):
                self._pool.spawn(self._look_up(worker, origin))
            case RobotsUpdate(origin, stored):
                self._pool.spawn(self._robots.put(origin, stored))
            case CrawlDelayNotice(name, pause):
                domain = self._domains.busy(name, shard_of(name, self._shards))
                domain.pause = pause
                self._domains.settle(domain, self._now())
            case MakeHop(number, request, priority):
                self._pool.spawn(self._on_behalf(worker, number, request, priority))
            case _:
                raise ValueError(f"unexpected message from a worker: {type(message).__name__}")

    def welcome(self, worker: HopMaker) -> None:
        for rule in self._rules.values():
            worker.send(SetRule(rule))

    def domain_holds(self, shards: frozenset[int], since: float) -> tuple[DomainHold, ...]:
        now, holds = self._now(), []
        for domain in self._domains:
            if domain.shard in shards:
                pause = domain.pause or 0.0
                until = max(domain.hold_until, since + pause)
                if until > now:
                    holds.append(DomainHold(domain.name, until, pause))
        return tuple(holds)

    def moved(self, shards: Sequence[int]) -> None:
        for shard in shards:
            for domain in self._stalled.pop(shard, ()):
                self._advance(domain)

    def lost(self, worker: HopMaker) -> None:
        domains: set[DomainQueue] = set()
        now = self._now()
        for pending in worker.under_way.values():
            pending.domain.under_way -= 1
            # Its server may not notice that the connection is closed, and still be busy with it.
            pause = self._delay if pending.domain.pause is None else pending.domain.pause
            pending.domain.hold_until = max(pending.domain.hold_until, now + GRACE + pause)
            pending.domain.why = "a worker ended during a request"
            pending.deaths += 1
            if self._is_stopping:
                self._answer(pending, stopping_reply(pending.request))
            elif pending.deaths >= MAX_CRASHES:
                self._answer(pending, crashing_reply(pending.request, MAX_CRASHES))
            else:
                pending.domain.push(pending)
            domains.add(pending.domain)
        while (domain := worker.next_in_line()) is not None:
            domains.add(domain)
        if not self._is_stopping:
            for domain in domains:
                self._advance(domain)
                self._domains.settle(domain, self._now())

    async def _look_up(self, worker: HopMaker, origin: str) -> None:
        worker.send(RobotsAnswer(origin, await self._robots.get(origin)))

    async def _on_behalf(self, worker: HopMaker, number: int, request: Request, priority: Priority) -> None:
        answer = await self.fetch(request, priority, is_forwarded=True)
        worker.send(HopDone(number, answer.reply, answer.waited))
