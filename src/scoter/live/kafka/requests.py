"""The request queues of a pipeline in a cluster: hops go to the workers through Kafka, and their replies come back.

``WorkerDispatcher`` keeps the queues, as in the embedded service. To it, all workers together look like one worker
process that holds every shard.
"""

from __future__ import annotations

import asyncio
import heapq
import os
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, Final

import msgspec

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.core.reply import Failed, Reason
from scoter.core.url import queue_key
from scoter.errors import ScoterError, StoreUnavailable
from scoter.live.background import BackgroundTasks
from scoter.live.fetching.domains import DomainQueue, QueuedHop
from scoter.live.fetching.pool import HopMaker, PoolOwner
from scoter.live.fetching.shards import shard_of
from scoter.live.fetching.wire import HopDone, LiveWorkerReport, MakeHop, WireMessage, decoded, encoded
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import REPLY_PARTITIONS, KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.large_replies import large_replies
from scoter.live.kafka.messages import FetchFrame, UnreadableMessage, fetch_frames
from scoter.live.kafka.topic_reader import TopicTail

_RESEND: Final = 5.0  # seconds before a hop is sent again that Kafka did not take


def reply_partition(name: str) -> int:
    """Return the partition of the topic of replies where a process looks for its messages."""
    return shard_of(name, REPLY_PARTITIONS)


class RemoteWorkerGroup:
    """All workers, as the dispatcher of a pipeline sees them: a single worker that holds every shard."""

    number = 1
    report: LiveWorkerReport | None = None

    def __init__(self, settings: KafkaClusterSettings, sender: KafkaSender, name: str) -> None:
        self.under_way: dict[int, QueuedHop] = {}
        self._backlog: list[tuple[int, int, DomainQueue]] = []
        self._topic = TopicNames(settings.prefix).requests
        self._partitions = settings.partitions
        self._sender = sender
        self._name = name
        self._partition = reply_partition(name)

    @property
    def pid(self) -> int:
        return os.getpid()

    def send(self, message: WireMessage) -> None:
        """Send a hop to the owner of its domain; rules reach workers by their own topic."""
        if not isinstance(message, MakeHop):
            return
        domain = queue_key(message.request.url, "domain")
        kind, frame = encoded(message)
        value = fetch_frames.encode(FetchFrame("", self._name, self._partition, kind, frame))
        outgoing = OutgoingMessage(self._topic, value, domain.encode(), shard_of(domain, self._partitions))
        loop = asyncio.get_running_loop()

        def report(error: Any, delivered: Any) -> None:
            if error is not None:  # no worker has it, or two will: its reply counts once
                loop.call_soon_threadsafe(loop.call_later, _RESEND, self._send_again, message)

        self._sender.put(outgoing, report)

    def _send_again(self, message: MakeHop) -> None:
        if message.id in self.under_way:
            self.send(message)

    def line_up(self, domain: DomainQueue, first: QueuedHop) -> None:
        heapq.heappush(self._backlog, (first.priority, first.id, domain))

    def next_in_line(self) -> DomainQueue | None:
        return heapq.heappop(self._backlog)[2] if self._backlog else None


class _Sender:
    """A worker that has sent a message to this pipeline and waits for an answer."""

    number = 0
    report: LiveWorkerReport | None = None

    def __init__(self, group: RemoteWorkerGroup, sender: KafkaSender, topic: str, own: str, to: FetchFrame) -> None:
        self.under_way = group.under_way
        self._group = group
        self._sender = sender
        self._topic = topic
        self._own = own
        self._to = to

    @property
    def pid(self) -> int:
        return 0

    def send(self, message: WireMessage) -> None:
        kind, frame = encoded(message)
        value = fetch_frames.encode(FetchFrame(self._to.sender, self._own, reply_partition(self._own), kind, frame))
        self._sender.put(OutgoingMessage(self._topic, value, None, self._to.partition))

    def line_up(self, domain: DomainQueue, first: QueuedHop) -> None:
        self._group.line_up(domain, first)

    def next_in_line(self) -> DomainQueue | None:
        return self._group.next_in_line()


class RemoteWorkers:
    """Connects the dispatcher of a pipeline to the workers (``fetching.pool.HopMakers``)."""

    restarts = 0

    def __init__(self, settings: KafkaClusterSettings, sender: KafkaSender, name: str, owner: PoolOwner) -> None:
        self._names = TopicNames(settings.prefix)
        self._sender = sender
        self._name = name
        self._owner = owner
        self._group = RemoteWorkerGroup(settings, sender, name)
        partition = reply_partition(name)
        self._tail = TopicTail(settings, self._names.replies, partition, self._receive, name=f"{name}-replies")
        self._large = large_replies(settings.bodies)
        self._tasks = BackgroundTasks()
        self.unreadable = 0

    def __iter__(self) -> Iterator[HopMaker]:
        yield self._group

    def owner(self, shard: int) -> HopMaker | None:
        return self._group

    async def open(self) -> None:
        """Begin to read replies, before the first request is sent."""
        await self._tail.start()

    async def ready(self) -> None:
        """Return at once: requests wait in Kafka for workers."""

    async def close(self, within: float) -> None:
        await self._tail.close()
        await self._tasks.close()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.spawn(work)

    def _receive(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            try:
                found = fetch_frames.decode(message.value)
                if found.receiver != self._name:
                    continue
                if found.stored:
                    self.spawn(self._take_stored(found))
                    continue
                frame = decoded(found.kind, found.frame)
            except (UnreadableMessage, msgspec.DecodeError) as error:
                self.unreadable += 1
                FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable reply at offset {message.offset}: {error}")
                continue
            self._pass_on(found, frame)

    def _pass_on(self, found: FetchFrame, frame: WireMessage) -> None:
        self._owner.receive(_Sender(self._group, self._sender, self._names.replies, self._name, found), frame)

    async def _take_stored(self, found: FetchFrame) -> None:
        """Read a large reply; if that fails, so does its hop."""
        hop = self._group.under_way.get(found.hop)
        try:
            if self._large is None:
                raise StoreUnavailable("this pipeline has no object store (kafka.bodies)")
            frame = decoded(found.kind, await self._large.take(found.stored))
        except (ScoterError, msgspec.DecodeError) as error:
            if hop is None:
                return
            url = hop.request.url
            FAULTS.note("kafka", FaultKind.TOO_LARGE, f"cannot read the large reply of {url.text!r}: {error}")
            reply = Failed(url, Reason.TOO_LARGE, f"its reply cannot be read: {error}", blames_host=False)
            frame = HopDone(found.hop, reply)
        self._pass_on(found, frame)
