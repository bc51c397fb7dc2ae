"""Holds across fetches: a host that asked to be left alone is not asked by the next fetch, and keeps no fetch open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.fetch.fakes import Clock, answer
from tests.fetch.fetchers import Fake, Sink, fetcher, source
from tests.simulated import simulated, ticks

from scoter.core.reply import Reply, Request
from scoter.core.robots_cache import MemoryRobotsCache
from scoter.fetch.progress import Snapshot
from scoter.fetch.queues.holds import KeptHolds
from scoter.fetch.queues.policy import Policy
from scoter.fetch.queues.slots import SERVED
from scoter.fetch.queues.workbench import Workbench

DAY = 86_400.0
STARTED = time.time()


def unix() -> float:
    """Return the wall-clock time of a simulated test; expiry times of robots.txt files come from the real one."""
    return STARTED + ticks()


class MemoryHolds:
    """A store of holds; counts writes."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[float, float]] = {}
        self.writes = 0

    def until(self, host: str) -> float:
        return self.known.get(host, (0.0, 0.0))[0]

    def put(self, holds: Iterable[tuple[str, float, float]]) -> None:
        self.writes += 1
        self.known.update((host, (until, delay)) for host, until, delay in holds)


def kept_in(holds: MemoryHolds) -> KeptHolds:
    return KeptHolds(holds, ticks, unix)


def busy(request: Request) -> Reply:
    """Answer 429 with a Retry-After of a day for one host, pages for all others."""
    if request.url.host == "busy.test":
        return answer(request.url, 429, Retry_After="86400")
    return answer(request.url, 200, b"page")


async def run(
    fake: Fake, holds: MemoryHolds, urls: list[str], *overrides: str, **ports: Any
) -> tuple[Sink, KeptHolds, Snapshot]:
    sink, kept = Sink(), kept_in(holds)
    running = fetcher(fake, *overrides, holds=kept, clock=ticks, **ports)
    return sink, kept, await asyncio.wait_for(running.run(source(urls), sink), 60)


@simulated
async def test_fetch_ends_when_only_hosts_on_hold_are_left_and_names_them() -> None:
    fake, holds = Fake(busy), MemoryHolds()
    urls = [f"http://{host}.test/{page}" for page in range(5) for host in ("busy", "calm")]

    sink, kept, last = await run(fake, holds, urls)

    assert sink.reasons() == {"page": 5, "busy": 1, "deferred": 4}
    assert kept.deferred.keys() == {"busy.test"}
    assert abs(kept.deferred["busy.test"] - unix() - DAY) < 600
    assert last.end_reason == ""


@simulated
async def test_next_fetch_does_not_ask_a_host_on_hold() -> None:
    fake, holds = Fake(busy), MemoryHolds()
    await run(fake, holds, ["http://busy.test/1"])
    fake.asked.clear()

    sink, kept, _ = await run(fake, holds, ["http://busy.test/2", "http://calm.test/"])

    assert [text for text in fake.asked if "busy" in text] == []
    assert sink.reasons() == {"page": 1, "deferred": 1}
    assert kept.deferred.keys() == {"busy.test"}


@simulated
async def test_long_hold_is_stored_before_the_reply_reaches_the_sink() -> None:
    holds, stored = MemoryHolds(), []

    def look(request: Request, reply: Reply) -> None:
        stored.append("busy.test" in holds.known)

    running = fetcher(Fake(busy), holds=kept_in(holds), clock=ticks)
    await asyncio.wait_for(running.run(source(["http://busy.test/"]), look), 60)

    assert stored == [True]


@simulated
async def test_robots_txt_that_answers_503_defers_its_host() -> None:
    class Unready(Fake):
        async def fetch(self, request: Request) -> Reply:
            if request.url.host == "busy.test":
                self.asked.append(request.url.text)
                return answer(request.url, 503)
            return await super().fetch(request)

    fake, holds = Unready(), MemoryHolds()

    sink, kept, _ = await run(fake, holds, [f"http://busy.test/{page}" for page in range(3)])

    assert sink.reasons() == {"deferred": 3}
    assert fake.asked == ["http://busy.test/robots.txt"]
    assert kept.deferred.keys() == holds.known.keys() == {"busy.test"}
    assert 100 < holds.until("busy.test") - unix() <= 310


@simulated
async def test_delay_after_the_last_request_is_kept_for_the_next_fetch() -> None:
    holds = MemoryHolds()

    await run(Fake(robots=b"User-agent: *\nCrawl-delay: 3"), holds, ["http://calm.test/"], "fetch.delay=0")

    until, delay = holds.known["calm.test"]
    assert delay == 3
    assert until - unix() > 1


@simulated
async def test_configured_delay_is_waited_for_however_long_it_is() -> None:
    fake, sink, looks = Fake(), Sink(), list[Snapshot]()

    def look(snapshot: Snapshot) -> None:
        looks.append(snapshot)
        if len(looks) == 3:
            running.stop(within=0.0)

    ports = {"holds": kept_in(MemoryHolds()), "on_snapshot": look, "clock": ticks}
    running = fetcher(fake, 'fetch.delay="10m"', "fetch.max_hold=0s", **ports)
    await asyncio.wait_for(running.run(source([f"http://calm.test/{page}" for page in range(3)]), sink), 60)

    assert fake.asked == ["http://calm.test/robots.txt"]
    assert sink.reasons() == {"stopped": 3}


