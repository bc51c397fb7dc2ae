"""The processes that fetch."""

from __future__ import annotations

import os
import signal

import pytest

from scoter.batch.fetching.pool import Pool


def test_ctrl_c_while_a_process_starts_is_left_to_its_parent(capfd: pytest.CaptureFixture[str]) -> None:
    with Pool() as pool:
        pool._start()
        (process,) = pool._processes
        os.kill(process.pid, signal.SIGINT)

    assert process.exitcode == 0
    assert capfd.readouterr().err == ""
