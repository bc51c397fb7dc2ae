"""URLs wait while the archive or the database cannot be written."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.live.fakes import READER, Bench, ScriptedWeb, clock, page, simulated, ticks, until_idle
from tests.live.memory.journal import MemoryJournal
from tests.live.memory.stores import MemoryStores

from scoter.config.sections.live import LiveSettings
from scoter.errors import ContentUnavailable, StoreUnavailable, Unavailable
from scoter.live.pipeline.limits import LONGEST, StoragePause
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.ports import Accepted, JournalEntry, OutcomeRecorder, UrlOutcome
from scoter.live.records import Event, Message, Priority

SITES = [f"http://site{n}.example/" for n in range(30)]
LEASE = timedelta(seconds=30)
FULL = StoreUnavailable("database or disk is full")


class Locked:
    """A journal and a recorder in one database, which another process can lock."""

    def __init__(self, journal: MemoryJournal, outcomes: OutcomeRecorder) -> None:
        self._journal = journal
        self._outcomes = outcomes
        self.error: Unavailable | None = None

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        self._check()
        return await self._journal.accept(messages)

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        self._check()
        return await self._journal.open(reader, most, lease)

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        self._check()
        return await self._journal.renew(reader, entries, lease)

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        self._check()
        await self._journal.abort(reader, entries)

    def depth(self) -> dict[Priority, int]:
        return dict(self._journal.depth())

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        self._check()
        return await self._outcomes.record(reader, done)


def bench_of(most_tries: int = 2, takes: float = 1.0) -> Bench:
    web = ScriptedWeb({url: page() for url in SITES}, takes=takes)
    return Bench(web, stores=MemoryStores(clock=clock, steady_clock=ticks, live=LiveSettings(tries=most_tries)))


@pytest.mark.slow
@simulated
async def test_full_archive_never_fails_a_url() -> None:
    bench = bench_of()
    scheduler = bench.scheduler(pause=StoragePause(steady_clock=ticks))
    run = asyncio.create_task(scheduler.run())
    bench.content.defect = ContentUnavailable("No space left on device")
    await bench.accept(*SITES)
    await asyncio.sleep(4 * 3600)
    assert list(bench.events) == []
    assert scheduler.trouble == "No space left on device"

    bench.content.defect = None
    await asyncio.sleep(60)

    assert Counter(event.url for event in bench.events) == Counter(SITES)
    assert {event.record.state for event in bench.events} == {"ok"}
    assert scheduler.trouble == ""
    scheduler.stop()
    await run


@simulated
async def test_full_archive_allows_few_requests() -> None:
    bench = bench_of()
    scheduler = bench.scheduler(most=1000, pause=StoragePause(steady_clock=ticks))
    run = asyncio.create_task(scheduler.run())
    bench.content.defect = ContentUnavailable("No space left on device")
    await bench.accept(*SITES)

    await asyncio.sleep(3600)

    # Each URL once before the failure is known, then one URL per trial.
    assert len(bench.web.asked) <= len(SITES) + 10 + 3600 / LONGEST
    scheduler.stop()
    await run


@simulated
async def test_held_entries_are_returned_and_keep_their_order() -> None:
    urls = [f"http://one.example/{n:02}" for n in range(20)]
    bench = Bench(ScriptedWeb({url: page() for url in urls}, takes=1))
    scheduler = bench.scheduler(most=10, most_of_domain=2, pause=StoragePause(steady_clock=ticks))
    bench.content.defect = ContentUnavailable("No space left on device")
    await bench.accept(*urls)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(20)
    assert scheduler.held == 0
    assert len(bench.web.asked) < 10

    bench.content.defect = None
    await asyncio.sleep(120)

    assert sorted(event.url for event in bench.events) == urls
    scheduler.stop()
    await run


@pytest.mark.parametrize("lasting", [7.0, 45.0, 3600.0])
def test_locked_database_does_not_count_as_a_try(lasting: float) -> None:
    @simulated
    async def check() -> None:
        bench = bench_of(most_tries=2, takes=20)
        locked = Locked(bench.stores.journal, bench.stores.outcomes)
        bench.outcomes = locked  # type: ignore[assignment]
        scheduler = Scheduler(
            READER, locked, bench.pipeline_of(READER), most=10, lease=LEASE, pause=StoragePause(steady_clock=ticks)
        )
        run = asyncio.create_task(scheduler.run())
        await bench.accept(*SITES)
        for _ in range(5):
            await asyncio.sleep(5)
            locked.error = FULL
            await asyncio.sleep(lasting)
            locked.error = None
        await asyncio.sleep(600)

        assert Counter(event.url for event in bench.events) == Counter(SITES)
        assert {event.record.state for event in bench.events} == {"ok"}
        scheduler.stop()
        await run

    check()


@simulated
async def test_known_urls_do_not_end_the_pause_for_the_archive() -> None:
    bench = bench_of()
    await bench.accept(SITES[0])
    await until_idle(bench, bench.scheduler())
    scheduler = bench.scheduler(pause=StoragePause(steady_clock=ticks))
    run = asyncio.create_task(scheduler.run())
    bench.content.defect = ContentUnavailable("No space left on device")
    await bench.accept(*SITES[1:])
    for _ in range(100):
        await bench.accept(SITES[0], priority=Priority.PERSON)
        await asyncio.sleep(10)

    assert scheduler.trouble
    assert len(bench.web.asked) < 30 + 110
    scheduler.stop()
    await run


@simulated
async def test_known_urls_are_answered_during_a_pause_and_trials_continue() -> None:
    known = [f"http://known{n}.example/" for n in range(100)]
    bench = bench_of()
    bench.web.answers.update({url: page() for url in known})
    await bench.accept(*known)
    await until_idle(bench, bench.scheduler(most=100))
    scheduler = bench.scheduler(pause=StoragePause(steady_clock=ticks))
    run = asyncio.create_task(scheduler.run())
    bench.content.defect = ContentUnavailable("No space left on device")
    await bench.accept(*SITES)
    await asyncio.sleep(60)
    await bench.accept(*known, priority=Priority.PERSON)

    await asyncio.sleep(300)  # one in eight trials is of those that have waited for long, and fails
    assert Counter(event.url for event in bench.events) == Counter(known * 2)
    bench.content.defect = None
    await asyncio.sleep(60)

    assert Counter(event.url for event in bench.events) == Counter(known * 2 + SITES)
    scheduler.stop()
    await run


@simulated
async def test_missed_renewals_are_made_up_before_entries_are_opened() -> None:
    bench = bench_of(most_tries=1, takes=100)
    locked = Locked(bench.stores.journal, bench.stores.outcomes)
    pause = StoragePause(steady_clock=ticks)
    scheduler = Scheduler(READER, locked, bench.pipeline, most=10, lease=LEASE, pause=pause)
    run = asyncio.create_task(scheduler.run())
    await bench.accept(*SITES[:5])
    await asyncio.sleep(5)
    locked.error = FULL
    await asyncio.sleep(28)  # the next look at the journal comes before the next renewal
    locked.error = None

    await asyncio.sleep(200)

    assert {event.record.state for event in bench.events} == {"ok"}
    assert sorted(bench.web.asked) == SITES[:5]
    scheduler.stop()
    await run


def test_only_failed_trials_double_the_pause() -> None:
    now = 0.0
    pause = StoragePause(first=1.0, longest=8.0, steady_clock=lambda: now)
    pauses = []
    for _ in range(6):
        for _ in range(100):
            pause.begin(FULL)
        began = now
        while not pause.admits(50):
            now += 0.25
        pauses.append(now - began)

    assert pauses == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    pause.kept(archived=False)
    assert (pause.trouble, pause.admits(50)) == ("", 50)
