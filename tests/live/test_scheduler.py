from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from tests.live.fakes import READER, Bench, ScriptedWeb, clock, failed, page, simulated, ticks, until_idle

from scoter.core.reply import Reason
from scoter.errors import Defect, UserError
from scoter.live.context import Context
from scoter.live.memory.journal import MemoryJournal
from scoter.live.memory.stores import MemoryStores
from scoter.live.ports import Entry
from scoter.live.records import Priority
from scoter.live.scheduler import Scheduler

A, B = "http://a.example/", "http://b.example/"
LEASE = timedelta(seconds=30)
T = TypeVar("T")


def sites(count: int) -> list[str]:
    return [f"http://site{n}.example/" for n in range(count)]


class Faulty:
    """A journal of which some calls fail, as on a full disk."""

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

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[Entry]:
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
async def test_everything_that_was_accepted_is_recorded_once_and_told() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(50)}, takes=1))
    for url in sites(50):
        await bench.accept(url)

    await until_idle(bench, bench.scheduler())

    assert sorted(event.url for event in bench.events) == sorted(sites(50))
    assert sorted(done.url.text for done in bench.done) == sorted(sites(50))


@simulated
async def test_no_more_are_under_way_than_set() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(40)}, takes=1))
    await bench.accept(*sites(40))

    await until_idle(bench, bench.scheduler(most=7))

    assert bench.web.most_under_way == 7
    assert len(bench.events) == 40


@simulated
async def test_a_message_that_comes_wakes_it_at_once() -> None:
    bench = Bench(ScriptedWeb({A: page()}))
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(0.3)
    began = ticks()

    await bench.accept(A)
    scheduler.wake()
    while bench.stores.journal.waiting():
        await asyncio.sleep(0.001)

    assert ticks() - began < 0.01
    scheduler.stop()
    await run


@simulated
async def test_room_that_becomes_free_is_used_at_once() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(4)}, takes=1))
    scheduler = bench.scheduler(most=2)
    run = asyncio.create_task(scheduler.run())
    await bench.accept(*sites(2))
    scheduler.wake()
    await asyncio.sleep(0.5)

    await bench.accept(*sites(4)[2:])
    scheduler.wake()
    await asyncio.sleep(1.55)

    assert len(bench.events) == 4
    scheduler.stop()
    await run


@simulated
async def test_the_most_urgent_comes_first() -> None:
    bench = Bench(ScriptedWeb(takes=1))
    for priority in (Priority.BULK, Priority.NORMAL, Priority.PERSON):
        await bench.accept(f"http://{priority.name}.example/", priority=priority)

    await until_idle(bench, bench.scheduler(most=1))

    assert bench.web.priorities == [Priority.PERSON, Priority.NORMAL, Priority.BULK]


@simulated
async def test_a_slow_domain_with_many_urls_leaves_room_for_the_others() -> None:
    web = ScriptedWeb(takes=1)
    web.takes = lambda url: 1000.0 if "slow" in url else 0.0
    bench = Bench(web)
    await bench.accept(*(f"http://slow.example/{n}" for n in range(60)))
    scheduler = bench.scheduler(most=20, most_of_domain=None)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)

    await bench.accept(A, priority=Priority.PERSON)
    await asyncio.sleep(1)

    assert [event.url for event in bench.events] == [A]
    assert scheduler.under_way == 2
    assert scheduler.held == 58
    scheduler.stop()
    await run
    assert len(await bench.stores.journal.open("other", 100, LEASE)) == 60


@simulated
async def test_a_hundred_thousand_urls_of_a_slow_domain_hold_up_nobody_else() -> None:
    web = ScriptedWeb()
    web.takes = lambda url: 1000.0 if "slow" in url else 0.1
    bench = Bench(web, stores=MemoryStores(clock=clock, ticks=ticks, window=5))
    await bench.accept(*(f"http://slow.example/{n}" for n in range(100_000)))
    await bench.accept("http://slow.example/100000", priority=Priority.BULK)
    scheduler = bench.scheduler(most=20, most_of_domain=5)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)

    others = [f"http://d{n}.example/" for n in range(100)]
    await bench.accept(*others, priority=Priority.BULK)
    await bench.accept("http://slow.example/person", priority=Priority.PERSON)
    await asyncio.sleep(5)

    assert {event.url for event in bench.events} == set(others)
    slow = [url for url in web.asked if "slow" in url]
    assert slow == [*(f"http://slow.example/{n}" for n in range(5)), "http://slow.example/person"]
    assert (scheduler.under_way, scheduler.held) == (6, 1)  # five, and the person; the bulk load's own is held
    scheduler.stop()
    await run


@simulated
async def test_however_many_domains_are_slow_the_others_are_not_held_up() -> None:
    web = ScriptedWeb()
    web.takes = lambda url: 20.0 + int(url.rpartition("/")[2]) % 10 if "slow" in url else 0.1
    bench = Bench(web, stores=MemoryStores(clock=clock, ticks=ticks, window=10))
    for domain in range(20):
        await bench.accept(*(f"http://slow{domain}.example/{n}" for n in range(200)))
    scheduler = bench.scheduler(most=100, most_of_domain=10)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(60)

    for url in sites(50):
        await bench.accept(url)
        await asyncio.sleep(0.2)
    await asyncio.sleep(1)

    assert [event.url for event in bench.events if "slow" not in event.url] == sites(50)
    assert web.most_under_way <= 100
    scheduler.stop()
    await run


