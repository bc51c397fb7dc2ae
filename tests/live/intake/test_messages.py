from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from tests.live.fakes import NOW, configuration
from tests.live.memory.stores import MemoryStores

from scoter.core.extract import LONGEST
from scoter.errors import UserError
from scoter.live.api.records import DomainRule
from scoter.live.intake.messages import MessageReceiver, Overloaded, Taken
from scoter.live.ports import Accepted, JournalEntry
from scoter.live.records import Message, Priority


class Journal:
    """The in-memory journal with slow, counted writes."""

    def __init__(self, stores: MemoryStores) -> None:
        self._journal = stores.journal
        self.writes: list[int] = []
        self.error: Exception | None = None

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        self.writes.append(len(messages))
        for _ in range(3):
            await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return await self._journal.accept(messages)

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        return await self._journal.open(reader, most, lease)

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        raise NotImplementedError

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        raise NotImplementedError

    def depth(self) -> dict[Priority, int]:
        return dict(self._journal.depth())


class Door:
    """A receiver over in-memory stores."""

    def __init__(self, **live: Any) -> None:
        self.stores = MemoryStores()
        self.journal = Journal(self.stores)
        self.woken = 0
        self.receiver = MessageReceiver(
            configuration(**live), self.journal, self.stores.journal, self.stores.rules, on_accepting=self._wake
        )

    def _wake(self) -> None:
        self.woken += 1

    async def take(self, *urls: str, text: str = "", name: str = "m") -> Taken | Overloaded:
        (answer,) = await self.receiver.take([message(*urls, text=text, name=name)])
        return answer

    async def taken(self, *urls: str, text: str = "", name: str = "m") -> Taken:
        answer = await self.take(*urls, text=text, name=name)
        assert isinstance(answer, Taken)
        return answer


def message(*urls: str, text: str = "", name: str = "m") -> Message:
    return Message(id=name, urls=urls, text=text, received=NOW)


def some(count: int, site: str = "a.example") -> list[str]:
    return [f"http://{site}/{n}" for n in range(count)]


async def test_given_urls_come_before_those_in_the_text_without_duplicates() -> None:
    door = Door()

    taken = await door.taken("http://b.example", "HTTP://B.example:80/", text="see example.com and http://b.example/")

    assert list(taken.accepted.entries) == ["http://b.example/", "http://example.com/"]
    assert taken.accepted.is_new
    assert door.stores.journal.waiting() == 2
    assert door.woken == 1


async def test_invalid_urls_are_reported_and_others_accepted() -> None:
    door = Door()

    taken = await door.taken("no url", "http://a.example/", "no url", "x" * 1000)

    assert list(taken.accepted.entries) == ["http://a.example/"]
    assert [each.url for each in taken.unusable] == ["no url", "x" * 200]
    assert "not a URL" in taken.unusable[0].why


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "file:///etc/passwd", "file://a.example/x", "http://a.example/" + "x" * LONGEST]
)
async def test_unsupported_urls_are_not_accepted(url: str) -> None:
    door = Door()

    taken = await door.taken(url)

    assert taken.accepted.entries == {}
    assert len(taken.unusable) == 1
    assert len(taken.unusable[0].url) <= 200


async def test_urls_of_a_blocked_domain_are_not_accepted() -> None:
    door = Door()
    await door.stores.rules.put(DomainRule(domain="a.example", blocked=True))
    await door.stores.rules.put(DomainRule(domain="b.example", delay=9.0))

    taken = await door.taken("http://www.a.example/", "http://b.example/", "http://www.a.example/#again")

    assert list(taken.accepted.entries) == ["http://b.example/"]
    assert [each.why for each in taken.unusable] == ["a.example is blocked"]


async def test_urls_beyond_the_limit_per_message_are_counted() -> None:
    door = Door(urls_per_message=3)

    taken = await door.taken(*some(5), *some(5))

    assert list(taken.accepted.entries) == some(3)
    assert taken.left_out == 2


async def test_message_without_urls_is_accepted_and_done() -> None:
    door = Door()

    taken = await door.taken(text="nothing here")

    assert taken.accepted.entries == {}
    assert door.stores.journal.is_done("m")


async def test_repeated_message_is_one_message() -> None:
    door = Door()
    first = await door.taken("http://a.example/")

    second = await door.taken("http://a.example/")

    assert not second.accepted.is_new
    assert second.accepted.entries == first.accepted.entries
    assert door.stores.journal.waiting() == 1


