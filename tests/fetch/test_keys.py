"""Requests that wait for DNS lookups."""

from __future__ import annotations

import asyncio

import pytest

from scoter.core.reply import Failed
from scoter.fetch.queues.queue_keys import KeyLookups


class Names:
    """A lookup that answers when it is told to."""

    def __init__(self, **bounds: int) -> None:
        self.answers = asyncio.Event()
        self.taken: list[tuple[str, bytes]] = []
        self.lookups = KeyLookups(self._take, self._fail, **bounds)

    async def add(self, name: str, data: bytes) -> None:
        async def look_up() -> str:
            await self.answers.wait()
            return name.upper()

        await self.lookups.add(name, data, look_up)

    async def _take(self, key: str | Failed, data: bytes) -> None:
        await asyncio.sleep(0)
        self.taken.append((str(key), data))

    def _fail(self, error: BaseException) -> None:
        raise error


async def test_the_requests_of_a_name_are_handed_on_in_their_order_when_it_is_known() -> None:
    names = Names()
    for data in (b"1", b"2", b"3"):
        await names.add("a", data)
    await names.add("b", b"4")
    assert (len(names.lookups), "a" in names.lookups, names.taken) == (2, True, [])

    names.answers.set()
    await names.lookups.join()

    assert [data for key, data in names.taken if key == "A"] == [b"1", b"2", b"3"]
    assert ("B", b"4") in names.taken
    assert len(names.lookups) == 0


@pytest.mark.parametrize("bound", ["max_lookups", "max_waiting"])
async def test_lookups_and_waiting_requests_are_bounded(bound: str) -> None:
    names = Names(**{bound: 2})
    await names.add("a", b"1")
    await names.add("b", b"2")

    third = asyncio.create_task(names.add("c", b"3"))
    await asyncio.sleep(0.01)
    assert not third.done()
    names.answers.set()
    await asyncio.wait_for(third, 1)
    await names.lookups.join()

    assert sorted(names.taken) == [("A", b"1"), ("B", b"2"), ("C", b"3")]


async def test_cancel_returns_waiting_requests() -> None:
    names = Names()
    for name in "aab":
        await names.add(name, name.encode())

    assert sorted(names.lookups.cancel()) == [b"a", b"a", b"b"]
    await asyncio.wait_for(names.lookups.join(), 1)
    assert (names.taken, len(names.lookups)) == ([], 0)
