"""Hosts on hold in a batch crawl: kept in the crawl directory, skipped by generate, named in the results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.batch.crawls import NOW, crawl_at, crawldb, datum, write_crawldb

from scoter.batch.crawldir.directory import HOLDS, CrawlDir
from scoter.batch.jobs.crawl import CrawlLimits, CrawlResult, crawl
from scoter.batch.jobs.explain import explain, summarize
from scoter.batch.jobs.fetch import fetch
from scoter.batch.jobs.generate import ON_HOLD, GenerateOptions, generate
from scoter.batch.jobs.readseg import summarize_segments
from scoter.batch.jobs.updatedb import updatedb
from scoter.cli.main import main
from scoter.config import load
from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine
from scoter.store.host_holds import SqliteHostHolds


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as opened:
        yield opened


@contextmanager
def busy_server() -> Iterator[tuple[int, list[str]]]:
    """Answer 429 with a Retry-After of a day for busy.test, a page for others; yield the port and what was asked.

    The robots.txt of slow.test asks for a Crawl-delay of 2,000 seconds.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers["Host"]
            is_robots = self.path == "/robots.txt"
            if not is_robots:
                asked.append(host + self.path)
            has_robots = is_robots and host == "slow.test"
            body = b"User-agent: *\nCrawl-delay: 2000" if has_robots else b"" if is_robots else b"<p>page</p>"
            self.send_response(404 if is_robots and not has_robots else 429 if host == "busy.test" else 200)
            if host == "busy.test" and not is_robots:
                self.send_header("Retry-After", "86400")
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def seeded(path: Path, now: datetime, pages: int = 3) -> CrawlDir:
    """Return a crawl of some pages of two hosts, all due."""
    made = crawl_at(path)
    hosts = ("busy.test", "calm.test")
    rows = [datum(f"http://{host}/{page}", "unfetched", fetch_time=now) for host in hosts for page in range(pages)]
    write_crawldb(made, rows)
    return made


def settings(port: int) -> list[str]:
    return [
        "agent.name=testbot",
        f'fetch.connect_to=["*:80=127.0.0.1:{port}"]',
        "fetch.delay=0",
        "fetch.processes=1",
        "store.disk_floor=0B",
    ]


def test_generate_skips_hosts_on_hold_and_counts_their_urls(tmp_path: Path, engine: Engine) -> None:
    made, until = seeded(tmp_path / "crawl", NOW), NOW + timedelta(hours=5)
    with SqliteHostHolds(made.path / HOLDS, clock=NOW.timestamp) as holds:
        holds.put([("busy.test", until.timestamp(), 5.0)])

    done = generate(made, engine, load(), now=NOW)
    unmarked = load(overrides=["generate.update_crawldb=false"])
    later = generate(made, engine, unmarked, now=until + timedelta(seconds=1))

    assert (done.urls, done.skipped, done.deferred) == (3, {ON_HOLD: 3}, {"busy.test": until})
    assert (later.urls, later.deferred) == (6, {})


def test_generate_does_not_skip_a_host_that_only_keeps_its_delay(tmp_path: Path, engine: Engine) -> None:
    made = seeded(tmp_path / "crawl", NOW)
    with SqliteHostHolds(made.path / HOLDS, clock=NOW.timestamp) as holds:
        holds.put([("busy.test", NOW.timestamp() + 600, 600.0), ("calm.test", NOW.timestamp() + 30, 0.0)])

    assert generate(made, engine, load(), now=NOW).urls == 6


def test_generate_with_only_held_hosts_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime.now(UTC)
    made = seeded(tmp_path / "crawl", now - timedelta(days=1))
    with SqliteHostHolds(made.path / HOLDS) as holds:
        holds.put([(host, now.timestamp() + 3_600, 5.0) for host in ("busy.test", "calm.test")])

    with pytest.raises(SystemExit) as ended:
        main(["generate", str(made.path)])

    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert "6 of hosts on hold" in told
    assert "On hold: busy.test until " in told


def test_hold_of_one_fetch_is_kept_by_the_next(tmp_path: Path, engine: Engine) -> None:
    now = datetime.now(UTC)
    made = seeded(tmp_path / "crawl", now)
    with busy_server() as (port, asked):
        config = load(overrides=settings(port))
        segments = generate(made, engine, config, now=now, options=GenerateOptions(top_n=3, max_segments=2)).segments
        done = [fetch(made, made.segment(name), config, engine=lambda: engine, parses=True) for name in segments]

    assert len(segments) == 2
    assert len([text for text in asked if text.startswith("busy.test")]) == 1
    assert sorted(text for text in asked if text.startswith("calm.test")) == [f"calm.test/{page}" for page in range(3)]
    assert [each.complete for each in done] == [True, True]
    assert sum(each.not_requested.get("deferred", 0) for each in done) == 2
    assert {host for each in done for host in each.deferred} == {"busy.test"}


