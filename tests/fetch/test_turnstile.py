"""The turnstile: who waits, who passes, and that no turn is lost or doubled."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.fetch.fakes import Clock

from scoter.core.reply import Reason
from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.turn import SERVED, UNUSED, Capacity, Turn
from scoter.fetch.queues.turnstile import Turnstile, size_of
from scoter.fetch.queues.workbench import Workbench

QUICK = Policy(delay=timedelta(0), min_crawl_delay=timedelta(0), max_exceptions=2, exception_delay=timedelta(0))


def turnstile(policy: Policy = QUICK, concurrency: int = 10, **ports: object) -> Turnstile:
    bench = Workbench(Policies(policy), size_of, Capacity())
    return Turnstile(bench, concurrency=concurrency, **ports)  # type: ignore[arg-type]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_host_is_passed_one_at_a_time() -> None:
    gate = turnstile()

    assert await gate.enter("a") is None
    second = asyncio.create_task(gate.enter("a"))
    await settled()
    assert not second.done()
    gate.leave("a", SERVED)

    assert await second is None


async def test_whoever_needs_another_host_than_the_one_whose_turn_he_holds_gives_that_back() -> None:
    gate = turnstile(concurrency=1)
    await gate.enter("a")

    with gate.holding("a"):
        assert await asyncio.wait_for(gate.enter("b"), 1) is None

    assert gate.bench.in_progress == 1
    gate.leave("b", SERVED)
    assert await asyncio.wait_for(gate.enter("a"), 1) is None


async def test_those_who_have_begun_pass_a_host_in_the_order_in_which_they_came() -> None:
    gate = turnstile()
    passed: list[int] = []

    async def ask_again(number: int) -> None:
        with gate.begun():
            await gate.enter("a")
        passed.append(number)
        gate.leave("a", SERVED)

    await gate.enter("a")
    waiting = [asyncio.create_task(ask_again(number)) for number in range(4)]
    await settled()
    gate.purge("a")  # which takes nobody's place
    gate.leave("a", SERVED)
    await asyncio.wait_for(asyncio.gather(*waiting), 1)

    assert passed == [0, 1, 2, 3]


async def test_all_hosts_together_stay_below_the_concurrency() -> None:
    gate = turnstile(concurrency=2)

    tasks = [asyncio.create_task(gate.enter(name)) for name in "abcd"]
    await settled()
    assert [task.done() for task in tasks] == [True, True, False, False]
    gate.leave("a", SERVED)
    await settled()

    assert [task.done() for task in tasks] == [True, True, True, False]


async def test_the_delay_is_waited_for_by_a_timer() -> None:
    clock = Clock()
    gate = turnstile(Policy(delay=timedelta(milliseconds=20)), clock=clock)
    await gate.enter("a")
    gate.leave("a", SERVED)

    second = asyncio.create_task(gate.enter("a"))
    await settled()
    assert not second.done()
    clock.now += 0.021

    assert await asyncio.wait_for(second, 1) is None  # the timer runs on the loop's own time


async def test_whoever_waits_and_is_cancelled_costs_nobody_a_turn() -> None:
    gate = turnstile()
    await gate.enter("a")
    waiting = [asyncio.create_task(gate.enter("a")) for _ in range(3)]
    await settled()

    waiting[0].cancel()
    await settled()
    gate.leave("a", SERVED)

    assert await asyncio.wait_for(waiting[1], 1) is None
    gate.leave("a", SERVED)
    assert await asyncio.wait_for(waiting[2], 1) is None


async def test_a_turn_that_comes_together_with_a_cancellation_is_given_back() -> None:
    gate = turnstile()
    await gate.enter("a")
    waiting = asyncio.create_task(gate.enter("a"))
    await settled()

    gate.leave("a", SERVED)  # hands the turn to the waiting one …
    waiting.cancel()  # … which is cancelled before it runs
    await settled()

    assert gate.bench.in_progress == 0
    assert await asyncio.wait_for(gate.enter("a"), 1) is None


async def test_the_waiting_of_a_host_that_fails_too_often_are_refused() -> None:
    gate = turnstile()
    waiting = [asyncio.create_task(gate.enter("a")) for _ in range(4)]
    await settled()

    gate.leave("a", Turn(failed=True))
    await settled()
    gate.leave("a", Turn(failed=True))
    await settled()

    assert [task.result() for task in waiting] == [None, None, Reason.PURGED, Reason.PURGED]
    assert await gate.enter("a") is Reason.PURGED


async def test_a_drained_turnstile_refuses_all() -> None:
    gate = turnstile()
    await gate.enter("a")
    waiting = asyncio.create_task(gate.enter("a"))
    await settled()

    gate.drain()

    assert await waiting is Reason.STOPPED
    assert await gate.enter("b") is Reason.STOPPED


class Jobs:
    """Queued work: launched under its turn, it does what it is told."""

    def __init__(self) -> None:
        self.gate: Turnstile | None = None
        self.began: list[bytes] = []
        self.lost: list[tuple[bytes, Reason]] = []
        self.steps: dict[bytes, list[str]] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def launch(self, key: str, data: bytes) -> None:
        self.tasks.append(asyncio.create_task(self.work(key, data)))

    async def work(self, key: str, data: bytes) -> None:
        assert self.gate is not None
        self.began.append(data)
        with self.gate.holding(key):
            for host in self.steps.get(data, [key]):
                if await self.gate.enter(host) is None:
                    await asyncio.sleep(0)
                    self.gate.leave(host, SERVED)

    def lose(self, data: bytes, reason: Reason) -> None:
        self.lost.append((data, reason))


def with_jobs(policy: Policy = QUICK, concurrency: int = 10) -> tuple[Turnstile, Jobs]:
    jobs = Jobs()
    gate = turnstile(policy, concurrency, launch=jobs.launch, lose=jobs.lose)
    jobs.gate = gate
    return gate, jobs


async def test_queued_work_begins_in_its_turn_and_uses_it() -> None:
    gate, jobs = with_jobs()
    for name in (b"1", b"2", b"3"):
        gate.bench.add("a", name, gate.clock())

    gate.pump()
    await settled()
    assert jobs.began[0] == b"1"
    await asyncio.gather(*jobs.tasks)
    await settled()
    await asyncio.gather(*jobs.tasks)

    assert jobs.began == [b"1", b"2", b"3"]
    assert gate.bench.in_progress == 0


async def test_work_that_asks_nobody_gives_its_turn_back_unused() -> None:
    gate, jobs = with_jobs(Policy(delay=timedelta(hours=1)))
    jobs.steps = {b"1": [], b"2": []}
    for name in (b"1", b"2"):
        gate.bench.add("a", name, gate.clock())

    gate.pump()
    await settled()

    assert jobs.began == [b"1", b"2"]  # no delay was owed


async def test_work_that_has_begun_gets_its_second_turn_before_what_is_queued() -> None:
    gate, jobs = with_jobs()
    jobs.steps = {b"1": ["a", "a"]}
    for name in (b"1", b"2", b"3"):
        gate.bench.add("a", name, gate.clock())

    gate.pump()
    await settled()
    for _ in range(10):
        await asyncio.gather(*jobs.tasks)

    assert jobs.began == [b"1", b"2", b"3"]
    assert gate.bench.in_progress == 0


async def test_who_waits_for_another_of_the_host_lends_the_turn() -> None:
    """Without it both would wait for ever: the one for the turn, the other, who has it, for the one."""
    gate, _ = with_jobs()
    found = asyncio.Event()
    served: list[str] = []

    async def first() -> None:
        with gate.holding("a"):
            await gate.enter("a")
            await asyncio.sleep(0)
            gate.leave("a", SERVED)  # now the second begins
            assert await gate.enter("a") is None
            served.append("first again")
            gate.leave("a", SERVED)
            found.set()

    async def second() -> None:
        with gate.holding("a"):
            with gate.lending():
                await found.wait()
            assert await gate.enter("a") is None
            served.append("second")
            gate.leave("a", SERVED)

    starts = {b"1": first, b"2": second}
    tasks: list[asyncio.Task[None]] = []
    gate._launch = lambda key, data: tasks.append(asyncio.create_task(starts[data]()))
    gate.bench.add("a", b"1", gate.clock())
    gate.bench.add("a", b"2", gate.clock())
    gate.pump()
    for _ in range(30):
        await asyncio.sleep(0)

    assert served == ["first again", "second"]
    assert gate.bench.in_progress == 0


async def test_queued_work_of_a_drained_turnstile_is_handed_back() -> None:
    gate, jobs = with_jobs()
    await gate.enter("a")
    gate.bench.add("a", b"1", gate.clock())

    gate.close()

    assert jobs.lost == [(b"1", Reason.STOPPED)]


async def test_nothing_begins_while_there_is_no_room() -> None:
    room = [False]
    gate = turnstile(has_room=lambda: room[0])

    waiting = asyncio.create_task(gate.enter("a"))
    await settled()
    assert not waiting.done()
    room[0] = True
    gate.pump()

    assert await waiting is None
    gate.leave("a", UNUSED)
