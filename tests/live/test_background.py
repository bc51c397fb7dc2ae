"""Threads and tasks that fail: they go on, or their process ends and the supervisor starts another one."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.live.fakes import Bench, ScriptedWeb, simulated
from tests.waiting import until

from scoter.live.background import DEFECT, BackgroundTasks, VitalTasks, VitalThread, call_in_loop
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.threaded_calls import BatchThread, ThreadedCall

FAILING = """
import asyncio, sys
from pathlib import Path
from scoter.live.background import VitalTasks, VitalThread
from scoter.live.sqlite.database import ServiceDb

def fail():
    raise RuntimeError("of the thread")

async def fail_later():
    raise RuntimeError("of the task")

def end_the_thread(connection):
    raise SystemExit("of the writer")  # no Exception: ends a thread without a traceback

async def main():
    match sys.argv[1]:
        case "thread":
            VitalThread(fail, "reader").start()
        case "task":
            VitalTasks().spawn(fail_later())
        case "writer":
            await ServiceDb(Path(sys.argv[2]) / "service.sqlite").write(end_the_thread)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["thread", "task", "writer"])
def test_process_ends_if_a_vital_thread_or_task_fails(kind: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FAILING, kind, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50)

    assert ended.returncode == DEFECT
    assert f"of the {kind}" in ended.stderr
    assert "this process ends" in ended.stderr


async def test_cancelled_task_ends_nothing() -> None:
    tasks = VitalTasks()
    task = tasks.spawn(asyncio.sleep(60))
    await tasks.close()

    assert task.cancelled()
    assert len(tasks) == 0


async def test_call_in_the_event_loop_returns_or_raises() -> None:
    loop, found = asyncio.get_running_loop(), []

    def ask() -> None:
        found.append(call_in_loop(loop, lambda: threading.current_thread().name, 30))
        try:
            call_in_loop(loop, lambda: 1 // 0, 30)
        except ZeroDivisionError:
            found.append("raised")
        began = time.monotonic()
        loop.call_soon_threadsafe(time.sleep, 0.3)
        try:
            call_in_loop(loop, lambda: None, 0.03)
        except TimeoutError:
            found.append("late" if time.monotonic() - began < 10 else "hangs")

    thread = VitalThread(ask, "asking")
    thread.start()
    await until(lambda: not thread.is_alive())

    assert found == [threading.current_thread().name, "raised", "late"]


class _Doubling(BatchThread):
    """Doubles numbers; fails as a whole if it gets a zero."""

    def __init__(self) -> None:
        super().__init__("doubling", most_waiting=10, together=5)
        self._thread.start()

    async def double(self, number: int) -> int:
        found: int = await self._call(number)
        return found

    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        for call in batch:
            call.result = call.work * (2 // call.work and 2)

    def _finish(self) -> None:
        pass


async def test_failing_batch_fails_its_calls_and_no_others() -> None:
    doubling = _Doubling()

    with pytest.raises(ZeroDivisionError):
        await doubling.double(0)

    assert await doubling.double(2) == 4
    doubling.close()


async def test_failure_of_a_background_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("of the task")

    tasks = BackgroundTasks()
    tasks.spawn(fail())
    with caplog.at_level(logging.ERROR):
        await until(lambda: len(tasks) == 0)

    assert "of the task" in caplog.text


@simulated
async def test_scheduler_ends_if_it_can_no_longer_renew_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: Scheduler) -> None:
        raise RuntimeError("of the renewals")

    monkeypatch.setattr(Scheduler, "_renew", fail)

    with pytest.raises(ExceptionGroup) as raised:
        await asyncio.wait_for(Bench(ScriptedWeb({})).scheduler().run(), 60)

    assert raised.group_contains(RuntimeError, match="of the renewals")
