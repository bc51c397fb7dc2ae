"""A client that forces a fetch and waits for it gets the result of that fetch, not the old record."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from tests.live.api.fakes import Bench
from tests.live.stores.fakes import LEASE, done, message

from scoter.live.intake import checks
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

A = "http://a.example/"


def bench_with_forced() -> Bench:
    found: list[Bench] = []

    def is_forced(url: str) -> bool:
        return any(row.url == url and row.message.force for row in found[0].stores.journal._rows.values())

    found.append(Bench(is_forced=is_forced))
    return found[0]


async def asking(bench: Bench, wait: str) -> asyncio.Task[Any]:
    task = asyncio.create_task(bench.client.get(f"/v1/urls?url={A}&wait={wait}"))
    while not len(bench.waiters) and not task.done():
        await asyncio.sleep(0)
    return task


async def test_wait_for_a_forced_fetch_returns_its_result() -> None:
    bench = bench_with_forced()
    await bench.know(A)
    await bench.client.post("/v1/messages", {"urls": [A], "force": True})

    waiting = await asking(bench, "5s")
    bench.waiters.note([A])  # another message's entry ends, answered from the store
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    await bench.work()

    got = await waiting
    assert got.status == 200
    assert bench.stores.journal.waiting() == 0


async def test_wait_for_an_unfinished_forced_fetch_returns_pending_not_the_old_record() -> None:
    bench = bench_with_forced()
    await bench.know(A)
    await bench.client.post("/v1/messages", {"urls": [A], "force": True})

    late = await bench.client.get(f"/v1/urls?url={A}&wait=10ms")
    at_once = await bench.client.get(f"/v1/urls?url={A}")

    assert (late.status, late.json["state"]) == (202, "pending")
    assert at_once.status == 200


async def test_url_is_forced_until_its_forced_entry_is_done(tmp_path: Path) -> None:
    async with ServiceDb(tmp_path / "service.sqlite") as db:
        stores = SqliteStores(db)
        is_forced = partial(checks.is_forced, db.reader)
        await stores.journal.accept([(message("m"), [A])])
        merely_wanted = is_forced(A)
        await stores.journal.accept([(message("n", force=True), [A])])
        forced = is_forced(A)
        for entry in await stores.journal.open("r", 2, LEASE):
            await stores.outcomes.record("r", [done(entry)])

        assert (merely_wanted, forced, is_forced(A)) == (False, True, False)
