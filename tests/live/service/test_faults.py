"""Killed processes are restarted, and no accepted message is lost."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.service.running import CORE, FETCHER, LOOKUPS, Service, announced, family, pages, service

from scoter.simweb import SimServer, WebSpec, running

pytestmark = pytest.mark.slow

# Responses take a while, so that something is always in progress.
SPEC = WebSpec(hosts=60, pages=400, page_bytes=2_000, latency=0.1)
PAGES = pages(SPEC, 100)


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(SPEC) as server:
        yield server


@pytest.fixture(scope="module")
def live(web: SimServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("live") / "new", web.port, "live.processes=2") as started:
        yield started


def test_killed_core_restarts_and_loses_nothing(live: Service) -> None:
    live.wait_until_ready()
    (core,) = live.pids(CORE)
    urls = PAGES[:20]
    taken = live.submit(*urls, id="core")

    os.kill(core, signal.SIGKILL)
    records = [live.record(url) for url in urls]

    assert taken.status == 202
    assert live.another(CORE, than=core)
    assert {record["state"] for record in records} == {"ok"}
    assert announced(live, "core") == Counter(urls)


def test_lookups_are_answered_while_the_core_is_down(live: Service) -> None:
    live.wait_until_ready()
    live.submit(PAGES[20])
    live.record(PAGES[20])
    (core,) = live.pids(CORE)

    os.kill(core, signal.SIGKILL)
    known = live.get(f"/v1/urls?url={PAGES[20]}")
    taken = live.submit(PAGES[21])

    assert known.status == 200
    assert (taken.status, taken.json["type"]) == (503, "urn:scoter:problem:core-away")
    live.another(CORE, than=core)


def test_killed_lookup_process_refuses_no_client(live: Service) -> None:
    (lookup,) = live.pids(LOOKUPS)

    os.kill(lookup, signal.SIGKILL)
    answered = [live.get("/healthz").status for _ in range(5)]

    assert answered == [200] * 5
    assert live.another(LOOKUPS, than=lookup)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_killed_or_stopped_fetcher_is_replaced(live: Service, sign: signal.Signals) -> None:
    urls = PAGES[30:50] if sign is signal.SIGKILL else PAGES[50:70]
    live.wait_until_ready()
    fetcher = live.pids(FETCHER)[0]
    live.submit(*urls, id=sign.name)

    os.kill(fetcher, sign)
    records = [live.record(url) for url in urls]

    assert {record["state"] for record in records} == {"ok"}
    assert announced(live, sign.name) == Counter(urls)


def test_processes_end_with_the_supervisor_and_the_next_service_continues(web: SimServer, tmp_path: Path) -> None:
    urls = PAGES[70:90]
    with service(tmp_path / "orphaned", web.port) as first:
        first.submit(*urls, id="orphaned")
        others = family(first.process.pid)

        first.process.kill()

        assert first.wait_for(lambda: not any(is_alive(pid) for pid in others))
    with service(tmp_path / "orphaned", web.port) as second:
        records = [second.record(url) for url in urls]
        assert {record["state"] for record in records} == {"ok"}
        assert announced(second, "orphaned") == Counter(urls)


def test_core_whose_writer_thread_dies_is_replaced_and_loses_nothing(
    web: SimServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = tmp_path / "end the writer"
    monkeypatch.setenv("DYING_THREAD", str(request))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "dying_thread"))
    urls = PAGES[90:100]
    with (tmp_path / "log").open("w+") as log, service(tmp_path / "live", web.port, log=log) as live:
        live.wait_until_ready()
        (core,) = live.pids(CORE)

        request.touch()
        live.another(CORE, than=core)
        live.wait_for(lambda: live.submit(*urls, id="afterwards").status == 202)
        records = [live.record(url) for url in urls]
        live.stop()
        log.seek(0)
        said = log.read()

    assert {record["state"] for record in records} == {"ok"}
    assert "restarting the core, which ended (exit code 70)" in said
    assert "the thread writer of service.sqlite has failed" in said


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