def test_every_url_of_a_deferred_host_has_a_row_that_updates_ignore(tmp_path: Path, engine: Engine) -> None:
    now = datetime.now(UTC)
    made = seeded(tmp_path / "crawl", now)
    before = crawldb(made)
    with busy_server() as (port, _):
        config = load(overrides=settings(port))
        (name,) = generate(made, engine, config, now=now).segments
        segment = made.segment(name)
        fetch(made, segment, config, engine=lambda: engine, parses=True)
    updatedb(made, engine, config, [segment], now=datetime.now(UTC))

    rows = {row["url"]: row for batch in segment.crawl_fetch().scan() for row in batch.to_pylist()}
    assert rows.keys() == before.keys()
    deferred = {url for url, row in rows.items() if row["status"] == "deferred"}
    assert len(deferred) == 2
    assert {rows[url]["reason"] for url in deferred} == {"deferred"}
    after = crawldb(made)
    assert {url: after[url] for url in deferred} == {url: before[url] for url in deferred}
    (about,) = summarize_segments(made, [segment])
    assert (about.fetched, about.statuses) == (4, {"deferred": 2, "retry": 1, "success": 3})
    told = summarize(explain(made, config, min(deferred), now=datetime.now(UTC)), datetime.now(UTC))
    assert "not requested" in told


def test_crawl_ends_and_names_the_hosts_on_hold(tmp_path: Path, engine: Engine) -> None:
    made = seeded(tmp_path / "crawl", datetime.now(UTC))
    with busy_server() as (port, asked):
        done = crawl(made, engine, load(overrides=settings(port)), rounds=CrawlLimits(most=5, dedup=False))

    assert len([text for text in asked if text.startswith("busy.test")]) == 1
    assert len(done.rounds) == 1
    assert done.ended_by == "all URLs that are due belong to hosts on hold"
    assert not done.is_done
    left = done.deferred["busy.test"] - datetime.now(UTC)
    assert timedelta(hours=23) < left <= timedelta(days=1)


def slow_crawl(path: Path, port: int, engine: Engine, *more: str) -> tuple[CrawlDir, CrawlResult, str]:
    """Crawl two pages of a host with a long Crawl-delay; return also what is explained about one."""
    made, config = crawl_at(path), load(overrides=[*settings(port), *more])
    now = datetime.now(UTC)
    write_crawldb(made, [datum(f"http://slow.test/{page}", "unfetched", fetch_time=now) for page in range(2)])
    done = crawl(made, engine, config, rounds=CrawlLimits(most=3, dedup=False))
    found = explain(made, config, "http://slow.test/1", now=datetime.now(UTC))
    return made, done, found.robots.why if found.robots is not None else ""


def test_urls_of_a_host_with_a_long_crawl_delay_stay_due(tmp_path: Path, engine: Engine) -> None:
    with busy_server() as (port, asked):
        made, done, told = slow_crawl(tmp_path / "crawl", port, engine)

    assert asked == []
    assert done.deferred.keys() == {"slow.test"}
    assert {(row["status"], row["retries"]) for row in crawldb(made).values()} == {("unfetched", 0)}
    assert (
        "its Crawl-delay of 33 min 20 s is longer than fetch.max_crawl_delay: URLs for which a round has no time"
        in told
    )


def test_urls_of_a_host_with_a_long_crawl_delay_are_gone_if_they_are_to_be_skipped(
    tmp_path: Path, engine: Engine
) -> None:
    with busy_server() as (port, asked):
        made, done, told = slow_crawl(tmp_path / "crawl", port, engine, "fetch.long_crawl_delay=skip")

    assert (asked, done.deferred) == ([], {})
    assert {row["status"] for row in crawldb(made).values()} == {"gone"}
    assert told.endswith("its pages are skipped")


def test_long_crawl_delay_can_be_capped(tmp_path: Path, engine: Engine) -> None:
    capped = ("fetch.long_crawl_delay=cap", "fetch.max_crawl_delay=100ms")
    with busy_server() as (port, asked):
        made, done, _ = slow_crawl(tmp_path / "crawl", port, engine, *capped, "fetch.min_crawl_delay=0s")

    assert (sorted(asked), done.deferred) == (["slow.test/0", "slow.test/1"], {})
    assert {row["status"] for row in crawldb(made).values()} == {"fetched"}