@simulated
async def test_what_is_held_for_want_of_room_begins_when_there_is_room_again() -> None:
    web = ScriptedWeb(takes=100)
    bench = Bench(web)
    await bench.accept(*sites(6))
    await bench.accept(*(f"http://many.example/{n}" for n in range(30)))
    scheduler = bench.scheduler(most=10, most_of_domain=8)
    run = asyncio.create_task(scheduler.run())

    def of_many() -> int:
        return sum(count for url, count in web.under_way.items() if "many" in url)

    await asyncio.sleep(10)
    assert of_many() == 2
    web.takes = lambda url: 1000.0
    await asyncio.sleep(100)

    assert len(bench.events) == 8
    assert of_many() == 5
    scheduler.stop()
    await run


@simulated
async def test_what_is_held_for_its_domain_keeps_its_lease_and_begins_most_urgent_first() -> None:
    web = ScriptedWeb(takes=100)
    bench = Bench(web)
    for n in range(6):
        priority = Priority.PERSON if n == 5 else Priority.NORMAL
        await bench.accept(f"http://slow.example/{n}", priority=priority)
    scheduler = bench.scheduler(most=10, most_of_domain=1)
    run = asyncio.create_task(scheduler.run())

    for _ in range(70):
        await asyncio.sleep(10)
        assert await bench.stores.journal.open("another", 10, LEASE) == []
    scheduler.stop()
    await run

    assert len(bench.events) == 6
    assert web.most_under_way == 1
    assert [url[-1] for url in web.asked] == ["5", "0", "1", "2", "3", "4"]


@simulated
async def test_what_is_under_way_is_given_back_when_it_stops() -> None:
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
async def test_a_fetch_that_takes_longer_than_a_lease_keeps_it() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=200))
    await bench.accept(A)

    await until_idle(bench, bench.scheduler("one"), bench.scheduler("two"))

    assert bench.web.asked == [A]
    assert [event.url for event in bench.events] == [A]


@simulated
async def test_one_that_was_lent_to_somebody_else_is_given_up() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=100))
    await bench.accept(A)
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)
    (entry,) = bench.stores.journal._lent.values()
    entry.reader = "another"

    await asyncio.sleep(15)

    assert bench.web.cancelled == [A]
    assert (scheduler.under_way, bench.done) == (0, [])
    scheduler.stop()
    await run


@simulated
async def test_what_was_held_and_lost_may_be_lent_again() -> None:
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
    """A journal whose changes are carried out in their order and told a moment later, as by a thread that writes."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[Entry]:
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
def test_what_is_under_way_goes_on_when_the_whole_process_stood_still_for_longer_than_a_lease(at: float) -> None:
    @simulated
    async def check() -> None:
        bench = Bench(ScriptedWeb({url: page() for url in sites(300)}, takes=100))
        await bench.accept(*sites(300))
        journal: Any = Written(bench.stores.journal)
        scheduler = Scheduler(READER, journal, bench.pipeline, most=301, most_of_domain=10, lease=LEASE, timer=ticks)
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
async def test_one_that_is_lent_again_before_it_is_given_up_goes_on() -> None:
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
async def test_one_that_was_recorded_just_before_leases_are_prolonged_is_told() -> None:
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
async def test_nobody_is_told_of_what_somebody_else_will_record() -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=5))
    await bench.accept(A)
    scheduler = bench.scheduler()
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)
    (entry,) = bench.stores.journal._lent.values()
    entry.reader = "another"

    await asyncio.sleep(6)

    assert (scheduler.under_way, bench.done, list(bench.events)) == (0, [], [])
    scheduler.stop()
    await run


@simulated
async def test_a_defect_stops_nobody_else_and_its_entry_comes_again(caplog: pytest.LogCaptureFixture) -> None:
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
async def test_a_defect_in_a_shared_fetch_loses_none_of_those_who_waited(caplog: pytest.LogCaptureFixture) -> None:
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
async def test_an_entry_that_fails_again_and_again_is_ended_by_the_journal(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page()}), stores=MemoryStores(clock=clock, ticks=ticks, most_tries=3))
    bench.content.defect = Defect("broken for good")
    await bench.accept(A)

    await until_idle(bench, bench.scheduler())

    assert [event.record.reason for event in bench.events] == ["given_up"]
    assert bench.web.asked == [A, A, A]


@simulated
async def test_a_url_that_was_not_asked_for_since_fetching_ends_is_not_called_a_failure() -> None:
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
def test_a_journal_that_fails_for_a_while_is_outlived(
    call: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
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
async def test_it_stops_even_if_nothing_can_be_given_back(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page()}, takes=100))
    await bench.accept(A)
    journal = Faulty(bench.stores.journal)
    journal.failing = {"abort"}
    scheduler = over(journal, bench)
    run = asyncio.create_task(scheduler.run())
    await asyncio.sleep(1)

    scheduler.stop()
    await run

    assert "given back" in caplog.text


@simulated
async def test_an_idle_scheduler_does_not_ask_for_more_each_time_something_ends() -> None:
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
async def test_whoever_is_told_of_what_is_done_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ScriptedWeb({A: page(), B: page()}))

    def refuse(context: Context) -> None:
        raise RuntimeError(context.url.text)

    await bench.accept(A, B)

    await until_idle(bench, bench.scheduler(on_done=refuse))

    assert len(bench.events) == 2


@simulated
async def test_two_schedulers_of_one_journal_record_everything_once() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(60)}, takes=1))
    await bench.accept(*sites(60))

    await until_idle(bench, bench.scheduler("one", most=5), bench.scheduler("two", most=5))

    assert sorted(event.url for event in bench.events) == sorted(sites(60))
    assert sorted(bench.web.asked) == sorted(sites(60))
