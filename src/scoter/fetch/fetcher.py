"""The fetcher: takes requests from a source, runs N at a time through the stack, and hands every reply to a sink.

The feeder keeps each request, as bytes, in the queue of its host. When the host gets a slot, a task runs the request
through the stack. So a waiting request costs only its bytes, and the body budget bounds the bodies in memory.

Nothing is lost: every request taken from the source reaches the sink, at the latest as ``Failed(STOPPED)``.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterable, Callable
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec

from scoter.compose import Service
from scoter.config import Config
from scoter.core.reply import Exchange, Failed, Reason, Reply, Request
from scoter.core.robots_cache import RobotsCache
from scoter.core.url import Url
from scoter.fetch.filters import NOT_REQUESTED, Count, Retry, RetryBudget
from scoter.fetch.network.guard import Guard
from scoter.fetch.progress import FetchRates, ProgressPublishers, Snapshot
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.queues.feeder import Feeder
from scoter.fetch.queues.holds import KeptHolds
from scoter.fetch.queues.policy import Policy, policies_of
from scoter.fetch.queues.queue_keys import KeyLookups, QueueKeys
from scoter.fetch.queues.scheduler import SlotScheduler
from scoter.fetch.queues.slots import UNUSED, Capacity, QueueRefusal
from scoter.fetch.robots import RobotsFilter
from scoter.fetch.sinks import MIN_BACKLOG, Sink, SinkBacklog
from scoter.fetch.stack import stack
from scoter.fetch.tasks import TaskPool
from scoter.fetch.watchdog import Watchdog, WatchdogAction, WatchdogReading
from scoter.plugins import chain

STOP_WITHIN = 30.0  # seconds that a graceful stop gives requests in progress
_TICK = 1.0
_RETRY_FEED = 0.01
_FEED_SLICE = 0.005  # seconds for which the source is read without yielding to other tasks

_DETAILS = {
    **NOT_REQUESTED,
    Reason.UNRESOLVED: "its host name has no address",
    Reason.REFUSED_ADDRESS: "its host name resolves to an address that is not public",
}
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Request)


class Fetcher:
    """Fetches the requests of a source politely, until it ends or the fetcher is stopped."""

    def __init__(
        self,
        config: Config,
        *,
        protocols: Protocols | None = None,
        robots_cache: RobotsCache | None = None,
        holds: KeptHolds | None = None,
        keys: QueueKeys | None = None,
        folder: Path | None = None,
        deepest: int | None = None,
        waits_for_sink: bool = False,
        on_crawl_delay: Callable[[str, float | None], None] = lambda key, seconds: None,
        on_robots: Callable[[Exchange], None] = lambda exchange: None,
        on_snapshot: Callable[[Snapshot], None] = lambda snapshot: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create it on a running event loop; arguments that are omitted follow from the configuration.

        ``holds`` keeps holds for the next fetch; with it, requests of hosts on hold for long are handed back when no
        others are left. ``deepest``: how many requests may wait in one queue. ``waits_for_sink``: a slow sink does not
        count as a hung fetch. ``on_crawl_delay`` gets each queue's Crawl-delay, ``on_robots`` every exchange for a
        robots.txt.
        """
        fetch = config.fetch
        self._config = config
        self._clock = clock
        self._on_snapshot = on_snapshot
        self._protocols = protocols or Protocols(chain("protocol", config))
        self._policies = policies_of(fetch)
        self._on_crawl_delay = on_crawl_delay
        self._waits_for_sink = waits_for_sink
        self._holds = holds
        self._feeder = Feeder(
            self._policies,
            Capacity(bytes=fetch.queue_buffer, least=fetch.threads * fetch.queue_depth_multiplier, deepest=deepest),
            folder or Path(tempfile.gettempdir()),
            holds=holds,
        )
        self._tasks = TaskPool(self._work, self._on_task_end)
        self._backlog = SinkBacklog(max(fetch.threads, MIN_BACKLOG), fetch.body_budget, lambda: self._scheduler.spill())
        self._scheduler = SlotScheduler(
            self._feeder.bench,
            concurrency=fetch.threads,
            clock=clock,
            launch=self._tasks.start,
            lose=self._lose,
            has_room=self._backlog.has_room,
        )
        self.count = Count()
        self._guard = Guard(config, self._protocols.schemes)
        self._keys = keys or QueueKeys(config, self._guard)
        self._lookups = KeyLookups(self._take_in, self._fail)
        # A share of 0 forbids even the few retries that are free.
        budget = RetryBudget(fetch.retry_budget, floor=1.0 if fetch.retry_budget else 0.0)
        polite = partial(
            stack,
            self._protocols,
            config=config,
            count=self.count,
            address_guard=self._guard,
            retry=Retry(budget, clock),
            scheduler=self._scheduler,
            key_of=self._keys.of,
        )
        robots = RobotsFilter(
            config,
            cache=robots_cache,
            on_exchange=on_robots,
            set_crawl_delay=self._set_crawl_delay,
            lend_slot=self._scheduler.lend,
            defer=lambda url, delay: self._scheduler.defer(self._keys.without_lookup(url), delay.total_seconds()),
        )
        self._service: Service[Request, Reply] = polite(robots=robots)
        self._hop: Service[Request, Reply] = polite(robots=None)
        self._publishers = ProgressPublishers([plugin for _, plugin in chain("publisher", config)])
        self._lost: deque[tuple[bytes, Reason]] = deque()
        self._is_fed = False
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._error: BaseException | None = None
        self._rates = FetchRates(clock())

    def __repr__(self) -> str:
        return f"Fetcher({self._scheduler.bench!r})"

    async def run(self, source: AsyncIterable[Request], sink: Sink) -> Snapshot:
        """Fetch everything the source gives, and return the last snapshot.

        An error of the sink, the source or ``on_snapshot`` ends the run; it is raised when requests in progress ended.
        """
        self._backlog.sink = sink
        self._publishers.publish("start", {})
        try:
            await self._run(source)
        finally:
            self._publishers.publish("end", msgspec.to_builtins(self.snapshot()))
            self._publishers.close()
        if self._error is not None:
            raise self._error
        return self.snapshot()

    async def _run(self, source: AsyncIterable[Request]) -> None:
        feeding = asyncio.create_task(self._feed(source))
        ticking = asyncio.create_task(self._tick())
        try:
            while not self._is_over():
                await self._changed.wait()
                self._changed.clear()
                await self._deliver_lost()
        finally:
            await self._wind_up(feeding, ticking)

    async def _wind_up(self, *tasks: asyncio.Task[None]) -> None:
        for task in tasks:
            task.cancel()
        self._scheduler.close()
        self._abort()
        for data in self._lookups.cancel():
            self._lose(data, Reason.STOPPED)
        await asyncio.gather(*tasks, self._tasks.join(), self._lookups.join(), return_exceptions=True)
        with suppress(TimeoutError):  # a sink that hangs must not block the end of the run
            async with asyncio.timeout(STOP_WITHIN):
                await self._deliver_lost()
        if self._holds is not None:
            self._holds.save()
        self._feeder.close()
        await self._protocols.close()

    def stop(self, within: float = STOP_WITHIN, reason: str = "") -> None:
        """Start no more requests, hand back queued ones, and cancel those in progress after ``within`` seconds."""
        if self._stopping.is_set():
            return
        self._rates.end_reason = reason
        self._stopping.set()
        self._scheduler.drain()
        asyncio.get_running_loop().call_later(within, self._abort)
        self._changed.set()

    def add(self, request: Request, rank: int | None = None, *, even_if_full: bool = False) -> QueueRefusal | None:
        """Queue another request while the fetcher runs; return ``None``, or why it was refused.

        A request with a rank goes before those with a higher rank or none, and never waits on disk. ``even_if_full`` is
        for a request that takes the place of one that has ended, such as the target of a redirect.
        """
        key, data = self._keys.without_lookup(request.url), _encoder.encode(request)
        if rank is None:
            refusal = self._feeder.offer(key, data, self._clock())
            if refusal is QueueRefusal.FULL and even_if_full:
                refusal = self._feeder.bench.add(key, data, self._clock(), even_if_full=True)
        else:
            refusal = self._feeder.bench.add(key, data, self._clock(), rank=rank)
        self._rates.added += refusal is None
        self._scheduler.pump()
        return refusal

    async def hop(self, request: Request) -> Reply:
        """Make one hop that is part of fetching a robots.txt for another process, in a slot of its host."""
        # The work that waits for it holds a slot elsewhere; behind all new work it might wait forever.
        with self._scheduler.as_started():
            return await self._hop(request)

    def delegated(self) -> AbstractContextManager[None]:
        """Wait for a request that another process makes, without blocking the slots of this one."""
        return self._scheduler.delegated()

    def begin_late(self, key: str) -> float:
        """Return in how many seconds a request may start that was kept waiting in its slot."""
        return self._feeder.bench.begin_late(key, self._clock())

    def hand_back(self, key: str, *, even_started: bool = False) -> None:
        """Hand back a queue's waiting requests as ``Failed(STOPPED)``; ``even_started`` ends those in progress too."""
        self._scheduler.purge(key, even_started=even_started)

    def queues(self) -> list[str]:
        """Return the keys of all queues with waiting requests, with requests in progress, or on hold."""
        return self._feeder.bench.keys()

    def hold(self, key: str) -> tuple[float, float]:
        """Return for how many more seconds a queue is on hold, and the delay that is worth waiting for."""
        return self._feeder.bench.hold(key, self._clock())

    def defer(self, key: str, seconds: float, *, by_policy: bool = False) -> None:
        """Put a queue on hold for a while; ``by_policy``: as after a request, subject to policy changes."""
        self._scheduler.defer(key, seconds, by_policy=by_policy)

    def policy(self, key: str) -> Policy:
        """Return the policy of a queue."""
        return self._policies(key)

    def set_policy(self, key: str, policy: Policy | None) -> None:
        """Override the policy of a queue; ``None`` restores the configured one."""
        self._policies.put(key, policy)
        self._scheduler.set_policy(key)

    def set_delay(self, key: str, delay: timedelta) -> None:
        """Set the delay of one queue; it does not apply to subdomains."""
        if self._policies.put_delay(key, delay):
            self._scheduler.set_policy(key)

    def snapshot(self) -> Snapshot:
        """Return how far the fetcher is, and why it is not faster."""
        feeder, scheduler, now = self._feeder, self._scheduler, self._clock()
        trouble = f"the queues cannot spill to disk ({feeder.spill_error})" if feeder.spill_error else ""
        stats, slowest = scheduler.stats(), scheduler.bench.slowest(5)
        return self._rates.snapshot(self.count, stats, feeder.queued, slowest, now, trouble, is_fed=self._is_fed)

    # From the source

    async def _feed(self, source: AsyncIterable[Request]) -> None:
        try:
            last_yield = time.monotonic()
            async for request in source:
                url, data = request.url, _encoder.encode(request)
                key = None if url.host in self._lookups else self._keys.if_known(url)
                taken = key is not None and self._offer(key, data) is None
                if not taken and not await self._keep_until_taken(url, key, data):
                    break
                if time.monotonic() - last_yield > _FEED_SLICE:
                    await asyncio.sleep(0)  # a source that never waits must not block requests in progress
                    last_yield = time.monotonic()
            await self._lookups.join()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._fail(error)
        finally:
            self._is_fed = True
            self._feeder.bench.source_ended()
            self._changed.set()

    async def _keep_until_taken(self, url: Url, key: str | None, data: bytes) -> bool:
        """Queue a request that must wait for capacity or for its key; return false if no more are wanted."""
        try:
            if key is not None:
                return await self._take_in(key, data)
            await self._lookups.add(url.host, data, partial(self._keys.look_up, url))
            return not self._stopping.is_set()
        except asyncio.CancelledError:  # it was taken from the source, and is nowhere else
            self._lose(data, Reason.STOPPED)
            raise

    async def _take_in(self, key: str | Failed, data: bytes) -> bool:
        """Queue a request, waiting for capacity; return false if no more are wanted."""
        if isinstance(key, Failed):
            self._lose(data, key.reason)
            return True
        while True:
            refusal = self._offer(key, data)
            if refusal is None:
                return True
            if refusal is QueueRefusal.FULL and not self._stopping.is_set():
                await asyncio.sleep(_RETRY_FEED)
                continue
            self._lose(data, Reason.PURGED if refusal is QueueRefusal.BLOCKED else Reason.STOPPED)
            return refusal is QueueRefusal.BLOCKED

    def _offer(self, key: str, data: bytes) -> QueueRefusal | None:
        if not self._wants_more() and not self._stopping.is_set():
            return QueueRefusal.FULL
        refusal = self._feeder.offer(key, data, self._clock())
        if refusal is None and self._scheduler.has_free_slots:
            self._scheduler.pump()
        return refusal

    def _wants_more(self) -> bool:
        feeder, scheduler = self._feeder, self._scheduler
        # With enough queued and all slots in use, further requests would only go to disk and come back.
        is_busy = feeder.bench.queued >= feeder.bench.capacity.least and not scheduler.has_free_slots
        return not is_busy and feeder.wants_more()

    # In progress

    def _set_crawl_delay(self, url: Url, delay: timedelta | None) -> None:
        key, seconds = self._keys.without_lookup(url), None if delay is None else delay.total_seconds()
        self._feeder.bench.set_crawl_delay(key, seconds)
        self._on_crawl_delay(key, seconds)

    async def _work(self, key: str, data: bytes) -> None:
        request = _decoder.decode(data)
        held = self._scheduler.start_work(key)
        try:
            reply = await self._service(request)
        except asyncio.CancelledError:
            self._rates.interrupted += 1
            self._lost.append((data, Reason.STOPPED))
            raise
        finally:
            self._scheduler.end_work(held)
        await self._deliver(request, reply)

    def _on_task_end(self, error: BaseException | None) -> None:
        if error is not None:
            self._fail(error)
        if self._lost or self._is_over():
            self._changed.set()

    # To the sink

    async def _deliver(self, request: Request, reply: Reply) -> None:
        pending = self._backlog.hand(request, reply)
        if pending is not None:
            await pending
        self._rates.note(reply)

    def _lose(self, data: bytes, reason: Reason) -> None:
        self._lost.append((data, reason))
        self._changed.set()

    async def _deliver_lost(self) -> None:
        while (lost := self._next_lost()) is not None:
            request, reason = _decoder.decode(lost[0]), lost[1]
            reply = Failed(request.url, reason, _DETAILS.get(reason, ""), blames_host=False)
            self.count.note(reply)  # it never reached the stack, or was handed back
            try:
                await self._deliver(request, reply)
            except Exception as error:
                self._fail(error)
                return

    def _next_lost(self) -> tuple[bytes, Reason] | None:
        if self._lost:
            return self._lost.popleft()
        data = self._feeder.left_over()
        return None if data is None else (data, Reason.STOPPED)

    # Control

    def _is_over(self) -> bool:
        if len(self._tasks):
            return False
        if self._error is not None:
            return True
        # After a stop, do not wait for a source that gives nothing.
        return (self._is_fed or self._stopping.is_set()) and not self._feeder.queued and not self._lost

    def _waits_for_others(self) -> bool:
        """Tell whether the fetch waits for its source, or for a sink that may take its time."""
        if len(self._backlog):
            return self._waits_for_sink
        return not (self._is_fed or self._feeder.queued or len(self._tasks))

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.stop()

    def _abort(self) -> None:
        for key, data in self._tasks.cancel():
            self._lost.append((data, Reason.STOPPED))
            self._scheduler.release(key, UNUSED)
        self._changed.set()

    async def _tick(self) -> None:
        watchdog = Watchdog(self._config.fetch, self._clock())
        while True:
            await asyncio.sleep(_TICK)
            now = self._clock()
            self._feeder.bench.drop_expired(now)
            if self._holds is not None:
                self._holds.save()
                if not len(self._backlog) and (self._is_fed or not self._feeder.wants_more()):
                    longest, slow = self._config.fetch.max_hold.total_seconds(), watchdog.time_left(now)
                    self._holds.defer(self._scheduler.hand_back_held(longest, slow))
            stats = self._scheduler.stats()
            advice = watchdog.tick(
                WatchdogReading(
                    requests=self.count.asked,
                    pages=self.count.replies["fetched"],
                    bytes=self.count.bytes,
                    workers=self._scheduler.concurrency,
                    useful_workers=stats.queues * self._config.fetch.threads_per_queue,
                    next_in=stats.next_in if not stats.in_progress else None,
                    waits_for_others=not stats.in_progress and self._waits_for_others(),
                ),
                now,
            )
            self._scheduler.concurrency = advice.workers
            snapshot = self.snapshot()
            try:
                self._on_snapshot(snapshot)
            except Exception as error:
                self._fail(error)
            self._publishers.publish("report", msgspec.to_builtins(snapshot))
            if advice.action is not WatchdogAction.GO_ON:
                self.stop(0.0 if advice.action is WatchdogAction.ABORT else STOP_WITHIN, advice.reason)
