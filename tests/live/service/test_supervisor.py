"""The supervisor restarts processes that end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from scoter.config import load
from scoter.live.service import supervisor
from scoter.live.service.plan import ServicePlan
from scoter.live.service.supervisor import SupervisedProcess, Supervisor


class Failing(SupervisedProcess):
    """A process that ends with the given codes; an ``OSError`` among them is a failed start."""

    def __init__(self, *ends: int | OSError, is_ready: bool = True) -> None:
        super().__init__("process", "nothing", ServicePlan(config=load(), root=str(Path("/nowhere"))))
        self._ends = [*ends]
        if is_ready:
            self.ready.set()

    async def _run(self) -> int:
        end = self._ends.pop(0)
        if not self._ends:
            self.stop()
        if isinstance(end, OSError):
            raise end
        return end


async def test_process_that_cannot_be_restarted_is_retried() -> None:
    async with asyncio.timeout(10):
        code = await Failing(1, BlockingIOError("no more processes"), 7).keep()

    assert code == 7


async def test_process_that_fails_to_start_at_first_raises() -> None:
    with pytest.raises(OSError, match="no more processes"):
        await Failing(OSError("no more processes"), 7, is_ready=False).keep()


class Lasting(SupervisedProcess):
    """A process that is ready at once and runs until it is stopped."""

    pid = 1

    async def _run(self) -> int:
        self.ready.set()
        await self._stopping.wait()
        return 0


async def test_service_touches_a_file_while_it_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ServicePlan(config=load(), root=str(tmp_path))
    plan.folder.create()
    plan.folder.ready.touch()  # of a service that was killed
    process = Lasting("process", "nothing", plan)
    monkeypatch.setattr(supervisor, "process_groups", lambda plan, listening: [[process]])
    announced = asyncio.Event()

    service = Supervisor(plan, [], announced.set)
    running = asyncio.create_task(service.run())
    await announced.wait()
    while not plan.folder.ready.exists():
        await asyncio.sleep(0)
    service._stop()

    assert await running == 0
    assert not plan.folder.ready.exists()
