"""The entries that a pipeline holds of its partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from tests.live.stores.fakes import LEASE, START, Time, url_of

from scoter.config.sections.live import LiveSettings
from scoter.errors import MadeByNewer, StoreUnavailable
from scoter.live.kafka.consumer import Place, ReceivedMessage
from scoter.live.kafka.journal import PipelineJournal
from scoter.live.kafka.kafka import TopicNames
from scoter.live.kafka.messages import FORMAT, AcceptedUrl, DeadLetter, accepted_urls
from scoter.live.ports import UrlOutcome
from scoter.live.records import Event, Priority

NAMES = TopicNames("test")


class Member:
    """A group's member without a group."""

    def __init__(self) -> None:
        self.finished: list[tuple[Place, int]] = []
        self.places: Sequence[Place] = [(topic, 0) for topic in NAMES.intakes]

    def finish(self, place: Place, offset: int) -> None:
        self.finished.append((place, offset))

    def open_count(self, place: Place) -> int:
        return 0

    def owns(self, place: Place) -> bool:
        return place[1] in (0, 1)


class Fixture:
    def __init__(self, time: Time, **live: Any) -> None:
        self.dead: list[DeadLetter] = []
        self.refusals = 0  # times that the dead-letter topic is not available
        self.member = Member()
        self.given_up: list[UrlOutcome] = []
        self.journal = PipelineJournal(
            LiveSettings(**live),
            NAMES,
            4,
            dead=self.bury,
            spawn=lambda work: self.tasks.append(asyncio.ensure_future(work)),
            clock=time.clock,
            steady_clock=time.tick,
        )
        self.journal.member = self.member  # type: ignore[assignment]
        self.journal.outcomes = self
        self.tasks: list[asyncio.Future[None]] = []
        self._offsets: dict[Place, int] = {}

    async def bury(self, message: ReceivedMessage, letter: DeadLetter) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("Kafka: no answer in time")
        self.dead.append(letter)

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        self.given_up += done
        for each in done:
            self.journal.close(each.entry.id)
        return [None] * len(done)

    def put(self, *names: str, priority: Priority = Priority.NORMAL, partition: int = 0, age: float = 0.0) -> None:
        for name in names:
            at = START - timedelta(seconds=age)
            self.raw(
                accepted_urls.encode(AcceptedUrl(name, url_of(name), priority, False, "", at)), priority, partition
            )

    def raw(self, value: bytes, priority: Priority = Priority.NORMAL, partition: int = 0) -> None:
        place = (NAMES.intake(priority), partition)
        offset = self._offsets[place] = self._offsets.get(place, -1) + 1
        self.journal.received([ReceivedMessage(place, offset, value)])

    async def opened(self, most: int = 100) -> list[str]:
        return [entry.message for entry in await self.journal.open("r", most, LEASE)]


@pytest.fixture
def time() -> Time:
    return Time()


async def test_entries_are_opened_by_priority_then_age(time: Time) -> None:
    held = Fixture(time)
    held.put("bulk", priority=Priority.BULK, age=30)
    held.put("late", age=1)
    held.put("early", partition=1, age=2)
    held.put("person", priority=Priority.PERSON)

    assert await held.opened() == ["person", "early", "late", "bulk"]
    assert await held.opened() == []


async def test_url_that_an_api_has_sent_twice_is_one_entry(time: Time) -> None:
    held = Fixture(time)
    held.put("m", age=7)
    first = await held.opened()
    held.put("m", age=2)  # the client has sent the message again, after a 503
    held.put("m", "other")

    assert first == ["m"]
    assert await held.opened() == ["other"]
    assert held.member.finished == [((NAMES.intake(Priority.NORMAL), 0), 1), ((NAMES.intake(Priority.NORMAL), 0), 2)]


async def test_message_id_that_was_forgotten_is_a_new_message(time: Time) -> None:
    held = Fixture(time, messages_for=timedelta(seconds=10))
    held.put("m", age=11)
    held.put("m", age=0)

    assert await held.opened() == ["m", "m"]
    assert held.member.finished == []


async def test_url_that_is_received_again_with_its_partition_is_no_repetition(time: Time) -> None:
    held = Fixture(time)
    held.put("m")
    await held.opened()
    place = (NAMES.intake(Priority.NORMAL), 0)
    await held.journal.revoked([place], is_lost=True)
    held.journal.assigned([place], 0.0)
    value = accepted_urls.encode(AcceptedUrl("m", url_of("m"), Priority.NORMAL, False, "", START))

    held.journal.received([ReceivedMessage(place, 0, value)])

    assert await held.opened() == ["m"]
    assert held.member.finished == []


