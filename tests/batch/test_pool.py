"""The processes that fetch: started ahead of their work, and what becomes of those that are not needed."""

from __future__ import annotations

import os
import signal

import pytest

from scoter.batch.fetching.pool import Pool


def test_a_process_that_was_started_ahead_and_not_needed_is_not_waited_for() -> None:
    with Pool() as pool:
        pool.prepare()
        pool.prepare()
        (process,) = pool._processes

    assert process.exitcode == -signal.SIGTERM


def test_ctrl_c_while_a_process_starts_is_left_to_its_parent(capfd: pytest.CaptureFixture[str]) -> None:
    with Pool() as pool:
        pool.prepare()
        (process,) = pool._processes
        os.kill(process.pid, signal.SIGINT)
        pool.run([], hear=lambda said: None, wants_end=lambda: False)

    assert process.exitcode == 0
    assert capfd.readouterr().err == ""
