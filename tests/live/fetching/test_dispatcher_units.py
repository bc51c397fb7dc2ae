"""The dispatcher with fake workers: what it sends to whom, and what it forgets."""

from __future__ import annotations

import asyncio
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fetch.fakes import answer
from tests.live.fetching.webs import all_joined, config_for

from scoter.core.reply import Request
from scoter.core.url import canonical
from scoter.live import clock
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.fetching.domains import DomainQueue, QueuedHop
from scoter.live.fetching.limits import WorkerLimits
from scoter.live.fetching.pool import START_TIMEOUT, WorkerHandle, WorkerPool
from scoter.live.fetching.wire import HopDone, HopRefused, MakeHop, RefusalReason, WireMessage
from scoter.live.records import Priority


class Fake(WorkerHandle):
    """A worker that only records messages."""

    def __init__(self) -> None:  # without a process
        self.number = 1
        self.under_way: dict[int, QueuedHop] = {}
        self.has_joined = True
        self.report = None
        self._backlog: list[tuple[int, int, DomainQueue]] = []
        self.told: list[WireMessage] = []

    def send(self, message: WireMessage) -> None:
        self.told.append(message)

    def asked(self) -> list[str]:
        return [message.request.url.text for message in self.told if isinstance(message, MakeHop)]


class StuckWorker(Fake):
    """A worker that never becomes ready."""

    def __init__(self, number: int, now: float, on_death: Callable[[WorkerHandle], None]) -> None:
        super().__init__()
        self.number = number
        self.has_joined = False
        self.started_at = now
        self.is_killed = False
        self._on_death = on_death

    @property
    def pid(self) -> int:
        return 4_711

    def kill(self) -> None:
        self.is_killed = True
        asyncio.get_running_loop().call_soon(self._on_death, self)


def fetchers_with(
    fake: Fake,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    now: Callable[[], float] = clock.steady_now,
    **bounds: Any,
) -> WorkerDispatcher:
    found = WorkerDispatcher(config_for(1), folder, bounds=WorkerLimits(**bounds), now=now)
    monkeypatch.setattr(found._pool, "owner", lambda shard: fake)
    return found


def ask(fetchers: WorkerDispatcher, url: str, priority: Priority = Priority.NORMAL) -> asyncio.Task[Any]:
    return asyncio.create_task(fetchers.fetch(Request(url=canonical(url)), priority))


def answered(fetchers: WorkerDispatcher, fake: Fake, *, hold: float = 0.0, pause: float = 0.0) -> None:
    """Let a worker answer its first request."""
    pending = next(iter(fake.under_way.values()))
    fetchers.receive(fake, HopDone(pending.id, answer(pending.request.url), 0.0, hold, pause))


def _pool_of(fetchers: WorkerDispatcher) -> WorkerPool:
    pool = fetchers._pool
    assert isinstance(pool, WorkerPool)
    return pool


async def test_failed_process_start_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with WorkerDispatcher(config_for(1), tmp_path) as fetchers:
        await all_joined(fetchers, 1)
        first, popen, failures = fetchers.pids(), subprocess.Popen, 2

        def failing(*args: Any, **options: Any) -> Any:
            nonlocal failures
            if failures:
                failures -= 1
                raise BlockingIOError(11, "Resource temporarily unavailable")
            return popen(*args, **options)

        monkeypatch.setattr(subprocess, "Popen", failing)
        next(iter(_pool_of(fetchers))).kill()
        async with asyncio.timeout(60):
            await all_joined(fetchers, 1, apart_from=first)

    assert not failures


async def test_restart_delay_is_bounded_after_many_quick_deaths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    async with WorkerDispatcher(config_for(1), tmp_path) as fetchers:
        await all_joined(fetchers, 1)
        pool = _pool_of(fetchers)
        monkeypatch.setattr(pool, "_start_again", note)
        pool._quick_deaths = 2_000  # some hours of them
        victim = next(iter(pool))
        victim.kill()
        await victim.gone.wait()
        await asyncio.sleep(0)

    assert pauses == [10.0]


