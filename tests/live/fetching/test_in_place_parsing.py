"""Workers parse pages without delaying other requests."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fetch.hostile import KEEP, ok, serving
from tests.live.fakes import PNG, Bench, ScriptedWeb, exchange, simulated
from tests.live.fakes import page as script
from tests.live.fetching.webs import config_for

from scoter.core.metadata import PageMetadata
from scoter.core.reply import Exchange, Fetched, Request
from scoter.core.url import canonical
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.fetching.process import InPlaceParser
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.ports import HopReply
from scoter.live.records import ContentKind, ContentSummary, Priority
from scoter.parse import ContentParser
from scoter.plugins import installed

HTML = b"Content-Type: text/html; charset=utf-8"
PAGE = b"""<!doctype html><title>A page</title><link rel="canonical" href="/it">
<meta property="article:published_time" content="2026-03-01T08:00:00+02:00">
<meta name="robots" content="noarchive"><p>Words."""
DEADLY = """
    import os, signal
    from scoter.core.page import Page

    class Some:
        media_types = ("text/html",)

        def __init__(self, setup): pass
        def in_place(self, content): return True

        def parse(self, content):
            if b"deadly" in content.body:
                os.kill(os.getpid(), signal.SIGKILL)
            return [Page(url=content.url)]
"""
ONE = exchange(canonical("http://a.example/"))
READ = ContentSummary(media_type="text/html", kind=ContentKind.PAGE, size=1)


async def ask(fetchers: WorkerDispatcher, path: str, *, is_read: bool = True) -> HopReply:
    request = Request(url=canonical(f"http://a.example/{path}"))
    return await fetchers.fetch(request, Priority.NORMAL, is_read=is_read)


async def test_worker_parses_small_pages_on_request(tmp_path: Path) -> None:
    pages = {
        "/page": (ok(PAGE, HTML), KEEP),
        "/long": (ok(b"<svg>" + b"<div/>" * 9_000, HTML), KEEP),
        "/data": (ok(PNG, b"Content-Type: application/x-unheard-of"), KEEP),
        "/gone": (b"HTTP/1.1 404 No\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>", KEEP),
    }
    async with serving(pages) as server:
        config = config_for(server.port, "parse.metadata=true", "live.about_size=1KiB")
        async with WorkerDispatcher(config, tmp_path) as fetchers:
            page, unasked = await ask(fetchers, "page"), await ask(fetchers, "page", is_read=False)
            others = [await ask(fetchers, path) for path in ("long", "gone", "data")]

    assert page.read is not None
    assert page.read.about is not None
    assert (page.read.kind, page.read.size, page.read.noarchive) == (ContentKind.PAGE, len(PAGE), True)
    assert page.read.about.canonical == "http://a.example/it"
    assert str(page.read.about.published) == "2026-03-01 06:00:00+00:00"
    assert isinstance(page.reply, Fetched)
    assert page.reply.exchange.body == PAGE
    with ContentParser(config) as parsing:
        assert page.read == await ResponseParser(config, parsing)(page.reply.exchange)
    assert [answer.read for answer in (unasked, *others[:2])] == [None] * 3
    assert others[2].read is not None
    assert others[2].read.kind in (ContentKind.OTHER, ContentKind.IMAGE)


class ReadingWeb(ScriptedWeb):
    """A web whose pages come parsed, with a wrong title."""

    async def fetch(self, request: Request, priority: Priority, *, is_read: bool = False) -> HopReply:
        answer = await super().fetch(request, priority)
        return replace(answer, read=replace(READ, about=PageMetadata(title="As read there"))) if is_read else answer


@simulated
async def test_page_parsed_by_a_worker_is_not_parsed_again() -> None:
    bench = Bench(ReadingWeb({"http://a.example/": script("<title>As it is</title>")}))

    done = await bench.submit("http://a.example/")

    assert done.record is not None
    assert done.record.metadata == PageMetadata(title="As read there")


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a parser that kills its process."""
    (tmp_path / "deadly.py").write_text(textwrap.dedent(DEADLY))
    info = tmp_path / "deadly-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scoter.parser]\ndeadly = deadly:Some\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    yield
    installed.cache_clear()


@pytest.mark.usefixtures("deadly")
async def test_page_that_crashes_its_parser_ends_one_worker_and_is_parsed_in_a_separate_process(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    pages = {"/deadly": (ok(b"<p>deadly", HTML), KEEP), "/fine": (ok(b"<p>fine", HTML), KEEP)}

    async with serving(pages) as server:
        config = config_for(server.port, 'parse.parsers=["deadly"]', "live.processes=1")
        async with WorkerDispatcher(config, folder) as fetchers:
            found, fine = await ask(fetchers, "deadly"), await ask(fetchers, "fine")
            restarts = fetchers.snapshot().restarts
    assert isinstance(found.reply, Fetched)
    with ContentParser(config) as parsing:
        read = await ResponseParser(config, parsing)(found.reply.exchange, apart=found.has_crashed_worker)

    assert restarts == 1
    assert (found.read, found.has_crashed_worker) == (None, True)
    assert read.problem.startswith("crash")
    assert fine.read is not None


async def test_event_loop_runs_between_slow_pages() -> None:
    now, seen = 0.0, []

    def at_once(one: Exchange) -> ContentSummary | None:
        nonlocal now
        now += 1.0
        seen.append("page")
        return READ

    async def others() -> None:
        for _ in range(4):
            seen.append("others")
            await asyncio.sleep(0)

    reading = InPlaceParser(at_once, lambda: now)

    await asyncio.gather(*(reading(ONE) for _ in range(4)), others())

    assert not [two for two in pairwise(seen) if two == ("page", "page")], seen


async def test_short_pages_are_parsed_without_yielding() -> None:
    steps: list[str] = []
    reading = InPlaceParser(lambda one: steps.append("page") or READ, lambda: 0.0)  # type: ignore[func-returns-value]
    asyncio.get_running_loop().call_soon(steps.append, "others")

    found = [await reading(ONE) for _ in range(50)]

    assert (found, steps) == ([READ] * 50, ["page"] * 50)


async def test_most_urgent_page_is_parsed_first() -> None:
    order: list[int] = []
    reading = InPlaceParser(lambda one: order.append(one.status) or READ, lambda: float(len(order)))  # type: ignore[func-returns-value]
    # The first one ends before the second one comes; the others wait for the second.
    given = [(1, Priority.NORMAL), (2, Priority.NORMAL), (3, Priority.BULK), (4, Priority.NORMAL), (5, Priority.PERSON)]
    pages = [asyncio.create_task(reading(replace(ONE, status=number), priority)) for number, priority in given]
    blocked = asyncio.create_task(reading(ONE, Priority.PERSON))
    await asyncio.sleep(0)
    blocked.cancel()

    await asyncio.gather(*pages)

    assert order == [1, 2, 5, 4, 3]
    assert await reading(ONE) == READ


@pytest.mark.parametrize("error", [MemoryError(), ValueError("a defect")])
async def test_unparsable_page_is_left_to_the_core(error: Exception) -> None:
    def at_once(one: Exchange) -> ContentSummary | None:
        if one.status == 201:
            raise error
        return READ

    reading = InPlaceParser(at_once)

    assert await reading(replace(ONE, status=201)) is None
    assert await reading(ONE) == READ
