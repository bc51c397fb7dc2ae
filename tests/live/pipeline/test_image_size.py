from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.live.fakes import PNG, Bench, Script, ScriptedWeb, failed, moved, page, picture, simulated, ticks

from scoter.core.metadata import Image
from scoter.core.reply import Reason, Reply, Truncation
from scoter.core.url import Url
from scoter.live.api.records import DomainRule
from scoter.live.pipeline.context import Context
from scoter.live.records import Priority, State

A, B = "http://a.example/", "http://b.example/"
IMAGE = "http://img.example/i.png"
JSON = f'{{"@type":"Article","image":{{"@type":"ImageObject","url":"{IMAGE}","width":900,"height":600}}}}'
TAG = f'<title>T</title><meta property="og:image" content="{IMAGE}">'


def bench_with(image: Script, html: str = TAG, **live: Any) -> Bench:
    return Bench(ScriptedWeb({A: page(html), B: page(html), IMAGE: image}), **live)


def part_of(script: Script) -> Script:
    def answer(url: Url) -> Reply:
        reply = script(url)
        assert reply.exchange is not None
        return replace(reply, exchange=replace(reply.exchange, truncation=Truncation.UNSPECIFIED))

    return answer


def image_of(done: Context) -> Image:
    assert done.record is not None
    assert done.record.metadata is not None
    assert done.record.metadata.image is not None
    return done.record.metadata.image


def sides(done: Context) -> tuple[int | None, int | None]:
    return image_of(done).width, image_of(done).height


@simulated
async def test_first_bytes_of_an_image_give_its_size_by_default() -> None:
    bench = bench_with(part_of(picture(content_range="bytes 0-32767/70000", content_length="32768")))

    done = await bench.submit(A)

    assert (*sides(done), image_of(done).media_type) == (3, 4, "image/png")
    assert bench.web.asked == [A, IMAGE]
    assert 16 * 1024 <= bench.web.first_bytes[IMAGE] <= 64 * 1024
    assert bench.web.priorities[-1] is Priority.BULK
    assert done.record is not None
    assert done.record.related is not None
    assert (done.record.related.state, done.record.related.bytes) == (State.OK, 70_000)
    assert bench.content.kept[0][2] == [A]  # a part of an image is not archived
    assert bench.known(A) == done.record


@pytest.mark.parametrize(
    "html",
    [
        f'{TAG}<meta property="og:image:width" content="900"><meta property="og:image:height" content="600">',
        f'{TAG}<script type="application/ld+json">{JSON}</script>',
        f'{TAG}<p><img src="{IMAGE}" width="900" height="600">',
    ],
)
def test_size_that_the_page_states_needs_no_request(html: str) -> None:
    @simulated
    async def check() -> None:
        bench = bench_with(picture(), html)

        done = await bench.submit(A)

        assert sides(done) == (900, 600)
        assert bench.web.asked == [A]

    check()


@simulated
async def test_record_waits_for_its_image_only_for_a_while() -> None:
    bench = bench_with(picture(), image_wait=timedelta(seconds=2))
    bench.web.takes = lambda url: 60.0 if url == IMAGE else 0.0

    done = await bench.submit(A)

    assert ticks() == 2
    assert sides(done) == (None, None)
    assert done.waited == 2
    assert bench.web.cancelled == [IMAGE]
    assert bench.known(A) == done.record


@pytest.mark.parametrize("seconds", [2.0, float("inf")])
def test_image_of_a_busy_domain_is_not_requested(seconds: float) -> None:
    @simulated
    async def check() -> None:
        bench = bench_with(picture(), image_wait=timedelta(seconds=2))
        bench.web.slots[IMAGE] = seconds

        done = await bench.submit(A)

        assert bench.web.asked == [A]
        assert sides(done) == (None, None)

    check()


@simulated
async def test_image_requests_have_a_rate_limit() -> None:
    urls = [f"http://a{n}.example/" for n in range(30)]
    tags = {url: page(f'<meta property="og:image" content="{url}i.png">') for url in urls}
    bench = Bench(ScriptedWeb({**tags, **{f"{url}i.png": picture() for url in urls}}), image_rate=10)

    async def submitted(part: list[str]) -> int:
        done = [await bench.submit(url) for url in part]
        return sum(sides(each) == (3, 4) for each in done)

    assert await submitted(urls[:20]) == 10
    await asyncio.sleep(0.5)
    assert await submitted(urls[20:]) == 5


@simulated
async def test_pages_with_the_same_image_request_it_once() -> None:
    bench = bench_with(picture())
    bench.web.takes = lambda url: 1.0
    entries = [*await bench.open(A), *await bench.open(B)]
    done = await asyncio.gather(*(bench.work(entry) for entry in entries))
    bench.web.answers["http://c.example/"] = page(TAG)

    late = await bench.submit("http://c.example/")

    assert [sides(each) for each in (*done, late)] == [(3, 4)] * 3
    assert bench.web.asked.count(IMAGE) == 1


@simulated
async def test_image_that_was_submitted_itself_is_fetched_whole() -> None:
    bench = bench_with(picture())
    await bench.submit(A)

    done = await bench.submit(IMAGE)

    assert bench.web.first_bytes[IMAGE] == 0
    assert done.record is not None
    assert done.record.length == len(PNG)


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (page("<title>Not an image</title>"), State.FAILED),
        (page("", 404), State.GONE),
        (failed(Reason.REFUSED_ADDRESS), State.REFUSED),
        (moved("ftp://img.example/i.png"), State.REFUSED),
        (moved(IMAGE), State.FAILED),
    ],
)
def test_image_that_cannot_be_read_is_reported_and_not_requested_again(script: Script, state: State) -> None:
    @simulated
    async def check() -> None:
        bench = bench_with(script)

        done = [await bench.submit(A), await bench.submit(B)]

        for each in done:
            assert each.record is not None
            assert each.record.state is State.OK
            assert each.record.related is not None
            assert each.record.related.state is state
        assert bench.web.asked[1:].count(IMAGE) == 1

    check()


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.STOPPED])
def test_failure_that_may_pass_is_not_remembered(reason: Reason) -> None:
    @simulated
    async def check() -> None:
        bench = bench_with(failed(reason))

        first = await bench.submit(A)
        bench.web.answers[IMAGE] = picture()
        second = await bench.submit(B)

        assert first.record is not None
        assert first.record.related is None
        assert sides(second) == (3, 4)

    check()


@simulated
async def test_redirected_image_is_measured() -> None:
    bench = bench_with(moved(B + "i.png"))
    bench.web.answers[B + "i.png"] = picture()

    assert sides(await bench.submit(A)) == (3, 4)


@simulated
async def test_image_of_a_blocked_domain_is_not_requested() -> None:
    bench = bench_with(picture())
    await bench.stores.rules.put(DomainRule(domain="img.example", blocked=True))

    await bench.submit(A)

    assert bench.web.asked == [A]
