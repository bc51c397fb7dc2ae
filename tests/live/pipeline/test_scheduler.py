"""What the scheduler starts, how much at a time, and in which order."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.live.fakes import Bench, ScriptedWeb, clock, page, simulated, ticks, until_idle
from tests.live.memory.stores import MemoryStores

from scoter.config.sections.live import LiveSettings
from scoter.live.records import Message, Priority

A, B = "http://a.example/", "http://b.example/"
LEASE = timedelta(seconds=30)


def sites(count: int) -> list[str]:
    return [f"http://site{n}.example/" for n in range(count)]


@simulated
async def test_accepted_urls_are_recorded_once_and_reported() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(50)}, takes=1))
    for url in sites(50):
        await bench.accept(url)

    await until_idle(bench, bench.scheduler())

    assert sorted(event.url for event in bench.events) == sorted(sites(50))
    assert sorted(done.url.text for done in bench.done) == sorted(sites(50))


@simulated
async def test_url_is_fetched_as_it_is_stored() -> None:
    accepted_by_older_rules = "http://a.example/%7ejoe/../x"
    bench = Bench(ScriptedWeb({accepted_by_older_rules: page()}))
    message = Message(id="m", received=clock())
    await bench.stores.journal.accept([(message, [accepted_by_older_rules])])

    await until_idle(bench, bench.scheduler())

    assert [done.url.text for done in bench.done] == [accepted_by_older_rules]


@simulated
async def test_number_of_entries_under_way_is_limited() -> None:
    bench = Bench(ScriptedWeb({url: page() for url in sites(40)}, takes=1))
    await bench.accept(*sites(40))

    await until_idle(bench, bench.scheduler(most=7))

    assert bench.web.most_under_way == 7
    assert len(bench.events) == 40


@simulated
async def test_new_message_wakes_the_scheduler() -> None:
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
async def test_free_capacity_is_used_at_once() -> None:
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
async def test_most_urgent_entry_starts_first() -> None:
    bench = Bench(ScriptedWeb(takes=1))
    for priority in (Priority.BULK, Priority.NORMAL, Priority.PERSON):
        await bench.accept(f"http://{priority.name}.example/", priority=priority)

    await until_idle(bench, bench.scheduler(most=1))

    assert bench.web.priorities == [Priority.PERSON, Priority.NORMAL, Priority.BULK]


@simulated
async def test_slow_domain_leaves_capacity_for_others() -> None:
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
async def test_many_urls_of_a_slow_domain_do_not_delay_others() -> None:
    web = ScriptedWeb()
    web.takes = lambda url: 1000.0 if "slow" in url else 0.1
    bench = Bench(web, stores=MemoryStores(clock=clock, steady_clock=ticks, live=LiveSettings(in_flight_per_domain=5)))
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
async def test_many_slow_domains_do_not_delay_others() -> None:
    web = ScriptedWeb()
    web.takes = lambda url: 20.0 + int(url.rpartition("/")[2]) % 10 if "slow" in url else 0.1
    bench = Bench(web, stores=MemoryStores(clock=clock, steady_clock=ticks, live=LiveSettings(in_flight_per_domain=10)))
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
async def test_held_entries_start_when_capacity_is_free() -> None:
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
async def test_held_entries_keep_their_lease_and_start_by_priority() -> None:
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
