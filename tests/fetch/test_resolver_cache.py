"""The caching resolver: what it allows, how long it caches, and shared lookups."""

from __future__ import annotations

import asyncio

import pytest
from tests.fetch.fakes import FakeResolver

from scoter.config import Config, Network
from scoter.config.sections.fetch import FetchSettings
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import (
    ADDRESSES,
    FAILED_TTL,
    MAX_TTL,
    UNKNOWN_TTL,
    Answer,
    CachingResolver,
    NotResolved,
    Resolved,
)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """A resolver whose answers wait until a test lets them through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.asked: list[str] = []
        self.cancelled = 0

    async def resolve(self, host: str) -> Answer:
        self.asked.append(host)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Resolved(("8.8.8.8",), 300)


@pytest.mark.parametrize("answer", ["8.8.8.8 10.0.0.1", "10.0.0.1 8.8.8.8", "2606:4700::1111 ::ffff:127.0.0.1"])
async def test_name_with_one_private_address_is_refused(answer: str) -> None:
    resolver = CachingResolver(FakeResolver({"mixed.test": answer}), Guard(Config()))

    found = await resolver.resolve("mixed.test")

    assert isinstance(found, NotResolved)
    assert found.refused


async def test_a_private_address_behind_many_public_ones_is_found() -> None:
    many = " ".join(f"8.8.8.{number}" for number in range(100))
    resolver = CachingResolver(FakeResolver({"long.test": many, "trap.test": f"{many} 10.0.0.1"}), Guard(Config()))

    found, trapped = await resolver.resolve("long.test"), await resolver.resolve("trap.test")

    assert isinstance(found, Resolved)
    assert len(found.addresses) == ADDRESSES
    assert isinstance(trapped, NotResolved)


async def test_an_allowed_network_lets_private_answers_through() -> None:
    guard = Guard(Config(fetch=FetchSettings(allow_networks=(Network("10.0.0.0/8"),))))
    resolver = CachingResolver(FakeResolver({"inside.test": "10.0.0.1"}), guard)

    assert await resolver.resolve("inside.test") == Resolved(("10.0.0.1",), 300)


async def test_connect_to_target_is_not_allowed_in_dns_answers() -> None:
    guard = Guard(Config(fetch=FetchSettings(connect_to=("*:80=127.0.0.1:8080",))))
    resolver = CachingResolver(FakeResolver({"evil.test": "127.0.0.1"}), guard)

    assert isinstance(await resolver.resolve("evil.test"), NotResolved)


async def test_an_address_is_its_own_answer_and_is_checked_too() -> None:
    inner = FakeResolver({})
    resolver = CachingResolver(inner, Guard(Config()))

    assert await resolver.resolve("[2606:4700::1111]") == Resolved(("2606:4700::1111",), MAX_TTL)
    assert isinstance(await resolver.resolve("127.0.0.1"), NotResolved)
    assert not inner.asked


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Resolved(("8.8.8.8",), 300), 300),
        (Resolved(("8.8.8.8",), 1e9), MAX_TTL),
        (NotResolved("no such name", transient=False), UNKNOWN_TTL),
        (NotResolved("no answer", transient=True), FAILED_TTL),
        (Resolved(("10.0.0.1",), 300), UNKNOWN_TTL),
    ],
)
async def test_an_answer_is_remembered_for_its_time(answer: Answer, seconds: float) -> None:
    clock, inner = Clock(), FakeResolver({"a.test": answer})
    resolver = CachingResolver(inner, Guard(Config()), clock)
    await resolver.resolve("a.test")

    clock.now += seconds - 1
    await resolver.resolve("A.test.")
    assert len(inner.asked) == 1

    clock.now += 1
    await resolver.resolve("a.test")
    assert len(inner.asked) == 2


async def test_least_recently_used_names_are_evicted_first() -> None:
    inner = FakeResolver({f"{number}.test": "8.8.8.8" for number in range(4)})
    resolver = CachingResolver(inner, Guard(Config()), Clock(), entries=3)

    for number in (0, 1, 2, 0, 3, 0, 1):
        await resolver.resolve(f"{number}.test")

    assert inner.asked == ["0.test", "1.test", "2.test", "3.test", "1.test"]
    assert repr(resolver) == "CachingResolver(3 known, 0 being looked up)"


async def pause() -> None:
    """Let every task that can go on go on."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_concurrent_lookups_of_a_name_share_one_query() -> None:
    gate = Gate()
    resolver = CachingResolver(gate, Guard(Config()))
    waiting = [asyncio.create_task(resolver.resolve("a.test")) for _ in range(50)]
    await pause()

    gate.open.set()
    answers = await asyncio.gather(*waiting)

    assert answers == [Resolved(("8.8.8.8",), 300)] * 50
    assert gate.asked == ["a.test"]


@pytest.mark.parametrize("leaving", [0, 1])
async def test_cancelled_caller_does_not_cancel_a_shared_lookup(leaving: int) -> None:
    gate = Gate()
    resolver = CachingResolver(gate, Guard(Config()))
    waiting = [asyncio.create_task(resolver.resolve("a.test")) for _ in range(2)]
    await pause()

    waiting[leaving].cancel()
    await pause()
    gate.open.set()

    assert await waiting[1 - leaving] == Resolved(("8.8.8.8",), 300)
    assert gate.cancelled == 0


async def test_lookup_is_cancelled_with_its_last_caller() -> None:
    gate = Gate()
    resolver = CachingResolver(gate, Guard(Config()))
    waiting = [asyncio.create_task(resolver.resolve("a.test")) for _ in range(2)]
    await pause()

    for each in waiting:
        each.cancel()
    await pause()
    assert gate.cancelled == 1
    assert repr(resolver) == "CachingResolver(0 known, 0 being looked up)"

    gate.open.set()
    assert await resolver.resolve("a.test") == Resolved(("8.8.8.8",), 300)


async def test_failing_resolver_fails_all_callers_and_is_retried() -> None:
    class Broken:
        def __init__(self) -> None:
            self.asked = 0

        async def resolve(self, host: str) -> Answer:
            self.asked += 1
            await asyncio.sleep(0)
            raise OSError("broken")

    broken = Broken()
    resolver = CachingResolver(broken, Guard(Config()))

    told = await asyncio.gather(*(resolver.resolve("a.test") for _ in range(3)), return_exceptions=True)
    with pytest.raises(OSError, match="broken"):
        await resolver.resolve("a.test")

    assert [type(each) for each in told] == [OSError] * 3
    assert broken.asked == 2


async def test_the_fake_gives_one_answer_after_the_other() -> None:
    fake = FakeResolver({"a.test": ["8.8.8.8", NotResolved("gone", transient=False)]})

    assert await fake.resolve("a.test") == Resolved(("8.8.8.8",), 300)
    assert await fake.resolve("a.test") == await fake.resolve("a.test") == NotResolved("gone", transient=False)
    assert isinstance(await fake.resolve("b.test"), NotResolved)
