"""The library interface, on the synthetic web."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.fetch.hostile import KEEP, RESET, Pause, Step, config_for, ok, serving
from tests.fetch.http_servers import response, server

import scoter
from scoter.config import load
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.fetch import fetcher
from scoter.fetch.pages import _PageStream
from scoter.simweb import SimServer, SimWeb, WebSpec, running, truth


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WebSpec(hosts=20, pages=60)) as server:
        yield server


def settings(web: SimServer) -> list[str]:
    return ["fetch.delay=0", f'fetch.connect_to=["*:*=127.0.0.1:{web.port}"]']


def facts_of(web: SimWeb, answer: str) -> list[str]:
    return [fact.url for fact in truth(web) if fact.answer.value == answer and fact.verdict.value == "allowed"]


async def test_pages_come_with_their_content(web: SimServer) -> None:
    urls = facts_of(web.web, "page")[:20]

    pages = [page async for page in scoter.fetch_pages(urls, agent="testbot", settings=settings(web))]

    assert {page.asked for page in pages} == set(urls)
    assert all(page.ok and page.status == 200 and page.content for page in pages)
    gzipped = [page for page in pages if ("Content-Encoding", "gzip") in page.headers]
    assert gzipped
    assert all(b"<" in page.content[:200] for page in gzipped)


async def test_redirects_are_followed_and_reported(web: SimServer) -> None:
    urls = facts_of(web.web, "moved")

    pages = [page async for page in scoter.fetch_pages(urls, agent="testbot", settings=settings(web))]

    assert len(pages) == len(urls)
    arrived = [page for page in pages if page.ok]
    assert arrived
    for page in arrived:
        assert page.hops[0] == canonical(page.asked).text
        assert page.url != page.hops[0]


def moved(target: str, *before: Step) -> tuple[Step, ...]:
    return (*before, f"HTTP/1.1 301 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode(), KEEP)


async def test_redirect_is_followed_even_if_queues_are_full() -> None:
    urls = ["http://first.test/old", *(f"http://h{number}.test/{'x' * 1_000}" for number in range(90))]
    async with serving({"/old": moved("/new", Pause(0.3)), "/new": (ok(), KEEP)}) as server:
        config = config_for(
            server.port, "fetch.threads=1", "fetch.queue_depth_multiplier=1", "fetch.queue_buffer=64KiB"
        )
        pages = {page.asked: page async for page in scoter.fetch_pages(urls, config=config)}

    first = pages[urls[0]]
    assert (len(pages), first.problem, first.url) == (91, "", "http://first.test/new")


async def test_redirect_to_a_blocked_host_is_reported() -> None:
    urls = ["http://bad.test/broken", "http://good.test/old"]
    async with serving({"/broken": (RESET,), "/old": moved("http://bad.test/new", Pause(0.3))}) as server:
        config = config_for(server.port, "fetch.max_exceptions_per_queue=1", "fetch.retry_budget=0")
        pages = {page.asked: page async for page in scoter.fetch_pages(urls, config=config)}

    assert pages[urls[1]].problem == "purged: the redirect leads to a host that failed too often"


@pytest.mark.parametrize(("kept", "fetched"), [(True, True), (False, False)])
async def test_redirect_to_itself_that_sets_a_cookie_is_followed_once(kept: bool, fetched: bool) -> None:
    def answer(head: bytes) -> bytes:
        if b"/robots.txt" in head:
            return response(b"", status="404 Not Found")
        if b"Cookie: seen=1" in head and b"/wall" in head:
            return response(b"page")
        return response(b"", "Location: " + head.split()[1].decode(), "Set-Cookie: seen=1; Path=/", status="302 Found")

    urls = ["http://site.test/wall", "http://other.test/loop"]
    async with server(answer) as (port, heads):
        config = config_for(port, f"http.keep_cookies={str(kept).lower()}")
        pages = {page.asked: page async for page in scoter.fetch_pages(urls, config=config)}

    wall, loop = (pages[url] for url in urls)
    assert (wall.ok, wall.content) == (fetched, b"page" if fetched else b"")
    assert loop.problem
    assert sum(b"/loop" in head for head in heads) == (2 if kept else 1)


async def test_first_page_waits_for_the_crawl_delay_just_learned() -> None:
    times: dict[str, float] = {}

    def answer(head: bytes) -> bytes:
        path = head.split()[1].decode()
        times[path] = time.monotonic()
        return response(b"User-agent: *\nCrawl-delay: 1" if path == "/robots.txt" else b"page")

    async with server(answer) as (port, _):
        config = config_for(port, "fetch.min_crawl_delay=0s")
        pages = [page async for page in scoter.fetch_pages(["http://site.test/a"], config=config)]

    assert [page.ok for page in pages] == [True]
    assert times["/a"] - times["/robots.txt"] >= 1.0


async def test_damaged_and_partial_responses_are_truncated() -> None:
    packed = gzip.compress(b"seals and otters" * 100)
    partial = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/%d\r\nContent-Length: 5\r\n\r\nhello"
    places = {
        "/short": ok(packed[:-9], b"Content-Encoding: gzip"),
        "/whole": ok(packed, b"Content-Encoding: gzip"),
        "/part": partial % 500,
        "/all": partial % 5,
    }
    async with serving({path: (answer, KEEP) for path, answer in places.items()}) as server:
        urls = [f"http://h.test{path}" for path in places]
        pages = {page.asked: page async for page in scoter.fetch_pages(urls, config=config_for(server.port))}

    assert all(page.ok for page in pages.values())
    assert {path: pages[f"http://h.test{path}"].truncated for path in places} == {
        "/short": True,
        "/whole": False,
        "/part": True,
        "/all": False,
    }


async def test_failed_url_is_yielded_with_its_problem(web: SimServer) -> None:
    missing = facts_of(web.web, "not_found")[0]
    denied = next(fact.url for fact in truth(web.web) if fact.verdict.value == "denied")

    async def urls() -> AsyncIterator[str]:
        for text in (missing, denied, "no url", "http://127.0.0.1:80/"):
            yield text

    pages = {page.asked: page async for page in scoter.fetch_pages(urls(), agent="testbot", settings=settings(web))}

    assert (pages[missing].status, pages[missing].problem) == (404, "not_found")
    assert pages[denied].problem.startswith("robots_denied: line ")
    assert "is not a URL" in pages["no url"].problem
    assert pages["http://127.0.0.1:80/"].problem.startswith("refused_address: ")
    assert not any(page.ok for page in pages.values())


async def test_leaving_the_iterator_stops_the_fetch(web: SimServer) -> None:
    urls = facts_of(web.web, "page") * 20
    before = web.ledger.count()

    pages = scoter.fetch_pages(urls, agent="testbot", settings=[*settings(web), "fetch.threads=2"])
    async for page in pages:
        assert page.ok
        break
    await pages.aclose()

    assert web.ledger.count() - before < 200


async def test_silent_source_is_not_a_hung_fetch(web: SimServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "_TICK", 0.01)
    urls = facts_of(web.web, "page")[:3]

    async def slow() -> AsyncIterator[str]:
        for url in urls:
            yield url
            await asyncio.sleep(0.5)

    given = [*settings(web), "fetch.hung_after=200ms"]
    pages = [page async for page in scoter.fetch_pages(slow(), agent="testbot", settings=given)]

    assert [page.asked for page in pages if page.ok] == urls


@pytest.mark.parametrize("count", [30, 300])
async def test_slow_caller_still_gets_all_pages(web: SimServer, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(fetcher, "_TICK", 0.01)
    urls = (facts_of(web.web, "page") * 10)[:count]
    pages = []

    given = [*settings(web), "fetch.hung_after=700ms"]
    async for page in scoter.fetch_pages(urls, agent="testbot", settings=given):
        pages.append(page)
        if len(pages) == 3:
            await asyncio.sleep(1.5)

    assert [page.problem for page in pages] == [""] * count


async def test_pages_that_came_before_the_end_of_a_run_are_read_after_it(web: SimServer) -> None:
    urls = (facts_of(web.web, "page") * 10)[:100]
    reader = _PageStream(load(overrides=["agent.name=testbot", *settings(web)]), hops=0)

    asked = []
    async for page in reader.read(urls):
        asked.append(page.asked)
        if len(asked) == 1:
            await asyncio.sleep(1)
            reader._fetcher.stop(within=0.0)
            await asyncio.sleep(0.1)

    assert sorted(asked) == sorted(urls)


def test_a_program_that_ends_while_pages_are_left_ends(web: SimServer) -> None:
    urls = facts_of(web.web, "page") * 400

    async def read_one() -> None:
        async for page in scoter.fetch_pages(urls, agent="testbot", settings=settings(web)):
            assert page.ok
            break

    program = threading.Thread(target=lambda: asyncio.run(read_one()), daemon=True)
    program.start()
    program.join(10)

    assert not program.is_alive()


async def test_missing_agent_name_is_a_configuration_error(web: SimServer) -> None:
    with pytest.raises(ConfigError, match=r"agent\.name: is not set") as caught:
        async for _ in scoter.fetch_pages(["http://a.test/"], settings=settings(web)):
            pass

    assert 'name = "examplebot"' in str(caught.value)


async def test_single_string_instead_of_urls_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"pass \['http://a\.test/'\] for a single one"):
        async for _ in scoter.fetch_pages("http://a.test/", agent="testbot"):
            pass
