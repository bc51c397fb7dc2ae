"""Runs the contracts of the journal, the recorder of outcomes and the events against Kafka and Cassandra.

The contracts of the other stores are in ``test_stores.py``. Two ports have no implementation of their own here: request
queues are those of the embedded service, with the workers of a cluster in place of its own (``test_service.py``), and
holds of domains are a part of what workers leave to each other (``test_clocks.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from tests.live.kafka.stores import PATIENCE, ClusterStores
from tests.live.stores.contract_announcing import EventsContract, announce
from tests.live.stores.contract_journal import IntakeContract, LedgerContract
from tests.live.stores.fakes import START, Time, message, url_of
from tests.waiting import until

from scoter.config import Config
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.events import KafkaEvents
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, admin_client, delete_before
from scoter.live.ports import JournalEntry

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]
Make = Callable[..., Awaitable[Any]]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def make(config: Config, time: Time) -> AsyncIterator[Make]:
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(CassandraSession(config.cassandra))
        for table in ("records", "messages", "deliveries"):
            await session.run(f"TRUNCATE {table}")

        async def made(**live: Any) -> ClusterStores:
            stores = ClusterStores(config, session, time, **live)
            await stores.open(stack)
            return stores

        yield made


@pytest.fixture
async def stores(make: Make) -> Any:
    return await make()


class TestIntake(IntakeContract):
    """In Kafka; Cassandra remembers the ids of messages, by its own clock."""

    def accepted_number(self, entry: JournalEntry) -> int:
        # The pipeline also counts how often it got partitions: an entry that it gets again is another entry.
        return entry.id & (1 << 64) - 1

    async def test_finished_message_is_forgotten_after_a_while(self, make: Make) -> None:
        kept = timedelta(seconds=2)
        stores = await make(messages_for=kept)
        (first,) = await stores.journal.accept([(message("m"), [url_of("a")])])
        later = message("m", at=START + kept)  # received earlier, it would be another copy of the first one

        async with asyncio.timeout(PATIENCE):
            while not (again := (await stores.journal.accept([(later, [url_of("a")])]))[0]).is_new:
                await asyncio.sleep(0.2)

        assert set(again.entries.values()).isdisjoint(first.entries.values())


class TestOutcomes(LedgerContract):
    """In Cassandra first, then in a transaction of Kafka."""


class TestEvents(EventsContract):
    """In Kafka, which removes old ones by itself."""

    async def test_process_that_starts_later_reads_the_same_events(self, stores: Any) -> None:
        await announce(stores, "a", "b", "c")
        found = await stores.events.since(0, 10)
        later = KafkaEvents(stores.config.kafka, "later")
        await later.start()
        try:
            assert later.last() >= found[-1].number
            assert await later.since(0, 10) == found
            assert await later.since(found[1].number, 10) == found[2:]
            await announce(stores, "d")
            await until(lambda: later.last() >= stores.events.last())
            assert [event.message for event in await later.since(found[1].number, 10)][:1] == ["c"]
            assert [event.message for event in await later.since(found[2].number, 10)] == ["d"]
        finally:
            await later.close()

    async def test_unreadable_events_hide_no_others(self, stores: Any) -> None:
        await announce(stores, "a")
        sender = KafkaSender(stores.config.kafka, "newer")
        await sender.send([OutgoingMessage(stores.names.events, b"\xffnewer", None, 0)] * 3)
        sender.close()
        await announce(stores, "b")
        later = KafkaEvents(stores.config.kafka, "later")
        await later.start()
        try:
            (first,) = await later.since(0, 1)
            assert [event.message for event in await later.since(first.number, 1)] == ["b"]
            assert later.unreadable == 3
        finally:
            await later.close()

    async def test_removed_events_are_left_out(self, stores: Any) -> None:
        await announce(stores, "a", "b")
        first, second = await stores.events.since(0, 10)
        admin = admin_client(stores.config.kafka, "test")
        await asyncio.to_thread(delete_before, admin, {(stores.names.events, 0): first.number})
        later = KafkaEvents(stores.config.kafka, "later")
        await later.start()
        try:
            assert first.number < later.first() <= second.number
            assert await later.since(0, 10) == [second]
        finally:
            await later.close()
