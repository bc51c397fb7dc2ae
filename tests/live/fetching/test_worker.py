"""A worker as its core sees it: its messages, their order, and its requests."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fetch.fakes import answer
from tests.waiting import until

from scoter.config import load
from scoter.core.reply import Exchange, Failed, Fetched, Reply, Request
from scoter.core.url import Url, canonical
from scoter.live import clock
from scoter.live.api.records import DomainRule
from scoter.live.fetching import worker
from scoter.live.fetching.limits import WorkerLimits, worker_config
from scoter.live.fetching.wire import (
    FrameConnection,
    GrantShards,
    HopDone,
    LiveWorkerReport,
    MakeHop,
    RecallShards,
    RenewLease,
    RobotsAnswer,
    RobotsQuery,
    SetRule,
    ShardsReturned,
    WireMessage,
    WorkerReady,
    frames_over,
)
from scoter.live.fetching.worker import LiveWorker
from scoter.live.records import ContentSummary, Priority

SHARDS = (0,)  # of one


class Web:
    """A protocol with scripted replies that logs requests and their times."""

    schemes: tuple[str, ...] = ("http",)

    def __init__(self, reply: Callable[[Url], Reply]) -> None:
        self.reply = reply
        self.asked: list[tuple[str, float]] = []
        self.go = asyncio.Event()
        self.go.set()

    async def fetch(self, request: Request) -> Reply:
        self.asked.append((request.url.text, clock.steady_now()))
        await self.go.wait()
        return self.reply(request.url)

    def texts(self) -> list[str]:
        return [text for text, _ in self.asked]


class Core:
    """The core's end of the connection: sends messages, and records those it receives."""

    def __init__(self) -> None:
        self.heard: list[WireMessage] = []
        self.frames: FrameConnection
        self.fetch_worker: LiveWorker
        self._last = 0

    def say(self, *messages: WireMessage) -> None:
        for message in messages:
            self.frames.send(message)

    def ask(self, url: str, priority: Priority = Priority.NORMAL, *, is_forwarded: bool = False) -> int:
        self._last += 1
        self.say(MakeHop(self._last, Request(url=canonical(url)), priority, is_forwarded))
        return self._last

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            await until(is_so)

    def done(self) -> list[int]:
        return [message.id for message in self.heard if isinstance(message, HopDone)]

    def at(self, kind: type[WireMessage]) -> int:
        """Return the index of the first message of a kind."""
        return next(at for at, message in enumerate(self.heard) if isinstance(message, kind))

    def has(self, kind: type[WireMessage]) -> bool:
        return any(isinstance(message, kind) for message in self.heard)


async def _unread(exchange: Exchange, priority: Priority) -> ContentSummary | None:
    return None


@asynccontextmanager
async def core_of(web: Web, monkeypatch: pytest.MonkeyPatch, *settings: str) -> AsyncIterator[Core]:
    """Run a worker that holds the only shard."""
    monkeypatch.setattr(worker, "chain", lambda point, config: [("web", web)])
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    core = Core()
    core.frames = await frames_over(ours, core.heard.append, lambda: None)
    up = await frames_over(theirs, lambda message: core.fetch_worker.receive(message), lambda: None)
    config = load(
        overrides=[
            "agent.name=t",
            "live.shards=1",
            'http.robot_rules_allowlist=["example"]',
            "fetch.adaptive_delay=false",
            *settings,
        ]
    )
    core.fetch_worker = LiveWorker(
        worker_config(config, 1, 2_000),
        up,
        WorkerLimits(alone_for=timedelta(seconds=60)),
        promise=lambda until: None,
        now=clock.steady_now,
        reading=_unread,
    )
    running = asyncio.create_task(core.fetch_worker.run())
    core.say(GrantShards(SHARDS, 0.0), RenewLease(clock.steady_now() + 60.0))
    await core.until(lambda: core.has(WorkerReady))
    try:
        yield core
    finally:
        core.fetch_worker.stop(0.0)
        await running
        up.close()
        core.frames.close()


def ok(url: Url) -> Reply:
    return answer(url, 200, b"x")


async def test_hold_is_reported_before_the_shard_is_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web = Web(lambda url: answer(url, 429, b"", Retry_After="60"))
    async with core_of(web, monkeypatch, "fetch.delay=0") as core:
        web.go.clear()
        core.ask("http://a.example/")
        await core.until(lambda: len(web.asked) == 1)
        core.say(RecallShards(SHARDS))
        await asyncio.sleep(0.05)
        web.go.set()
        await core.until(lambda: core.has(ShardsReturned) and core.has(HopDone))

    assert core.at(HopDone) < core.at(ShardsReturned)
    assert core.heard[core.at(HopDone)].hold > 50  # type: ignore[union-attr]


