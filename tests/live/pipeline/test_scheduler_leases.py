"""Leases of entries: renewed while under way, returned, lost to others, and never recorded twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from tests.live.fakes import READER, Bench, ScriptedWeb, page, simulated, ticks, until_idle
from tests.live.memory.journal import MemoryJournal

from scoter.live.pipeline.context import Context
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.ports import JournalEntry

A, B = "http://a.example/", "http://b.example/"
LEASE = timedelta(seconds=30)
T = TypeVar("T")


def sites(count: int) -> list[str]:
    return [f"http://site{n}.example/" for n in range(count)]


@simulated
async def test_stop_returns_entries_under_way() -> None:
    bench = Bench(ScriptedWeb({A: page(), B: page()}, takes=100))
    await bench.accept(A, B)
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)

    scheduler.stop()
    await run

    entries = await bench.stores.journal.open("other", 10, LEASE)
    assert [(entry.url, entry.tries) for entry in entries] == [(A, 0), (B, 0)]
    assert sorted(bench.web.cancelled) == [A, B]
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_lease_is_renewed_during_a_long_fetch() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=200))
    await bench.accept(A)

    await until_idle(bench, bench.scheduler("one"), bench.scheduler("two"))

    assert bench.web.asked == [A]
    assert [event.url for event in bench.events] == [A]


async def begun_and_lent_to_another(takes: float) -> tuple[Bench, Scheduler, asyncio.Task[None]]:
    """Return a scheduler that started a fetch a second ago, whose entry another reader holds now."""
    bench = Bench(ScriptedWeb({A: page()}, takes=takes))
    await bench.accept(A)
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)
    (entry,) = bench.stores.journal._lent.values()
    entry.reader = "another"
    return bench, scheduler, run


@simulated
async def test_entry_leased_to_another_reader_is_given_up() -> None:
    bench, scheduler, run = await begun_and_lent_to_another(takes=100)

    await asyncio.sleep(15)

    assert bench.web.cancelled == [A]
    assert (scheduler.under_way, bench.done) == (0, [])
    scheduler.stop()
    await run


@simulated
async def test_held_entry_that_was_lost_can_be_leased_again() -> None:
    urls = [f"http://slow.example/{n}" for n in range(4)]
    bench = Bench(ScriptedWeb(takes=100))
    await bench.accept(*urls)
    scheduler = bench.scheduler(most_of_domain=1)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)
    assert scheduler.held == 3
    for entry in list(bench.stores.journal._lent.values())[1:]:
        entry.reader = "another"  # whose leases run out: nobody prolongs them

    await asyncio.sleep(15)
    assert scheduler.held == 0
    await asyncio.sleep(30)
    assert scheduler.held == 3
    await asyncio.sleep(400)

    assert bench.web.asked == urls
    assert len(bench.events) == 4
    scheduler.stop()
    await run


class Written:
    """A journal that returns the results of changes a moment later, like a writer thread."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        return await self._told(await self._journal.open(reader, most, lease))

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        return await self._told(await self._journal.renew(reader, entries, lease))

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        await self._journal.abort(reader, entries)
        await self._told(None)

    async def _told(self, result: T) -> T:
        await asyncio.sleep(0.005)
        return result


@pytest.mark.parametrize("at", [1.0, 5.0, 9.9])
def test_work_continues_after_the_process_was_paused_for_longer_than_a_lease(at: float) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({url: page() for url in sites(300)}, takes=100))
        await bench.accept(*sites(300))
        journal: Any = Written(bench.stores.journal)
        scheduler = Scheduler(
            READER, journal, bench.pipeline, most=301, most_of_domain=10, lease=LEASE, steady_clock=ticks
        )
        run = asyncio.create_task(scheduler.run())
        await asyncio.sleep(at)

        asyncio.get_running_loop().now += 45  # type: ignore[attr-defined]
        await asyncio.sleep(300)

        assert sorted(bench.web.asked) == sorted(sites(300))
        assert bench.web.cancelled == []
        assert len(bench.events) == 300
        scheduler.stop()
        await run

    check()


@simulated
async def test_entry_leased_again_before_cancellation_continues() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=100))
    await bench.accept(A)
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(9.9)
    # Another took it back, since its time was over. Leases are prolonged first, and then the journal is looked at.
    bench.stores.journal._wait(next(iter(bench.stores.journal._lent.values())))

    await asyncio.sleep(200)

    assert (bench.web.asked, bench.web.cancelled) == ([A], [])
    assert len(bench.events) == 1
    scheduler.stop()
    await run


@simulated
async def test_entry_recorded_just_before_renewal_is_reported() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=9.9))
    await bench.accept(A)

    async def late(context: Context) -> Context:
        done = await bench.pipeline(context)
        await asyncio.sleep(0.2)  # in which leases are prolonged, a third of a lease after the start
        return done

    scheduler = bench.scheduler(pipeline=late)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(12)

    assert [done.url.text for done in bench.done] == [A]
    scheduler.stop()
    await run


@simulated
async def test_lost_entry_is_not_reported() -> None:
    bench, scheduler, run = await begun_and_lent_to_another(takes=5)

    await asyncio.sleep(6)

    assert (scheduler.under_way, bench.done, list(bench.events)) == (0, [], [])
    scheduler.stop()
    await run


@simulated
async def test_two_schedulers_record_everything_once() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(60)}, takes=1))
    await bench.accept(*sites(60))

    await until_idle(bench, bench.scheduler("one", most=5), bench.scheduler("two", most=5))

    assert sorted(event.url for event in bench.events) == sorted(sites(60))
    assert sorted(bench.web.asked) == sorted(sites(60))
