"""Shared robots.txt caches in memory and in SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.robots import Make, RobotsCacheContract, RobotsClock
from tests.effort import examples

from scoter.core.robots_cache import MemoryRobotsCache, RobotsCache, StoredRobots
from scoter.store.robots_cache import BYTES, ENTRIES, SqliteRobotsCache


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    with TemporaryDirectory() as folder:
        opened: list[SqliteRobotsCache] = []

        def made(**options: object) -> RobotsCache:
            if request.param == "memory":
                return MemoryRobotsCache(**{"entries": ENTRIES, "size": BYTES, **options})  # type: ignore[arg-type]
            opened.append(SqliteRobotsCache(Path(folder) / f"{len(opened)}.sqlite", **options))  # type: ignore[arg-type]
            return opened[-1]

        yield made
        for each in opened:
            each.close()


@pytest.fixture
def clock() -> RobotsClock:
    return RobotsClock()


class TestRobotsCache(RobotsCacheContract):
    """In memory and in SQLite."""


async def test_full_cache_drops_the_oldest_put(make: Make, clock: RobotsClock) -> None:
    cache = make(clock=clock, entries=3)

    for name in ("a", "b", "c", "a", "d"):
        await cache.put(name, StoredRobots(b"", 2_000.0))

    assert [name for name in "abcd" if await cache.get(name) is not None] == ["a", "c", "d"]


async def test_cache_is_bounded_by_bytes(make: Make, clock: RobotsClock) -> None:
    cache = make(clock=clock, size=1_000)

    for name in "abcd":
        await cache.put(name, StoredRobots(b"x" * 400, 2_000.0))
    assert [name for name in "abcd" if await cache.get(name) is not None] == ["c", "d"]

    await cache.put("e", StoredRobots(b"x" * 2_000, 2_000.0))
    assert await cache.get("e") is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcdef"), st.binary(max_size=40) | st.none(), st.integers(0, 90)),
        st.tuples(st.just("wait"), st.just(""), st.none(), st.integers(0, 50)),
    ),
    max_size=30,
)


@settings(max_examples=examples(40), deadline=None)
@given(steps=STEPS)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_random_puts_keep_the_newest_files_within_the_bound(
    kind: str, steps: list[tuple[str, str, bytes | None, int]]
) -> None:
    async def check(cache: RobotsCache, clock: RobotsClock) -> None:
        put: dict[str, StoredRobots] = {}
        for step, origin, body, number in steps:
            if step == "wait":
                clock.now += number
                continue
            put.pop(origin, None)
            put[origin] = StoredRobots(body, clock.now + number)
            await cache.put(origin, put[origin])
            # In the order of the puts, so that reading does not change which file is used least recently.
            found = {each: await cache.get(each) for each in put}
            there = {each: stored for each, stored in found.items() if stored is not None}
            assert all(put[each] == stored and stored.expires > clock.now for each, stored in there.items())
            assert len(there) <= 4
            # The last unexpired puts are there: nothing is dropped unnecessarily.
            assert all(each in there for each in list(put)[-4:] if put[each].expires > clock.now)

    clock = RobotsClock()
    if kind == "memory":
        asyncio.run(check(MemoryRobotsCache(entries=4, size=BYTES, clock=clock), clock))
        return
    with TemporaryDirectory() as folder, SqliteRobotsCache(Path(folder) / "c", entries=4, clock=clock) as cache:
        asyncio.run(check(cache, clock))
