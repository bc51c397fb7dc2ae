"""Crawls in rounds: resuming, stopping, and conditional requests."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.disks import disk_of
from tests.long.batch_truth import settings, statuses

from scoter.batch.crawldir.directory import STOP, CrawlDir, StopRequest, applied_segments
from scoter.batch.jobs.crawl import CrawlLimits, CrawlProgress, crawl
from scoter.batch.jobs.fetch import fetch
from scoter.batch.jobs.generate import generate
from scoter.batch.jobs.inject import inject
from scoter.batch.jobs.updatedb import updatedb
from scoter.batch.worker.pool import FetchPool
from scoter.cli.main import main
from scoter.config import Config, load
from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import UserError
from scoter.simweb import SimServer, WebSpec, running
from scoter.store.tables import Table

WEB = WebSpec(hosts=3, pages=24, page_bytes=2_000, links=3, trap_size=2, sessions=2, changing=0.0)
MEMORY = 2**28


@pytest.fixture
def server() -> Iterator[SimServer]:
    with running(WEB) as opened:
        yield opened


@pytest.fixture
def config(server: SimServer) -> Config:
    return load(overrides=settings(server.port, "fetch.processes=1", "store.disk_floor=0B"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with DuckDbEngine(tmp_path / "engine", MEMORY, threads=2) as opened:
        yield opened


@pytest.fixture
def directory(tmp_path: Path, server: SimServer, config: Config, engine: Engine) -> CrawlDir:
    """A crawl with seeds and nothing else."""
    made = CrawlDir.create(tmp_path / "crawl", now())
    inject(made, engine, config, server.web.seeds(), now=now())
    return made


def now() -> datetime:
    return datetime.now(UTC)


def rounds(most: int, add_days: int = 0) -> CrawlLimits:
    return CrawlLimits(most=most, top_n=None, add_days=add_days, dedup=False)


def pages(server: SimServer, since: int = 0) -> Counter[int]:
    """Return the number of page responses by status."""
    entries = server.ledger.requests(since=since)
    return Counter(entry.status for entry in entries if entry.path != "/robots.txt")


def at_step(step: str, act: Callable[[], object]) -> Callable[[CrawlProgress], None]:
    """Return a callback that acts whenever a crawl enters a step."""

    def on_progress(progress: CrawlProgress) -> None:
        if progress.step == step:
            act()

    return on_progress


@pytest.mark.parametrize("reached", ["generate", "fetch", "updatedb"])
def test_crawl_resumes_at_any_step(
    reached: str, directory: CrawlDir, engine: Engine, config: Config, server: SimServer
) -> None:
    (name,) = generate(directory, engine, config, now=now()).segments
    segment = directory.segment(name)
    if reached != "generate":
        fetch(directory, segment, config, engine=lambda: engine, parses=True)
    if reached == "updatedb":
        updatedb(directory, engine, config, [segment], now=now())
    before = server.ledger.count()

    done = crawl(directory, engine, config, rounds=rounds(0 if reached == "updatedb" else 1))

    assert [each.segment for each in done.rounds] == ([] if reached == "updatedb" else [name])
    assert sum(pages(server, before).values()) == (len(server.web.seeds()) if reached == "generate" else 0)
    assert applied_segments(directory.crawldb) == applied_segments(directory.linkdb) == frozenset({name})


def test_crawl_stopped_before_its_first_crawldb_ends_normally(tmp_path: Path, engine: Engine) -> None:
    directory, stopping = CrawlDir.create(tmp_path / "crawl", datetime.now(UTC)), StopRequest()
    stopping.by = "a test"

    done = crawl(directory, engine, load(), rounds=CrawlLimits(), stopping=stopping)

    assert (done.ended_by, done.by_status) == ("stopped by a test", {})


def test_stop_file_ends_a_crawl_and_the_next_run_continues(directory: CrawlDir, engine: Engine, config: Config) -> None:
    stop = directory.path / STOP

    stopped = crawl(
        directory,
        engine,
        config,
        rounds=rounds(9),
        stopping=StopRequest(stop),
        on_progress=at_step("updatedb", stop.touch),
    )
    done = crawl(directory, engine, config, rounds=rounds(60, add_days=2), stopping=StopRequest(stop))

    assert (len(stopped.rounds), stopped.is_done, stopped.ended_by) == (1, False, "stopped by the file STOP")
    assert not stop.exists()
    assert done.is_done
    assert "unfetched" not in done.by_status


def test_stop_request_during_a_fetch_leaves_the_segment_to_the_next_run(
    directory: CrawlDir, engine: Engine, config: Config
) -> None:
    stopping = StopRequest()

    def wish() -> None:
        stopping.by = "Ctrl-C"

    stopped = crawl(directory, engine, config, rounds=rounds(9), stopping=stopping, on_progress=at_step("fetch", wish))
    (segment,) = directory.all_segments()
    done = crawl(directory, engine, config, rounds=rounds(1))

    assert stopped.rounds == ()
    assert [each.segment for each in done.rounds] == [segment.name]


def test_terminated_worker_ends_the_crawl_with_an_error_and_it_can_continue(
    directory: CrawlDir, engine: Engine, config: Config, server: SimServer
) -> None:
    slow = load(overrides=settings(server.port, "fetch.processes=1", "fetch.delay=3s", "fetch.adaptive_delay=false"))
    with FetchPool() as pool:

        def end(progress: CrawlProgress) -> None:
            if progress.fetch is not None:  # it is at work
                os.kill(pool._processes[0].pid, signal.SIGTERM)

        with pytest.raises(UserError, match="a worker was asked to stop"):
            crawl(directory, engine, slow, rounds=rounds(1), on_progress=end, pool=pool)

    (done,) = crawl(directory, engine, config, rounds=rounds(1)).rounds

    assert [done.segment] == [each.name for each in directory.all_segments()]
    assert done.fetched == len(server.web.seeds())


def test_recrawl_sends_conditional_requests(
    directory: CrawlDir, engine: Engine, config: Config, server: SimServer
) -> None:
    crawl(directory, engine, config, rounds=rounds(60, add_days=2))
    first = statuses(directory)
    before = server.ledger.count()

    at_once = crawl(directory, engine, config, rounds=rounds(5))
    a_month_later = crawl(directory, engine, config, rounds=rounds(1, add_days=31))

    answers = pages(server, before)
    now_ = Counter(statuses(directory).values())
    assert (at_once.rounds, at_once.is_done, at_once.ended_by) == ((), True, "nothing is due")
    assert a_month_later.rounds[0].new == 0
    assert answers[304] > len(first) / 3
    assert now_["notmodified"] >= answers[304]
    assert statuses(directory).keys() == first.keys()


def test_crawl_stops_below_the_disk_floor_before_any_request(
    directory: CrawlDir, engine: Engine, server: SimServer
) -> None:
    config = load(overrides=settings(server.port, "fetch.processes=1", "store.disk_floor=900TiB"))

    done = crawl(directory, engine, config, rounds=rounds(5))

    assert "store.disk_floor" in done.ended_by
    assert server.ledger.count() == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(6, tmp_path / "disk") as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 40_000, 150_000])
def test_full_disk_is_reported_and_the_crawl_continues_later(
    left: int, small_disk: Path, server: SimServer, capfd: pytest.CaptureFixture[str]
) -> None:
    directory, ballast = CrawlDir(small_disk / "crawl"), small_disk / "ballast"
    extra = ("fetch.processes=1", "store.disk_floor=0B", 'store.warc_age="1s"')
    options = [text for each in settings(server.port, *extra) for text in ("-D", each)]
    command = ["crawl", str(directory.path), *server.web.seeds(), "--scope", "any", *options]
    assert _ended([*command, "--rounds", "1"]) == 0
    known = statuses(directory)
    capfd.readouterr()

    _fill(ballast, left)
    code = _ended([*command, "--until-done"])
    said = capfd.readouterr().err

    assert code == 2, said
    assert "Make room on the disk" in said
    assert "Traceback" not in said
    for table in (directory.crawldb, directory.linkdb):
        with Table.open(table) as opened:
            opened.verify()
    assert statuses(directory).keys() >= known.keys()

    ballast.unlink()
    assert _ended([*command, "--until-done"]) == 0
    assert "fetched" in statuses(directory).values()
    assert "unfetched" not in statuses(directory).values()


def _fill(ballast: Path, left: int) -> None:
    """Fill a disk except for some bytes."""
    free = os.statvfs(ballast.parent)
    with ballast.open("wb") as file:
        file.write(b"\x00" * (free.f_bavail * free.f_frsize - left))


def _ended(command: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(command)
    return int(ended.value.code or 0)
