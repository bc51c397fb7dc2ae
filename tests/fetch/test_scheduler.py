"""The slot scheduler: who waits, who gets a slot, and that no slot is lost or used twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from tests.fetch.fakes import Clock

from scoter.core.reply import Reason
from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.scheduler import SlotScheduler, _held, size_of
from scoter.fetch.queues.slots import SERVED, UNUSED, Capacity, SlotResult
from scoter.fetch.queues.workbench import Workbench

QUICK = Policy(delay=timedelta(0), min_crawl_delay=timedelta(0), max_exceptions=2, exception_delay=timedelta(0))


def scheduler_of(policy: Policy = QUICK, concurrency: int = 10, **ports: object) -> SlotScheduler:
    bench = Workbench(Policies(policy), size_of, Capacity())
    return SlotScheduler(bench, concurrency=concurrency, **ports)  # type: ignore[arg-type]


@contextmanager
def holding(scheduler: SlotScheduler, key: str) -> Iterator[None]:
    """Run work that was launched in a slot of a host."""
    held = scheduler.start_work(key)
    try:
        yield
    finally:
        _held.set(None)
        scheduler.end_work(held)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_host_gets_one_slot_at_a_time() -> None:
    scheduler = scheduler_of()

    assert await scheduler.acquire("a") is None
    second = asyncio.create_task(scheduler.acquire("a"))
    await settled()
    assert not second.done()
    scheduler.release("a", SERVED)

    assert await second is None


async def test_slot_is_returned_when_work_needs_another_host() -> None:
    scheduler = scheduler_of(concurrency=1)
    await scheduler.acquire("a")

    with holding(scheduler, "a"):
        assert await asyncio.wait_for(scheduler.acquire("b"), 1) is None

    assert scheduler.bench.in_progress == 1
    scheduler.release("b", SERVED)
    assert await asyncio.wait_for(scheduler.acquire("a"), 1) is None


async def test_work_in_progress_gets_slots_in_order() -> None:
    scheduler = scheduler_of()
    passed: list[int] = []

    async def ask_again(number: int) -> None:
        with scheduler.as_started():
            await scheduler.acquire("a")
        passed.append(number)
        scheduler.release("a", SERVED)

    await scheduler.acquire("a")
    waiting = [asyncio.create_task(ask_again(number)) for number in range(4)]
    await settled()
    scheduler.purge("a")  # which takes nobody's place
    scheduler.release("a", SERVED)
    await asyncio.wait_for(asyncio.gather(*waiting), 1)

    assert passed == [0, 1, 2, 3]


async def test_all_hosts_together_stay_below_the_concurrency() -> None:
    scheduler = scheduler_of(concurrency=2)

    tasks = [asyncio.create_task(scheduler.acquire(name)) for name in "abcd"]
    await settled()
    assert [task.done() for task in tasks] == [True, True, False, False]
    scheduler.release("a", SERVED)
    await settled()

    assert [task.done() for task in tasks] == [True, True, True, False]


async def test_timer_wakes_the_scheduler_after_the_delay() -> None:
    clock = Clock()
    scheduler = scheduler_of(Policy(delay=timedelta(milliseconds=20)), clock=clock)
    await scheduler.acquire("a")
    scheduler.release("a", SERVED)

    second = asyncio.create_task(scheduler.acquire("a"))
    await settled()
    assert not second.done()
    clock.now += 0.021

    assert await asyncio.wait_for(second, 1) is None  # the timer runs on the loop's own time


async def test_cancelled_waiter_costs_no_slot() -> None:
    scheduler = scheduler_of()
    await scheduler.acquire("a")
    waiting = [asyncio.create_task(scheduler.acquire("a")) for _ in range(3)]
    await settled()

    waiting[0].cancel()
    await settled()
    scheduler.release("a", SERVED)

    assert await asyncio.wait_for(waiting[1], 1) is None
    scheduler.release("a", SERVED)
    assert await asyncio.wait_for(waiting[2], 1) is None


async def test_slot_granted_to_a_cancelled_waiter_is_returned() -> None:
    scheduler = scheduler_of()
    await scheduler.acquire("a")
    waiting = asyncio.create_task(scheduler.acquire("a"))
    await settled()

    scheduler.release("a", SERVED)  # hands the turn to the waiting one …
    waiting.cancel()  # … which is cancelled before it runs
    await settled()

    assert scheduler.bench.in_progress == 0
    assert await asyncio.wait_for(scheduler.acquire("a"), 1) is None


async def test_waiters_of_a_blocked_host_are_refused() -> None:
    scheduler = scheduler_of()
    waiting = [asyncio.create_task(scheduler.acquire("a")) for _ in range(4)]
    await settled()

    scheduler.release("a", SlotResult(failed=True))
    await settled()
    scheduler.release("a", SlotResult(failed=True))
    await settled()

    assert [task.result() for task in waiting] == [None, None, Reason.PURGED, Reason.PURGED]
    assert await scheduler.acquire("a") is Reason.PURGED


async def test_drained_scheduler_refuses_everything() -> None:
    scheduler = scheduler_of()
    await scheduler.acquire("a")
    waiting = asyncio.create_task(scheduler.acquire("a"))
    await settled()

    scheduler.drain()

    assert await waiting is Reason.STOPPED
    assert await scheduler.acquire("b") is Reason.STOPPED


class Jobs:
    """Queued work: launched under its turn, it does what it is told."""

    def __init__(self) -> None:
        self.scheduler: SlotScheduler | None = None
        self.began: list[bytes] = []
        self.lost: list[tuple[bytes, Reason]] = []
        self.steps: dict[bytes, list[str]] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def launch(self, key: str, data: bytes) -> None:
        self.tasks.append(asyncio.create_task(self.work(key, data)))

    async def work(self, key: str, data: bytes) -> None:
        assert self.scheduler is not None
        self.began.append(data)
        with holding(self.scheduler, key):
            for host in self.steps.get(data, [key]):
                if await self.scheduler.acquire(host) is None:
                    await asyncio.sleep(0)
                    self.scheduler.release(host, SERVED)

    def lose(self, data: bytes, reason: Reason) -> None:
        self.lost.append((data, reason))


def with_jobs(policy: Policy = QUICK, concurrency: int = 10) -> tuple[SlotScheduler, Jobs]:
    jobs = Jobs()
    scheduler = scheduler_of(policy, concurrency, launch=jobs.launch, lose=jobs.lose)
    jobs.scheduler = scheduler
    return scheduler, jobs


async def test_queued_work_starts_in_its_slot() -> None:
    scheduler, jobs = with_jobs()
    for name in (b"1", b"2", b"3"):
        scheduler.bench.add("a", name, scheduler.clock())

    scheduler.pump()
    await settled()
    assert jobs.began[0] == b"1"
    await asyncio.gather(*jobs.tasks)
    await settled()
    await asyncio.gather(*jobs.tasks)

    assert jobs.began == [b"1", b"2", b"3"]
    assert scheduler.bench.in_progress == 0


async def test_work_without_request_returns_its_slot_unused() -> None:
    scheduler, jobs = with_jobs(Policy(delay=timedelta(hours=1)))
    jobs.steps = {b"1": [], b"2": []}
    for name in (b"1", b"2"):
        scheduler.bench.add("a", name, scheduler.clock())

    scheduler.pump()
    await settled()

    assert jobs.began == [b"1", b"2"]  # no delay was owed


async def test_work_in_progress_gets_its_second_slot_before_new_work() -> None:
    scheduler, jobs = with_jobs()
    jobs.steps = {b"1": ["a", "a"]}
    for name in (b"1", b"2", b"3"):
        scheduler.bench.add("a", name, scheduler.clock())

    scheduler.pump()
    await settled()
    for _ in range(10):
        await asyncio.gather(*jobs.tasks)

    assert jobs.began == [b"1", b"2", b"3"]
    assert scheduler.bench.in_progress == 0


async def test_waiting_for_other_work_of_the_host_lends_the_slot() -> None:
    """Without it both would wait for ever: the one for the turn, the other, who has it, for the one."""
    scheduler, _ = with_jobs()
    found = asyncio.Event()
    served: list[str] = []

    async def first() -> None:
        with holding(scheduler, "a"):
            await scheduler.acquire("a")
            await asyncio.sleep(0)
            scheduler.release("a", SERVED)  # now the second begins
            assert await scheduler.acquire("a") is None
            served.append("first again")
            scheduler.release("a", SERVED)
            found.set()

    async def second() -> None:
        with holding(scheduler, "a"):
            with scheduler.lend():
                await found.wait()
            assert await scheduler.acquire("a") is None
            served.append("second")
            scheduler.release("a", SERVED)

    starts = {b"1": first, b"2": second}
    tasks: list[asyncio.Task[None]] = []
    scheduler._launch = lambda key, data: tasks.append(asyncio.create_task(starts[data]()))
    scheduler.bench.add("a", b"1", scheduler.clock())
    scheduler.bench.add("a", b"2", scheduler.clock())
    scheduler.pump()
    for _ in range(30):
        await asyncio.sleep(0)

    assert served == ["first again", "second"]
    assert scheduler.bench.in_progress == 0


async def test_queued_work_of_a_drained_scheduler_is_handed_back() -> None:
    scheduler, jobs = with_jobs()
    await scheduler.acquire("a")
    scheduler.bench.add("a", b"1", scheduler.clock())

    scheduler.close()

    assert jobs.lost == [(b"1", Reason.STOPPED)]


async def test_nothing_starts_while_the_sink_is_behind() -> None:
    room = [False]
    scheduler = scheduler_of(has_room=lambda: room[0])

    waiting = asyncio.create_task(scheduler.acquire("a"))
    await settled()
    assert not waiting.done()
    room[0] = True
    scheduler.pump()

    assert await waiting is None
    scheduler.release("a", UNUSED)
