"""Runs the contracts of the stores against Cassandra and Kafka; ``test_contracts.py`` has those of the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.live.memory.stores import MemoryStores
from tests.live.stores.contract_access import KeysContract, RulesContract
from tests.live.stores.contract_announcing import DeliveriesContract
from tests.live.stores.contract_metadata import MetadataContract
from tests.live.stores.fakes import START, Time, stored, url_of
from tests.waiting import until

from scoter.config import Config, load
from scoter.errors import StoreUnavailable, UsageError
from scoter.live.api.records import DomainRule
from scoter.live.clock import utc_now
from scoter.live.kafka.access import CassandraKeys, MessageIds
from scoter.live.kafka.backlogs import GroupBacklog, TopicBacklog
from scoter.live.kafka.cassandra import VERSION, CassandraSession
from scoter.live.kafka.deliveries import CassandraDeliveries
from scoter.live.kafka.faults import FAULTS
from scoter.live.kafka.kafka import (
    KafkaSender,
    OutgoingMessage,
    TopicNames,
    admin_client,
    client_options,
    create_topics,
    delete_before,
)
from scoter.live.kafka.metadata import CachedRecords, CassandraMetadata, read_all
from scoter.live.kafka.rules import KafkaRules
from scoter.live.kafka.topic_reader import plain_consumer, read_partition
from scoter.live.ports import Accepted, Delivery, UrlOutcome
from scoter.live.records import Event, Message

pytestmark = pytest.mark.cluster


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def session(config: Config) -> AsyncIterator[CassandraSession]:
    async with CassandraSession(config.cassandra) as opened:
        for table in ("records", "messages", "keys", "deliveries"):
            await opened.run(f"TRUNCATE {table}")
        yield opened


class TestMetadata(MetadataContract):
    """In Cassandra, where time is part of a write: of two records with the same time, either may win."""

    @pytest.fixture
    def metadata(self, session: CassandraSession, time: Time) -> CassandraMetadata:
        return CassandraMetadata(session, time.clock)

    async def test_last_put_wins(self, metadata: CassandraMetadata) -> None:  # type: ignore[override]
        for second, value in enumerate((b"1", b"2", b"3")):
            at = START + timedelta(seconds=second)
            await metadata.put([stored("a", value=value, at=at)])
            assert await metadata.get(url_of("a")) == stored("a", value=value, at=at)

    async def test_expired_record_is_kept_while_it_may_be_stale(  # type: ignore[override]
        self, metadata: CassandraMetadata, time: Time
    ) -> None:
        row = stored("a", lives=10, stale=20)
        await metadata.put([row, stored("b", lives=10)])

        time.passes(10)
        assert await metadata.get(url_of("a")) is None
        assert (await metadata.last(url_of("a")), await metadata.last(url_of("b"))) == (row, None)
        time.passes(20)
        assert await metadata.last(url_of("a")) is None

    async def test_expire_removes_a_bounded_number_of_records(  # type: ignore[override]
        self, session: CassandraSession, time: Time
    ) -> None:
        metadata = CassandraMetadata(session, time.clock)
        await metadata.put([stored("a", lives=1.0)])
        await asyncio.sleep(2.1)  # Cassandra's own clock

        assert await session.run("SELECT url FROM records") == []
        assert await metadata.expire(5) == 0

    async def test_older_record_replaces_only_a_record_from_the_future(  # type: ignore[override]
        self, metadata: CassandraMetadata
    ) -> None:
        late = stored("a", value=b"late", at=START + timedelta(seconds=10))
        await metadata.put([late])
        await metadata.put([stored("a", value=b"early", at=START)])

        assert await metadata.get(url_of("a")) == late

    async def test_concurrent_writes_in_any_order_end_with_the_newest_fetch(self, metadata: CassandraMetadata) -> None:
        rows = [stored("a", value=b"%d" % n, at=START + timedelta(milliseconds=n)) for n in range(50)]

        await asyncio.gather(*(metadata.put([row]) for row in rows[::-1]))

        assert await metadata.get(url_of("a")) == rows[-1]


async def test_cached_record_is_read_again_after_a_second_or_when_forgotten(session: CassandraSession) -> None:
    time = Time()
    metadata = CassandraMetadata(session, time.clock)
    cached = CachedRecords(metadata, 10, now=time.tick)
    url = url_of("a")
    assert await cached.value(url) is None

    for second, value in enumerate((b"1", b"2", b"3")):
        await metadata.put([stored("a", value=value, at=START + timedelta(seconds=second))])
        if value == b"3":
            cached.forget(url)
        else:
            time.ticks += 1.1
        assert await cached.values([url, url_of("b")]) == {url: value}
    await metadata.put([stored("a", value=b"4", at=START + timedelta(seconds=4))])
    assert await cached.value(url) == b"3"


class TestKeys(KeysContract):
    """In Cassandra."""

    @pytest.fixture
    def stores(self, session: CassandraSession, time: Time) -> Any:
        return SimpleNamespace(keys=CassandraKeys(session, time.clock))

    async def test_other_process_sees_keys_and_their_revocation(self, session: CassandraSession) -> None:
        one, other = CassandraKeys(session), CassandraKeys(session)
        key, token = await one.create("bot", ["read"])
        await other.read()
        assert other.check(token) == key

        assert await one.revoke(key.id)
        await other.note_uses()  # must not bring it back
        await other.read()

        assert other.check(token) is None
        assert list(other.all()) == []


class TestRules(RulesContract):
    """In a compacted topic."""

    @pytest.fixture
    async def stores(self, config: Config) -> AsyncIterator[Any]:
        await asyncio.to_thread(create_topics, config.kafka, config.live)
        sender = KafkaSender(config.kafka, "test")
        rules = KafkaRules(config.kafka, "test", sender)
        await rules.start()
        yield SimpleNamespace(rules=rules)
        await rules.close()
        sender.close()

    async def test_other_processes_follow(self, stores: Any, config: Config) -> None:
        await stores.rules.put(DomainRule(domain="a.example", blocked=True))
        changes: list[DomainRule] = []
        other = KafkaRules(config.kafka, "other", on_change=changes.append)
        await other.start()
        assert other.get("a.example") == DomainRule(domain="a.example", blocked=True)

        await stores.rules.put(DomainRule(domain="a.example"))
        async with asyncio.timeout(5):
            await until(lambda: other.get("a.example") is None)
        assert changes[-1] == DomainRule(domain="a.example")
        with pytest.raises(StoreUnavailable):
            await other.put(DomainRule(domain="b.example", blocked=True))
        await other.close()


class _BridgedOutcomes:
    """Records outcomes in memory, and their deliveries in Cassandra."""

    def __init__(self, stores: MemoryStores, deliveries: CassandraDeliveries) -> None:
        self._stores = stores
        self._deliveries = deliveries

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        events = await self._stores.outcomes.record(reader, done)
        for each, event in zip(done, events, strict=True):
            if event is not None and each.entry.callback:
                name = f"d{event.number}"
                await self._deliveries.add([Delivery(id=name, callback=each.entry.callback, event=event)])
        return events


class TestDeliveries(DeliveriesContract):
    """In Cassandra."""

    @pytest.fixture
    def make(self, session: CassandraSession, time: Time) -> Any:
        async def made(**live: Any) -> Any:
            from scoter.config.sections.live import LiveSettings

            memory = MemoryStores(clock=time.clock, steady_clock=time.tick, live=LiveSettings(**live))
            deliveries = CassandraDeliveries(session, clock=time.clock, steady_clock=time.tick)
            outcomes = _BridgedOutcomes(memory, deliveries)
            return SimpleNamespace(
                journal=memory.journal, events=memory.events, outcomes=outcomes, deliveries=deliveries
            )

        return made

    @pytest.fixture
    async def stores(self, make: Any) -> Any:
        return await make()

    async def test_next_process_delivers_what_is_left(self, session: CassandraSession, stores: Any) -> None:
        from tests.live.stores.contract_announcing import HOOK, announce

        await announce(stores, "a", "b", callback=HOOK)
        first, second = await stores.deliveries.due(2, timedelta(seconds=30))
        await stores.deliveries.delivered([first.id])
        await stores.deliveries.failed(second.id, timedelta(minutes=5), "503")

        other = CassandraDeliveries(session)
        await other.load()

        (left,) = await other.due(10, timedelta(seconds=30))
        assert (left.id, left.tries, left.event) == (second.id, 1, second.event)


def named(name: str) -> Message:
    return Message(id=name, received=START)


async def test_message_id_is_known_only_once_its_urls_are_stored(session: CassandraSession) -> None:
    ids = MessageIds(session, timedelta(hours=1))

    assert await ids.claim([named("a"), named("b")]) == [None, None]
    assert await ids.claim([named("a")]) == [None]  # claimed by a process that has died: send it again
    await ids.stored([(named("a"), {"https://a.example/": 7})])

    known = Accepted(message="a", entries={"https://a.example/": 7}, is_new=False)
    assert await ids.claim([named("a"), named("b")]) == [known, None]


async def test_newer_tables_are_refused(config: Config) -> None:
    async with CassandraSession(config.cassandra) as session:
        put = "INSERT INTO facts (name, value) VALUES ('version', ?)"
        await session.run(put, VERSION + 1)
        try:
            with pytest.raises(UsageError, match="newer version of Scoter"):
                await CassandraSession(config.cassandra).open()
        finally:
            await session.run(put, VERSION)


async def test_unreachable_cassandra_is_unavailable() -> None:
    config = load(overrides=['cassandra.hosts=["127.0.0.1"]', "cassandra.port=1", "cassandra.timeout=1s"])
    with pytest.raises(StoreUnavailable, match="Cassandra"):
        await CassandraSession(config.cassandra).open()


async def test_topics_with_another_number_of_partitions_are_refused(config: Config, prefix: str) -> None:
    from tests.live.kafka.conftest import cluster_settings

    await asyncio.to_thread(create_topics, config.kafka, config.live)
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    other = load(overrides=[*cluster_settings(prefix), "kafka.partitions=9"])

    with pytest.raises(UsageError, match="has 8 partitions"):
        await asyncio.to_thread(create_topics, other.kafka, other.live)


async def test_finished_messages_are_deleted(config: Config) -> None:
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    topic = TopicNames(config.kafka.prefix).requests
    sender = KafkaSender(config.kafka, "test")
    await sender.send([OutgoingMessage(topic, b"%d" % n, None, 3) for n in range(5)])
    sender.close()

    await asyncio.to_thread(delete_before, admin_client(config.kafka, "test"), {(topic, 3): 4})

    left = await asyncio.to_thread(read_partition, config.kafka, topic, 3, 0, 10)
    assert [(each.offset, each.value) for each in left] == [(4, b"4")]


async def counted(backlog: GroupBacklog, topic: str) -> Mapping[str, TopicBacklog]:
    """Count a backlog, when the new topics have leaders and Kafka shows the messages of a topic."""
    async with asyncio.timeout(30):
        while True:
            with suppress(StoreUnavailable):
                found = await asyncio.to_thread(backlog.count)
                if found[topic].messages:
                    return found
            await asyncio.sleep(0.1)


async def test_backlog_is_what_a_group_has_not_finished(config: Config) -> None:
    from confluent_kafka import TopicPartition

    await asyncio.to_thread(create_topics, config.kafka, config.live)
    names = TopicNames(config.kafka.prefix)
    sender = KafkaSender(config.kafka, "test")
    for topic in names.intakes[:2]:
        await sender.send([OutgoingMessage(topic, b"", None, n % 8) for n in range(20)])
    sender.close()
    backlog = GroupBacklog(config.kafka, names.pipeline_group, names.intakes)
    found = await counted(backlog, names.intakes[1])
    assert [found[topic].messages for topic in names.intakes] == [20, 20, 0]

    member = plain_consumer(config.kafka, "test", names.pipeline_group)
    member.commit(offsets=[TopicPartition(names.intakes[0], 1, 2)], asynchronous=False)
    member.close()

    found = await counted(backlog, names.intakes[1])
    assert [found[topic].messages for topic in names.intakes] == [18, 20, 0]
    backlog.close()


async def test_age_of_a_backlog_is_that_of_messages_not_of_the_marks_of_transactions(config: Config) -> None:
    from confluent_kafka import Producer, TopicPartition

    await asyncio.to_thread(create_topics, config.kafka, config.live)
    names, now = TopicNames(config.kafka.prefix), [0.0]
    waiting, done, _ = names.intakes
    producer = Producer({**client_options(config.kafka), "transactional.id": f"{config.kafka.prefix}-test"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for topic in (waiting, done):
        producer.produce(topic, b"", partition=0)
    producer.commit_transaction(30)
    member = plain_consumer(config.kafka, "test", names.pipeline_group)
    member.commit(offsets=[TopicPartition(done, 0, 1)], asynchronous=False)
    member.close()
    backlog = GroupBacklog(config.kafka, names.pipeline_group, names.intakes, lambda: now[0])

    before = await counted(backlog, waiting)
    now[0] = 100.0
    after = await counted(backlog, waiting)

    assert [before[topic].oldest for topic in names.intakes] == [0.0, 0.0, 0.0]
    assert [after[topic].oldest for topic in names.intakes] == [100.0, 0.0, 0.0]
    backlog.close()


async def test_row_that_this_version_cannot_read_is_skipped(session: CassandraSession) -> None:
    keys = CassandraKeys(session)
    key, token = await keys.create("bot", ["read"])
    await session.run("INSERT INTO keys (part, id, value) VALUES (0, 'newer', ?)", b'{"from": "the future"}')
    await session.run("INSERT INTO deliveries (part, id, value) VALUES (0, 'newer', ?)", b"\x09")
    await session.run("INSERT INTO records (url, value) VALUES (?, ?)", url_of("a"), b"\x09")
    metadata, before = CassandraMetadata(session), FAULTS.counts().get("cassandra-unreadable", 0.0)
    await metadata.put([stored("b", at=utc_now())])

    await keys.read()
    deliveries = CassandraDeliveries(session)
    await deliveries.load()

    assert [each.id for each in keys.all()] == [key.id]
    assert keys.check(token) is not None
    assert await deliveries.unfinished(10) == []
    assert await metadata.get(url_of("a")) is None
    assert set(await metadata.values([url_of("a"), url_of("b")])) == {url_of("b")}
    assert [each.url async for each in read_all(session)] == [url_of("b")]
    assert FAULTS.counts()["cassandra-unreadable"] > before + 3
