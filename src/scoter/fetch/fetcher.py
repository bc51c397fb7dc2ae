"""The fetcher: requests from a source, N at a time, each in its host's turn; every outcome goes to a sink.

The life of a request: the feeder reads it from the source and keeps it, as bytes, in the queue of its host. When the
host's turn has come it becomes a task, which runs it through the stack and hands the reply to the sink. So what waits
costs its own bytes and no more, and at most as many bodies are in memory as the budget for them allows.

Nothing is lost: whatever was taken from the source reaches the sink, at the latest as ``Failed(STOPPED)``.
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
from scoter.core.reply import Exchange, Failed, Fetched, Reason, Reply, Request
from scoter.core.robots_cache import RobotsCache
from scoter.core.url import Url
from scoter.fetch.crew import Crew
from scoter.fetch.delivery import MOST, Delivery, Sink
from scoter.fetch.filters import Count, Retry
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.publishing import Publishing
from scoter.fetch.queues.budget import RetryBudget
from scoter.fetch.queues.feeder import Feeder
from scoter.fetch.queues.keys import Keys
from scoter.fetch.queues.lookups import Lookups
from scoter.fetch.queues.policy import Policy, policies_of
from scoter.fetch.queues.turn import UNUSED, Capacity, Refusal
from scoter.fetch.queues.turnstile import Turnstile
from scoter.fetch.queues.watch import Order, Pulse, Watch, limits_of
from scoter.fetch.reach.guard import Guard
from scoter.fetch.robots import RobotsFilter
from scoter.fetch.snapshot import Rates, Snapshot
from scoter.fetch.stack import stack
from scoter.plugins import chain

STOP_WITHIN = 30.0  # seconds that a graceful stop gives what is under way
_TICK = 1.0
_RETRY_FEED = 0.01
_BREATH = 0.005  # seconds for which the source is read in one go

_TOLD = {
    Reason.PURGED: "its host failed too often",
    Reason.STOPPED: "the run came to its end",
    Reason.UNRESOLVED: "its name has no address",
    Reason.REFUSED_ADDRESS: "its name leads to an address that is not public",
}
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Request)


def _retry_budget(share: float) -> RetryBudget:
    """Return the budget for a share of the requests; none of them is none at all, not even the few that are free."""
    return RetryBudget(share) if share else RetryBudget(share, floor=0.0)


class Fetcher:
    """Fetches politely what a source gives, until it ends or the fetcher is stopped."""

    def __init__(
        self,
        config: Config,
        *,
        protocols: Protocols | None = None,
        robots_cache: RobotsCache | None = None,
        keys: Keys | None = None,
        folder: Path | None = None,
        deepest: int | None = None,
        waits_for_sink: bool = False,
        on_crawl_delay: Callable[[str, float | None], None] = lambda key, seconds: None,
        on_robots: Callable[[Exchange], None] = lambda exchange: None,
        on_snapshot: Callable[[Snapshot], None] = lambda snapshot: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take everything from the configuration that is not given; must be made on a running event loop.

        ``deepest`` is how many requests may wait in one queue; ``waits_for_sink`` says that a fetch whose sink takes
        its time does not hang, however long it takes; ``on_crawl_delay`` is told what robots.txt asks for,
        ``on_robots`` every answer for one.
        """
        fetch = config.fetch
        self._config = config
        self._clock = clock
        self._on_snapshot = on_snapshot
        self._protocols = protocols or Protocols(chain("protocol", config))
        self._policies = policies_of(fetch)
        self._on_crawl_delay = on_crawl_delay
        self._waits_for_sink = waits_for_sink
        self._feeder = Feeder(
            self._policies,
            Capacity(bytes=fetch.queue_buffer, least=fetch.threads * fetch.queue_depth_multiplier, deepest=deepest),
            folder or Path(tempfile.gettempdir()),
        )
        self._crew = Crew(self._work, self._ended)
        self._delivery = Delivery(max(fetch.threads, MOST), fetch.body_budget, lambda: self._turnstile.make_room())
        self._turnstile = Turnstile(
            self._feeder.bench,
            concurrency=fetch.threads,
            clock=clock,
            launch=self._crew.begin,
            lose=self._lose,
            has_room=self._delivery.has_room,
        )
        self.count = Count()
        self._guard = Guard(config, self._protocols.schemes)
        self._keys = keys or Keys(config, self._guard)
        self._lookups: Lookups[str | Failed] = Lookups(self._take_in, self._fail)
        polite = partial(
            stack,
            self._protocols,
            config=config,
            count=self.count,
            gate=self._guard,
            retry=Retry(_retry_budget(fetch.retry_budget), clock),
            turnstile=self._turnstile,
            key_of=self._keys.of,
        )
        robots = RobotsFilter(
            config,
            cache=robots_cache,
            on_exchange=on_robots,
            set_crawl_delay=self._set_crawl_delay,
            lend_slot=self._turnstile.lending,
            defer=lambda url, delay: self._turnstile.defer(self._keys.known(url), delay.total_seconds()),
        )
        self._service: Service[Request, Reply] = polite(robots=robots)
        self._hop: Service[Request, Reply] = polite(robots=None)
        self._publishing = Publishing([plugin for _, plugin in chain("publisher", config)])
        self._lost: deque[tuple[bytes, Reason]] = deque()
        self._is_fed = False
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._error: BaseException | None = None
        self._rates = Rates(clock())

    def __repr__(self) -> str:
        return f"Fetcher({self._turnstile.bench!r})"

    async def run(self, source: AsyncIterable[Request], sink: Sink) -> Snapshot:
        """Fetch all that the source gives, and return the last snapshot.

        An error of sink, source or ``on_snapshot`` ends the run, and is raised when what was under way has ended.
        """
        self._delivery.sink = sink
        self._publishing.tell("start", {})
        try:
            await self._run(source)
        finally:
            self._publishing.tell("end", msgspec.structs.asdict(self.snapshot()))
            self._publishing.close()
        if self._error is not None:
            raise self._error
        return self.snapshot()

    async def _run(self, source: AsyncIterable[Request]) -> None:
        feeding = asyncio.create_task(self._feed(source))
        ticking = asyncio.create_task(self._tick())
        # No `finally`: compiled, one with an await in it forgets what was to be raised after it.
        failure: BaseException | None = None
        try:
            while not self._is_over():
                await self._changed.wait()
                self._changed.clear()
                await self._deliver_lost()
        except BaseException as error:
            failure = error
        await self._wind_up(feeding, ticking)
        if failure is not None:
            raise failure

    async def _wind_up(self, *tasks: asyncio.Task[None]) -> None:
        for task in tasks:
            task.cancel()
        self._turnstile.close()
        self._abort()
        for data in self._lookups.cancel():
            self._lose(data, Reason.STOPPED)
        await asyncio.gather(*tasks, self._crew.join(), self._lookups.join(), return_exceptions=True)
        with suppress(TimeoutError):  # a sink that hangs must not hold the end of the run
            async with asyncio.timeout(STOP_WITHIN):
                await self._deliver_lost()
        self._feeder.close()
        await self._protocols.close()

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Begin no more requests, hand back what is queued, and end what is under way after a while."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._turnstile.drain()
        asyncio.get_running_loop().call_later(within, self._abort)
        self._changed.set()

    def add(self, request: Request, rank: int | None = None, *, even_if_full: bool = False) -> Refusal | None:
        """Queue one more request while the fetcher runs, such as a link just found; the answer is none, or why not.

        One with a rank goes before those of a higher rank or none, and never waits on disk. ``even_if_full`` is for
        what takes the place of a request that has ended, such as the target of a redirect.
        """
        key, data = self._keys.known(request.url), _encoder.encode(request)
        if rank is None:
            refusal = self._feeder.offer(key, data, self._clock())
            if refusal is Refusal.FULL and even_if_full:
                refusal = self._feeder.bench.add(key, data, self._clock(), even_if_full=True)
        else:
            refusal = self._feeder.bench.add(key, data, self._clock(), rank=rank)
        self._turnstile.pump()
        return refusal

    async def hop(self, request: Request) -> Reply:
        """Make one hop in its host's turn without asking robots.txt: the hop belongs to reading one."""
        # Whoever reads it has begun, and holds a turn: behind all that is only queued he might wait for ever.
        with self._turnstile.begun():
            return await self._hop(request)

    def away(self) -> AbstractContextManager[None]:
        """Wait, under way, for a request that another process makes, without keeping others here from theirs."""
        return self._turnstile.away()

    def begin_late(self, key: str) -> float:
        """Return in how many seconds a request may begin that was kept waiting in its turn."""
        return self._feeder.bench.begin_late(key, self._clock())

    def hand_back(self, key: str, *, even_begun: bool = False) -> None:
        """Give back what waits in a queue, as ``Failed(STOPPED)``; what has begun goes on, unless it is to end too."""
        self._turnstile.purge(key, even_begun=even_begun)

    def queues(self) -> list[str]:
        """Return the keys of all queues: something waits in them, is under way, or their host rests."""
        return self._feeder.bench.keys()

    def rest(self, key: str) -> tuple[float, float]:
        """Return for how many seconds a queue still rests, and how long it rests after each request."""
        return self._feeder.bench.rest(key, self._clock())

    def defer(self, key: str, seconds: float, *, by_policy: bool = False) -> None:
        """Hand out nothing of a queue for a while; ``by_policy``: as after a request, until the policy changes."""
        self._turnstile.defer(key, seconds, by_policy=by_policy)

    def policy(self, key: str) -> Policy:
        """Return how a queue is treated."""
        return self._policies(key)

    def set_policy(self, key: str, policy: Policy | None) -> None:
        """Treat a queue in a way of its own from now on; none, as it was at first."""
        self._policies.put(key, policy)
        self._turnstile.set_policy(key)

    def snapshot(self) -> Snapshot:
        """Return how far the fetcher is, and why it does not go faster."""
        feeder, turnstile = self._feeder, self._turnstile
        trouble = f"the queues cannot go on disk ({feeder.spill_error})" if feeder.spill_error else ""
        return self._rates.snapshot(
            self.count, turnstile.stats(), feeder.queued, turnstile.bench.slowest(5), self._clock(), trouble
        )

    # In

    async def _feed(self, source: AsyncIterable[Request]) -> None:
        try:
            breathed = time.monotonic()
            async for request in source:
                url, data = request.url, _encoder.encode(request)
                key = None if url.host in self._lookups else self._keys.at_hand(url)
                taken = key is not None and self._offer(key, data) is None
                if not taken and not await self._keep_until_taken(url, key, data):
                    break
                if time.monotonic() - breathed > _BREATH:
                    await asyncio.sleep(0)  # a source that never waits must not keep those under way waiting
                    breathed = time.monotonic()
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
        """Take a request in that cannot be queued at once; false when no more are wanted."""
        try:
            if key is not None:
                return await self._take_in(key, data)
            await self._lookups.add(url.host, data, partial(self._keys.look_up, url))
            return not self._stopping.is_set()
        except asyncio.CancelledError:  # it was taken from the source, and nobody else has it
            self._lose(data, Reason.STOPPED)
            raise

    async def _take_in(self, key: str | Failed, data: bytes) -> bool:
        """Queue a request, waiting for room; false when no more are wanted."""
        if isinstance(key, Failed):
            self._lose(data, key.reason)
            return True
        while True:
            refusal = self._offer(key, data)
            if refusal is None:
                return True
            if refusal is Refusal.FULL and not self._stopping.is_set():
                await asyncio.sleep(_RETRY_FEED)
                continue
            self._lose(data, Reason.PURGED if refusal is Refusal.BLOCKED else Reason.STOPPED)
            return refusal is Refusal.BLOCKED

    def _offer(self, key: str, data: bytes) -> Refusal | None:
        if not self._wants_more() and not self._stopping.is_set():
            return Refusal.FULL
        refusal = self._feeder.offer(key, data, self._clock())
        if refusal is None and self._turnstile.has_free_turns:
            self._turnstile.pump()
        return refusal

    def _wants_more(self) -> bool:
        feeder, turnstile = self._feeder, self._turnstile
        # With enough at hand and all turns in use, what is read on would only go to disk, and come back from there.
        is_busy = feeder.bench.queued >= feeder.bench.capacity.least and not turnstile.has_free_turns
        return not is_busy and feeder.wants_more()

    # Under way

    def _set_crawl_delay(self, url: Url, delay: timedelta | None) -> None:
        key, seconds = self._keys.known(url), None if delay is None else delay.total_seconds()
        self._feeder.bench.set_crawl_delay(key, seconds)
        self._on_crawl_delay(key, seconds)

    async def _work(self, key: str, data: bytes) -> None:
        request = _decoder.decode(data)
        held = self._turnstile.hold(key)
        try:
            reply = await self._service(request)
        except asyncio.CancelledError:
            self._lost.append((data, Reason.STOPPED))
            raise
        finally:
            self._turnstile.let_go(held)
        await self._deliver(request, reply)

    def _ended(self, error: BaseException | None) -> None:
        if error is not None:
            self._fail(error)
        if self._lost or self._is_over():
            self._changed.set()

    # Out

    async def _deliver(self, request: Request, reply: Reply) -> None:
        taken = self._delivery.hand(request, reply)
        if taken is not None:
            await taken
        self._rates.note(isinstance(reply, Fetched))

    def _lose(self, data: bytes, reason: Reason) -> None:
        self._lost.append((data, reason))
        self._changed.set()

    async def _deliver_lost(self) -> None:
        while (lost := self._next_lost()) is not None:
            data, reason = lost
            request = _decoder.decode(data)
            told = _TOLD.get(reason, "")
            try:
                await self._deliver(request, Failed(request.url, reason, told, blames_host=False))
            except Exception as error:
                self._fail(error)
                return

    def _next_lost(self) -> tuple[bytes, Reason] | None:
        if self._lost:
            return self._lost.popleft()
        data = self._feeder.left_over()
        return None if data is None else (data, Reason.STOPPED)

    # Around

    def _is_over(self) -> bool:
        if len(self._crew):
            return False
        if self._error is not None:
            return True
        # Whoever stops does not wait for a source that has nothing to say.
        return (self._is_fed or self._stopping.is_set()) and not self._feeder.queued and not self._lost

    def _waits_for_others(self) -> bool:
        """Tell whether nothing can go on because the source has nothing to say, or the sink takes its time."""
        if len(self._delivery):
            return self._waits_for_sink
        return not (self._is_fed or self._feeder.queued or len(self._crew))

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.stop()

    def _abort(self) -> None:
        for key, data in self._crew.cancel():
            self._lost.append((data, Reason.STOPPED))
            self._turnstile.leave(key, UNUSED)
        self._changed.set()

    async def _tick(self) -> None:
        watch = Watch(limits_of(self._config.fetch), self._clock())
        while True:
            await asyncio.sleep(_TICK)
            now = self._clock()
            self._feeder.bench.reap(now)
            stats = self._turnstile.stats()
            advice = watch.tick(
                Pulse(
                    requests=self.count.asked,
                    pages=self.count.replies["fetched"],
                    bytes=self.count.bytes,
                    workers=self._turnstile.concurrency,
                    useful_workers=stats.queues * self._config.fetch.threads_per_queue,
                    next_in=stats.next_in if not stats.in_progress else None,
                    waits_for_others=not stats.in_progress and self._waits_for_others(),
                ),
                now,
            )
            self._turnstile.concurrency = advice.workers
            snapshot = self.snapshot()
            try:
                self._on_snapshot(snapshot)
            except Exception as error:
                self._fail(error)
            self._publishing.tell("report", msgspec.structs.asdict(snapshot))
            if advice.order is Order.DRAIN:
                self._rates.told = advice.reason
                self.stop()
            elif advice.order is Order.ABORT:
                self._rates.told = advice.reason
                self.stop(within=0.0)
