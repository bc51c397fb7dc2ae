"""What a new core learns from the lock files of earlier workers."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from scoter.live import clock
from scoter.live.fetching.lease import GRACE, WorkerLock, take_over


async def test_promise_of_a_dead_worker_is_used_and_its_files_are_removed(tmp_path: Path) -> None:
    pledge = WorkerLock(tmp_path)
    pledge.promise(1_234.5)
    pledge.close()
    socket = pledge.path.with_suffix(".sock")
    socket.touch()

    assert await take_over(tmp_path, lambda: 5_000.0) == 1_234.5
    assert not pledge.path.exists()
    assert not socket.exists()


async def test_unreadable_promise_means_requests_until_now(tmp_path: Path) -> None:
    pledge = WorkerLock(tmp_path)
    pledge.promise(float("inf"))
    pledge.close()
    (tmp_path / "fetcher-1.lock").write_text("what?")

    assert await take_over(tmp_path, lambda: 5_000.0) == 5_000.0


@pytest.mark.parametrize(("promised", "since"), [("inf", 5_000.0 + GRACE), ("4_000", 5_000.0)])
async def test_servers_of_interrupted_requests_get_time_to_end_them(
    tmp_path: Path, promised: str, since: float
) -> None:
    script = "import signal, sys; from pathlib import Path; from scoter.live.fetching.lease import WorkerLock; "
    script += "WorkerLock(Path(sys.argv[1])).promise(float(sys.argv[2])); print(flush=True); signal.pause()"
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), promised, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    await worker.stdout.readline()

    assert await take_over(tmp_path, lambda: 5_000.0) == since
    await worker.wait()


async def test_promise_of_an_earlier_boot_counts_as_time_zero(tmp_path: Path) -> None:
    (tmp_path / "fetcher-1.lock").write_text("99999.0 another-boot".ljust(80))

    assert await take_over(tmp_path, lambda: 20.0) == 0.0


async def test_take_over_of_an_empty_folder_returns_time_zero(tmp_path: Path) -> None:
    assert await take_over(tmp_path) == 0.0


def test_promise_is_written_before_it_is_used(tmp_path: Path) -> None:
    pledge = WorkerLock(tmp_path)

    pledge.promise(7.25)

    assert pledge.path.name == f"fetcher-{os.getpid()}.lock"
    assert pledge.path.read_text().split() == ["7.25", *([clock.boot_id()] if clock.boot_id() else [])]
    pledge.close()
