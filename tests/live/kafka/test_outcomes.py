"""Recording of outcomes by two pipelines of one group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from tests.live.memory.metadata import MemoryMetadata
from tests.live.stores.fakes import LEASE, START, done, url_of

from scoter.config import Config
from scoter.live.clock import utc_now
from scoter.live.kafka.consumer import GroupMember
from scoter.live.kafka.intake import intake_message
from scoter.live.kafka.journal import PipelineJournal
from scoter.live.kafka.kafka import KafkaSender, TopicNames, create_topics
from scoter.live.kafka.messages import AcceptedUrl, event_values
from scoter.live.kafka.outcomes import ClusterOutcomes, OutcomeTransactions
from scoter.live.kafka.topic_reader import read_partition
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority

pytestmark = pytest.mark.cluster


class Pipeline:
    def __init__(self, journal: PipelineJournal, outcomes: ClusterOutcomes, name: str) -> None:
        self.journal, self.outcomes, self.name = journal, outcomes, name

    async def opened(self, count: int) -> list[JournalEntry]:
        """Wait for entries."""
        found: list[JournalEntry] = []
        async with asyncio.timeout(30):
            while len(found) < count:
                found += await self.journal.open(self.name, count - len(found), LEASE)
                await asyncio.sleep(0.02)
        return found

    async def record(self, entries: Sequence[JournalEntry]) -> list[bool]:
        """Record outcomes; return which of them were recorded."""
        return [event is not None for event in await self.outcomes.record(self.name, [done(each) for each in entries])]


@asynccontextmanager
async def pipeline(config: Config, name: str) -> AsyncIterator[Pipeline]:
    names = TopicNames(config.kafka.prefix)
    async with AsyncExitStack() as stack:
        journal = PipelineJournal(config.live, names, config.kafka.partitions)
        member = journal.member = GroupMember(config.kafka, names.pipeline_group, names.intakes, journal, name=name)
        transactions = OutcomeTransactions(config.kafka, names.events, member, name)

        def continued(value: AcceptedUrl) -> object:
            return intake_message(names, config.kafka.partitions, value)

        metadata = MemoryMetadata(utc_now)
        outcomes = ClusterOutcomes(journal, metadata, transactions, continued)  # type: ignore[arg-type]
        member.start()
        stack.push_async_callback(member.close)
        stack.push_async_callback(asyncio.to_thread, transactions.close)
        yield Pipeline(journal, outcomes, name)


async def send(config: Config, *names: str) -> None:
    sender = KafkaSender(config.kafka, "test")
    topics = TopicNames(config.kafka.prefix)
    values = [AcceptedUrl(name, url_of(name), Priority.NORMAL, False, "", START) for name in names]
    await sender.send([intake_message(topics, config.kafka.partitions, value) for value in values])
    await asyncio.to_thread(sender.close)


async def announced(config: Config, expected: int = 0) -> list[str]:
    """Return the messages of all events; wait for as many as expected: Kafka shows a transaction a little later."""
    topic = TopicNames(config.kafka.prefix).events
    async with asyncio.timeout(30):
        while len(found := await asyncio.to_thread(read_partition, config.kafka, topic, 0, 0, 1_000)) < expected:
            await asyncio.sleep(0.1)
    return [event_values.decode(each.value).message for each in found]


@pytest.fixture
async def ready(config: Config) -> Config:
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    return config


async def test_next_pipeline_gets_exactly_what_is_not_recorded(ready: Config) -> None:
    names = [f"n{number}" for number in range(40)]
    await send(ready, *names)
    async with pipeline(ready, "first") as first:
        entries = await first.opened(40)
        assert all(await first.record(entries[::3]))  # every third: what is done has gaps
    recorded = {entry.message for entry in entries[::3]}

    async with pipeline(ready, "second") as second:
        rest = await second.opened(40 - len(recorded))
        assert {entry.message for entry in rest} == set(names) - recorded
        assert all(await second.record(rest))

    assert sorted(await announced(ready, len(names))) == sorted(names)


async def test_outcomes_of_a_moved_partition_are_recorded_by_its_new_owner_only(ready: Config) -> None:
    names = [f"n{number}" for number in range(40)]
    await send(ready, *names)
    async with pipeline(ready, "first") as first:
        entries = await first.opened(40)
        async with pipeline(ready, "second") as second:
            # The first pipeline records while partitions move away from it.
            recording = [asyncio.create_task(first.record([entry])) for entry in entries]
            kept = [bool(sum(each)) for each in await asyncio.gather(*recording)]
            left = kept.count(False)
            taken = await second.opened(left) if left else []
            assert all(await second.record(taken))

            async with asyncio.timeout(30):
                while len(set(await announced(ready))) < 40:
                    more = await first.journal.open("first", 100, LEASE)
                    more_second = await second.journal.open("second", 100, LEASE)
                    await first.record(more)
                    await second.record(more_second)
                    await asyncio.sleep(0.05)

    assert sorted(await announced(ready, len(names))) == sorted(names)


async def test_full_partition_is_paused_and_resumed(ready: Config) -> None:
    names = [f"n{number}" for number in range(60)]
    async with pipeline(ready, "first") as first:
        full = False

        def is_full(place: object) -> bool:
            return full

        first.journal.is_full = is_full  # type: ignore[method-assign]
        await send(ready, names[0])
        entries = await first.opened(1)
        full = True
        await asyncio.sleep(0.5)
        await send(ready, *names[1:])
        await asyncio.sleep(1.0)
        assert await first.journal.open("first", 100, LEASE) == []

        full = False
        entries += await first.opened(59)
        assert all(await first.record(entries))
    assert sorted(await announced(ready, len(names))) == sorted(names)


async def test_partitions_are_taken_although_kafka_answers_late(ready: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    import confluent_kafka

    failures = 2

    class LateConsumer(confluent_kafka.Consumer):
        """A consumer whose first questions about positions get no answer in time."""

        def committed(self, *arguments: Any, **options: Any) -> Any:
            nonlocal failures
            if failures:
                failures -= 1
                raise confluent_kafka.KafkaException(confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT))
            return super().committed(*arguments, **options)

    monkeypatch.setattr(confluent_kafka, "Consumer", LateConsumer)
    await send(ready, "a")
    async with pipeline(ready, "late") as late:
        assert [entry.message for entry in await late.opened(1)] == ["a"]
    assert failures == 0
