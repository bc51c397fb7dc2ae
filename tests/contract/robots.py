"""The contract of every shared robots.txt cache. Subclasses provide a fixture ``make``, and ``clock``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from scoter.core.robots_cache import RobotsCache, StoredRobots

Make = Callable[..., RobotsCache]


class RobotsClock:
    """A Unix clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class RobotsCacheContract:
    """What all caches have in common; some of them are also bounded."""

    async def test_get_returns_what_was_put_for_the_same_origin_only(self, make: Make, clock: RobotsClock) -> None:
        cache = make(clock=clock)

        await cache.put("https://a.example", StoredRobots(b"User-agent: *\nDisallow: /\xff\x00", 2_000.0))
        await cache.put("http://a.example", StoredRobots(None, 2_000.5))

        assert await cache.get("https://a.example") == StoredRobots(b"User-agent: *\nDisallow: /\xff\x00", 2_000.0)
        assert await cache.get("http://a.example") == StoredRobots(None, 2_000.5)
        assert await cache.get("https://a.example:8443") is None

    async def test_empty_file_differs_from_no_file(self, make: Make, clock: RobotsClock) -> None:
        cache = make(clock=clock)

        await cache.put("https://a.example", StoredRobots(b"", 2_000.0))

        assert await cache.get("https://a.example") == StoredRobots(b"", 2_000.0)

    async def test_second_put_replaces_the_first(self, make: Make, clock: RobotsClock) -> None:
        cache = make(clock=clock)

        await cache.put("https://a.example", StoredRobots(b"first", 3_000.0))
        await cache.put("https://a.example", StoredRobots(None, 2_000.0))

        assert await cache.get("https://a.example") == StoredRobots(None, 2_000.0)

    async def test_expired_file_is_not_found(self, make: Make, clock: RobotsClock) -> None:
        cache = make(clock=clock)
        await cache.put("https://a.example", StoredRobots(b"", 1_060.0))

        clock.now = 1_059.9
        assert await cache.get("https://a.example") is not None

        clock.now = 1_060.0
        assert await cache.get("https://a.example") is None

    async def test_concurrent_puts_and_gets(self, make: Make, clock: RobotsClock) -> None:
        cache = make(clock=clock)

        await asyncio.gather(*(cache.put(f"o{number}", StoredRobots(b"%d" % number, 2_000.0)) for number in range(100)))
        found = await asyncio.gather(*(cache.get(f"o{number}") for number in range(100)))

        assert found == [StoredRobots(b"%d" % number, 2_000.0) for number in range(100)]
