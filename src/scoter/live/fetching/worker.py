"""A worker: makes the core's requests and direct requests to the domains of its shards."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.reply import Exchange, Failed, Fetched, Reason, Reply, Request
from scoter.core.url import queue_key
from scoter.fetch.fetcher import STOP_WITHIN, Fetcher
from scoter.fetch.progress import Snapshot
from scoter.fetch.queues.policy import policies_of
from scoter.live.api.records import DomainRule
from scoter.live.fetching.lease import ShardLease
from scoter.live.fetching.limits import WorkerLimits, rule_policy
from scoter.live.fetching.requests import CoreRobotsCache, ForwardedHops, blocked_reply
from scoter.live.fetching.shards import shard_of
from scoter.live.fetching.transport import LeasedTransport
from scoter.live.fetching.wire import (
    VERSION,
    CrawlDelayNotice,
    GrantShards,
    Heartbeat,
    HopDone,
    HopRefused,
    LiveWorkerReport,
    MakeHop,
    RecallShards,
    RefusalReason,
    RenewLease,
    RobotsAnswer,
    SetRule,
    ShardsReturned,
    StopWorker,
    WireConnection,
    WireMessage,
    WorkerReady,
)
from scoter.live.records import ContentSummary, Priority
from scoter.plugins import chain

HEARTBEAT_EVERY: Final = 0.5  # seconds
_MEMORY: Final = Path("/proc/self/statm")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class _AcceptedHop(Struct, frozen=True, gc=False):
    """A request that is queued or under way, and who sent it."""

    id: int
    asker: WireConnection
    domain: str
    received: float
    priority: Priority = Priority.NORMAL
    is_again: bool = False
    is_read: bool = False


class LiveWorker:
    """Serves the core, over ``core``, and direct requests, until it is stopped or idle without a core."""

    def __init__(
        self,
        config: Config,
        core: WireConnection,
        limits: WorkerLimits,
        *,
        promise: Callable[[float], None],
        now: Callable[[], float],
        reading: Callable[[Exchange, Priority], Awaitable[ContentSummary | None]],
    ) -> None:
        """``promise`` is called before the lease is extended; ``reading`` parses responses."""
        self._core = core
        self._shards = config.live.shards
        self._patience = limits.patience.total_seconds()
        self._alone_for = limits.alone_for.total_seconds()
        self._promise = promise
        self._now = now
        self._reading = reading
        self._lease = ShardLease()
        self._returning: set[int] = set()
        self._robots = CoreRobotsCache(core)
        self._forwarded = ForwardedHops(core)
        self._policies = policies_of(config.fetch)
        self._transport = LeasedTransport(
            chain("protocol", config),
            lease=self._lease,
            shards=self._shards,
            now=now,
            pause_of=lambda domain: self._fetcher.hold(domain)[1],
            forward=self._forwarded,
            on_idle=self._give_back_soon,
            delegated=lambda: self._fetcher.delegated(),
            begin_late=lambda domain: self._fetcher.begin_late(domain),
            refusal=self._refusal,
        )
        self._fetcher = Fetcher(
            config,
            protocols=self._transport,
            robots_cache=self._robots,
            deepest=limits.deepest,
            on_snapshot=self._report,
            on_crawl_delay=self._note_crawl_delay,
        )
        self._open: dict[bytes, _AcceptedHop] = {}
        self._forwarded_tasks: set[asyncio.Task[None]] = set()
        self._last = 0
        self._blocked: dict[str, DomainRule] = {}
        self._delays: dict[str, float] = {}  # as reported to the core
        self._asked_at = now()
        self._ending = asyncio.Event()

    def __repr__(self) -> str:
        return f"LiveWorker({len(self._open)} requests, {self._lease!r})"

    async def run(self) -> None:
        """Serve until the end."""
        self._core.send(WorkerReady(VERSION, os.getpid()))
        heartbeats = asyncio.create_task(self._send_heartbeats())
        try:
            await self._fetcher.run(self._until_the_end(), self._deliver)
        finally:
            heartbeats.cancel()
            for task in self._forwarded_tasks:
                task.cancel()
            await asyncio.gather(heartbeats, *self._forwarded_tasks, return_exceptions=True)

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Start no more requests; those under way have ``within`` seconds."""
        if not self._transport.under_way:
            self._promise(self._now())  # otherwise a new core waits for the servers
        self._ending.set()
        self._fetcher.stop(within)

    def receive(self, message: WireMessage) -> None:
        """Handle a message from the core."""
        match message:
            case MakeHop():
                self.ask(message, self._core)
            case RenewLease(until):
                self._promise(until)
                self._lease.renewed(until)
                self._transport.look()
            case RobotsAnswer():
                self._robots.found(message)
            case HopDone(number, reply):
                self._forwarded.answered(number, reply)
            case GrantShards(shards, since, holds):
                self._lease.granted(shards, since)
                for hold in holds:
                    self._fetcher.defer(hold.domain, hold.until - self._now())
                self._transport.look()
            case RecallShards(shards):
                self._recall(frozenset(shards))
            case SetRule(rule):
                self._fetcher.set_policy(rule.domain, rule_policy(rule, self._policies(rule.domain)))
                self._transport.look()
                if rule.blocked:
                    self._blocked[rule.domain] = rule
                    self._fetcher.hand_back(rule.domain)
                else:
                    self._blocked.pop(rule.domain, None)
            case StopWorker(within):
                self.stop(within)
            case _:
                raise ValueError(f"unexpected message from the core: {type(message).__name__}")

    def lose_core(self) -> None:
        """Drop the core's requests, and continue with direct requests if this process holds shards."""
        if not len(self._lease) or self._ending.is_set():
            self.stop(within=0.0)
            return
        self._promise(float("inf"))
        self._lease.orphaned()
        for key in self._fetcher.queues():
            self._fetcher.hand_back(key)
        self._robots.lose_core()
        self._forwarded.lose_core()
        self._transport.look()

    def ask(self, ask: MakeHop, asker: WireConnection) -> None:
        """Make a hop and answer the sender, now or later."""
        request, now = ask.request, self._now()
        domain = queue_key(request.url, "domain")
        shard = shard_of(domain, self._shards)
        if shard not in self._lease:
            asker.send(HopRefused(ask.id, RefusalReason.MOVED))
            return
        refused = self._refusal(request, domain)
        if refused is not None:
            asker.send(HopDone(ask.id, refused))
            return
        hold, pause = self._fetcher.hold(domain)
        after_others = self._lease.since(shard) + pause - now
        if after_others > hold:
            self._fetcher.defer(domain, after_others, by_policy=True)
            hold = after_others
        if hold > max(self._patience, pause):
            asker.send(HopRefused(ask.id, RefusalReason.ON_HOLD, hold))
            return
        self._asked_at = now
        if ask.is_forwarded:
            task = asyncio.create_task(self._hop(ask, asker, domain))
            self._forwarded_tasks.add(task)
            task.add_done_callback(self._forwarded_tasks.discard)
            return
        self._queue(request, _AcceptedHop(ask.id, asker, domain, now, ask.priority, is_read=ask.is_read))

    def _queue(self, request: Request, asked: _AcceptedHop) -> None:
        self._last += 1
        mark = self._last.to_bytes(8, "big")
        self._open[mark] = asked
        self._transport.began[mark] = 0.0
        if self._fetcher.add(replace(request, context=mark), asked.priority) is not None:
            self._forget(mark)
            asked.asker.send(HopRefused(asked.id, RefusalReason.BUSY))

    # Answers

    async def _hop(self, ask: MakeHop, asker: WireConnection, domain: str) -> None:
        began = self._now()
        reply = await self._fetcher.hop(ask.request)
        took = 0.0 if reply.exchange is None else reply.exchange.timings.total
        self._answer(_AcceptedHop(ask.id, asker, domain, began), reply, max(self._now() - began - took, 0.0))

    def _deliver(self, request: Request, reply: Reply) -> Awaitable[None] | None:
        found = self._forget(request.context)
        if found is None:
            return None
        asked, began = found
        if isinstance(reply, Failed) and reply.reason is Reason.STOPPED and self._is_wanted(asked):
            self._queue(request, replace(asked, is_again=True))
            return None
        waited = (began or self._now()) - asked.received
        if asked.is_read and isinstance(reply, Fetched):
            return self._read(asked, reply, waited)
        self._answer(asked, reply, waited)
        return None if asked.asker.has_room else asked.asker.drained()

    async def _read(self, asked: _AcceptedHop, reply: Fetched, waited: float) -> None:
        read: ContentSummary | None = None
        try:
            read = await self._reading(reply.exchange, asked.priority)
        finally:  # even if cancelled: the page was fetched
            self._answer(asked, reply, waited, read)
        await asked.asker.drained()

    def _is_wanted(self, asked: _AcceptedHop) -> bool:
        """Return whether to retry a direct request that was dropped together with those of a lost core."""
        is_direct = asked.asker is not self._core and asked.asker.is_open
        return is_direct and not self._core.is_open and not asked.is_again and not self._ending.is_set()

    def _answer(self, asked: _AcceptedHop, reply: Reply, waited: float, read: ContentSummary | None = None) -> None:
        hold, pause = self._fetcher.hold(asked.domain)
        is_long = hold > max(self._patience, pause)
        if isinstance(reply, Failed) and reply.reason is Reason.STOPPED:
            asked.asker.send(HopRefused(asked.id, RefusalReason.ON_HOLD if is_long else RefusalReason.MOVED, hold))
            return
        asked.asker.send(HopDone(asked.id, reply, waited, hold, pause, read))
        if is_long:
            self._fetcher.hand_back(asked.domain, even_started=True)

    def _forget(self, mark: bytes) -> tuple[_AcceptedHop, float] | None:
        asked = self._open.pop(mark, None)
        began = self._transport.began.pop(mark, 0.0)
        return None if asked is None else (asked, began)

    # Shards

    def _recall(self, shards: frozenset[int]) -> None:
        self._lease.recalled(shards)
        self._returning |= shards
        for key in self._fetcher.queues():
            if shard_of(key, self._shards) in shards:
                self._fetcher.hand_back(key)
        self._transport.look()
        self._give_back_idle()

    def _refusal(self, request: Request, domain: str) -> Reply | None:
        rule = self._blocked.get(domain)
        return None if rule is None else blocked_reply(request, rule)

    def _give_back_soon(self) -> None:
        # Delayed: the core must get the last reply, with the hold of its domain, before the shard.
        asyncio.get_running_loop().call_soon(self._give_back_idle)

    def _give_back_idle(self) -> None:
        idle = {shard: self._transport.asked_last(shard) for shard in self._returning if self._transport.is_idle(shard)}
        if idle:
            self._returning.difference_update(idle)
            self._core.send(ShardsReturned(idle))

    # Background

    def _note_crawl_delay(self, key: str, seconds: float | None) -> None:
        if seconds is None:
            self._delays.pop(key, None)
        elif self._delays.get(key) != seconds:
            self._delays[key] = seconds
            self._core.send(CrawlDelayNotice(key, self._fetcher.hold(key)[1]))
        # The page that is about to wait for its slot is refused, if the delay is longer than anybody would wait for.
        asyncio.get_running_loop().call_soon(self._hand_back_if_long, key)

    def _hand_back_if_long(self, key: str) -> None:
        hold, pause = self._fetcher.hold(key)
        if hold > max(self._patience, pause):
            self._fetcher.hand_back(key, even_started=True)

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_EVERY)
            self._core.send(Heartbeat())
            if not self._core.is_open and self._now() - self._asked_at > self._alone_for:
                self.stop(within=0.0)

    def _report(self, snapshot: Snapshot) -> None:
        queues = self._fetcher.queues()
        for key in self._delays.keys() - set(queues):
            del self._delays[key]
        used = resource.getrusage(resource.RUSAGE_SELF)
        self._core.send(
            LiveWorkerReport(snapshot, len(queues), len(self._lease), used.ru_utime + used.ru_stime, _resident_bytes())
        )

    async def _until_the_end(self) -> AsyncIterator[Request]:
        await self._ending.wait()
        nothing: tuple[Request, ...] = ()  # requests are added one by one, by ``Fetcher.add``
        for request in nothing:
            yield request


def _resident_bytes() -> int:
    """Return the memory of this process (proc_pid_statm(5))."""
    return int(_MEMORY.read_text().split()[1]) * _PAGE
