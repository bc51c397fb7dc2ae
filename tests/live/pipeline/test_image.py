from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from tests.live.fakes import PNG, Bench, Script, ScriptedWeb, failed, lasting, moved, page, picture, refresh, simulated

from scoter.core.reply import Reason
from scoter.live.api.records import Archived
from scoter.live.pipeline.context import Context
from scoter.live.records import Related, State

A, B = "http://a.example/", "http://b.example/"
NOTHING: Mapping[str, Script] = MappingProxyType({})
IMAGE = "http://img.example/i.png"
WITH_IMAGE = (
    f'<meta property="og:image" content="{IMAGE}"><meta property="og:image:width" content="900"><title>T</title>'
)


def bench_with(image: Script, html: str = WITH_IMAGE, *, more: Mapping[str, Script] = NOTHING, hops: int = 5) -> Bench:
    return Bench(ScriptedWeb({A: page(html), IMAGE: image, **more}), fetch_image=True, hops=hops)


def related(done: Context) -> Related:
    assert done.record is not None
    assert done.record.related is not None
    return done.record.related


@simulated
async def test_preview_image_is_fetched_for_its_type_and_size() -> None:
    bench = bench_with(picture())

    found = related(await bench.submit(A))

    assert (found.state, found.bytes, found.image.media_type) == (State.OK, len(PNG), "image/png")
    assert (found.image.width, found.image.height) == (3, 4)  # its own, not what the page says
    assert found.archived == Archived("1.warc.gz", 1, len(PNG))


@simulated
async def test_no_image_is_requested_if_switched_off() -> None:
    bench = Bench(ScriptedWeb({A: page(WITH_IMAGE), IMAGE: picture()}), image_rate=0)

    done = await bench.submit(A)

    assert bench.web.asked == [A]
    assert done.record is not None
    assert done.record.related is None


@simulated
async def test_image_redirects_are_followed() -> None:
    bench = bench_with(moved(B), more={B: picture()})

    found = related(await bench.submit(A))

    assert bench.web.asked == [A, IMAGE, B]
    assert found.state is State.OK


@pytest.mark.parametrize("target", [IMAGE, A])
def test_image_redirect_loops_end(target: str) -> None:
    @simulated
    async def check() -> None:
        bench = bench_with(moved(target))

        found = related(await bench.submit(A))

        assert bench.web.asked == [A, IMAGE]
        assert found.state is State.FAILED

    check()


@simulated
async def test_number_of_image_redirects_is_limited() -> None:
    steps = {f"http://img.example/{n}": moved(f"http://img.example/{n + 1}") for n in range(20)}
    bench = Bench(
        ScriptedWeb({A: page(WITH_IMAGE), IMAGE: moved("http://img.example/0"), **steps}), fetch_image=True, hops=3
    )

    found = related(await bench.submit(A))

    assert len(bench.web.asked) == 1 + 4
    assert found.state is State.FAILED


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (page("<title>Not an image</title>"), State.FAILED),
        (page("", 404), State.GONE),
        (failed(Reason.TIMEOUT), State.FAILED),
        (failed(Reason.REFUSED_ADDRESS), State.REFUSED),
    ],
)
def test_invalid_image_does_not_fail_its_page(script: Script, state: State) -> None:
    @simulated
    async def check() -> None:
        bench = bench_with(script)

        done = await bench.submit(A)

        assert done.record is not None
        assert done.record.state is State.OK
        assert (related(done).state, related(done).archived) == (state, None)

    check()


@simulated
async def test_page_is_recorded_without_an_image_that_was_not_fetched() -> None:
    bench = bench_with(failed(Reason.STOPPED))

    done = await bench.submit(A)

    assert done.record is not None
    assert (done.record.state, done.record.related) == (State.OK, None)


@simulated
async def test_image_that_is_the_page_itself_is_not_fetched_again() -> None:
    bench = Bench(ScriptedWeb({A: page(f'<meta property="og:image" content="{A}">')}), fetch_image=True)

    await bench.submit(A)

    assert bench.web.asked == [A]


@simulated
async def test_concurrent_pages_share_the_request_for_their_image() -> None:
    bench = bench_with(picture(), more={B: page(WITH_IMAGE)})
    bench.web.takes = lambda url: 1.0
    entries = [*await bench.open(A), *await bench.open(B)]

    done = await asyncio.gather(*(bench.work(entry) for entry in entries))

    assert bench.web.asked.count(IMAGE) == 1
    assert [related(each).state for each in done] == [State.OK, State.OK]


@simulated
async def test_exchanges_are_archived_in_order_with_message_and_fetch() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: page(WITH_IMAGE), IMAGE: picture()}), fetch_image=True)

    done = await bench.submit(A)

    assert bench.content.kept == [("m1", done.fetch, [A, B, IMAGE])]
    assert done.record is not None
    assert done.record.archived is not None
    assert done.record.archived.offset == 1
    assert related(done).archived is not None


@simulated
async def test_known_and_joined_urls_are_not_archived_again() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    entries = [*await bench.open(A), *await bench.open(A)]
    await asyncio.gather(*(bench.work(entry) for entry in entries))

    await bench.submit(A)

    assert len(bench.content.kept) == 1


@pytest.mark.parametrize(
    "script",
    [
        page('<meta name="robots" content="noarchive"><title>T</title>'),
        page(x_robots_tag="noarchive"),
        page("video", content_type="video/mp4", x_robots_tag="testbot: noarchive"),
    ],
)
def test_noarchive_page_is_not_archived(script: Script) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({A: moved(B), B: script}))

        done = await bench.submit(A)

        assert [kept[2] for kept in bench.content.kept] == [[A]]
        assert done.record is not None
        assert (done.record.state, done.record.archived) == (State.OK, None)

    check()


@simulated
async def test_noarchive_page_with_refresh_is_not_archived() -> None:
    onward = f'<meta name="robots" content="noarchive"><meta http-equiv="refresh" content="0; url={B}">'
    bench = Bench(ScriptedWeb({A: page(onward), B: page()}))

    await bench.submit(A)

    assert [kept[2] for kept in bench.content.kept] == [[B]]


@simulated
async def test_image_of_a_noarchive_page_is_not_archived() -> None:
    bench = bench_with(picture(), f'<meta name="robots" content="noarchive">{WITH_IMAGE}')

    done = await bench.submit(A)

    assert bench.content.kept == []
    assert related(done).state is State.OK


@simulated
async def test_failure_after_a_redirect_has_no_archive_location() -> None:
    bench = Bench(ScriptedWeb({A: moved(B), B: failed(Reason.TIMEOUT)}))

    done = await bench.submit(A)

    assert [kept[2] for kept in bench.content.kept] == [[A]]
    assert done.record is not None
    assert done.record.archived is None


@simulated
async def test_stages_are_timed_and_waiting_is_separate() -> None:
    answers = {A: refresh(B), B: page(WITH_IMAGE), IMAGE: picture()}
    web = ScriptedWeb({url: lasting(1.25, script) for url, script in answers.items()}, takes=2)
    web.waited = 0.5
    bench = Bench(web, fetch_image=True)
    bench.content.takes = 1

    done = await bench.submit(A)
    known = await bench.submit(A)

    assert [name for name, _ in done.timings] == ["known", "resolve", "related", "archive", "conclude", "record"]
    timings = dict(done.timings)
    assert (timings["resolve"], timings["related"], timings["archive"]) == (4, 2, 1)
    assert (done.waited, done.remote) == pytest.approx((3 * 0.5, 3 * 1.25))
    assert [name for name, _ in known.timings] == ["known", "record"]
    assert (known.waited, known.remote) == (0, 0)
