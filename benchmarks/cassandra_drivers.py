"""Measure the client CPU time of Cassandra drivers: writes, single reads, and reads of 250 URLs at once.

    python -m benchmarks.cassandra_drivers DRIVER [--port 19042]

DRIVER is cassandra-driver, scylla-driver, acsylla or scyllapy; install it first (the first two exclude each other).
Needs a running server: ``make cluster-up``. Each figure is microseconds of CPU time of this process per operation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.servers.cluster import CASSANDRA_USER as USER

KEYSPACE = "scoter_bench"
ROWS = 2_000
TOGETHER = 250
CONCURRENCY = 50
VALUE = b"x" * 1_200
_TABLE = "CREATE TABLE IF NOT EXISTS scoter_bench.r (url text PRIMARY KEY, value blob)"
_SPACE = (
    "CREATE KEYSPACE IF NOT EXISTS scoter_bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
)
_PUT = "INSERT INTO scoter_bench.r (url, value) VALUES (?, ?) USING TIMESTAMP ? AND TTL ?"
_GET = "SELECT url, value FROM scoter_bench.r WHERE url = ?"
_MANY = "SELECT url, value FROM scoter_bench.r WHERE url IN ?"
URLS = [f"https://site{n % 97}.example/path/to/page-{n}" for n in range(ROWS)]
Execute = Callable[[str, list[Any]], Awaitable[list[Any]]]


async def acsylla(port: int) -> Execute:
    import acsylla

    session = await acsylla.create_cluster(["127.0.0.1"], port=port, username=USER, password=USER).create_session()
    prepared: dict[str, Any] = {}

    async def execute(query: str, values: list[Any]) -> list[Any]:
        if not values:
            await session.query(query)
            return []
        if query not in prepared:
            prepared[query] = await session.create_prepared(query)
        return [row.as_tuple() for row in await session.execute(prepared[query].bind(values))]

    return execute


async def scyllapy(port: int) -> Execute:
    from scyllapy import Scylla
    from scyllapy.extra_types import BigInt

    server = Scylla([f"127.0.0.1:{port}"], username=USER, password=USER)
    await server.startup()
    prepared: dict[str, Any] = {}

    async def execute(query: str, values: list[Any]) -> list[Any]:
        if not values:
            await server.execute(query)
            return []
        if query not in prepared:
            prepared[query] = await server.prepare(query)
        if query == _PUT:
            values = [*values[:2], BigInt(values[2]), values[3]]
        found = await server.execute(prepared[query], values)
        return found.all() if query != _PUT else []

    return execute


async def datastax(port: int) -> Execute:
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import Cluster

    session = Cluster(["127.0.0.1"], port=port, auth_provider=PlainTextAuthProvider(USER, USER)).connect()
    prepared: dict[str, Any] = {}

    async def execute(query: str, values: list[Any]) -> list[Any]:
        loop = asyncio.get_running_loop()
        if not values:
            session.execute(query)
            return []
        if query not in prepared:
            prepared[query] = session.prepare(query)
        done: asyncio.Future[Any] = loop.create_future()
        future = session.execute_async(prepared[query], values)
        future.add_callbacks(
            lambda rows: loop.call_soon_threadsafe(done.set_result, rows),
            lambda error: loop.call_soon_threadsafe(done.set_exception, error),
        )
        return list(await done or ())

    return execute


DRIVERS = {"acsylla": acsylla, "scyllapy": scyllapy, "cassandra-driver": datastax, "scylla-driver": datastax}


async def measured(count: int, work: Callable[[int], Awaitable[Any]]) -> float:
    """Return the CPU microseconds per call of ``count`` calls, ``CONCURRENCY`` at a time."""
    room = asyncio.Semaphore(CONCURRENCY)

    async def one(number: int) -> None:
        async with room:
            await work(number)

    began = time.process_time()
    await asyncio.gather(*(one(number) for number in range(count)))
    return (time.process_time() - began) / count * 1e6


async def run(driver: str, port: int) -> dict[str, float]:
    execute = await DRIVERS[driver](port)
    for statement in (_SPACE, _TABLE):
        await execute(statement, [])
    stamp = int(time.time() * 1e6)

    async def put(number: int) -> None:
        await execute(_PUT, [URLS[number], VALUE, stamp, 86_400])

    async def get(number: int) -> None:
        assert len(await execute(_GET, [URLS[number]])) == 1

    async def many(number: int) -> None:
        assert len(await execute(_MANY, [URLS[:TOGETHER]])) == TOGETHER

    async def chunks(number: int) -> None:
        parts = [URLS[start : start + 50] for start in range(0, TOGETHER, 50)]
        found = await asyncio.gather(*(execute(_MANY, [part]) for part in parts))
        assert sum(map(len, found)) == TOGETHER

    await measured(200, put)
    return {
        "write": await measured(ROWS, put),
        "read": await measured(ROWS, get),
        f"read of {TOGETHER} URLs": await measured(40, many),
        f"read of {TOGETHER} URLs, 50 per query": await measured(40, chunks),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("driver", choices=DRIVERS)
    parser.add_argument("--port", type=int, default=19042)
    asked = parser.parse_args()
    found = asyncio.run(run(asked.driver, asked.port))
    print(json.dumps({"driver": asked.driver, **{name: round(value) for name, value in found.items()}}))


if __name__ == "__main__":
    main()
