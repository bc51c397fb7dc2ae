"""A worker of a cluster: makes the requests to the domains of its partitions. It talks to Kafka and the web only.

A ``LiveWorker`` does the work, as in the embedded service. This module takes the place of the core: partitions are the
shards; a commit that Kafka confirms renews the lease; the next owner of a partition finds in the topic of delays what
was learnt about its domains.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from scoter.config import Config
from scoter.core.reply import Reply
from scoter.core.url import queue_key
from scoter.errors import ScoterError
from scoter.live.api.records import DomainRule
from scoter.live.background import VitalTasks
from scoter.live.clock import steady_now, utc_now
from scoter.live.fetching.lease import GRACE
from scoter.live.fetching.requests import abandoned_reply, crashing_reply, oversized_reply
from scoter.live.fetching.wire import (
    CrawlDelayNotice,
    GrantShards,
    HopDone,
    HopRefused,
    MakeHop,
    RecallShards,
    RefusalReason,
    RenewLease,
    RobotsQuery,
    RobotsUpdate,
    SetRule,
    ShardsReturned,
    WireMessage,
    decoded,
    encoded,
)
from scoter.live.fetching.worker import LiveWorker
from scoter.live.kafka.consumer import GroupMember, Place, ReceivedMessage
from scoter.live.kafka.delays import SharedDelays
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames, is_too_large
from scoter.live.kafka.large_replies import large_replies
from scoter.live.kafka.messages import DeadLetter, FetchFrame, UnreadableMessage, fetch_frames
from scoter.live.kafka.offsets import ENDS
from scoter.live.kafka.requests import reply_partition
from scoter.live.kafka.suspects import MOST_TRIALS, SuspectQueue
from scoter.live.kafka.topic_reader import TopicTail

_MOST_OPEN: Final = 2_000  # requests of one partition that are held
_RETRY: Final = 1.0
_STORE_ATTEMPTS: Final = 2
_FORWARD_TIMEOUT: Final = 60.0
_STOP_TIMEOUT: Final = 30.0
_log = logging.getLogger(__name__)


class _FetchOrder:
    """A hop that a pipeline waits for; the pipeline's side of a connection, as ``LiveWorker`` sees it."""

    is_open = True
    has_room = True

    def __init__(self, role: WorkerRole, place: Place, offset: int, frame: FetchFrame) -> None:
        self.place = place
        self.offset = offset
        self.frame = frame
        self._role = role

    def send(self, message: WireMessage) -> None:
        self._role.answer(self, message)

    async def drained(self) -> None:
        pass


