"""The task pool: few tasks, and no work lost."""

from __future__ import annotations

import asyncio

import pytest

from scoter.fetch.tasks import TaskPool


class Work:
    """Work that waits until it is let go, and remembers who did it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.tasks: set[asyncio.Task[None] | None] = set()
        self.gate = asyncio.Event()
        self.errors: list[BaseException | None] = []

    async def __call__(self, key: str, data: bytes) -> None:
        self.tasks.add(asyncio.current_task())
        await self.gate.wait()
        if data == b"broken":
            raise ZeroDivisionError
        self.done.append(key)


async def settled() -> None:
    """Let all that can go on do so, however slow the machine is."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
async def work() -> Work:
    return Work()


async def test_work_runs_concurrently(work: Work) -> None:
    crew = TaskPool(work, work.errors.append)

    for key in "abc":
        crew.start(key, b"")
    await settled()

    assert (len(work.tasks), len(crew), work.done) == (3, 3, [])
    work.gate.set()
    await crew.join()
    assert (sorted(work.done), work.errors) == (["a", "b", "c"], [None] * 3)


class Relay:
    """Each piece of work gives the next, as a host's turn that ends gives the next host's."""

    def __init__(self, work: Work, rounds: int) -> None:
        self._work = work
        self._rounds = rounds
        self.crew = TaskPool(self, work.errors.append)

    async def __call__(self, key: str, data: bytes) -> None:
        await self._work(key, data)
        if int(key) < self._rounds:
            self.crew.start(str(int(key) + 1), b"")


async def test_free_task_takes_new_work(work: Work) -> None:
    work.gate.set()
    crew = Relay(work, rounds=9).crew

    crew.start("0", b"")
    await settled()

    assert (len(work.done), len(work.tasks), len(crew)) == (10, 1, 0)


async def test_task_yields_to_others_from_time_to_time(work: Work) -> None:
    work.gate.set()
    crew = Relay(work, rounds=99).crew
    crew.start("0", b"")

    for _ in range(3):
        await asyncio.sleep(0)
    seen = len(work.done)
    while len(crew):
        await asyncio.sleep(0)

    assert 0 < seen < 100
    assert len(work.done) == 100


async def test_cancel_returns_unstarted_work(work: Work) -> None:
    crew = TaskPool(work, work.errors.append)
    crew.start("a", b"")
    await settled()
    crew.start("b", b"1")
    await asyncio.sleep(0)  # a task was made for it, and has not begun
    crew.start("c", b"2")

    unbegun = crew.cancel()
    await crew.join()

    assert unbegun == [("b", b"1"), ("c", b"2")]
    assert (work.done, len(crew)) == ([], 0)


async def test_task_error_is_reported(work: Work) -> None:
    work.gate.set()
    crew = TaskPool(work, work.errors.append)

    crew.start("a", b"broken")
    await settled()

    assert isinstance(work.errors[0], ZeroDivisionError)
    assert len(crew) == 0
