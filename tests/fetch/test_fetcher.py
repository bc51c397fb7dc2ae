"""The fetcher: every request reaches the sink exactly once, whatever hosts do."""

from __future__ import annotations

import asyncio
import errno
import os
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.fetch.fakes import FakeResolver, answer
from tests.fetch.fetchers import Fake, Sink, fetcher, source, urls
from tests.waiting import until

from scoter.config import load
from scoter.core.reply import Failed, Fetched, Reason, Reply, Request
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import Answer, CachingResolver
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.queues.queue_keys import QueueKeys


async def test_every_request_reaches_the_sink_once() -> None:
    fake, sink = Fake(), Sink()

    last = await fetcher(fake).run(source(urls(30, 20)), sink)

    assert Counter(text for text, _ in sink.got) == Counter(urls(30, 20))
    assert (last.done, last.fetched, last.active, last.queued) == (600, 600, 0, 0)
    assert Counter(fake.asked) == Counter(urls(30, 20)) + Counter(
        f"http://h{host}.test/robots.txt" for host in range(30)
    )


@pytest.mark.parametrize(("threads", "per_host"), [(1, 1), (5, 1), (20, 3)])
async def test_hosts_and_the_whole_stay_below_their_threads(threads: int, per_host: int) -> None:
    fake, sink = Fake(), Sink()
    fake.wait = 0.001

    await fetcher(fake, f"fetch.threads={threads}", f"fetch.threads_per_queue={per_host}").run(
        source(urls(8, 12)), sink
    )

    assert len(sink.got) == 96
    assert fake.most["all"] <= threads
    assert max(fake.most[f"h{host}.test"] for host in range(8)) == min(per_host, threads)


async def test_hosts_of_a_domain_share_a_queue_in_domain_mode() -> None:
    fake, sink = Fake(), Sink()
    fake.wait = 0.001
    names = [f"http://{name}.example.test/{page}" for page in range(5) for name in "abc"]

    await fetcher(fake, "fetch.queue_mode=domain").run(source(names), sink)

    assert len(sink.got) == 15
    assert fake.most["all"] == 1


async def test_hosts_of_an_address_share_a_queue_in_ip_mode() -> None:
    fake, sink = Fake(), Sink()
    fake.wait = 0.001
    settings = ["agent.name=testbot", "fetch.delay=0", "fetch.queue_mode=ip"]
    config = load(overrides=settings)
    resolver = FakeResolver(
        {"a.test": "192.0.43.8", "b.test": "192.0.43.8", "c.test": "192.0.43.9", "p.test": "10.0.0.1"}
    )
    guard = Guard(config)
    running = Fetcher(
        config,
        protocols=Protocols([("fake", fake)]),
        keys=QueueKeys(config, guard, CachingResolver(resolver, guard)),
    )
    names = [f"http://{name}.test/{page}" for page in range(5) for name in ("a", "b", "c", "p", "nobody")]

    last = await running.run(source(names), sink)

    assert sink.reasons() == {"page": 15, "refused_address": 5, "unresolved": 5}
    assert (last.done, last.replies) == (25, {"fetched": 15, "refused_address": 5, "unresolved": 5})
    assert fake.most["all"] == 2


async def test_address_shares_the_queue_of_names_that_resolve_to_it() -> None:
    config = load(overrides=["agent.name=testbot", "fetch.queue_mode=ip"])
    keys = QueueKeys(config, Guard(config), FakeResolver({"a.test": "2606:2800::1", "b.test": "192.0.43.8"}))

    named = [await keys.look_up(canonical(f"http://{name}.test/")) for name in "ab"]

    assert named == [keys.of(canonical(f"http://{host}/")) for host in ("[2606:2800:0::1]", "192.0.43.8")]


async def test_a_name_whose_address_changes_keeps_its_queue() -> None:
    config = load(overrides=["agent.name=testbot", "fetch.queue_mode=ip"])
    keys = QueueKeys(config, Guard(config), FakeResolver({"a.test": ["192.0.43.8", "192.0.43.9"]}))
    url = canonical("http://a.test/")

    assert [await keys.look_up(url), await keys.look_up(url), keys.without_lookup(url)] == ["192.0.43.8"] * 3