async def test_worker_that_does_not_start_in_time_is_killed_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[StuckWorker] = []
    restarts: list[float] = []
    now = 1_000.0

    async def start(number: int, now: float, on_message: object, on_death: Callable[[WorkerHandle], None]) -> Fake:
        started.append(StuckWorker(number, now, on_death))
        return started[-1]

    async def restart(seconds: float) -> None:
        restarts.append(seconds)

    monkeypatch.setattr(WorkerHandle, "start", start)
    pool = _pool_of(WorkerDispatcher(config_for(1), tmp_path, now=lambda: now))
    monkeypatch.setattr(pool, "_start_again", restart)
    await pool._start()
    now += START_TIMEOUT
    pool._tick()
    in_time = started[0].is_killed
    now += 0.1
    pool._tick()
    for _ in range(3):  # its death, then the restart
        await asyncio.sleep(0)

    assert (in_time, started[0].is_killed) == (False, True)
    assert len(restarts) == 1


async def test_late_message_of_a_former_holder_does_not_shorten_a_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Fake(), Fake()
    fetchers = fetchers_with(old, tmp_path, monkeypatch)
    asking = [ask(fetchers, "http://a.example/1")]
    await asyncio.sleep(0)
    monkeypatch.setattr(fetchers._pool, "owner", lambda shard: new)
    asking.append(ask(fetchers, "http://a.example/2"))
    await asyncio.sleep(0)
    answered(fetchers, new, hold=100.0, pause=30.0)
    answered(fetchers, old, hold=0.0, pause=1.0)
    await asyncio.gather(*asking)
    view = fetchers.domain("a.example")

    assert view is not None
    assert view.hold_until - fetchers._now() > 99
    assert view.pause == 30.0


async def test_hold_of_an_otherwise_unknown_domain_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake()
    fetchers = fetchers_with(fake, tmp_path, monkeypatch)
    asking = ask(fetchers, "http://a.example/")
    await asyncio.sleep(0)
    fetchers.receive(
        fake, HopRefused(next(iter(fake.under_way)), RefusalReason.ON_HOLD, 600.0)
    )  # somebody asked directly
    await asking

    assert [hold.domain for hold in fetchers.domain_holds(frozenset(range(64)), 0.0)] == ["a.example"]


async def test_domains_with_cancelled_requests_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()
    fetchers = fetchers_with(fake, tmp_path, monkeypatch, idle=10)
    asking = [ask(fetchers, f"http://site{number}.example/") for number in range(500)]
    await asyncio.sleep(0)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    while fake.under_way:
        answered(fetchers, fake)

    assert fetchers.snapshot().domains <= 12


async def test_domains_with_cancelled_requests_are_forgotten_after_worker_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, times = Fake(), [100.0]
    fetchers = fetchers_with(fake, tmp_path, monkeypatch, lambda: times[0], idle=10)
    asking = [ask(fetchers, f"http://site{number}.example/") for number in range(500)]
    await asyncio.sleep(0)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    fetchers.lost(fake)
    fake.under_way.clear()

    times[0] += 10  # their servers have had time to notice it
    for number in range(500):
        ask(fetchers, f"http://other.example/{number}")
        await asyncio.sleep(0)
        answered(fetchers, fake)
        await asyncio.sleep(0)

    assert fetchers.snapshot().domains <= 12


async def test_next_slot_of_a_domain_is_known_unless_it_has_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, times = Fake(), [100.0]
    fetchers = fetchers_with(fake, tmp_path, monkeypatch, lambda: times[0])
    url = canonical("http://a.example/i.png")
    seen = [fetchers.seconds_to_slot(url)]

    asking = ask(fetchers, "http://www.a.example/")
    await asyncio.sleep(0)
    seen.append(fetchers.seconds_to_slot(url))
    answered(fetchers, fake, hold=1.5, pause=1.5)
    await asking
    seen.append(fetchers.seconds_to_slot(url))
    times[0] += 1.0
    seen.append(fetchers.seconds_to_slot(url))
    times[0] += 1.0
    seen.append(fetchers.seconds_to_slot(url))

    assert seen == [0.0, math.inf, 1.5, 0.5, 0.0]


async def test_domain_waiting_for_a_full_worker_goes_before_busy_domains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake()
    fetchers = fetchers_with(fake, tmp_path, monkeypatch, per_worker=2)
    bulk = [ask(fetchers, f"http://many.example/{number}", Priority.BULK) for number in range(10)]
    await asyncio.sleep(0)
    person = ask(fetchers, "http://one.example/", Priority.PERSON)
    await asyncio.sleep(0)
    answered(fetchers, fake)

    assert fake.asked()[-1] == "http://one.example/"
    while fake.under_way:
        answered(fetchers, fake)
    await asyncio.gather(person, *bulk)
