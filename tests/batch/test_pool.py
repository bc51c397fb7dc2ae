"""The pool of workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scoter.batch.worker.pool import FetchPool
from scoter.batch.worker.process import KeptParser, share_limits
from scoter.config import load

linux = pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux alone")


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=linux)])
def test_starting_worker_ignores_ctrl_c(method: str, capfd: pytest.CaptureFixture[str]) -> None:
    with FetchPool() as pool:
        pool._start(method)
        (process,) = pool._processes
        os.kill(process.pid, signal.SIGINT)

    assert process.exitcode == 0
    assert capfd.readouterr().err == ""


def _forking(name: str) -> subprocess.CompletedProcess[str]:
    """Run a function of ``tests.batch.forking`` in a process with one thread; pytest's has more."""
    command = [sys.executable, "-m", "tests.batch.forking", name]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


@linux
def test_forked_workers_have_separate_pipes_and_end_when_they_close() -> None:
    found = json.loads(_forking("pipes").stdout)

    assert found["said"] == found["expected"]
    # Its pipe closes although the others, which are copies from later on, live.
    assert found["first"] == 0
    assert found["others alive"] == [True, True]


@linux
def test_forked_workers_handle_signals_like_spawned_ones() -> None:
    assert json.loads(_forking("signals").stdout) == {"interrupted": 0, "ended": -signal.SIGTERM}


@linux
def test_forked_workers_end_when_their_parent_is_killed() -> None:
    # They hold its standard output, which is read to its end only when the last of them is gone.
    done = _forking("killed")

    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == 2


@linux
def test_command_has_one_thread_when_it_forks() -> None:
    """Otherwise workers would be spawned, half a second each, without notice."""
    code = "\n".join(
        [
            "from scoter.cli.main import tune_process",
            "tune_process()",
            "from scoter.batch.worker.pool import FetchPool",
            "from scoter.config import load",
            "with FetchPool() as pool:",
            "    pool.fork(2, load())",
            "    print(len(pool._processes))",
        ]
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)

    assert done.stdout == "2\n"


def test_nothing_is_forked_if_the_threads_are_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("scoter.batch.worker.pool._TASKS", tmp_path / "missing")

    with FetchPool() as pool:
        pool.fork(2, load())
        assert pool._processes == []


def test_nothing_is_forked_while_another_thread_runs() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        with FetchPool() as pool:
            pool.fork(2, load())
            assert pool._processes == []
    finally:
        done.set()
        other.join()


def test_global_limits_are_divided_among_workers() -> None:
    config = load(overrides=["fetch.threads=50", "fetch.throughput_threshold_pages=10", "fetch.bandwidth_target=4MiB"])

    fetch = share_limits(config, 4).fetch

    assert (fetch.threads, fetch.throughput_threshold_pages, fetch.bandwidth_target) == (13, 2.5, 2**20)
    assert share_limits(load(), 4).fetch.throughput_threshold_pages is None


def test_parser_process_is_kept_unless_rules_may_have_changed() -> None:
    kept, config = KeptParser(), load()

    first = kept.process_for(config)

    assert first is not None
    assert kept.process_for(load()) is first
    assert kept.process_for(load(overrides=["parse.timeout=1s"])) is not first
    assert kept.process_for(load(overrides=["parse.filters=language,regex"])) is None