async def test_many_messages_are_accepted_in_one_write() -> None:
    door = Door(backlog_per_domain=3)
    messages = [
        message(*some(2), name="fits"),
        message(*some(4), name="too many for its domain now"),
        message(*some(4, "b.example"), name="another domain"),
        message("http://a.example/x", name="fits too"),
    ]

    answers = await door.receiver.take(messages)

    assert [type(answer) for answer in answers] == [Taken, Overloaded, Taken, Taken]
    assert [answer.accepted.message for answer in answers if isinstance(answer, Taken)] == [
        "fits",
        "another domain",
        "fits too",
    ]
    assert door.journal.writes == [3]


async def test_full_domain_is_refused_and_others_are_not() -> None:
    door = Door(backlog_per_domain=5)
    await door.taken(*some(5), name="first")

    refused = await door.take("http://b.example/", "http://www.a.example/more", name="second")
    other = await door.take("http://b.example/", name="third")

    assert isinstance(refused, Overloaded)
    assert refused.domain == "a.example"
    assert refused.retry_after > 0
    assert isinstance(other, Taken)
    assert door.stores.journal.waiting() == 6


@pytest.mark.parametrize(
    ("delay", "more", "later"),
    [(None, 3, 15.0), (10.0, 3, 30.0), (10.0, 9, 50.0), (0.0, 3, 5.0), (86_400.0, 3, 3600.0)],
)
async def test_retry_after_of_a_full_domain_depends_on_its_delay(delay: float | None, more: int, later: float) -> None:
    """Five wait; enough of them must end, or all of them if the message exceeds the limit."""
    door = Door(backlog_per_domain=5)
    if delay is not None:
        await door.stores.rules.put(DomainRule(domain="a.example", delay=delay))
    await door.taken(*some(5), name="first")

    refused = await door.take(*(f"http://a.example/more{n}" for n in range(more)), name="second")

    assert refused == Overloaded(later, "a.example")


async def test_full_service_refuses_all_messages() -> None:
    door = Door(backlog=4)
    await door.taken(*some(4), name="first")

    refused = await door.take("http://b.example/", name="second")

    assert isinstance(refused, Overloaded)
    assert refused.domain == ""
    assert door.journal.writes == [1]
    assert door.woken == 1


@pytest.mark.parametrize("limit", ["backlog", "backlog_per_domain"])
async def test_repeated_message_is_accepted_by_a_full_service(limit: str) -> None:
    door = Door(**{limit: 4})
    first = await door.taken(*some(4), name="first")

    again, other = await door.receiver.take([message(*some(4), name="first"), message(*some(1), name="other")])

    assert isinstance(again, Taken)
    assert not again.accepted.is_new
    assert again.accepted.entries == first.accepted.entries
    assert isinstance(other, Overloaded)
    assert door.stores.journal.waiting() == 4


async def test_message_repeated_in_one_call_is_accepted_by_a_full_service() -> None:
    door = Door(backlog=4)

    answers = await door.receiver.take([message(*some(4), name="m"), message(*some(4), name="m")])

    assert [isinstance(each, Taken) and each.accepted.is_new for each in answers] == [True, False]
    assert all(isinstance(each, Taken) for each in answers)


async def test_message_larger_than_the_backlog_is_accepted_by_an_empty_service() -> None:
    door = Door(backlog=2, backlog_per_domain=2)

    first, second = await door.take(*some(5), name="first"), await door.take(*some(5), name="second")

    assert (type(first), type(second)) == (Taken, Overloaded)


async def test_concurrent_messages_do_not_exceed_the_backlog() -> None:
    door = Door(backlog_per_domain=10)

    answers = await asyncio.gather(*(door.take(*some(5), name=f"m{n}") for n in range(20)))

    assert [type(answer) for answer in answers].count(Taken) == 2
    assert door.stores.journal.waiting_of("a.example") == 10


async def test_messages_one_by_one_fill_the_backlog_exactly_and_are_counted_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = Door(backlog=50)
    counted = Mock(wraps=door.stores.journal.waiting)
    monkeypatch.setattr(door.stores.journal, "waiting", counted)

    answers = [await door.take(f"http://a{n}.example/", name=f"m{n}") for n in range(60)]

    assert [type(each) for each in answers] == [Taken] * 50 + [Overloaded] * 10
    assert counted.call_count < 25  # once for most, and for each that may be one too many


async def test_failed_write_releases_its_share_of_the_backlog() -> None:
    door = Door(backlog=5)
    door.journal.error = UserError("the disk is full")
    with pytest.raises(UserError):
        await door.take(*some(5))

    door.journal.error = None

    assert isinstance(await door.take(*some(5)), Taken)