async def test_old_bulk_entries_get_a_share_despite_urgent_ones(time: Time) -> None:
    held = Fixture(time)
    held.put("old", priority=Priority.BULK, age=3_600)
    held.put(*(f"p{n}" for n in range(20)), priority=Priority.PERSON)

    assert "old" in await held.opened(8)


async def test_entry_is_opened_again_when_its_lease_expires(time: Time) -> None:
    held = Fixture(time)
    held.put("a")
    (entry,) = await held.journal.open("r", 1, LEASE)
    time.passes(20)
    assert await held.journal.renew("r", [entry.id], LEASE) == [entry.id]
    time.passes(29)
    assert await held.opened() == []

    time.passes(1)
    (again,) = await held.journal.open("r", 1, LEASE)
    assert (again.id, again.tries) == (entry.id, 1)


async def test_aborted_entry_does_not_count_as_a_try(time: Time) -> None:
    held = Fixture(time)
    held.put("a")
    (entry,) = await held.journal.open("r", 1, LEASE)

    await held.journal.abort("r", [entry.id])

    (again,) = await held.journal.open("r", 1, LEASE)
    assert again.tries == 0


async def test_entry_opened_too_often_ends_as_failed(time: Time) -> None:
    held = Fixture(time, tries=2)
    held.put("a")
    for _ in range(2):
        assert await held.opened() == ["a"]
        time.passes(30)

    assert await held.opened() == []
    assert [(each.entry.message, each.record.reason) for each in held.given_up] == [("a", "given_up")]


async def test_entries_of_a_partition_with_another_owner_are_lost(time: Time) -> None:
    held = Fixture(time)
    held.put("a", "b")
    held.put("c", partition=1)
    entries = await held.journal.open("r", 2, LEASE)
    place = (NAMES.intake(Priority.NORMAL), 0)

    await held.journal.revoked([place], is_lost=True)

    assert await held.journal.renew("r", [entry.id for entry in entries], LEASE) == []
    assert all(held.journal.held("r", entry.id) is None for entry in entries)
    assert await held.opened() == ["c"]


async def test_work_that_began_before_a_partition_came_back_records_nothing(time: Time) -> None:
    held = Fixture(time)
    place = (NAMES.intake(Priority.NORMAL), 0)
    message = ReceivedMessage(
        place, 7, accepted_urls.encode(AcceptedUrl("a", url_of("a"), Priority.NORMAL, False, "", START))
    )
    held.journal.assigned([place], 0.0)
    held.journal.received([message])
    (before,) = await held.journal.open("r", 1, LEASE)
    await held.journal.revoked([place], is_lost=True)

    held.journal.assigned([place], 0.0)
    held.journal.received([message])
    (again,) = await held.journal.open("r", 1, LEASE)

    assert held.journal.held("r", before.id) is None
    assert held.journal.held("r", again.id) == (place, 7)


async def test_slow_domain_leaves_room_for_others(time: Time) -> None:
    held = Fixture(time, in_flight_per_domain=2)
    for n in range(10):
        value = AcceptedUrl(f"slow{n}", f"https://slow.example/{n}", Priority.NORMAL, False, "", START)
        held.raw(accepted_urls.encode(value))
    held.put("other")

    opened = await held.opened()
    assert opened == ["slow0", "slow1", "other"]

    numbers: Mapping[str, int] = {row.value.message: number for number, row in held.journal._rows.items()}
    held.journal.close(numbers["slow0"])
    assert await held.opened() == ["slow2"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "it is empty"),
        (b"\xff\x00", MadeByNewer("it", 255, FORMAT).message),
        (bytes((FORMAT,)) + b"\xc1 nonsense", "MessagePack data is malformed"),
        (bytes((FORMAT,)) + b"\x90", "Expected `array` of at least length 6"),
    ],
)
async def test_unreadable_message_is_buried_and_delays_nobody(
    time: Time, value: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = Fixture(time)
    held.raw(value)
    held.put("a")

    assert await held.opened() == ["a"]
    await asyncio.gather(*held.tasks)
    (letter,) = held.dead
    assert letter.why.startswith(why)
    assert held.member.finished == [((NAMES.intake(Priority.NORMAL), 0), 0)]
    assert len([line for line in caplog.messages if "unreadable" in line]) == 1


async def test_unreadable_message_is_buried_when_kafka_is_back(time: Time) -> None:
    held = Fixture(time)
    held.refusals = 1
    held.raw(b"")

    await asyncio.gather(*held.tasks)

    assert len(held.dead) == 1
    assert held.member.finished == [((NAMES.intake(Priority.NORMAL), 0), 0)]