async def test_slow_lookup_delays_only_its_own_host() -> None:
    late = asyncio.Event()

    class Slow(FakeResolver):
        async def resolve(self, host: str) -> Answer:
            if host == "h0.test":
                await late.wait()
            return await super().resolve(host)

    fake, sink = Fake(), Sink()
    config = load(overrides=["agent.name=testbot", "fetch.queue_mode=ip"])
    keys = QueueKeys(config, Guard(config), Slow({f"h{host}.test": f"192.0.43.{host}" for host in range(200)}))
    names = [*urls(1, 20), *urls(200, 2), *urls(1, 20)]
    running = asyncio.create_task(fetcher(fake, "fetch.delay=1ms", keys=keys).run(source(names), sink))

    async with asyncio.timeout(10):
        await until(lambda: len(sink.got) >= 199 * 2)
        late.set()
        await running

    assert sink.reasons() == {"page": len(names)}
    assert [url for url, _ in sink.got if "//h0." in url] == [url for url in names if "//h0." in url]


async def test_file_and_connect_to_urls_need_no_lookup_in_ip_mode() -> None:
    rules = 'fetch.connect_to=["ftp.test:21=192.0.43.8:2121"]'
    config = load(overrides=["agent.name=testbot", "fetch.queue_mode=ip", rules])
    guard = Guard(config, ("file", "ftp"))
    keys = QueueKeys(config, guard, FakeResolver({}))

    file, ftp = keys.of(canonical("file:///srv/a.txt")), keys.of(canonical("ftp://ftp.test/a.txt"))

    assert file == ""
    assert not isinstance(ftp, str)
    assert await ftp == "192.0.43.8"


@pytest.mark.parametrize(("budget", "times"), [("0.2", 2), ("0", 1)])
async def test_retries_need_a_budget(budget: str, times: int) -> None:
    fake, sink = Fake(lambda request: Failed(request.url, Reason.RESET)), Sink()

    await fetcher(fake, f"fetch.retry_budget={budget}").run(source(["http://a.test/1"]), sink)

    assert fake.asked.count("http://a.test/1") == times


async def test_disallowed_urls_cost_no_request() -> None:
    fake, sink = Fake(robots=b"User-agent: *\nDisallow: /"), Sink()

    await fetcher(fake).run(source(urls(3, 10)), sink)

    assert len(sink.got) == 30
    assert len(fake.asked) == 3


async def test_requests_of_a_blocked_host_reach_the_sink() -> None:
    fake, sink = Fake(lambda request: answer(request.url, 500)), Sink()

    await fetcher(fake, "fetch.max_exceptions_per_queue=3", "fetch.threads=1").run(source(urls(1, 50)), sink)

    assert sink.reasons() == {"server_error": 3, "purged": 47}


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 407, 410, 418, 451, 999])
async def test_answers_are_not_failures_of_the_host(status: int) -> None:
    fake, sink = Fake(lambda request: answer(request.url, status)), Sink()

    await fetcher(fake, "fetch.max_exceptions_per_queue=3", "fetch.threads=1").run(source(urls(1, 12)), sink)

    assert sum(sink.reasons().values()) == 12
    assert "purged" not in sink.reasons()


async def test_slow_sink_throttles_the_fetch() -> None:
    fake = Fake(lambda request: answer(request.url, 200, b"x" * 100_000))
    waiting = most = 0

    async def sink(request: Request, reply: Reply) -> None:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0.002)
        waiting -= 1

    await fetcher(fake, "fetch.threads=50", "fetch.body_budget=1MiB").run(source(urls(100, 3)), sink)

    assert most <= 11 + 50  # the budget's worth, and those under way when it was used up


async def test_links_found_while_running_may_be_added() -> None:
    fake = Fake()
    got: list[str] = []

    def sink(request: Request, reply: Reply) -> None:
        got.append(request.url.text)
        if len(got) < 30:
            assert running.add(Request(url=canonical(f"http://a.test/{len(got)}"))) is None

    running = fetcher(fake)
    await asyncio.wait_for(running.run(source(["http://a.test/0"]), sink), 5)

    assert sorted(got) == sorted(f"http://a.test/{number}" for number in range(30))


