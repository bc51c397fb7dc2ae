"""The progress of a crawl: its history, and as an event stream that is read once for all viewers."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.batch.api.crawls import HOST, BatchBench
from tests.live.api.client import Exchanging

from scoter.batch.api import feeds
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.progress import ProgressLog

START = datetime(2026, 11, 17, 12, tzinfo=UTC)


class Steps:
    """A log whose points are a second apart."""

    def __init__(self, folder: Path) -> None:
        self.seconds = 0.0
        self._log = ProgressLog(
            folder, "crawl", clock=lambda: START + timedelta(seconds=self.seconds), timer=lambda: self.seconds
        )

    def add(self, **facts: Any) -> None:
        self.seconds += 1
        self._log.add("fetch", round=1, **facts)


def crawl_in(tmp_path: Path) -> tuple[BatchBench, Steps]:
    bench = BatchBench(tmp_path)
    CrawlDir.create(tmp_path / "news", bench.clock())
    return bench, Steps(tmp_path / "news")


class Viewer:
    """A client of the stream."""

    def __init__(self, bench: BatchBench, *headers: tuple[str, str], query: str = "") -> None:
        self.exchange = Exchanging("GET", f"/v1/crawls/news/events{query}", headers=(HOST, *headers))
        self._task = asyncio.create_task(bench.app(self.exchange.scope, self.exchange.receive, self.exchange.send))

    async def leave(self) -> list[dict[str, object]]:
        """Disconnect, and return the points received."""
        self.exchange.leave()
        await self._task
        frames = [dict(line.split(": ", 1) for line in frame.splitlines() if ": " in line) for frame in self.frames()]
        return [json.loads(frame["data"]) for frame in frames if frame.get("event") == "progress"]

    def frames(self) -> list[str]:
        return self.exchange.text.decode().split("\n\n")


async def test_the_history_is_returned_with_the_number_of_points_asked_for(tmp_path: Path) -> None:
    bench, steps = crawl_in(tmp_path)
    for number in range(100):
        steps.add(done=number)

    found = (await bench.client.get("/v1/crawls/news/progress?points=10")).json

    assert found["latest"]["done"] == 99
    assert len(found["points"]) == 10
    assert found["points"][-1] == found["latest"]


async def test_viewers_get_the_latest_state_and_then_every_new_point(tmp_path: Path) -> None:
    bench, steps = crawl_in(tmp_path)
    steps.add(done=1)
    steps.add(done=2)
    viewers = [Viewer(bench) for _ in range(5)]
    for viewer in viewers:
        await viewer.exchange.until(b'"done":2')

    steps.add(done=3, errors={"timeout": 4}, pages_per_second=1.5, queued=7)
    for viewer in viewers:
        await viewer.exchange.until(b'"done":3')

    for viewer in viewers:
        points = await viewer.leave()
        assert [point["done"] for point in points] == [2, 3]
        assert points[-1]["errors"] == {"timeout": 4}
    assert len(bench.feeds) == 0


async def test_the_file_is_read_once_however_many_viewers_there_are(tmp_path: Path) -> None:
    bench, steps = crawl_in(tmp_path)
    steps.add(done=1)
    viewers = [Viewer(bench) for _ in range(5)]
    for viewer in viewers:
        await viewer.exchange.until(b'"done":1')

    (streams, _) = bench.feeds._open["news"]
    feed = streams._events
    assert isinstance(feed, feeds.ProgressFeed)
    assert len(streams) == 5
    assert list(bench.feeds._open) == ["news"]
    for viewer in viewers:
        await viewer.leave()
    assert bench.feeds._open == {}


async def test_a_viewer_resumes_after_its_last_event(tmp_path: Path) -> None:
    bench, steps = crawl_in(tmp_path)
    for number in range(5):
        steps.add(done=number)
    last = int((START + timedelta(seconds=2)).timestamp() * 1_000_000)

    for viewer in (Viewer(bench, ("Last-Event-ID", str(last))), Viewer(bench, query=f"?after={last}")):
        await viewer.exchange.until(b'"done":4')
        assert [point["done"] for point in await viewer.leave()] == [2, 3, 4]


async def test_viewers_continue_when_the_file_is_thinned(tmp_path: Path) -> None:
    bench, steps = crawl_in(tmp_path)
    for number in range(10):
        steps.add(done=number)
    viewer = Viewer(bench)
    await viewer.exchange.until(b'"done":9')

    steps._log._thin()
    steps.add(done=10)
    await viewer.exchange.until(b'"done":10')

    assert [point["done"] for point in await viewer.leave()] == [9, 10]


async def test_the_number_of_streams_is_limited(tmp_path: Path) -> None:
    bench, steps = crawl_in(tmp_path)
    steps.add(done=1)
    viewers = [Viewer(bench) for _ in range(10)]
    for viewer in viewers:
        await viewer.exchange.until(b'"done":1')

    got = await bench.client.get("/v1/crawls/news/events")

    assert got.status == 503
    for viewer in viewers:
        await viewer.leave()


async def test_a_wrong_position_is_refused(tmp_path: Path) -> None:
    bench, _ = crawl_in(tmp_path)

    assert (await bench.client.get("/v1/crawls/news/events", ("Last-Event-ID", "x"))).status == 422
    assert (await bench.client.get("/v1/crawls/none/events")).status == 404
