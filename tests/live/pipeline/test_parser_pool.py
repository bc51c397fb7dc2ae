"""Which page gets a parser process next, and what happens to those that exceed a limit."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from tests.parse.contents import content

from scoter.config import load
from scoter.core.page import Content, Page
from scoter.live.pipeline.parser_pool import DEMOTED_FOR, PATIENCE, ParserPool
from scoter.live.records import Priority
from scoter.parse import Parsed, ParseFailed
from scoter.parse.records import ParseOutcome

PERSON, NORMAL, BULK = Priority


class PagesInProcess:
    """Which pages have started, in order, and which may end."""

    def __init__(self, pool_size: int) -> None:
        self.now = 0.0
        self.started: list[str] = []
        self.priorities: dict[str, Priority] = {}
        self._changed = threading.Condition()
        self._ended: dict[str, ParseOutcome] = {}
        self._tasks: dict[str, asyncio.Task[ParseOutcome]] = {}
        self.pool = ParserPool([FakeProcess(self) for _ in range(pool_size)], timedelta(seconds=2), lambda: self.now)

    def add(self, name: str, domain: str, priority: Priority = NORMAL, size: int = 100) -> None:
        """Submit a page, whose body starts with its name."""
        body = name.encode().ljust(size)
        self.priorities[name] = priority
        parse = self.pool.parse(content(body), domain, lambda: self.priorities[name])
        self._tasks[name] = asyncio.create_task(parse)

    async def end(self, name: str, outcome: ParseOutcome | None = None) -> None:
        """End the parse of a page, and wait until its caller has the result."""
        with self._changed:
            self._ended[name] = outcome or Parsed((Page(url=content(b"").url),))
            self._changed.notify_all()
        assert await self._tasks[name] == self._ended[name]

    async def end_all(self) -> None:
        while unfinished := [name for name in await self.so_far() if not self._tasks[name].done()]:
            await self.end(unfinished[0])

    def cancel(self, name: str) -> None:
        self._tasks[name].cancel()

    async def so_far(self) -> list[str]:
        """Return the pages that have started, once all free processes are at work; two may start at the same time."""
        for _ in range(3):
            await asyncio.sleep(0)
        running = self.pool._running.total()
        done = sum(task.done() and not task.cancelled() for task in self._tasks.values())
        assert await asyncio.to_thread(self._wait_for, running + done)
        return list(self.started)

    def _wait_for(self, count: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.started) >= count, 60)

    def parse(self, name: str) -> ParseOutcome:
        with self._changed:
            self.started.append(name)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: name in self._ended, 60)
            return self._ended[name]


class FakeProcess:
    pid = None

    def __init__(self, pages: PagesInProcess) -> None:
        self._pages = pages

    def parse(self, given: Content) -> ParseOutcome:
        return self._pages.parse(given.body.decode().strip())

    def close(self) -> None:
        pass


@asynccontextmanager
async def processes(count: int) -> AsyncIterator[PagesInProcess]:
    pages = PagesInProcess(count)
    yield pages
    await pages.end_all()
    pages.pool.close()


async def test_most_urgent_page_is_parsed_first() -> None:
    async with processes(1) as pages:
        for name, priority in (("first", NORMAL), ("bulk", BULK), ("normal", NORMAL), ("person", PERSON)):
            pages.add(name, f"{name}.example", priority)
            await pages.so_far()
    assert pages.started == ["first", "person", "normal", "bulk"]


async def test_page_that_a_person_begins_to_wait_for_overtakes_others() -> None:
    async with processes(1) as pages:
        for name in ("first", "second", "third"):
            pages.add(name, f"{name}.example", BULK)
            await pages.so_far()
        pages.priorities["third"] = PERSON
    assert pages.started == ["first", "third", "second"]


async def test_one_process_is_reserved_for_people() -> None:
    async with processes(3) as pages:
        for number in range(5):
            pages.add(f"hostile {number}", f"h{number}.example")
        assert sorted(await pages.so_far()) == ["hostile 0", "hostile 1"]

        pages.add("feed", "feed.example", PERSON)

        assert (await pages.so_far())[2:] == ["feed"]


async def test_small_page_does_not_wait_for_large_ones_of_other_domains() -> None:
    async with processes(2) as pages:
        for number in range(5):
            pages.add(f"hostile {number}", f"h{number}.example", PERSON, size=10_000)
        await pages.so_far()
        pages.add("feed", "feed.example", PERSON)
        await pages.end("hostile 0")

        assert (await pages.so_far())[2:] == ["feed"]


async def test_domain_never_has_all_processes() -> None:
    async with processes(3) as pages:
        for number in range(5):
            pages.add(f"one {number}", "one.example", PERSON)
        assert sorted(await pages.so_far()) == ["one 0", "one 1"]

        pages.add("other", "other.example", PERSON)

        assert (await pages.so_far())[2:] == ["other"]


@pytest.mark.parametrize("reason", ["cpu", "timeout", "memory", "crash"])
async def test_domain_of_a_page_that_exceeds_a_limit_comes_last(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    async with processes(1) as pages:
        pages.add("hostile", "bad.example", PERSON)
        await pages.so_far()
        pages.add("bad", "bad.example", PERSON)
        pages.add("bulk", "good.example", BULK)
        await pages.so_far()
        with caplog.at_level(logging.WARNING):
            await pages.end("hostile", ParseFailed(reason, "after 2 s of CPU time"))
        await pages.so_far()
        pages.add("later", "good.example", BULK)
        await pages.so_far()
    assert pages.started == ["hostile", "bulk", "later", "bad"]
    assert f"{reason} after 2 s of CPU time; pages of bad.example come last" in caplog.text


async def test_demoted_domains_get_one_process_at_a_time_until_the_demotion_ends() -> None:
    async with processes(4) as pages:
        for name in ("a", "b"):
            pages.add(name, f"{name}.example", PERSON)
            await pages.so_far()
            await pages.end(name, ParseFailed("cpu"))
        pages.add("a again", "a.example", PERSON)
        pages.add("b again", "b.example", PERSON)
        assert (await pages.so_far())[2:] == ["a again"]

        pages.now += DEMOTED_FOR
        pages.add("c", "c.example")

        assert sorted((await pages.so_far())[3:]) == ["b again", "c"]


async def test_page_that_has_waited_long_gets_its_turn() -> None:
    async with processes(1) as pages:
        pages.add("hostile", "bad.example")
        await pages.so_far()
        await pages.end("hostile", ParseFailed("cpu"))
        pages.add("first", "good.example")
        await pages.so_far()
        pages.add("old", "bad.example", BULK)
        await pages.so_far()
        pages.now += PATIENCE + 1
        pages.add("new", "good.example", PERSON)
        await pages.so_far()
    assert pages.started == ["hostile", "first", "old", "new"]


async def test_page_of_a_cancelled_caller_is_not_parsed() -> None:
    async with processes(1) as pages:
        for name in ("first", "cancelled", "last"):
            pages.add(name, f"{name}.example")
        await pages.so_far()
        pages.cancel("cancelled")
    assert pages.started == ["first", "last"]


async def test_cpu_time_is_limited_whatever_the_wall_time(caplog: pytest.LogCaptureFixture) -> None:
    # Without filters: the one for languages loads its model with the first page.
    config = load(overrides=["live.parse_cpu=200ms", "live.parsers=1", "parse.metadata=true", "parse.filters=[]"])
    hostile = content(b"<svg>" + b"<div/>" * 60_000)
    with ParserPool.of(config) as pool:
        outcome = await pool.parse(hostile, "a.example", lambda: NORMAL)
        good = await pool.parse(content(b"<title>Seals</title>"), "b.example", lambda: NORMAL)

    assert isinstance(outcome, ParseFailed)
    assert (outcome.reason, outcome.detail) == ("cpu", "after 0.2 s of CPU time")
    assert isinstance(good, Parsed)
    assert good.page.title == "Seals"
    assert "cannot parse http" in caplog.text
