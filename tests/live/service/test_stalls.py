"""A hanging process is replaced; a busy one is not."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.service.running import CORE, LOOKUPS, Service, announced, pages, service

from scoter.live.service.process import HEARTBEATS, StallDetector, cpu_time
from scoter.simweb import SimServer, WebSpec, running

SPEC = WebSpec(hosts=30, pages=100, page_bytes=2_000, latency=0.1)
PAGES = pages(SPEC, 40)
SILENCE = 10.0


class Watched:
    """A simulated process and its stall detector."""

    def __init__(self) -> None:
        self.now = 100.0
        self.used = 5.0
        self.watch = StallDetector(SILENCE, lambda: self.used, lambda: self.now)

    def silent_for(self, seconds: float, *, busy: float = 0.0, beats: bool = False) -> float | None:
        """Let time pass; return after how many seconds a stall was detected, if any."""
        for step in range(round(seconds * HEARTBEATS / SILENCE)):
            self.now += SILENCE / HEARTBEATS
            self.used += busy * SILENCE / HEARTBEATS
            if beats:
                self.watch.heard()
            if self.watch.is_stalled():
                return (step + 1) * SILENCE / HEARTBEATS
        return None


def test_idle_silent_process_is_stalled_after_the_timeout() -> None:
    watched = Watched()
    watched.watch.is_ready()
    assert watched.silent_for(100, beats=True) is None

    assert watched.silent_for(100) == SILENCE


def test_process_with_unknown_cpu_time_counts_as_busy() -> None:
    watched = Watched()
    watched.watch = StallDetector(SILENCE, lambda: None, lambda: watched.now)
    watched.watch.is_ready()

    assert watched.silent_for(1_000) == 6 * SILENCE


def test_cpu_time_includes_user_and_system_time() -> None:
    used = cpu_time(os.getpid())

    assert used == pytest.approx(time.process_time(), abs=0.5)
    assert cpu_time(2**22 + 1) is None  # larger than any process ID


def test_busy_silent_process_gets_more_time_but_not_forever() -> None:
    watched = Watched()
    watched.watch.is_ready()
    assert watched.silent_for(5 * SILENCE, busy=0.3) is None
    watched.watch.heard()

    assert watched.silent_for(1_000, busy=1.0) == 6 * SILENCE


def test_process_that_is_not_ready_may_work_without_limit() -> None:
    watched = Watched()
    assert watched.silent_for(3_600, busy=0.05) is None
    watched.watch.heard()

    assert watched.silent_for(1_000) == 6 * SILENCE


def test_pause_of_the_watcher_is_not_a_stall() -> None:
    watched = Watched()
    watched.watch.is_ready()
    watched.silent_for(2)
    watched.now += 3_600

    assert not watched.watch.is_stalled()
    assert watched.silent_for(100) == SILENCE


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(SPEC) as server:
        yield server


@pytest.fixture(scope="module")
def live(web: SimServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("live") / "new", web.port, "live.silence=1.5") as started:
        yield started


@pytest.mark.slow
def test_stopped_core_is_replaced_and_nothing_is_lost(live: Service) -> None:
    live.wait_until_ready()
    (core,) = live.pids(CORE)
    urls = PAGES[:20]
    live.submit(*urls, id="still")

    os.kill(core, signal.SIGSTOP)
    records = [live.record(url) for url in urls]

    assert live.pids(CORE) != [core]
    assert not Path(f"/proc/{core}").exists()
    assert {record["state"] for record in records} == {"ok"}
    assert announced(live, "still") == Counter(urls)


@pytest.mark.slow
def test_stopped_lookup_process_is_replaced(live: Service) -> None:
    (lookup,) = live.pids(LOOKUPS)

    os.kill(lookup, signal.SIGSTOP)

    assert live.another(LOOKUPS, than=lookup)
    assert live.get("/healthz").status == 200


@pytest.mark.slow
def test_briefly_stopped_core_is_not_replaced(live: Service) -> None:
    live.wait_until_ready()
    (core,) = live.pids(CORE)

    for _ in range(3):
        os.kill(core, signal.SIGSTOP)
        time.sleep(0.5)  # a third of the allowed silence
        os.kill(core, signal.SIGCONT)
        live.wait_until_ready()

    assert live.pids(CORE) == [core]
