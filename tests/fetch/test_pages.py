"""The library face, on the synthetic web."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

import scoter
from scoter.core.url import canonical
from scoter.errors import ConfigError
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


async def test_redirects_are_followed_and_told(web: SimServer) -> None:
    urls = facts_of(web.web, "moved")

    pages = [page async for page in scoter.fetch_pages(urls, agent="testbot", settings=settings(web))]

    assert len(pages) == len(urls)
    arrived = [page for page in pages if page.ok]
    assert arrived
    for page in arrived:
        assert page.hops[0] == canonical(page.asked).text
        assert page.url != page.hops[0]


async def test_what_fails_is_yielded_with_its_problem(web: SimServer) -> None:
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


async def test_whoever_stops_reading_stops_the_fetching(web: SimServer) -> None:
    urls = facts_of(web.web, "page") * 20
    before = web.ledger.count()

    pages = scoter.fetch_pages(urls, agent="testbot", settings=[*settings(web), "fetch.threads=2"])
    async for page in pages:
        assert page.ok
        break
    await pages.aclose()

    assert web.ledger.count() - before < 200


async def test_without_a_name_nothing_is_fetched(web: SimServer) -> None:
    with pytest.raises(ConfigError, match=r"agent\.name: is not set") as caught:
        async for _ in scoter.fetch_pages(["http://a.test/"], settings=settings(web)):
            pass

    assert 'name = "examplebot"' in str(caught.value)