async def test_request_context_is_returned() -> None:
    got: list[bytes] = []

    async def numbered() -> AsyncIterator[Request]:
        for number in range(5):
            yield Request(url=canonical("http://a.test/"), context=b"%d" % number)

    await fetcher(Fake()).run(numbered(), lambda request, reply: got.append(request.context))

    assert sorted(got) == [b"0", b"1", b"2", b"3", b"4"]


async def test_snapshot_explains_why_nothing_is_fetched() -> None:
    fake, sink = Fake(), Sink()
    running = fetcher(fake, "fetch.delay=1h")
    task = asyncio.create_task(running.run(source(urls(4, 5)), sink))
    await until(lambda: "4 hosts waiting for their delay" in running.snapshot().why)

    assert "4 hosts waiting" in repr(running)
    running.stop(within=0)
    await asyncio.wait_for(task, 5)
    assert sink.reasons() == {"stopped": 20}


async def test_snapshot_reports_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", no_space)
    running = fetcher(Fake(), "fetch.delay=1h", "fetch.queue_buffer=64KiB")
    task = asyncio.create_task(running.run(source(urls(1, 8_000)), Sink()))
    await until(lambda: "spill" in running.snapshot().why)

    assert "the queues cannot spill to disk ([Errno 28] No space left on device)" in running.snapshot().why
    running.stop(within=0)
    await asyncio.wait_for(task, 5)


async def test_requests_beyond_the_buffer_wait_on_disk_and_are_all_fetched(tmp_path: Any) -> None:
    fake, sink = Fake(), Sink()
    running = fetcher(
        fake, "fetch.queue_buffer=1MiB", "fetch.threads=2", "fetch.queue_depth_multiplier=1", folder=tmp_path
    )

    await asyncio.wait_for(running.run(source(urls(2, 400)), sink), 60)

    assert len({text for text, _ in sink.got}) == len(sink.got) == 800
    assert all(isinstance(reply, Fetched) for _, reply in sink.got)
    assert list(tmp_path.iterdir()) == []


async def test_source_is_not_read_ahead_while_all_slots_are_in_use() -> None:
    fake, sink, read = Fake(), Sink(), 0
    fake.hold = asyncio.Event()

    async def counted() -> AsyncIterator[Request]:
        nonlocal read
        async for request in source(urls(2, 500)):
            read += 1
            yield request

    running = fetcher(fake, "fetch.threads=2", "fetch.queue_depth_multiplier=5")
    task = asyncio.create_task(running.run(counted(), sink))
    await until(lambda: sum(fake.active.values()) >= 2)
    await asyncio.sleep(0.05)

    assert read <= 2 + 2 * 5 + 1  # under way, queued, and one in hand
    fake.hold.set()
    await asyncio.wait_for(task, 60)
    assert len({text for text, _ in sink.got}) == len(sink.got) == 1_000


async def test_source_is_read_while_a_slot_is_free() -> None:
    fake, sink = Fake(), Sink()
    fake.hold = asyncio.Event()
    names = [*(f"http://a.test/{page}" for page in range(500)), "http://b.test/"]
    task = asyncio.create_task(
        fetcher(fake, "fetch.threads=2", "fetch.queue_depth_multiplier=5").run(source(names), sink)
    )

    async with asyncio.timeout(10):
        await until(lambda: fake.active["b.test"] >= 1)

    assert fake.active["a.test"] == 1
    fake.hold.set()
    await asyncio.wait_for(task, 60)
    assert len(sink.got) == 501


def test_two_protocols_for_one_scheme_are_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="'two' and another one both fetch http: URLs"):
        Protocols([("one", Fake()), ("two", Fake())])


async def test_scheme_without_protocol_fails() -> None:
    sink = Sink()

    await fetcher(Fake()).run(source(["ftp://a.test/x"]), sink)

    ((_, reply),) = sink.got
    assert isinstance(reply, Failed)
    assert reply.reason is Reason.REFUSED_SCHEME
