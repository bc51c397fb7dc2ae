"""How a fetch ends: by itself, by a stop, or by an error of source, sink or plug-in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.fetch.fakes import answer
from tests.fetch.fetchers import Fake, Sink, fetcher, source, urls
from tests.simulated import simulated, ticks
from tests.waiting import until

from scoter.config import load
from scoter.core.reply import Reply, Request
from scoter.core.url import Url, canonical
from scoter.errors import Defect
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import Answer as Answered
from scoter.fetch.progress import ProgressPublishers, Snapshot
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.queues.queue_keys import QueueKeys


async def _held(fake: Fake, sink: Sink, asked: list[str], active: int) -> tuple[Fetcher, asyncio.Task[Snapshot]]:
    """Begin a fetch that nobody answers, and wait until so many requests are under way."""
    fake.hold = asyncio.Event()
    running = fetcher(fake)
    task = asyncio.create_task(running.run(source(asked), sink))
    await until(lambda: sum(fake.active.values()) >= active)
    return running, task


async def test_graceful_stop_finishes_requests_in_progress_and_hands_back_the_rest() -> None:
    fake, sink = Fake(), Sink()
    running, task = await _held(fake, sink, urls(20, 10), active=10)

    running.stop()
    assert fake.hold is not None
    fake.hold.set()
    last = await asyncio.wait_for(task, 60)

    assert (last.done, last.fetched) == (10, 10)
    assert len(sink.got) <= 200
    assert len({text for text, _ in sink.got}) == len(sink.got)
    reasons = sink.reasons()
    assert reasons["page"] == 10
    assert reasons["page"] + reasons["stopped"] == len(sink.got)


async def test_a_stop_does_not_wait_for_ever() -> None:
    sink = Sink()
    running, task = await _held(Fake(), sink, urls(3, 3), active=3)

    running.stop(within=0.01)
    last = await asyncio.wait_for(task, 5)

    assert sink.reasons() == {"stopped": 9}
    assert (last.done, last.interrupted) == (0, 3)  # the others were never requested


async def test_stop_does_not_wait_for_a_silent_source() -> None:
    sink, delivered, never = Sink(), asyncio.Event(), asyncio.Event()

    async def silent() -> AsyncIterator[Request]:
        yield Request(url=canonical("http://a.test/"))
        await never.wait()

    def deliver(request: Request, reply: Reply) -> None:
        sink(request, reply)
        delivered.set()

    fetching = fetcher(Fake())
    running = asyncio.create_task(fetching.run(silent(), deliver))
    await delivered.wait()
    fetching.stop()

    await asyncio.wait_for(running, 5)
    assert sink.reasons() == {"page": 1}


class Robots(Fake):
    """Answers for robots.txt, and for all that belongs to reading one, by functions of the times it was asked."""

    def __init__(self, *answers: Callable[[Url], Reply]) -> None:
        super().__init__()
        self._answers = answers
        self.times: list[float] = []

    async def fetch(self, request: Request) -> Reply:
        if request.url.path not in ("/robots.txt", "/rules"):
            return await super().fetch(request)
        self.times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0)
        return self._answers[min(len(self.times), len(self._answers)) - 1](request.url)


def _moved(target: str) -> Callable[[Url], Reply]:
    return lambda url: answer(url, 302, Location=target)


async def test_fetch_ends_although_a_lent_slot_belongs_to_a_host_on_hold() -> None:
    fake, sink = Robots(_moved("/rules"), lambda url: answer(url, 503, Retry_After="86400")), Sink()

    running = fetcher(fake, "http.robots_503_defer_visits=false")
    await asyncio.wait_for(running.run(source(urls(1, 2)), sink), 5)

    assert sink.reasons() == {"robots_unreachable": 2}


@simulated
async def test_slots_that_wait_for_robots_txt_do_not_block_its_fetch_on_a_slowed_host() -> None:
    fake, sink = Robots(lambda url: answer(url, 503), lambda url: answer(url, 404)), Sink()

    running = fetcher(fake, "fetch.threads_per_queue=5", "http.robots_503_defer_visits_delay=10ms", clock=ticks)
    task = asyncio.create_task(running.run(source(urls(1, 5)), sink))
    async with asyncio.timeout(5):
        await until(lambda: len(fake.times) >= 2)
    running.stop(within=0.0)
    await task

    assert fake.times[1] - fake.times[0] >= 1 - 1e-6


async def test_redirected_robots_txt_is_fetched_although_all_slots_wait() -> None:
    """All sites have theirs on one host, which gives out turns more slowly than they do."""
    fake, sink = (
        Robots(lambda url: answer(url, 404) if url.host == "h0.test" else _moved("http://h0.test/rules")(url)),
        Sink(),
    )

    running = fetcher(fake, "fetch.threads=2", 'fetch.hosts=["h0.test delay=20ms"]')
    await asyncio.wait_for(running.run(source(urls(6, 3)), sink), 5)

    assert sink.reasons() == {"page": 18}
    assert fake.most["all"] <= 2


async def test_host_to_which_robots_txt_files_redirect_is_fetched_from_in_turn() -> None:
    order: list[str] = []

    class Shared(Robots):
        async def fetch(self, request: Request) -> Reply:
            if request.url.host == "h0.test":
                order.append(request.url.path)
            return await super().fetch(request)

    fake = Shared(lambda url: answer(url, 404) if url.host == "h0.test" else _moved("http://h0.test/rules")(url))
    sink = Sink()
    pages = [f"http://h0.test/{number}" for number in range(6)]
    others = [f"http://h{number}.test/" for number in range(1, 13)]

    running = fetcher(fake, 'fetch.hosts=["h0.test delay=20ms"]')
    await asyncio.wait_for(running.run(source([*pages, *others]), sink), 10)

    assert sink.reasons() == {"page": 18}
    assert order.count("/rules") == 12
    assert order[: order.index("/5")].count("/rules") <= 7  # not all of them go ahead of its own pages


async def test_host_on_hold_is_not_asked_through_another_slot() -> None:
    fake, sink = Robots(lambda url: answer(url, 500), lambda url: answer(url, 404)), Sink()

    running = fetcher(fake, "http.robots_503_defer_visits_delay=200ms", "fetch.exceptions_per_queue_delay=0s")
    await asyncio.wait_for(running.run(source(urls(1, 3)), sink), 5)

    assert sink.reasons() == {"page": 3}
    assert fake.times[1] - fake.times[0] >= 0.2


async def test_requests_in_lookup_are_handed_back_on_stop() -> None:
    asked = asyncio.Event()

    class Silent:
        async def resolve(self, host: str) -> Answered:
            asked.set()
            await asyncio.Event().wait()
            raise Defect("nobody ever answers")

    config = load(overrides=["agent.name=testbot", "fetch.queue_mode=ip"])
    keys = QueueKeys(config, Guard(config), Silent())
    sink, fetching = Sink(), fetcher(Fake(), "fetch.queue_mode=ip", keys=keys)
    running = asyncio.create_task(fetching.run(source(urls(3, 2)), sink))
    await asked.wait()
    fetching.stop()

    await asyncio.wait_for(running, 5)
    assert sink.reasons() == {"stopped": 6}


async def test_failing_lookup_ends_the_run_with_its_error() -> None:
    class Broken:
        async def resolve(self, host: str) -> Answered:
            raise Defect("the resolver broke")

    config = load(overrides=["agent.name=testbot", "fetch.queue_mode=ip"])
    sink, keys = Sink(), QueueKeys(config, Guard(config), Broken())

    with pytest.raises(Defect, match="the resolver broke"):
        await asyncio.wait_for(fetcher(Fake(), keys=keys).run(source(urls(3, 2)), sink), 5)

    assert sink.reasons() == {"stopped": 6}


async def test_an_error_of_the_sink_stops_the_run_and_is_raised() -> None:
    fake = Fake()
    got: list[str] = []

    def sink(request: Request, reply: Reply) -> None:
        got.append(request.url.text)
        if len(got) == 20:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await asyncio.wait_for(fetcher(fake).run(source(urls(50, 50)), sink), 10)

    assert len(fake.asked) < 500


async def test_an_error_of_the_source_stops_the_run_and_is_raised() -> None:
    sink = Sink()

    async def broken() -> AsyncIterator[Request]:
        yield Request(url=canonical("http://a.test/1"))
        raise Defect("the source broke")

    with pytest.raises(Defect, match="the source broke"):
        await asyncio.wait_for(fetcher(Fake()).run(broken(), sink), 10)

    assert len(sink.got) == 1


async def test_plugin_error_fails_only_its_url() -> None:
    def reply(request: Request) -> Reply:
        if request.url.path == "/3":
            raise ZeroDivisionError("oops")
        return answer(request.url, 200, b"page")

    sink = Sink()
    await fetcher(Fake(reply)).run(source(urls(1, 6)), sink)

    assert sink.reasons() == {"page": 5, "broken_plugin": 1}


async def test_plugin_without_reply_fails_only_its_url() -> None:
    def reply(request: Request) -> Any:
        return None if request.url.path == "/3" else answer(request.url, 200, b"page")

    sink = Sink()
    await fetcher(Fake(reply)).run(source(urls(1, 6)), sink)

    assert sink.reasons() == {"page": 5, "broken_plugin": 1}


async def test_plugin_errors_in_claims_and_close_do_not_end_a_fetch() -> None:
    class Broken(Fake):
        def claims(self, request: Request) -> bool:
            if request.url.path == "/3":
                raise ZeroDivisionError("oops")
            return False

        async def close(self) -> None:
            raise ConnectionError("gone")

    class Closed(Fake):
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    sink, other = Sink(), Closed()
    config = load(overrides=["agent.name=testbot", "fetch.delay=0"])
    protocols = Protocols([("broken", Broken()), ("other", other)])

    await Fetcher(config, protocols=protocols).run(source(urls(1, 6)), sink)

    assert sink.reasons() == {"page": 5, "broken_plugin": 1}
    assert other.is_closed


@simulated
async def test_the_time_limit_drops_what_is_queued() -> None:
    fake, sink = Fake(), Sink()
    fake.wait = 0.05
    seen: list[Snapshot] = []

    last = await asyncio.wait_for(
        fetcher(fake, "fetch.time_limit=1s", "fetch.threads=1", on_snapshot=seen.append, clock=ticks).run(
            source(urls(1, 500)), sink
        ),
        10,
    )

    assert "time limit" in last.end_reason
    assert seen
    assert sink.reasons()["page"] < 100


class Told:
    """A publisher that listens."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def publish(self, event: str, facts: Any) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.events.append("closed")