class WorkerRole:
    """Owns partitions of requests (``consumer.PartitionOwner``), and is the core of a ``LiveWorker``."""

    is_open = True
    has_room = True

    def __init__(
        self,
        config: Config,
        sender: KafkaSender,
        *,
        name: str,
        dead: Callable[[ReceivedMessage, DeadLetter], Awaitable[None]],
        clock: Callable[[], datetime] = utc_now,
        now: Callable[[], float] = steady_now,
    ) -> None:
        self._large = large_replies(config.kafka.bodies)
        self._settings = config.kafka
        self._names = TopicNames(config.kafka.prefix)
        self._lease = config.kafka.fetch_lease.total_seconds()
        self._delays = SharedDelays(config, sender, name, clock=clock, now=now)
        self._sender = sender
        self._name = name
        self._dead = dead
        self._now = now
        self.worker: LiveWorker | None = None
        self.member: GroupMember | None = None
        self._granted: set[int] = set()
        self._early: dict[int, list[_FetchOrder]] = {}  # orders of partitions that are being taken over
        self._returning: dict[int, asyncio.Event] = {}
        self._taking: dict[int, asyncio.Task[None]] = {}
        self._tasks = VitalTasks()
        self._counterpart: FetchFrame | None = None  # the pipeline that was heard of last
        self._inbox = TopicTail(
            self._settings, self._names.replies, reply_partition(name), self._receive_reply, name=f"{name}-inbox"
        )
        self._suspects: SuspectQueue[_FetchOrder] = SuspectQueue(self._begin_trial, self._start_suspect)
        self._commits: list[tuple[float, asyncio.Future[bool]]] = []  # who waits for a commit, since when
        self.unreadable = 0
        self.given_up = 0
        self.oversized = 0

    async def start(self) -> None:
        """Begin to read answers of pipelines."""
        await self._inbox.start()

    async def close(self) -> None:
        """Stop reading; call it after the member has left its group."""
        await self._inbox.close()
        await self._tasks.close()

    # PartitionOwner

    def assigned(self, places: Sequence[Place], since: float) -> None:
        for _, shard in places:
            self._early[shard] = []
            self._taking[shard] = self._tasks.spawn(self._take_over(shard, since))

    async def revoked(self, places: Sequence[Place], *, is_lost: bool) -> None:
        shards = [shard for _, shard in places]
        self._suspects.forget(places)
        for shard in shards:
            self._early.pop(shard, None)
            if (task := self._taking.pop(shard, None)) is not None:
                task.cancel()
        held = [shard for shard in shards if shard in self._granted]
        self._granted.difference_update(held)
        if not held:
            return
        self._returning |= {shard: asyncio.Event() for shard in held}
        waiting = [self._returning[shard] for shard in held]
        self._tell(RecallShards(tuple(held)))
        if is_lost:  # somebody else may have it; the lease prevents requests
            return
        try:
            async with asyncio.timeout(_STOP_TIMEOUT):
                await asyncio.gather(*(each.wait() for each in waiting))
                await self._delays.give_back(held)
        except (TimeoutError, ScoterError) as error:
            _log.warning("partitions were not returned in order: %s", error or "requests took too long")

    def received(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            try:
                frame = fetch_frames.decode(message.value)
                hop = decoded(frame.kind, frame.frame)
                if not isinstance(hop, MakeHop):
                    raise UnreadableMessage(f"unexpected {type(hop).__name__}")
            except (UnreadableMessage, msgspec.DecodeError) as error:
                self._bury(message, str(error))
                continue
            self._counterpart = frame
            order = _FetchOrder(self, message.place, message.offset, frame)
            shard = message.place[1]
            if shard in self._granted:
                self._ask(order, hop)
            elif shard in self._early:
                self._early[shard].append(order)

    def is_full(self, place: Place) -> bool:
        assert self.member is not None  # noqa: S101 - set before it starts
        return self.member.open_count(place) >= _MOST_OPEN

    def confirmed(self, since: float) -> None:
        self._tell(RenewLease(since + self._lease))
        waiting, self._commits = self._commits, []
        for asked, stored in waiting:
            if asked > since:
                self._commits.append((asked, stored))
            elif not stored.done():
                stored.set_result(True)

    # Take-over

    async def _take_over(self, shard: int, since: float) -> None:
        """Read what the former owner has left, and start with a partition."""
        while True:
            try:
                is_free, holds = await self._delays.take(shard)
                break
            except ScoterError as error:
                _log.warning("cannot take over partition %d yet: %s", shard, error)
                await asyncio.sleep(_RETRY)
        if not is_free:
            # The former owner may make requests until its lease ends, and a server may be busy with them.
            since += self._lease + GRACE
        self._taking.pop(shard, None)
        orders = self._early.pop(shard, None)
        if orders is None:
            return
        self._granted.add(shard)
        self._tell(GrantShards((shard,), since, tuple(holds)))
        for order in orders:
            hop = decoded(order.frame.kind, order.frame.frame)
            assert isinstance(hop, MakeHop)  # noqa: S101 - checked when it was received
            self._ask(order, hop)

    # The worker's core

    def send(self, message: WireMessage) -> None:
        """Handle a message of the ``LiveWorker`` to its core."""
        match message:
            case ShardsReturned(since):
                for shard in since:
                    if (event := self._returning.pop(shard, None)) is not None:
                        event.set()
            case CrawlDelayNotice(domain, pause):
                self._delays.learn(domain, pause, 0.0)
            case RobotsQuery() | RobotsUpdate():
                self._send_counterpart(message)
            case MakeHop():
                self._send_counterpart(message)
                asyncio.get_running_loop().call_later(_FORWARD_TIMEOUT, self._give_up_forwarded, message)
            case _:
                pass  # heartbeats and reports: Kafka knows whether this process lives

    async def drained(self) -> None:
        pass

    def set_rule(self, rule: DomainRule) -> None:
        """Apply a domain rule."""
        self._tell(SetRule(rule))

    def answer(self, order: _FetchOrder, message: WireMessage) -> None:
        """Send the reply to a hop; its message is done when Kafka has the reply."""
        if isinstance(message, HopRefused) and message.why is RefusalReason.MOVED:
            self._suspects.done(order.place, order.offset)
            return  # not done: the next owner of the partition makes the hop
        if isinstance(message, HopDone):
            hop = decoded(order.frame.kind, order.frame.frame)
            assert isinstance(hop, MakeHop)  # noqa: S101 - checked when it was received
            self._delays.learn(queue_key(hop.request.url, "domain"), message.pause, message.hold)
        kind, frame = encoded(message)
        if isinstance(message, HopDone) and len(frame) > self._settings.body_limit and self._large is not None:
            self._tasks.spawn(self._answer_stored(order, message, kind, frame))
        else:
            self._send_reply(order, message, self._frame(order, kind, frame))

    def _frame(self, order: _FetchOrder, kind: int, frame: bytes) -> FetchFrame:
        return FetchFrame(order.frame.sender, self._name, reply_partition(self._name), kind, frame)

    async def _answer_stored(self, order: _FetchOrder, message: HopDone[Reply], kind: int, frame: bytes) -> None:
        """Send a reply through the object store; if that fails, the URL fails, and nobody else is delayed."""
        assert self._large is not None  # noqa: S101 - checked by the caller
        for attempt in range(_STORE_ATTEMPTS):
            try:
                name = await self._large.put(frame)
            except ScoterError as error:
                why = str(error)
                await asyncio.sleep(_RETRY * 2**attempt)
            else:
                reply = msgspec.structs.replace(self._frame(order, kind, b""), stored=name, hop=message.id)
                self._send_reply(order, message, reply)
                return
        self._answer_oversized(order, message, why)

    def _send_reply(self, order: _FetchOrder, message: WireMessage, reply: FetchFrame) -> None:
        loop = asyncio.get_running_loop()

        def report(error: Any, delivered: Any) -> None:
            if error is None:
                loop.call_soon_threadsafe(self._finish, order)
            elif is_too_large(error) and isinstance(message, HopDone):
                loop.call_soon_threadsafe(self._answer_oversized, order, message)
            else:
                loop.call_soon_threadsafe(loop.call_later, _RETRY, self._answer_again, order, message)

        outgoing = OutgoingMessage(self._names.replies, fetch_frames.encode(reply), None, order.frame.partition)
        self._sender.put(outgoing, report)

    def _answer_again(self, order: _FetchOrder, message: WireMessage) -> None:
        if self.member is not None and self.member.owns(order.place):
            self.answer(order, message)

    def _answer_oversized(self, order: _FetchOrder, message: HopDone[Reply], why: str = "kafka.body_limit") -> None:
        hop = decoded(order.frame.kind, order.frame.frame)
        assert isinstance(hop, MakeHop)  # noqa: S101 - checked when it was received
        self.oversized += 1
        url = hop.request.url.text
        FAULTS.note("kafka", FaultKind.TOO_LARGE, f"the reply of {url!r} is too large for Kafka ({why})", about=url)
        self.answer(order, msgspec.structs.replace(message, reply=oversized_reply(hop.request), read=None))

    def _finish(self, order: _FetchOrder) -> None:
        if self.member is not None:
            self.member.finish(order.place, order.offset)
        self._suspects.done(order.place, order.offset)

    def _ask(self, order: _FetchOrder, hop: MakeHop) -> None:
        """Make a hop; one that may have killed several workers waits until it can be made alone."""
        assert self.member is not None  # noqa: S101 - set before it starts
        ends = self.member.ends_of(order.place, order.offset)
        trials = self.member.trials_of(order.place, order.offset)
        if ends < ENDS:
            self._make(order, hop, is_suspect=ends > 0)
        elif trials < MOST_TRIALS:
            self._suspects.add(order.place, order.offset, trials, order)
        else:
            url = hop.request.url.text
            _log.error(
                "giving up a request: %d processes ended while they made it alone: %r", trials, url, extra={"url": url}
            )
            self.given_up += 1
            self.answer(order, HopDone(hop.id, crashing_reply(hop.request, trials)))

    def _make(self, order: _FetchOrder, hop: MakeHop, *, is_suspect: bool) -> None:
        if self.worker is not None:
            # A response that may have killed a worker is not parsed in another one.
            self.worker.ask(msgspec.structs.replace(hop, is_read=hop.is_read and not is_suspect), order)

    async def _begin_trial(self, place: Place, offset: int) -> bool:
        """Store that a request is going to be made alone: the next commit does."""
        assert self.member is not None  # noqa: S101 - set before it starts
        self.member.begin_trial(place, offset)
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._commits.append((self._now(), stored))
        return await stored and self.member.owns(place)

    def _start_suspect(self, order: _FetchOrder) -> None:
        hop = decoded(order.frame.kind, order.frame.frame)
        assert isinstance(hop, MakeHop)  # noqa: S101 - checked when it was received
        url = hop.request.url.text
        _log.warning("making a request alone that may have killed its process: %r", url, extra={"url": url})
        self._make(order, hop, is_suspect=True)

    def _tell(self, message: WireMessage) -> None:
        if self.worker is not None:
            self.worker.receive(message)

    def _send_counterpart(self, message: WireMessage) -> None:
        to = self._counterpart
        if to is None:
            return
        kind, frame = encoded(message)
        value = fetch_frames.encode(FetchFrame(to.sender, self._name, reply_partition(self._name), kind, frame))
        self._sender.put(OutgoingMessage(self._names.replies, value, None, to.partition))

    def _give_up_forwarded(self, message: MakeHop) -> None:
        self._tell(HopDone(message.id, abandoned_reply(message.request)))

    def _receive_reply(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            try:
                frame = fetch_frames.decode(message.value)
                if frame.receiver == self._name:
                    self._tell(decoded(frame.kind, frame.frame))
            except (UnreadableMessage, msgspec.DecodeError) as error:
                self.unreadable += 1
                FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable answer at offset {message.offset}: {error}")

    def _bury(self, message: ReceivedMessage, why: str) -> None:
        self.unreadable += 1
        FAULTS.count("kafka", FaultKind.UNREADABLE)
        _log.error("unreadable message in %s, partition %d, offset %d: %s", *message.place, message.offset, why)
        self._tasks.spawn(self._bury_now(message, DeadLetter(*message.place, message.offset, why)))

    async def _bury_now(self, message: ReceivedMessage, letter: DeadLetter) -> None:
        assert self.member is not None  # noqa: S101 - set before it starts
        while self.member.owns(message.place):
            try:
                await self._dead(message, letter)
            except ScoterError as error:
                _log.warning("cannot copy an unreadable message yet: %s", error)
                await asyncio.sleep(_RETRY)
            else:
                self.member.finish(message.place, message.offset)
                return
