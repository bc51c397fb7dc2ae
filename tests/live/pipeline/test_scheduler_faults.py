"""The scheduler survives failures around it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.live.fakes import READER, Bench, ScriptedWeb, clock, failed, page, simulated, ticks, until_idle
from tests.live.memory.journal import MemoryJournal
from tests.live.memory.stores import MemoryStores

from scoter.config.sections.live import LiveSettings
from scoter.core.reply import Reason
from scoter.errors import Defect, UserError
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority

A, B = "http://a.example/", "http://b.example/"
LEASE = timedelta(seconds=30)


def sites(count: int) -> list[str]:
    return [f"http://site{n}.example/" for n in range(count)]


class Faulty:
    """A journal whose calls can fail, as on a full disk."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.failing: set[str] = set()
        self.calls: list[str] = []
        self.error: Exception = UserError("the disk is full")

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.failing:
            raise self.error

    async def accept(self, messages: object) -> Sequence[object]:
        raise NotImplementedError

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        self._call("open")
        return await self._journal.open(reader, most, lease)

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        self._call("renew")
        return await self._journal.renew(reader, entries, lease)

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        self._call("abort")
        await self._journal.abort(reader, entries)

    def depth(self) -> dict[Priority, int]:
        return dict(self._journal.depth())


def over(journal: Faulty, bench: Bench, most: int = 10) -> Scheduler:
    return Scheduler(READER, journal, bench.pipeline, most=most, lease=LEASE)  # type: ignore[arg-type]


@simulated
async def test_defect_stops_no_other_entry_and_its_own_is_retried(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page(), B: page()}))
    broken = [Defect("a broken stage")]

    async def run(context: Context) -> Context:
        if context.url.text == A and broken:
            raise broken.pop()
        return await bench.pipeline(context)

    await bench.accept(A, B)

    await until_idle(bench, bench.scheduler(pipeline=run))

    assert [event.url for event in bench.events] == [B, A]
    assert [done.entry.tries for done in bench.done] == [0, 1]
    assert "a broken stage" in caplog.text


@simulated
async def test_defect_in_a_shared_fetch_loses_no_entry(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=1))
    for _ in range(5):
        await bench.accept(A)
    bench.content.defect = Defect("the archive is broken")
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(5)
    assert list(bench.events) == []
    assert scheduler.under_way == 0

    bench.content.defect = None
    await asyncio.sleep(60)

    assert sorted(event.message for event in bench.events) == ["m1", "m2", "m3", "m4", "m5"]
    assert bench.web.asked == [A, A]
    scheduler.stop()
    await run


@simulated
async def test_repeatedly_failing_entry_is_closed_by_the_journal(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(
        ScriptedWeb({A: page()}), stores=MemoryStores(clock=clock, steady_clock=ticks, live=LiveSettings(tries=3))
    )
    bench.content.defect = Defect("broken for good")
    await bench.accept(A)

    await until_idle(bench, bench.scheduler())

    assert [event.record.reason for event in bench.events] == ["given_up"]
    assert bench.web.asked == [A, A, A]


@simulated
async def test_url_not_requested_during_shutdown_is_not_a_failure() -> None:
    bench = Bench(ScriptedWeb({A: failed(Reason.STOPPED)}))
    await bench.accept(A)
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)
    assert list(bench.events) == []
    assert bench.known(A) is None

    bench.web.answers[A] = page()
    await asyncio.sleep(60)

    assert [event.record.state for event in bench.events] == ["ok"]
    scheduler.stop()
    await run


@pytest.mark.parametrize("error", [UserError("the disk is full"), OSError("anything else")])
@pytest.mark.parametrize("call", ["open", "renew"])
def test_scheduler_survives_a_failing_journal(call: str, error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({A: page(), B: page()}, takes=25))
        journal = Faulty(bench.stores.journal)
        journal.error = error
        scheduler = over(journal, bench)
        run = asyncio.create_task(scheduler.run())
        await bench.accept(A)
        journal.failing = {call}
        await asyncio.sleep(15)
        assert call in journal.calls

        journal.failing = set()
        await bench.accept(B)
        await asyncio.sleep(120)

        assert sorted(event.url for event in bench.events) == [A, B]
        assert not run.done()
        scheduler.stop()
        await run

    check()


@simulated
async def test_scheduler_stops_even_if_entries_cannot_be_returned(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=100))
    await bench.accept(A)
    journal = Faulty(bench.stores.journal)
    journal.failing = {"abort"}
    scheduler = over(journal, bench)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)

    scheduler.stop()
    await run

    assert "cannot return unfinished entries" in caplog.text


@simulated
async def test_idle_scheduler_does_not_poll_after_each_end() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(100)}, takes=0.1))
    journal = Faulty(bench.stores.journal)
    scheduler = over(journal, bench, most=1000)
    await bench.accept(*sites(100))
    bench.web.takes = lambda url: 0.1 + int(url[11:].partition(".")[0]) / 1000
    run = asyncio.create_task(scheduler.run())

    await asyncio.sleep(0.24)

    assert len(bench.events) == 100
    assert journal.calls.count("open") == 1
    scheduler.stop()
    await run


@simulated
async def test_failing_on_done_callback_is_tolerated(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page(), B: page()}))

    def refuse(context: Context) -> None:
        raise RuntimeError(context.url.text)

    await bench.accept(A, B)

    await until_idle(bench, bench.scheduler(on_done=refuse))

    assert len(bench.events) == 2