async def test_publishers_get_start_and_end_events() -> None:
    told = Told()
    running = fetcher(Fake())
    running._publishers = ProgressPublishers([told])

    await running.run(source(urls(1, 1)), Sink())

    assert told.events == ["start", "end", "closed"]


async def test_publishers_get_the_end_event_of_a_cancelled_run() -> None:
    told, fake = Told(), Fake()
    fake.hold = asyncio.Event()
    running = fetcher(fake)
    running._publishers = ProgressPublishers([told])

    run = asyncio.create_task(running.run(source(urls(1, 1)), Sink()))
    await until(lambda: sum(fake.active.values()) == 1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert told.events == ["start", "end", "closed"]


async def test_publisher_error_on_close_does_not_fail_the_fetch() -> None:
    class Broken(Told):
        def close(self) -> None:
            raise ConnectionError("nobody listens any more")

    running = fetcher(Fake())
    running._publishers = ProgressPublishers([Broken()])

    last = await running.run(source(urls(1, 1)), Sink())

    assert last.done == 1


async def test_empty_source_ends_immediately() -> None:
    last = await asyncio.wait_for(fetcher(Fake()).run(source([]), Sink()), 2)

    assert last.done == 0


async def test_error_in_on_snapshot_ends_the_run_and_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def endless() -> AsyncIterator[Request]:
        yield Request(url=canonical("http://a.example/"))
        await asyncio.Event().wait()

    def tell(snapshot: Snapshot) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("scoter.fetch.fetcher._TICK", 0.01)

    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(fetcher(Fake(), on_snapshot=tell).run(endless(), Sink()), 5)


async def test_publisher_error_does_not_stop_the_cleanup(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def publish(self, event: str, facts: Any) -> None:
            raise ConnectionError("nobody listens")

    async def endless() -> AsyncIterator[Request]:
        yield Request(url=canonical("http://a.example/"))
        async with asyncio.timeout(60):
            await until(lambda: len(snapshots) > 5)

    monkeypatch.setattr("scoter.fetch.fetcher._TICK", 0.01)
    snapshots: list[Snapshot] = []
    running = fetcher(Fake(), on_snapshot=snapshots.append)
    running._publishers = ProgressPublishers([Broken()])

    await asyncio.wait_for(running.run(endless(), Sink()), 60)

    assert len(snapshots) > 5
