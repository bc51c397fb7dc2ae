"""Runs the contract of robots.txt caches against Cassandra and Redis."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from tests.contract.robots import RobotsCacheContract, RobotsClock
from tests.servers.running import free_port, listens

from scoter.config import Config
from scoter.core.robots_cache import StoredRobots
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.robots import CassandraRobotsCache, RedisRobotsCache

pytestmark = pytest.mark.cluster


@pytest.fixture
def clock() -> RobotsClock:
    return RobotsClock()


@pytest.fixture
async def session(config: Config) -> AsyncIterator[CassandraSession]:
    async with CassandraSession(config.cassandra) as opened:
        await opened.run("TRUNCATE robots")
        yield opened


class TestRobotsInCassandra(RobotsCacheContract):
    """In Cassandra, which removes what is too old; nothing else bounds the table."""

    @pytest.fixture
    def make(self, session: CassandraSession) -> Any:
        return partial(CassandraRobotsCache, session)

    async def test_other_process_finds_the_file(self, session: CassandraSession, clock: RobotsClock) -> None:
        await CassandraRobotsCache(session, clock).put("https://a.example", StoredRobots(b"User-agent: *", 2_000.0))

        found = await CassandraRobotsCache(session, clock).get("https://a.example")

        assert found == StoredRobots(b"User-agent: *", 2_000.0)

    async def test_expired_file_is_not_stored(self, session: CassandraSession, clock: RobotsClock) -> None:
        cache = CassandraRobotsCache(session, clock)

        await cache.put("https://b.example", StoredRobots(b"", 999.0))

        assert await cache.get("https://b.example") is None


@pytest.fixture
def redis_port(tmp_path: Path) -> Iterator[int]:
    """A Redis server that stores nothing on disk."""
    if shutil.which("redis-server") is None:
        reason = "redis-server is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            until = monotonic() + 30
            while not listens(port):
                assert server.poll() is None
                assert monotonic() < until
                sleep(0.05)
            yield port
        finally:
            server.kill()


class TestRobotsInRedis(RobotsCacheContract):
    """In Redis, which removes what is too old, and what it has no memory for."""

    @pytest.fixture
    async def make(self, redis_port: int) -> AsyncIterator[Any]:
        made: list[RedisRobotsCache] = []

        def make(clock: RobotsClock) -> RedisRobotsCache:
            made.append(RedisRobotsCache(f"redis://127.0.0.1:{redis_port}/0", "test", clock))
            return made[-1]

        yield make
        for each in made:
            await each.close()

    async def test_without_the_server_nothing_is_found(self, clock: RobotsClock) -> None:
        cache = RedisRobotsCache(f"redis://127.0.0.1:{free_port()}/0", "test", clock)

        await cache.put("https://a.example", StoredRobots(b"", 2_000.0))

        assert await cache.get("https://a.example") is None
        assert cache.failures == 2
        await cache.close()
