"""Worker processes answer every request and keep every delay, even if they are killed or stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from tests.fetch.hostile import KEEP, Script, ok, serving
from tests.live.fetching.webs import all_joined, fetch, fetch_all, fetchers_for, impolite, urls_of
from tests.live.odd_web import Said, odd_web, page
from tests.long import web
from tests.waiting import until

from scoter.core.reply import Failed, Fetched, Gone, Moved, Reason, Truncation
from scoter.core.url import canonical
from scoter.errors import UsageError
from scoter.live.api.records import DomainRule
from scoter.live.fetching.limits import WorkerLimits
from scoter.live.records import Priority
from scoter.simweb import WebSpec

pytestmark = pytest.mark.slow

SPEC = WebSpec(hosts=60, pages=600, page_bytes=3_000, seed=11, latency=0.02)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with web.serving(SPEC) as found:
        yield found


async def test_replies_match_the_web_and_bodies_are_complete(port: int, tmp_path: Path) -> None:
    urls = urls_of(SPEC, 2)

    async with fetchers_for(port, tmp_path, 2) as fetchers:
        answers = await fetch_all(fetchers, urls)
        snapshot = fetchers.snapshot()

    assert [answer.reply.url.text for answer in answers] == urls
    pages = [answer.reply for answer in answers if isinstance(answer.reply, Fetched)]
    assert len(pages) > len(urls) / 2
    told = [(page.exchange.header("content-length"), page.exchange.body) for page in pages]
    assert all(str(len(body)) == length for length, body in told if length)
    assert sum(1 for length, _ in told if length) > len(pages) / 2
    assert (snapshot.waiting, snapshot.under_way) == (0, 0)


@pytest.mark.parametrize("processes", [1, 3])
async def test_delays_hold_and_all_requests_are_answered_while_workers_die(processes: int, tmp_path: Path) -> None:
    delay, dice = 0.3, Random(processes)
    urls = urls_of(SPEC, 6)

    with web.serving(SPEC) as own_port:
        settings = (f"fetch.delay={delay}s", "fetch.min_crawl_delay=0s")
        async with fetchers_for(own_port, tmp_path, processes, *settings) as fetchers:
            await all_joined(fetchers, processes)
            fetching = asyncio.create_task(fetch_all(fetchers, urls))
            for sign in (signal.SIGSTOP, signal.SIGKILL):
                await asyncio.sleep(0.3 + 0.5 * dice.random())
                victim = dice.choice(fetchers.pids())
                os.kill(victim, sign)
                if sign is signal.SIGSTOP:
                    await asyncio.sleep(1.0)  # within its lease and beyond the delay: it wakes as its domains' holder
                    os.kill(victim, signal.SIGCONT)
                await all_joined(fetchers, 1, apart_from=[victim] if sign is signal.SIGKILL else ())
            answers = await fetching
            restarts = fetchers.snapshot().restarts
        entries = list(web.ledger(own_port))

    assert restarts == 1
    assert len(answers) == len(urls)
    assert not [answer for answer in answers if isinstance(answer.reply, Failed) and answer.reply.exchange is None]
    assert len(entries) >= len(urls) * 0.8
    assert impolite(entries, delay) == []


async def test_silent_worker_loses_its_shards_within_five_seconds(tmp_path: Path) -> None:
    urls = urls_of(SPEC, 1)

    with web.serving(SPEC) as own_port:
        async with fetchers_for(own_port, tmp_path, 2, "fetch.delay=0.2s", "fetch.min_crawl_delay=0s") as fetchers:
            await all_joined(fetchers, 2)
            await fetch_all(fetchers, urls)
            victim = fetchers.pids()[0]
            os.kill(victim, signal.SIGSTOP)
            began = time.monotonic()
            answers = await fetch_all(fetchers, urls)
            took = time.monotonic() - began
            assert victim not in fetchers.pids()
        entries = list(web.ledger(own_port))

    assert len(answers) == len(urls)
    assert 2.5 < took < 5.0 + 1.5  # what takes its turn again comes on top
    assert impolite(entries, 0.2) == []


def test_server_that_is_busy_with_a_killed_request_is_not_asked_again(tmp_path: Path) -> None:
    async def asked(port: int) -> None:
        async with fetchers_for(port, tmp_path, 1, "fetch.delay=0.2s", "fetch.min_crawl_delay=0s") as fetchers:
            await all_joined(fetchers, 1)
            asking = asyncio.create_task(fetch(fetchers, "http://a.example/"))
            await until(lambda: ("a.example", "/") in slow.asked())
            os.kill(fetchers.pids()[0], signal.SIGKILL)
            other = await fetch(fetchers, "http://b.example/")
            assert isinstance(other.reply, Fetched)
            assert not asking.done()  # other domains need not wait
            assert isinstance((await asking).reply, Fetched)

    def answer(host: str, path: str) -> Said:
        return page("<title>It</title>", after=1.5 if (host, path) == ("a.example", "/") else 0.0)

    with odd_web(answer, notices_close=False) as slow:
        asyncio.run(asked(slow.port))

    assert slow.asked("a.example").count(("a.example", "/")) == 2
    assert impolite(slow.entries, 0.2) == []


async def test_urgent_request_overtakes_bulk_and_reports_its_waiting_time(tmp_path: Path) -> None:
    order: list[str] = []

    async with (
        serving({f"/{n}": (ok(), KEEP) for n in range(100)}) as server,
        fetchers_for(server.port, tmp_path, 1, "fetch.delay=0.1s", "fetch.min_crawl_delay=0s") as fetchers,
    ):
        await fetchers.ready()

        async def one(path: str, priority: Priority) -> float:
            answer = await fetch(fetchers, f"http://a.example{path}", priority)
            order.append(path)
            return answer.waited

        bulk = [asyncio.create_task(one(f"/{n}", Priority.BULK)) for n in range(30)]
        await until(lambda: order)
        waited = await one("/99", Priority.PERSON)
        behind = len(order)
        for task in bulk:
            task.cancel()

    assert behind <= 4
    assert 0.0 < waited < 0.5


async def test_raise_priority_moves_a_queued_request_forward(tmp_path: Path) -> None:
    order: list[str] = []

    async with (
        serving({f"/{n}": (ok(), KEEP) for n in range(100)}) as server,
        fetchers_for(server.port, tmp_path, 1, "fetch.delay=0.1s", "fetch.min_crawl_delay=0s") as fetchers,
    ):
        await fetchers.ready()

        async def one(path: str) -> None:
            await fetch(fetchers, f"http://a.example{path}", Priority.BULK)
            order.append(path)

        bulk = [asyncio.create_task(one(f"/{n}")) for n in range(30)]
        await until(lambda: order)
        found = fetchers.domain("a.example")
        assert found is not None
        there = found.under_way
        fetchers.raise_priority(canonical("http://a.example/25"), Priority.PERSON)
        fetchers.raise_priority(canonical("http://a.example/26"), Priority.BULK)
        fetchers.raise_priority(canonical("http://elsewhere.example/"), Priority.PERSON)
        await bulk[25]
        for task in bulk:
            task.cancel()

    assert there <= 2  # all others wait where they can be overtaken
    assert order[-1] == "/25"
    assert len(order) <= 4


async def test_rule_changes_rate_or_blocks_domain_at_runtime(tmp_path: Path) -> None:
    async with (
        serving({f"/{n}": (ok(), KEEP) for n in range(100)}) as server,
        fetchers_for(server.port, tmp_path, 1) as fetchers,
    ):
        await fetchers.ready()

        async def seconds(name: str) -> float:
            began = time.monotonic()
            await fetch_all(fetchers, [f"http://www.{name}/{n}" for n in range(4)])
            return time.monotonic() - began

        await seconds("a.example")  # fetches robots.txt and connects
        free = await seconds("a.example")
        fetchers.set_rule(DomainRule(domain="a.example", delay=0.3))
        slow, other = await seconds("a.example"), await seconds("b.example")
        fetchers.set_rule(DomainRule(domain="a.example", blocked=True, note="they asked us to"))
        blocked = await fetch(fetchers, "http://www.a.example/5")
        view = fetchers.domain("a.example")

    assert slow > 0.85 > max(free, other)
    assert isinstance(blocked.reply, Failed)
    assert (blocked.reply.reason, blocked.reply.transient) == (Reason.REFUSED_ADDRESS, False)
    assert "they asked us to" in blocked.reply.detail
    assert view is not None
    assert (view.asked, view.waiting, view.under_way, view.pause) == (12, [], 0, 0.3)


@pytest.mark.parametrize("is_known", [False, True])
async def test_removing_a_long_delay_releases_waiting_requests(tmp_path: Path, is_known: bool) -> None:
    async with (
        serving({f"/{n}": (ok(), KEEP) for n in range(9)}) as server,
        fetchers_for(server.port, tmp_path, 1) as fetchers,
    ):
        await fetchers.ready()
        if is_known:
            await fetch(fetchers, "http://www.a.example/0")
        fetchers.set_rule(DomainRule(domain="a.example", delay=600.0))
        waiting = asyncio.create_task(fetch_all(fetchers, [f"http://www.a.example/{n}" for n in range(1, 4)]))
        await asyncio.sleep(0.3)
        fetchers.set_rule(DomainRule(domain="a.example"))
        async with asyncio.timeout(10):
            answers = [*await waiting, await fetch(fetchers, "http://www.a.example/4")]

    assert [type(answer.reply) for answer in answers] == [Fetched] * 4


async def test_redirected_robots_txt_is_requested_by_the_holder_of_its_target(tmp_path: Path) -> None:
    def robots(host: str) -> Script:
        if host.startswith("to"):
            return (ok(b"User-agent: *\nDisallow: /private"), KEEP)
        where = b"http://to%s/robots.txt" % host.encode()
        return (b"HTTP/1.1 301 Moved\r\nLocation: " + where + b"\r\nContent-Length: 0\r\n\r\n", KEEP)

    moved = b"HTTP/1.1 302 Found\r\nLocation: http://else.example/\r\nContent-Length: 0\r\n\r\n"
    names = [f"from{n}.example" for n in range(20)]  # half of the targets belong to the other process
    async with (
        serving({"/private": (ok(), KEEP), "/go": (moved, KEEP)}, robots=robots) as server,
        fetchers_for(server.port, tmp_path, 2) as fetchers,
    ):
        await all_joined(fetchers, 2)
        denied = await fetch_all(fetchers, [f"http://{name}/private" for name in names])
        sent_on = await fetch_all(fetchers, [f"http://{name}/go" for name in names])

    assert {(type(answer.reply), getattr(answer.reply, "reason", "")) for answer in denied} == {
        (Gone, Reason.ROBOTS_DENIED)
    }
    targets = [answer.reply.target for answer in sent_on if isinstance(answer.reply, Moved)]
    assert [str(target) for target in targets] == ["http://else.example/"] * 20
    asked = [host for host, path in server.asked if path == "/robots.txt"]
    assert set(asked) == {*names, *(f"to{name}" for name in names)}


async def test_crawl_delay_is_kept_by_the_next_worker(tmp_path: Path) -> None:
    times: list[float] = []

    def robots(host: str) -> Script:
        return (ok(b"User-agent: *\nCrawl-delay: 2"), KEEP)

    async with (
        serving({f"/{n}": (ok(), KEEP) for n in range(9)}, robots=robots) as server,
        fetchers_for(server.port, tmp_path, 2) as fetchers,
    ):
        await all_joined(fetchers, 2)
        await fetch(fetchers, "http://slow.example/1")
        await asyncio.sleep(0.2)  # what was learnt is told others in a moment
        times.append(time.monotonic())
        for pid in fetchers.pids():
            os.kill(pid, signal.SIGKILL)
        await fetch(fetchers, "http://slow.example/2")
        times.append(time.monotonic())

    assert times[1] - times[0] > 1.7
    assert [path for _, path in server.asked] == ["/robots.txt", "/1", "/2"]  # and read by one for all


async def test_requests_to_a_domain_with_a_long_crawl_delay_are_answered_at_once(tmp_path: Path) -> None:
    async with (
        serving(
            {f"/{n}": (ok(), KEEP) for n in range(9)},
            robots=lambda host: (ok(b"User-agent: *\nCrawl-delay: 600"), KEEP),
        ) as server,
        fetchers_for(server.port, tmp_path, 1) as fetchers,
    ):
        await fetchers.ready()
        async with asyncio.timeout(5):
            answers = await fetch_all(fetchers, [f"http://slow.example/{n}" for n in range(3)])

    assert [path for _, path in server.asked] == ["/robots.txt"]
    for answer in answers:
        assert isinstance(answer.reply, Failed)
        assert answer.reply.reason is Reason.BUSY
        assert answer.reply.retry_after is not None
        assert 590 < answer.reply.retry_after.total_seconds() <= 600


async def test_requests_to_a_domain_on_long_hold_are_answered_at_once(tmp_path: Path) -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n"
    async with (
        serving({f"/{n}": (busy, KEEP) for n in range(9)}) as server,
        fetchers_for(server.port, tmp_path, 1) as fetchers,
    ):
        await fetchers.ready()
        async with asyncio.timeout(5):
            answers = await fetch_all(fetchers, [f"http://busy.example/{n}" for n in range(9)])
        (shown,) = fetchers.activity(10)
        fetchers.set_rule(DomainRule(domain="busy.example", blocked=True))
        (blocked,) = fetchers.activity(10)

    assert (shown.domain, shown.waiting, shown.active, shown.blocked) == ("busy.example", 0, 0, False)
    assert shown.rate > 0
    assert shown.until is not None
    assert 500 < (shown.until - datetime.now(UTC)).total_seconds() <= 600
    assert shown.why == "the site asked to wait: busy"
    assert blocked.blocked
    assert {getattr(answer.reply, "reason", "") for answer in answers} == {Reason.BUSY}
    assert len([path for _, path in server.asked if path != "/robots.txt"]) == 1
    told = [answer.reply for answer in answers if answer.reply.exchange is None]
    assert all(isinstance(reply, Failed) and reply.retry_after is not None for reply in told)
    assert len(told) == 8


async def test_workers_refuse_forbidden_addresses_ports_and_schemes(port: int, tmp_path: Path) -> None:
    cases = {
        "http://127.0.0.1/": Reason.REFUSED_ADDRESS,
        "http://0x7f.1/": Reason.REFUSED_ADDRESS,
        "http://[::ffff:10.0.0.1]/": Reason.REFUSED_ADDRESS,
        "http://169.254.169.254/latest/": Reason.REFUSED_ADDRESS,
        "gopher://a.example/": Reason.REFUSED_SCHEME,
        "http://a.example:22/": Reason.REFUSED_PORT,
    }

    async with fetchers_for(port, tmp_path, 1, 'fetch.allow_ports=["80"]') as fetchers:
        answers = await fetch_all(fetchers, cases)

    assert {str(a.reply.url): getattr(a.reply, "reason", None) for a in answers} == {
        str(canonical(url)): reason for url, reason in cases.items()
    }


async def test_idle_domains_are_forgotten_by_core_and_worker(tmp_path: Path) -> None:
    bounds = WorkerLimits(idle=50)
    async with (
        serving({"/": (ok(), KEEP)}) as server,
        fetchers_for(server.port, tmp_path, 1, bounds=bounds) as fetchers,
    ):
        await fetchers.ready()
        for at in range(0, 300, 150):
            answers = await fetch_all(fetchers, [f"http://d{n}.example/" for n in range(at, at + 150)])
            assert all(isinstance(answer.reply, Fetched) for answer in answers)
        view = fetchers.snapshot()
        async with asyncio.timeout(5):
            await until(
                lambda: not any(report is None or report.queues for report in fetchers.snapshot().workers.values())
            )

    assert view.domains <= 60
    assert view.under_way == 0


async def test_waiting_requests_are_answered_when_the_service_stops(tmp_path: Path) -> None:
    async with serving({"/": (ok(), KEEP)}) as server:
        async with fetchers_for(server.port, tmp_path, 1, "fetch.delay=60s") as fetchers:
            await fetchers.ready()
            waiting = [asyncio.create_task(fetch(fetchers, "http://a.example/")) for _ in range(40)]
            await until(lambda: server.asked)
        answers = await asyncio.gather(*waiting)
        late = await fetch(fetchers, "http://a.example/")

    assert [getattr(answer.reply, "reason", "page") for answer in (*answers, late)] == [Reason.STOPPED] * 41


async def test_waiting_requests_of_a_blocked_domain_are_answered_at_once(tmp_path: Path) -> None:
    async with (
        serving({"/": (ok(), KEEP)}) as server,
        fetchers_for(server.port, tmp_path, 1, "fetch.delay=30s") as fetchers,
    ):
        await fetchers.ready()
        waiting = [asyncio.create_task(fetch(fetchers, "http://a.example/")) for _ in range(40)]
        await until(lambda: server.asked)
        fetchers.set_rule(DomainRule(domain="a.example", blocked=True))
        done, _ = await asyncio.wait(waiting, timeout=2)

    # One is under way: it has asked for robots.txt, and waits for its own turn.
    reasons = [getattr(task.result().reply, "reason", "page") for task in done]
    assert reasons == [Reason.REFUSED_ADDRESS] * 39


async def test_no_worker_can_start(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    async with fetchers_for(9, tmp_path / "folder", 1) as fetchers:
        (tmp_path / "folder").chmod(0)
        (tmp_path / "folder").rename(tmp_path / "elsewhere")  # even a superuser finds nothing there
        with pytest.raises(UsageError, match="end before they are ready"):
            async with asyncio.timeout(60):
                await fetchers.ready()


async def test_too_long_folder_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too long"):
        async with fetchers_for(9, tmp_path / ("x" * 100), 1):
            pass


async def test_body_too_large_for_a_frame_is_truncated(tmp_path: Path) -> None:
    async with (
        serving({"/": (ok(b"x" * (65 * 2**20)), KEEP)}) as server,
        fetchers_for(server.port, tmp_path, 1, "fetch.content_limit=100MiB") as fetchers,
    ):
        async with asyncio.timeout(20):
            answer = await fetch(fetchers, "http://a.example/")
        restarts = fetchers.snapshot().restarts

    assert restarts == 0
    assert isinstance(answer.reply, Fetched)
    assert answer.reply.exchange.truncation is Truncation.LENGTH
