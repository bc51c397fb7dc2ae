"""Queries of one caller leave room for those of others, and callers take turns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.batch.api.crawls import HOST, BatchBench
from tests.live.api.client import Exchanging

from scoter.batch.api.queries import Queries, QueryLimits
from scoter.batch.api.query_process import QueryTask
from scoter.batch.crawldir.directory import CrawlDir
from scoter.http.shares import ShareExceeded


class SlowProcesses:
    """Answers each query when told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = asyncio.Event()

    async def answer(self, task: QueryTask) -> tuple[Any, bool]:
        self.asked.append(task.query)
        await self.go.wait()
        return None, False


async def test_slow_queries_of_one_caller_do_not_shut_out_another(tmp_path: Path) -> None:
    queries = Queries(tmp_path, QueryLimits(running=2, waiting=6), share=0.5)
    processes = queries._processes = SlowProcesses()  # type: ignore[assignment]

    def ask(name: str) -> asyncio.Task[Any]:
        return asyncio.create_task(queries.run(tmp_path, name, most=1, caller=name))

    greedy = [ask("greedy") for _ in range(5)]
    await asyncio.sleep(0)
    other = ask("other")
    await asyncio.sleep(0)
    with pytest.raises(ShareExceeded):
        await greedy[4]
    processes.go.set()
    await asyncio.gather(*greedy[:4], other)

    assert processes.asked == ["greedy", "greedy", "greedy", "other", "greedy"]


async def test_streams_of_one_key_leave_room_for_those_of_others(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True, stream_share=0.1)
    CrawlDir.create(tmp_path / "news", bench.clock())
    greedy, other = await bench.token("read"), await bench.token("read")
    exchanges, tasks = [], []
    for header in (greedy, other):
        exchanges.append(Exchanging("GET", "/v1/crawls/news/events", headers=(HOST, header)))
        tasks.append(asyncio.create_task(bench.app(exchanges[-1].scope, exchanges[-1].receive, exchanges[-1].send)))
        await exchanges[-1].until(b"retry: 2000")

    refused = await bench.client.get("/v1/crawls/news/events", greedy)

    assert (refused.status, refused.json["type"]) == (429, "urn:scoter:problem:share")
    for exchange in exchanges:
        exchange.leave()
    await asyncio.gather(*tasks)
