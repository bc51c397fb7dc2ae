"""The robots.txt cache that the pipelines of a cluster share: in Redis if one is configured, otherwise in Cassandra.

It is only a cache: if the server fails, lookups find nothing, and the file is requested again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from scoter.core.robots_cache import StoredRobots
from scoter.errors import ConfigError, ScoterError
from scoter.extras import install_command
from scoter.live.kafka.cassandra import CassandraSession

_PUT: Final = "INSERT INTO robots (origin, expires, body) VALUES (?, ?, ?) USING TTL ?"
_GET: Final = "SELECT body, expires FROM robots WHERE origin = ?"
_CONNECTIONS: Final = 8
_TIMEOUT: Final = 1.0  # seconds
_decoder: Final = msgspec.msgpack.Decoder(StoredRobots)
_log = logging.getLogger(__name__)


class CassandraRobotsCache:
    """Shares robots.txt files through Cassandra."""

    def __init__(self, session: CassandraSession, clock: Callable[[], float] = time.time) -> None:
        self._session = session
        self._clock = clock
        self.failures = 0

    async def get(self, origin: str) -> StoredRobots | None:
        """Return the unexpired entry of an origin."""
        try:
            rows = await self._session.run(_GET, origin)
        except ScoterError:
            self.failures += 1
            return None
        if not rows or rows[0][1] is None or rows[0][1] <= self._clock():
            return None
        return StoredRobots(*rows[0])

    async def put(self, origin: str, stored: StoredRobots) -> None:
        """Store the entry of an origin."""
        seconds = int(stored.expires - self._clock()) + 1
        if seconds <= 0:
            return
        try:
            await self._session.run(_PUT, origin, stored.expires, stored.body, seconds)
        except ScoterError:
            self.failures += 1


class RedisRobotsCache:
    """Shares robots.txt files through Redis."""

    def __init__(self, url: str, prefix: str, clock: Callable[[], float] = time.time) -> None:
        if find_spec("redis") is None:
            raise ConfigError(
                "it needs a package that is not installed",
                where="live.robots_server",
                hint=f"Run: {install_command('cluster')}",
            )
        import redis.asyncio

        # Without the bound, many questions at once would open as many connections, and some of them fail.
        pool = redis.asyncio.BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            timeout=_TIMEOUT,
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
        )
        self._server: Any = redis.asyncio.Redis.from_pool(pool)
        self._errors = (redis.RedisError, OSError)
        self._prefix = f"{prefix}:robots:"
        self._clock = clock
        self.failures = 0

    async def get(self, origin: str) -> StoredRobots | None:
        """Return the unexpired entry of an origin."""
        try:
            found = await self._server.get(self._prefix + origin)
            stored = None if found is None else _decoder.decode(found)
        except (*self._errors, msgspec.MsgspecError):
            self.failures += 1
            return None
        return stored if stored is not None and stored.expires > self._clock() else None

    async def put(self, origin: str, stored: StoredRobots) -> None:
        """Store the entry of an origin."""
        seconds = int(stored.expires - self._clock()) + 1
        if seconds <= 0:
            return
        try:
            await self._server.set(self._prefix + origin, msgspec.msgpack.encode(stored), ex=seconds)
        except self._errors:
            self.failures += 1

    async def close(self) -> None:
        await self._server.aclose()
