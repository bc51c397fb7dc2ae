"""Fetching on executors: the tables of a fetch on this machine, whatever happens to the executors."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import crawl_at
from tests.batch.jobs.test_fetch_job import at_first_part, pages_of, rows_of, segment_of, urls_of
from tests.batch.spark.executors import ProcessEngine
from tests.live.fetching.webs import impolite
from tests.long.batch_truth import settings
from tests.waiting import wait_until

from scoter.batch.crawldir.directory import CrawlDir, StopRequest
from scoter.batch.crawldir.segment import EXECUTORS, Segment
from scoter.batch.fetchlists.lists import list_number
from scoter.batch.jobs.fetch import fetch
from scoter.batch.spark.coordinator import FetchCoordinator
from scoter.batch.spark.driver_connection import DriverLink
from scoter.batch.worker.progress import FetchJobResult
from scoter.config import load
from scoter.core.url import canonical
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import UsageError, UserError
from scoter.fetch.progress import Snapshot
from scoter.simweb import SimServer, WebSpec, running

WEB = WebSpec(seed=3, hosts=6, pages=90, page_bytes=1_500, links=3, latency=0.02)
DELAY = 0.3
LEASE, GRACE = 3.0, 1.0


@pytest.fixture
def server() -> Iterator[SimServer]:
    with running(WEB) as opened:
        yield opened


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def fetched(
    crawl: CrawlDir, segment: Segment, server: SimServer, engine: Any, *more: str, **given: Any
) -> FetchJobResult:
    config = load(
        overrides=settings(
            server.port,
            'store.warc_age="1s"',
            "fetch.where=cluster",
            f"fetch.delay={DELAY}s",
            "fetch.min_crawl_delay=0s",
            f"fetch.lease={LEASE}s",
            f"fetch.lease_grace={GRACE}s",
            *more,
        )
    )
    return fetch(crawl, segment, config, engine=lambda: engine, **{"parses": True, **given})


def violations(server: SimServer) -> list[str]:
    return impolite(server.ledger.requests(since=0), DELAY, key=str)


def comparable(segment: Segment) -> dict[str, Any]:
    """Return the rows of a segment without times and places."""
    fetches = {
        row["url"]: (row["status"], row["http_status"], row["reason"], row["signature"])
        for row in rows_of(segment.crawl_fetch())
    }
    texts = {row["url"]: row["text"] for row in rows_of(segment.parse_text())}
    links = sorted((row["source"], row["url"], row["anchor"]) for row in rows_of(segment.crawl_parse()))
    return {"fetches": fetches, "texts": texts, "links": links}


def test_executors_write_the_tables_of_a_local_fetch(crawl: CrawlDir, server: SimServer) -> None:
    wanted = pages_of(server)
    there = segment_of(crawl, wanted, name="20261115050000")
    here = segment_of(crawl, wanted, name="20261115060000")
    seen: list[int] = []

    done = fetched(
        crawl, there, server, ProcessEngine(), "fetch.delay=50ms", on_progress=lambda state: seen.append(state.done)
    )
    with DuckDbEngine(crawl.scratch, 2**28, threads=1) as engine:
        config = load(overrides=settings(server.port, "fetch.processes=2"))
        fetch(crawl, here, config, engine=lambda: engine, parses=True)

    assert (done.complete, done.urls, done.done) == (True, len(wanted), len(wanted))
    assert there.is_fetched
    assert there.is_parsed
    assert comparable(there) == comparable(here)
    assert seen[-1] == len(wanted)
    archives = {row["warc_file"] for row in rows_of(there.crawl_fetch()) if row["warc_file"]}
    assert archives == {path.name for path in there.content.glob("*.warc.gz")}
    assert not (there.path / "incoming").exists()
    assert not (there.path / EXECUTORS).exists()


def disturbed(
    crawl: CrawlDir, server: SimServer, disturb: Callable[[ProcessEngine], None]
) -> tuple[Segment, FetchJobResult, list[str]]:
    """Fetch, and disturb the executors once the first part is finished."""
    wanted = pages_of(server)
    segment = segment_of(crawl, wanted)
    engine = ProcessEngine()
    threads: list[threading.Thread] = []

    def act() -> None:
        threads.append(threading.Thread(target=disturb, args=(engine,)))
        threads[0].start()

    done = fetched(crawl, segment, server, engine, on_progress=at_first_part(segment, act))
    assert threads, "the fetch ended before it was disturbed"
    threads[0].join()
    return segment, done, wanted


@pytest.mark.slow
def test_killed_executor_loses_nothing_and_its_hosts_are_left_alone(crawl: CrawlDir, server: SimServer) -> None:
    segment, done, wanted = disturbed(crawl, server, lambda engine: os.kill(engine.pid(0), signal.SIGKILL))

    assert done.complete
    assert (done.urls, done.done) == (len(wanted), len(wanted))
    assert abs(sum(done.replies.values()) - len(wanted)) < len(wanted) / 5, "replies of the killed one count"
    assert urls_of(segment) == sorted(wanted), "each URL once"
    assert violations(server) == []


@pytest.mark.slow
def test_suspended_executor_makes_no_requests_and_publishes_nothing_afterwards(
    crawl: CrawlDir, server: SimServer
) -> None:
    def suspend(engine: ProcessEngine) -> None:
        victim = engine.pid(0)
        os.kill(victim, signal.SIGSTOP)
        deadline = time.monotonic() + 60
        while engine.pid(0) == victim and time.monotonic() < deadline:
            time.sleep(0.1)  # until somebody else has started on the list
        time.sleep(1)
        os.kill(victim, signal.SIGCONT)

    segment, done, wanted = disturbed(crawl, server, suspend)

    assert done.complete
    assert urls_of(segment) == sorted(wanted), "each URL once"
    assert violations(server) == []


@pytest.mark.slow
def test_executors_that_are_always_lost_are_one_error_and_the_parts_are_kept(
    crawl: CrawlDir, server: SimServer
) -> None:
    segment = segment_of(crawl, pages_of(server))
    engine, over = ProcessEngine(), threading.Event()

    def kill_always() -> None:
        while not over.wait(0.5):
            has_begun = any(name.startswith("part-001") for name in segment.crawl_fetch().finished())
            if has_begun and (pid := engine.pid(1)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_always)
    killer.start()
    try:
        with pytest.raises(UserError, match="1 of 2 lists are not done"):
            fetched(crawl, segment, server, engine)
    finally:
        over.set()
        killer.join()

    assert segment.crawl_fetch().finished()
    assert not segment.is_fetched
    said: list[str] = []
    assert fetched(crawl, segment, server, ProcessEngine(), on_message=said.append).complete
    assert "executors of an earlier fetch" in said[0]
    assert urls_of(segment) == sorted(pages_of(server))
    assert violations(server) == []


@pytest.mark.slow
def test_stopped_fetch_keeps_finished_pages_and_continues(crawl: CrawlDir, server: SimServer) -> None:
    wanted = pages_of(server)
    segment = segment_of(crawl, wanted)
    stopping = StopRequest()

    def stop() -> None:
        stopping.by = "a test"

    first = fetched(
        crawl, segment, server, ProcessEngine(), on_progress=at_first_part(segment, stop), stopping=stopping
    )
    kept = urls_of(segment)
    second = fetched(crawl, segment, server, ProcessEngine())

    assert not first.complete
    assert 0 < len(kept) < len(wanted)
    assert second.complete
    assert urls_of(segment) == sorted(wanted)


@pytest.mark.slow
def test_killed_executor_does_not_end_the_round_for_its_list(
    crawl: CrawlDir, server: SimServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = pages_of(server)
    segment, engine = segment_of(crawl, wanted), ProcessEngine()
    killed: list[int] = []

    def kill() -> None:
        killed.append(engine.pid(0))
        os.kill(killed[0], signal.SIGKILL)

    class Slow:
        """Ends the round as long as nobody has taken the list over."""

        def reason(self, hosts: int, *, is_read: bool, now: float) -> str:
            return "1 slow host left to the next round" if is_read and engine.pid(0) in killed else ""

    monkeypatch.setattr("scoter.batch.jobs.fetch.SlowHosts", Slow)
    fetched(crawl, segment, server, engine, on_progress=at_first_part(segment, kill), leaves_slow_hosts=True)

    mine = {url for url in wanted if list_number(canonical(url), "host", 2) == 0}
    assert mine <= set(urls_of(segment)), "the new owner of the list fetched the rest of it"


def test_order_to_end_early_is_for_owners_that_know_all_of_their_list(crawl: CrawlDir, tmp_path: Path) -> None:
    segment = segment_of(crawl, ["http://a.example/"], lists=1)
    robots, holds = tmp_path / "robots.sqlite", tmp_path / "holds.sqlite"
    with FetchCoordinator(segment, lists=1, partition="host", lease=0.2, grace=0.1, robots=robots, holds=holds) as made:

        def link() -> DriverLink:
            return DriverLink(("127.0.0.1", made.port), made.secret, 0)

        with link() as first:
            assert first.claim() is not None
            made.end_lists("too early")
            first.report(Snapshot(hosts=1, is_fed=True))
            wait_until(lambda: not made.reports.empty())
            made.end_lists("slow")
            wait_until(lambda: first.order.end == "slow")
        while not made.reports.empty():
            made.reports.get()
        with link() as second:
            assert second.claim() is not None
            assert made.reports.get(timeout=10).snapshot == Snapshot(), "what the first one said last is forgotten"
            made.end_lists("slow")
            second.report(Snapshot(hosts=1))
            wait_until(lambda: not made.reports.empty())
            assert second.order.end == ""


def test_wait_for_executors_of_a_killed_fetch_can_be_stopped(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server))
    segment.note_executors(600.0)
    stopping = StopRequest()
    stopping.by = "a test"

    done = fetched(crawl, segment, server, ProcessEngine(), stopping=stopping)

    assert not done.complete
    assert server.ledger.count() == 0
    assert segment.executors_silence() == 600.0, "the next fetch must wait, too"


def test_error_of_an_executor_is_that_of_the_fetch(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server))
    (segment.path / "crawl_generate" / "list-00001.parquet").write_bytes(b"broken")

    with pytest.raises(UserError, match="cannot read the fetch list"):
        fetched(crawl, segment, server, ProcessEngine())
    assert segment.executors_silence() == 0.0, "all executors have ended"


def test_other_engines_are_refused(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server))

    with (
        DuckDbEngine(crawl.scratch, 2**28, threads=1) as engine,
        pytest.raises(UsageError, match="only Spark can fetch on a cluster"),
    ):
        fetched(crawl, segment, server, engine)


def test_strangers_are_not_served(crawl: CrawlDir, tmp_path: Path) -> None:
    segment = segment_of(crawl, ["http://a.example/"], lists=1)
    robots, holds = tmp_path / "robots.sqlite", tmp_path / "holds.sqlite"
    with (
        FetchCoordinator(
            segment, lists=1, partition="host", lease=5, grace=1, robots=robots, holds=holds
        ) as coordinator,
        socket.create_connection(("127.0.0.1", coordinator.port), timeout=10) as stranger,
    ):
        assert len(stranger.recv(100)) == 36
        stranger.sendall(b"\0\0\0\x20" + bytes(32))
        assert stranger.recv(100) == b""
        assert coordinator.leases.open_count == 1
