"""All stores of a service on Kafka and Cassandra, for the contracts of the ports.

In a cluster, an api accepts messages, a pipeline opens and records them, and another api reads the events. Here one
process does all of it. Each step waits until the next one has received what it sends, as the contracts expect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace
from tests.live.stores.fakes import Time
from tests.waiting import until

from scoter.config import Config
from scoter.live.background import VitalTasks
from scoter.live.kafka.access import MessageIds
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.consumer import GroupMember
from scoter.live.kafka.deliveries import CassandraDeliveries, DeliveryFeed
from scoter.live.kafka.events import KafkaEvents
from scoter.live.kafka.intake import KafkaIntake, intake_message
from scoter.live.kafka.journal import PipelineJournal
from scoter.live.kafka.kafka import KafkaSender, TopicNames, create_topics
from scoter.live.kafka.metadata import CassandraMetadata
from scoter.live.kafka.outcomes import ClusterOutcomes, OutcomeTransactions
from scoter.live.ports import Accepted, JournalEntry, UrlOutcome
from scoter.live.records import Event, Message, Priority

PATIENCE = 60.0


class ClusterJournal:
    """The intake of an api together with the journal of a pipeline (``ports.Intake``)."""

    def __init__(self, intake: KafkaIntake, pipeline: PipelineJournal) -> None:
        self._intake = intake
        self._pipeline = pipeline

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        before = sum(self.depth().values())
        accepted = await self._intake.accept(messages)
        new = sum(len(each.entries) for each in accepted if each.is_new)
        await until(lambda: sum(self.depth().values()) >= before + new)
        return accepted

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        return await self._pipeline.open(reader, most, lease)

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        return await self._pipeline.renew(reader, entries, lease)

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        await self._pipeline.abort(reader, entries)

    def depth(self) -> Mapping[Priority, int]:
        return self._pipeline.depth()

    def oldest(self) -> timedelta | None:
        return self._pipeline.oldest()


class AwaitedOutcomes:
    """Records outcomes, and waits until an api has their events and deliveries (``ports.OutcomeRecorder``)."""

    def __init__(self, outcomes: ClusterOutcomes, is_read: Callable[[int], bool]) -> None:
        self._outcomes = outcomes
        self._is_read = is_read

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        events = await self._outcomes.record(reader, done)
        last = max((event.number for event in events if event is not None), default=0)
        await until(lambda: self._is_read(last))
        return list(events)


class ClusterStores:
    """The stores of a service; ``open`` them first.

    There is one partition: only within a partition does Kafka keep the order of messages.
    """

    def __init__(self, config: Config, session: CassandraSession, time: Time, **live: Any) -> None:
        self.config = replace(config, kafka=replace(config.kafka, partitions=1), live=replace(config.live, **live))
        self.names = TopicNames(config.kafka.prefix)
        self.metadata = CassandraMetadata(session, time.clock)
        self.deliveries = CassandraDeliveries(session, clock=time.clock, steady_clock=time.tick)
        self._ids = MessageIds(session, self.config.live.messages_for)
        self._time = time

    async def open(self, stack: AsyncExitStack) -> None:
        """Create the topics, join the groups, and wait until all partitions are owned."""
        kafka, live, names, time = self.config.kafka, self.config.live, self.names, self._time
        await asyncio.to_thread(create_topics, kafka, live)
        tasks = VitalTasks()
        stack.push_async_callback(tasks.close)
        sender = KafkaSender(kafka, "sender")
        stack.callback(sender.close)
        pipeline = PipelineJournal(live, names, 1, spawn=tasks.spawn, clock=time.clock, steady_clock=time.tick)
        member = pipeline.member = GroupMember(kafka, names.pipeline_group, names.intakes, pipeline, name="pipeline")
        transactions = OutcomeTransactions(kafka, names.events, member, "pipeline")
        stack.push_async_callback(asyncio.to_thread, transactions.close)
        pipeline.note = transactions.note
        self.events = KafkaEvents(kafka, "api")
        await self.events.start()
        stack.push_async_callback(self.events.close)
        feed = DeliveryFeed(kafka, self.deliveries, lambda: None, name="api")
        followed = feed._member  # nothing else tells how far it is
        feed.start()
        stack.push_async_callback(feed.close)
        member.start()
        stack.push_async_callback(member.close)
        place = (names.events, 0)

        def is_read(number: int) -> bool:
            return self.events.last() >= number and followed.finished_before().get(place, 0) >= number

        continued = partial(intake_message, names, 1)
        outcomes = ClusterOutcomes(pipeline, self.metadata, transactions, continued, time.clock)
        self.outcomes = pipeline.outcomes = AwaitedOutcomes(outcomes, is_read)
        self.journal = ClusterJournal(KafkaIntake(sender, names, 1, self._ids), pipeline)
        await until(lambda: len(list(member.places)) == len(names.intakes) and followed.owns(place))