async def test_rule_without_rate_keeps_the_configured_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(ok)
    hosts = 'fetch.hosts=["a.example delay=0.3s"]'
    async with core_of(web, monkeypatch, "fetch.delay=0", "fetch.min_crawl_delay=0s", hosts) as core:
        core.say(SetRule(DomainRule(domain="a.example", note="a good neighbour")))
        for number in range(2):
            core.ask(f"http://a.example/{number}")
        await core.until(lambda: len(core.done()) == 2)

    assert web.asked[1][1] - web.asked[0][1] > 0.29


async def test_forwarded_hop_overtakes_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web = Web(ok)
    async with core_of(web, monkeypatch, "fetch.delay=0.02s", "fetch.min_crawl_delay=0s") as core:
        for number in range(3):
            core.ask(f"http://a.example/{number}", Priority.BULK)
        forwarded = core.ask("http://a.example/robots.txt", Priority.PERSON, is_forwarded=True)
        seen = 0
        async with asyncio.timeout(10):
            while forwarded not in core.done() and seen < 40:  # as the core does it: one is answered, the next is sent
                if len(core.done()) > seen:
                    seen += 1
                    core.ask(f"http://a.example/{seen + 2}", Priority.BULK)
                await asyncio.sleep(0.002)

    assert web.texts().index("http://a.example/robots.txt") <= 2


async def test_requests_that_waited_for_a_lease_start_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(ok)
    pause = 0.2
    async with core_of(web, monkeypatch, "fetch.delay=0", "fetch.min_crawl_delay=0s") as core:
        core.say(SetRule(DomainRule(domain="a.example", delay=pause, concurrency=3)))
        core.fetch_worker._lease.until = clock.steady_now()  # the core was away
        for number in range(4):
            core.ask(f"http://a.example/{number}")
        await asyncio.sleep(0.5)
        assert not web.asked
        renewed = clock.steady_now()
        core.say(RenewLease(renewed + 60.0))
        await core.until(lambda: len(core.done()) == 4)

    times = [when for _, when in web.asked]
    assert all(when >= renewed + number * pause - 0.02 for number, when in enumerate(times))


async def test_direct_request_to_a_blocked_domain_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(ok)
    async with core_of(web, monkeypatch, "fetch.delay=0") as core:
        core.say(SetRule(DomainRule(domain="a.example", blocked=True)))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        said: list[WireMessage] = []
        asker = await frames_over(ours, said.append, lambda: None)
        ends: list[FrameConnection] = []
        ends.append(await frames_over(theirs, lambda message: core.fetch_worker.ask(message, ends[0]), lambda: None))  # type: ignore[arg-type]
        await asyncio.sleep(0.02)
        asker.send(MakeHop(1, Request(url=canonical("http://a.example/")), Priority.PERSON))
        await core.until(lambda: bool(said))
        asker.close()
        ends[0].close()

    assert not web.asked


async def test_robots_txt_redirect_to_a_blocked_domain_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(url: Url) -> Reply:
        if url.text == "http://a.example/robots.txt":
            return answer(url, 302, location="http://b.example/robots.txt")
        return ok(url)

    web = Web(reply)
    async with core_of(web, monkeypatch, "fetch.delay=0", "http.robot_rules_allowlist=[]") as core:
        core.say(SetRule(DomainRule(domain="b.example", blocked=True)))
        core.ask("http://a.example/")
        await core.until(lambda: core.has(RobotsQuery))
        core.say(RobotsAnswer("http://a.example", None))
        await core.until(lambda: len(core.done()) == 1)

    assert "http://a.example/robots.txt" in web.texts()
    assert not [text for text in web.texts() if "b.example" in text]


async def test_waiting_for_a_lease_does_not_count_towards_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(ok)
    monkeypatch.setattr("scoter.fetch.stack.GRACE", timedelta(0))
    settings = ("fetch.delay=0", "http.time_limit=0.1s", "http.timeout=0.1s")
    async with core_of(web, monkeypatch, *settings) as core:
        core.fetch_worker._lease.until = clock.steady_now()  # the core was away
        core.ask("http://a.example/1")
        await asyncio.sleep(0.5)
        core.say(RenewLease(clock.steady_now() + 60.0))
        await core.until(lambda: bool(core.done()))
        web.go.clear()
        core.ask("http://a.example/2")
        await core.until(lambda: len(core.done()) == 2)

    replies = [message.reply for message in core.heard if isinstance(message, HopDone)]
    assert isinstance(replies[0], Fetched)
    assert isinstance(replies[1], Failed)  # a server that is silent is given up


def _resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


async def test_worker_reports_its_memory_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with core_of(Web(ok), monkeypatch) as core:
        await core.until(lambda: core.has(LiveWorkerReport))

        report = next(message for message in core.heard if isinstance(message, LiveWorkerReport))

    used = resource.getrusage(resource.RUSAGE_SELF)
    assert 0.25 < report.memory / _resident_bytes() < 4.0
    assert 0.0 < report.cpu <= used.ru_utime + used.ru_stime
