"""The fetch job: workers, parts, stopping and resuming; followed redirects and links; stored content."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from tests.batch.crawls import NOW, crawl_at, datum
from tests.batch.making import crawldb_of
from tests.long.batch_truth import settings

from scoter.batch.crawldir.directory import CrawlDir, StopRequest
from scoter.batch.crawldir.segment import INFO_FILE, Segment, SegmentInfo
from scoter.batch.fetchlists.lists import list_number
from scoter.batch.jobs.fetch import fetch
from scoter.batch.jobs.parse import parse
from scoter.batch.jobs.updatedb import updatedb
from scoter.batch.worker.progress import FetchJobResult, FetchProgress
from scoter.config import load
from scoter.core.url import canonical
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import UsageError
from scoter.simweb import SimServer, WebSpec, running
from scoter.store.tables import PartSet
from scoter.store.warc import WarcReader

Row = dict[str, Any]
# Slow enough to be stopped in the middle; its hosts stand in both of two lists.
SLOW = WebSpec(seed=3, hosts=6, pages=120, page_bytes=1_500, links=3, latency=0.05)
LONG = 'fetch.delay="500ms"'  # a fetch that will be stopped must not end before
PARSED = (Segment.parse_data, Segment.parse_text, Segment.crawl_parse)


@pytest.fixture(scope="module")
def server() -> Iterator[SimServer]:
    with running(SLOW) as opened:
        yield opened


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def pages_of(server: SimServer) -> list[str]:
    """Return the ordinary pages of a web."""
    return [
        fact.url for name in server.web.hosts() for fact in server.web.resources(name) if "/private" not in fact.url
    ]


def segment_of(
    crawl: CrawlDir, urls: Iterable[str], lists: int = 2, name: str = "20261115050000", **columns: Any
) -> Segment:
    """Write a segment to fetch."""
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    rows = [{**datum(url, "unfetched", **columns), "list": list_number(canonical(url), "host", lists)} for url in urls]
    about = SegmentInfo(created=NOW, lists=lists, urls=len(rows))
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    parts = segment.crawl_generate()
    for number in range(lists):
        with parts.part(f"list-{number:05d}") as part:
            mine = [{name: row.get(name) for name in parts.schema.names} for row in rows if row["list"] == number]
            part.write(pa.RecordBatch.from_pylist(mine, schema=parts.schema))
    return segment


def fetched(crawl: CrawlDir, segment: Segment, server: SimServer, *more: str, **given: Any) -> FetchJobResult:
    """Fetch the rest of a segment, with parsing by default."""
    config = load(overrides=settings(server.port, 'store.warc_age="1s"', "fetch.processes=2", *more))
    with DuckDbEngine(crawl.scratch, 2**28, threads=1) as engine:
        return fetch(crawl, segment, config, engine=lambda: engine, **{"parses": True, **given})


def rows_of(parts: PartSet) -> list[Row]:
    return [row for batch in parts.scan() for row in batch.to_pylist()]


def urls_of(segment: Segment) -> list[str]:
    return sorted(row["url"] for row in rows_of(segment.crawl_fetch()))


def asked(server: SimServer, since: int = 0) -> list[str]:
    entries = server.ledger.requests(since=since)
    return [f"http://{entry.host}{entry.path}" for entry in entries if entry.path != "/robots.txt"]


def test_delay_of_a_list_is_obeyed(crawl: CrawlDir, server: SimServer) -> None:
    by_host: dict[str, list[str]] = {}
    for url in pages_of(server):
        by_host.setdefault(canonical(url).host, []).append(url)
    slow, quick = [host for host, urls in sorted(by_host.items()) if len(urls) >= 4][:2]
    segment = segment_of(crawl, by_host[slow][:4], lists=1, delay_ms=600)
    other = segment_of(crawl, by_host[quick][:4], lists=1, name="20261115060000")
    since = server.ledger.count()

    fetched(crawl, segment, server)
    fetched(crawl, other, server)

    began: dict[str, list[float]] = {}
    for entry in server.ledger.requests(since=since):
        if entry.path != "/robots.txt":
            began.setdefault(entry.host, []).append(entry.start)
    gaps = {host: [second - first for first, second in pairwise(sorted(times))] for host, times in began.items()}
    assert min(gaps[slow]) >= 0.59
    assert min(gaps[quick]) < 0.5


def at_first_part(segment: Segment, act: Callable[[], None]) -> Callable[[FetchProgress], None]:
    """Return a callback that acts once, when the first part is finished."""
    done: list[bool] = []

    def on_progress(state: FetchProgress) -> None:
        if not done and segment.crawl_fetch().finished():
            done.append(True)
            act()

    return on_progress


def test_resumed_fetch_skips_urls_in_finished_parts(crawl: CrawlDir, server: SimServer) -> None:
    wanted = pages_of(server)
    segment = segment_of(crawl, wanted)
    stopping = StopRequest()

    def stop() -> None:
        stopping.by = "the test"

    first = fetched(crawl, segment, server, LONG, on_progress=at_first_part(segment, stop), stopping=stopping)
    have, before = urls_of(segment), server.ledger.count()
    second = fetched(crawl, segment, server)

    assert (first.complete, second.complete) == (False, True)
    assert not segment.path.joinpath("tmp").exists()
    assert 0 < len(have) < len(wanted)
    assert not set(asked(server, before)) & set(have)
    assert urls_of(segment) == sorted(wanted)
    assert (segment.is_fetched, segment.is_parsed) == (True, True)


def test_fetched_segment_suggests_the_next_command(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server)[:1], 1)
    fetched(crawl, segment, server)

    with pytest.raises(UsageError, match="this segment is already fetched") as before:
        fetched(crawl, segment, server)
    with DuckDbEngine(crawl.scratch, 2**28, threads=1) as engine:
        updatedb(crawl, engine, load(), [segment], now=NOW)
    with pytest.raises(UsageError, match="and in the crawldb") as after:
        fetched(crawl, segment, server)

    assert (before.value.hint, after.value.hint) == (
        f"Run: scoter updatedb {crawl.path}",
        f"Run: scoter generate {crawl.path}",
    )


def test_response_time_is_stored_in_the_metadata(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server)[:2], 1, metadata=[("lang", "en"), ("_rs_", "7")])

    fetched(crawl, segment, server)

    for row in rows_of(segment.crawl_fetch()):
        noted = dict(row["metadata"])
        assert noted.pop("_rs_") == str(row["response_ms"])
        assert row["response_ms"] >= 1000 * SLOW.latency
        assert noted["lang"] == "en"


@pytest.mark.parametrize("wanted", [True, False])
def test_cookie_in_the_metadata_is_sent_if_configured(crawl: CrawlDir, server: SimServer, wanted: bool) -> None:
    segment = segment_of(crawl, pages_of(server)[:1], 1, metadata=[("Cookie", "id=1")])

    fetched(crawl, segment, server, f"http.enable_cookie_header={str(wanted).lower()}")

    (file,) = segment.content.glob("*.warc.gz")
    assert (b"\r\nCookie: removed\r\n" in gzip.decompress(file.read_bytes())) is wanted


@pytest.mark.parametrize("wanted", [True, False])
def test_robots_txt_responses_are_archived_if_configured(crawl: CrawlDir, server: SimServer, wanted: bool) -> None:
    (url,) = pages_of(server)[:1]
    segment = segment_of(crawl, [url], 1)

    fetched(crawl, segment, server, f"fetch.store_robotstxt={str(wanted).lower()}", "http.store_responsetime=false")

    captured = []
    for file in segment.content.glob("*.warc.gz"):
        with WarcReader(file) as reader:
            captured += [found.url for found in reader]
    robots = f"http://{canonical(url).host}/robots.txt"
    assert sorted(captured) == sorted([url, robots] if wanted else [url])
    assert urls_of(segment) == [url]
    (row,) = rows_of(segment.crawl_fetch())
    assert "_rs_" not in dict(row["metadata"] or ())


def test_archive_records_the_user_agent_that_servers_saw(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server)[:1], lists=1)

    fetched(crawl, segment, server, "agent.url=https://example.org/bot", "agent.version=7")

    (file,) = segment.content.glob("*.warc.gz")
    asked = re.findall(rb"(?im)^(?:http-header-)?user-agent: (.*)\r", gzip.decompress(file.read_bytes()))
    assert len(asked) == 2
    assert len(set(asked)) == 1
    assert asked[0].endswith(b"/7 (https://example.org/bot)")


@pytest.mark.slow
def test_killed_worker_is_replaced(crawl: CrawlDir, server: SimServer) -> None:
    by_host: dict[str, list[str]] = {}
    for url in pages_of(server):
        by_host.setdefault(canonical(url).host, []).append(url)
    wanted = [url for urls in by_host.values() for url in urls[:16]]
    segment = segment_of(crawl, wanted)
    notes: list[str] = []

    def kill() -> None:
        victim = multiprocessing.active_children()[0]
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)

    # With this delay, both workers are busy long after the first part is finished.
    delay, kill_one = 'fetch.delay="250ms"', at_first_part(segment, kill)
    done = fetched(crawl, segment, server, delay, on_progress=kill_one, on_message=notes.append)

    assert done.complete
    assert "signal 9" in notes[0]
    assert urls_of(segment) == sorted(wanted)


@pytest.mark.slow
def test_ctrl_c_stops_a_fetch_cleanly_and_it_can_be_resumed(crawl: CrawlDir, server: SimServer) -> None:
    wanted = pages_of(server)
    segment = segment_of(crawl, wanted)
    options = [text for each in settings(server.port, 'store.warc_age="1s"') for text in ("-D", each)]
    command = [sys.executable, "-m", "scoter.cli.main", "fetch", str(crawl.path), "--parse", "--json", *options]
    before = server.ledger.count()

    with subprocess.Popen(
        [*command, "-D", LONG], stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as running_:
        while server.ledger.count() < before + 20:
            with suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"it ended by itself with {running_.wait(0.05)}")
        os.killpg(running_.pid, signal.SIGINT)
        said, complaint = running_.communicate(timeout=60)
    have, since = urls_of(segment), server.ledger.count()
    again = subprocess.run(command, capture_output=True, timeout=60, check=False)

    assert running_.returncode == 130, complaint
    assert complaint.count(b"Press Ctrl-C again to end at once.") == 1
    assert msgspec.json.decode(said)["done"] == len(have)
    assert b"Traceback" not in complaint
    assert msgspec.json.decode(said)["complete"] is False
    assert 0 < len(have) < len(wanted)
    assert again.returncode == 0, again.stderr
    assert not set(asked(server, since)) & set(have)
    assert urls_of(segment) == sorted(wanted)


def test_parsing_after_fetching_gives_the_same_rows(crawl: CrawlDir, server: SimServer, tmp_path: Path) -> None:
    wanted = pages_of(server)[:60]
    apart, at_once = segment_of(crawl, wanted), segment_of(crawl_at(tmp_path / "other"), wanted)

    fetched(crawl, apart, server, parses=False)
    assert not apart.is_parsed
    parse(apart, load(overrides=settings(server.port)))
    fetched(crawl, at_once, server)

    for table in PARSED:
        assert _sorted(rows_of(table(apart))) == _sorted(rows_of(table(at_once)))
    assert rows_of(apart.crawl_parse())


def test_segment_parsed_only_in_part_during_the_fetch_is_not_marked_parsed(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server))
    stopping = StopRequest()

    def stop() -> None:
        stopping.by = "the test"

    fetched(crawl, segment, server, LONG, on_progress=at_first_part(segment, stop), stopping=stopping, parses=False)
    before = set(urls_of(segment))
    done = fetched(crawl, segment, server)
    steps = [segment.is_fetched, segment.is_parsed]
    parse(segment, load(overrides=settings(server.port)))

    assert done.complete
    assert steps == [True, False]
    assert segment.is_parsed
    successes = {row["url"] for row in rows_of(segment.crawl_fetch()) if row["status"] == "success"}
    assert before & successes
    assert successes <= {row["url"] for row in rows_of(segment.parse_data())}


def test_store_content_off_parses_pages_without_an_archive(crawl: CrawlDir, server: SimServer) -> None:
    wanted = pages_of(server)[:10]
    segment = segment_of(crawl, wanted)

    fetched(crawl, segment, server, "fetch.store_content=false")

    assert not segment.content.exists()
    assert urls_of(segment) == sorted(wanted)
    assert {row["warc_file"] for row in rows_of(segment.crawl_fetch())} == {None}
    assert rows_of(segment.parse_data())


def test_parsing_again_uses_the_current_settings(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server)[:20])
    fetched(crawl, segment, server)
    before = sorted(row["url"] for row in rows_of(segment.parse_data()))
    config = load(overrides=settings(server.port, "parse.markdown=true"))

    with pytest.raises(UsageError, match="already parsed"):
        parse(segment, config)
    done = parse(segment, config, again=True)

    texts = rows_of(segment.parse_text())
    assert done.complete
    assert segment.is_parsed
    assert sorted(row["url"] for row in rows_of(segment.parse_data())) == before
    assert any(row["markdown"] for row in texts)
    assert not [each.name for each in segment.path.iterdir() if each.name.startswith(".")]


def test_pages_that_are_not_archived_cannot_be_parsed_again(crawl: CrawlDir, server: SimServer) -> None:
    segment = segment_of(crawl, pages_of(server)[:10])
    fetched(crawl, segment, server, "fetch.store_content=false")

    with pytest.raises(UsageError, match="not in the archive"):
        parse(segment, load(overrides=settings(server.port)), again=True)

    assert segment.is_parsed
    assert rows_of(segment.parse_data())


def test_redirects_are_followed_within_their_list_and_otherwise_recorded(crawl: CrawlDir, server: SimServer) -> None:
    moved = [fact for name in server.web.hosts() for fact in server.web.resources(name) if fact.target]
    chain = next(fact for fact in moved if "chain" in fact.shows)
    across = next(fact for fact in moved if _list(fact.url) != _list(fact.target))
    segment = segment_of(crawl, [chain.url, across.url])

    fetched(crawl, segment, server, "fetch.redirect_max=5")

    rows = {row["url"]: row for row in rows_of(segment.crawl_fetch())}
    here, hops = chain.url, 0
    while rows[here]["redirect_to"]:
        here, hops = rows[here]["redirect_to"], hops + 1
    assert hops >= 2
    assert rows[here]["status"] == "success"
    assert rows[across.url]["redirect_to"] == across.target
    assert across.target not in rows


def test_links_are_followed_to_the_configured_depth(crawl: CrawlDir, server: SimServer) -> None:
    front = server.web.seeds()[0]
    segment = segment_of(crawl, [front])
    options = ("fetch.follow_outlinks_depth=1", "fetch.follow_outlinks_num_links=5")

    fetched(crawl, segment, server, *options)

    linked = {row["url"] for row in rows_of(segment.crawl_parse()) if row["source"] == front}
    followed = set(urls_of(segment)) - {front}
    assert len(followed) == 5
    assert followed <= linked
    assert {canonical(url).host for url in followed} == {canonical(front).host}


def test_followed_page_gets_the_score_of_its_link_and_distributes_it(crawl: CrawlDir, server: SimServer) -> None:
    front = server.web.seeds()[0]
    segment = segment_of(crawl, [front])
    fetched(crawl, segment, server, "fetch.follow_outlinks_depth=1")

    with DuckDbEngine(crawl.scratch, 2**28, threads=1) as engine:
        updatedb(crawl, engine, load(), [segment], now=NOW)

    links = rows_of(segment.crawl_parse())
    given = Counter[str]()
    for link in links:
        given[link["url"]] += link["score"]
    followed = set(urls_of(segment)) - {front}
    assert followed
    found = {url: row["score"] for url, row in crawldb_of(crawl).items() if url in followed}
    assert found == pytest.approx({url: given[url] for url in followed})
    assert all(link["score"] > 0 for link in links if link["source"] in followed)


def _list(url: str) -> int:
    return list_number(canonical(url), "host", 2)


def _sorted(rows: Sequence[Row]) -> list[str]:
    return sorted(msgspec.json.encode(row).decode() for row in rows)