SLOW = b"User-agent: *\nCrawl-delay: 2000"


@simulated
async def test_host_with_a_long_crawl_delay_is_deferred_when_no_other_work_is_left() -> None:
    fake, holds = Fake(robots=SLOW), MemoryHolds()

    sink, kept, last = await run(fake, holds, [f"http://slow.test/{page}" for page in range(3)])

    assert fake.asked == ["http://slow.test/robots.txt"]
    assert sink.reasons() == {"deferred": 3}
    assert 1_900 < kept.deferred["slow.test"] - unix() <= 2_000
    assert holds.known["slow.test"][1] == 0  # generate skips it: no fetch waits that long
    assert last.end_reason == ""


@simulated
async def test_host_with_a_long_crawl_delay_is_fetched_when_its_hold_is_over() -> None:
    fake, holds, cache = Fake(robots=SLOW), MemoryHolds(), MemoryRobotsCache(entries=10, size=10_000, clock=unix)
    urls = ["http://slow.test/1", "http://slow.test/2"]
    await run(fake, holds, urls, robots_cache=cache)
    holds.known.clear()  # half an hour later

    sink, kept, _ = await run(fake, holds, urls, robots_cache=cache)

    assert fake.asked == ["http://slow.test/robots.txt", "http://slow.test/1"]
    assert sink.reasons() == {"page": 1, "deferred": 1}
    assert kept.deferred.keys() == {"slow.test"}


@simulated
async def test_time_limit_is_used_to_wait_for_a_long_crawl_delay() -> None:
    fake, sink, looks = Fake(robots=SLOW), Sink(), list[Snapshot]()

    def look(snapshot: Snapshot) -> None:
        looks.append(snapshot)
        if len(looks) == 3:
            running.stop(within=0.0)

    ports = {"holds": kept_in(MemoryHolds()), "on_snapshot": look, "clock": ticks}
    running = fetcher(fake, 'fetch.time_limit="1h"', **ports)
    await asyncio.wait_for(running.run(source(["http://slow.test/"]), sink), 60)

    assert sink.reasons() == {"stopped": 1}  # by the caller: a fetch without a time limit ends by itself, and defers


def test_short_holds_are_stored_together() -> None:
    clock, holds = Clock(), MemoryHolds()
    kept = KeptHolds(holds, clock, lambda: 5_000.0 + clock.now)
    for host in ("a", "b", "c"):
        kept.note(host, 1_005.0, 5.0)
    kept.note("d", 1_000.0, 0.0)

    assert holds.writes == 0
    kept.save()
    kept.save()

    assert holds.writes == 1
    assert holds.known == dict.fromkeys(("a", "b", "c"), (6005.0, 5.0))


@pytest.mark.parametrize("delay", [0.01, 0.5, 1.0, 29.0, 31.0])
def test_delay_of_any_length_is_stored_until_it_is_over(delay: float) -> None:
    clock, holds = Clock(), MemoryHolds()
    kept = KeptHolds(holds, clock, lambda: 5_000.0 + clock.now)
    kept.note("a", clock.now + delay, delay)

    kept.save()

    assert holds.until("a") == pytest.approx(6_000.0 + delay)


def test_short_hold_that_is_over_is_not_written() -> None:
    clock, holds = Clock(), MemoryHolds()
    kept = KeptHolds(holds, clock, lambda: 5_000.0 + clock.now)
    kept.note("a", clock.now + 0.2, 0.2)
    clock.now += 0.3

    kept.save()

    assert holds.writes == 0


def test_crawl_delay_counts_from_the_request_for_robots_txt_also_for_the_next_fetch() -> None:
    clock, holds = Clock(), MemoryHolds()
    kept = KeptHolds(holds, clock, lambda: 5_000.0 + clock.now)
    bench: Workbench[str] = Workbench(lambda key: Policy(delay=timedelta(seconds=1)), len, holds=kept)
    bench.add("a", "robots.txt", clock.now)
    bench.take(clock.now)
    bench.done("a", SERVED, clock.now)

    bench.set_crawl_delay("a", 20.0)
    kept.save()

    assert holds.known["a"] == (6_020.0, 20.0)


@simulated
async def test_first_request_of_the_next_fetch_keeps_a_delay_below_a_second() -> None:
    times: list[float] = []

    class Timed(Fake):
        async def fetch(self, request: Request) -> Reply:
            times.append(ticks())
            return await super().fetch(request)

    holds = MemoryHolds()
    for page in range(2):
        await run(Timed(), holds, [f"http://calm.test/{page}"], 'fetch.delay="900ms"')

    assert len(times) == 4  # each fetch asks for robots.txt first
    assert min(after - before for before, after in pairwise(times)) >= 0.9 - 1e-6
