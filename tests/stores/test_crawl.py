"""Whole crawls in an object store: equal to local ones, with faults and kills, in a bounded number of requests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.long.batch_truth import settings
from tests.stores.proxy import CUT, LOSE, PASS, SLOW_DOWN, S3Request, StoreProxy
from tests.stores.servers import KEY, SECRET

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.cli.main import main
from scoter.simweb import SimServer, WebSpec, running
from scoter.store.tables import Table
from scoter.store.warc import ArchiveFolder

pytestmark = [pytest.mark.stores, pytest.mark.timeout(600)]

WEB = WebSpec(hosts=3, pages=24, page_bytes=2_000, links=3, trap_size=2, sessions=2, changing=0.0)
ROUNDS = 3
MOST_REQUESTS = 200
"""Requests of a round of two workers with one part each, as docs/object-stores.md states."""
_TIMES = ("time", "segment", "warc", "interval", "_ms", "size")


@pytest.fixture(scope="module")
def server() -> Iterator[SimServer]:
    with running(WEB) as opened:
        yield opened


@pytest.fixture(scope="module")
def wanted(server: SimServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a local crawl of the same web ends with."""
    return state(run_crawl(tmp_path_factory.mktemp("local") / "crawl", server))


def options(server: SimServer, *more: str) -> list[str]:
    return settings(server.port, "fetch.processes=2", "store.disk_floor=0B", *more)


def run_crawl(place: str | Path, server: SimServer) -> CrawlDir:
    """Crawl from the seeds for some rounds."""
    run = CrawlCommand(str(place), server)
    assert run.wait() == 0, run.output
    return CrawlDir.open(place)


def state(directory: CrawlDir) -> dict[str, Any]:
    """Return the rows of every table, without what differs between two crawls of the same web."""
    found: dict[str, Any] = {}
    for name, path, schema in (
        ("crawldb", directory.crawldb, schemas.CRAWLDB),
        ("linkdb", directory.linkdb, schemas.LINKDB),
    ):
        with Table.open(path, schema) as table:
            assert len(table.manifest.applied) == len(directory.all_segments())
            found[name] = rows_of(table.scan())
    for segment in directory.all_segments():
        assert segment.is_fetched
        assert segment.is_parsed
        parts = {
            "fetch": segment.crawl_fetch(),
            "data": segment.parse_data(),
            "text": segment.parse_text(),
            "links": segment.crawl_parse(),
        }
        for name, part in parts.items():
            found[name] = sorted([*found.get(name, ()), *rows_of(part.scan())])
        with ArchiveFolder(segment.content) as archive:
            for batch in segment.crawl_fetch().scan(["url", "warc_file", "warc_offset"]):
                for row in batch.to_pylist():
                    if row["warc_file"]:
                        assert archive.at(row["warc_file"], row["warc_offset"]).url == row["url"]
    return found


def rows_of(batches: Any) -> list[str]:
    rows = []
    for batch in batches:
        names = [name for name in batch.schema.names if not any(part in name for part in _TIMES)]
        for row in batch.select(names).to_pylist():
            if "inlinks" in row:
                row["inlinks"] = sorted(row["inlinks"], key=lambda link: link["url"])
            kept = {name: value for name, value in row.items() if name not in ("metadata", "headers")}
            # Scores are sums, whose last digits depend on the order.
            rows.append(
                repr({name: round(each, 9) if isinstance(each, float) else each for name, each in kept.items()})
            )
    return sorted(rows)


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in wanted:
        missing, more = Counter(wanted[name]) - Counter(found[name]), Counter(found[name]) - Counter(wanted[name])
        assert (sorted(missing), sorted(more)) == ([], []), name


def test_crawl_in_a_store_equals_a_local_one(
    store: StoreProxy, url: str, server: SimServer, wanted: dict[str, Any]
) -> None:
    directory = run_crawl(url, server)

    requests = Counter(store.counts())
    assert_same(state(directory), wanted)
    assert requests.total() <= MOST_REQUESTS * ROUNDS, requests
    assert not list(Path().glob("s3:*"))


QUERIES = {  # and the most requests that each may take, after three rounds of two parts each
    "select count(*) from crawldb": 12,
    "select status, count(*) from crawldb group by all": 12,
    "select count(*) from fetches": 30,
    "select count(*) from pages where title <> ''": 45,
    "select * from segments": 20,
}


def test_commands_that_ask_make_few_requests(store: StoreProxy, url: str, server: SimServer) -> None:
    run_crawl(url, server)
    asked: dict[tuple[str, ...], int] = {
        **{("sql", url, query): most for query, most in QUERIES.items()},
        ("readdb", url, "--stats"): 12,
        ("readdb", url, "--url", server.web.seeds()[0]): 15,
        ("explain", url, server.web.seeds()[0]): 75,
    }
    too_many = {}
    for arguments, most in asked.items():
        store.reset()
        done = subprocess.run([sys.executable, "-m", "scoter", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if len(store.requests) > most:
            too_many[arguments] = store.counts()

    assert too_many == {}


def test_crawl_survives_faults(store: StoreProxy, url: str, server: SimServer, wanted: dict[str, Any]) -> None:
    drawn, writes, faults = Random(7), count(), cycle((CUT, LOSE, SLOW_DOWN))

    def decide(request: S3Request) -> str:
        share = drawn.random()
        if request.method == "PUT" and next(writes) % 12 == 7:
            return next(faults)
        return SLOW_DOWN if share < 0.02 else LOSE if share < 0.03 and request.method == "GET" else PASS

    store.decide = decide
    directory = run_crawl(url, server)

    store.decide = lambda request: PASS
    assert_same(state(directory), wanted)
    assert min(store.actions[action] for action in (CUT, LOSE, SLOW_DOWN)) >= 1


@pytest.mark.parametrize("is_executed", [True, False])
def test_crawl_that_is_killed_between_requests_loses_nothing(
    store: StoreProxy, url: str, server: SimServer, wanted: dict[str, Any], is_executed: bool
) -> None:
    """Each run is killed at a seeded request, before or after the store has executed it; the last one is left alone."""
    drawn = Random(f"{url.rpartition('-')[0]} {is_executed}")
    kills = [drawn.randint(1, 150) for _ in range(3)]
    for kill in kills:
        run = CrawlCommand(url, server)
        run.kill_at(store, kill, is_executed)
        run.wait()
    store.decide = lambda request: PASS
    store.executed = lambda request: None
    while True:
        run = CrawlCommand(url, server)
        code = run.wait()
        assert code in (0, 1), run.output
        if "rounds done" not in run.output or len(CrawlDir.open(url).all_segments()) >= ROUNDS:
            break
    directory = CrawlDir.open(url)
    found = state(directory)
    # A killed crawl may have made more rounds.
    for name in ("fetch", "data", "text", "links"):
        assert not Counter(wanted[name]) - Counter(found[name]), name
    assert {row.partition("'url': ")[2].partition(",")[0] for row in wanted["crawldb"]} <= {
        row.partition("'url': ")[2].partition(",")[0] for row in found["crawldb"]
    }


class CrawlCommand:
    """`scoter crawl` in a process group of its own."""

    def __init__(self, url: str, server: SimServer) -> None:
        given = [text for each in options(server) for text in ("-D", each)]
        self.output = ""
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "scoter", "crawl", url, *server.web.seeds()),
                *("--rounds", str(ROUNDS), "--scope", "any", *given),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def kill_at(self, store: StoreProxy, number: int, is_executed: bool) -> None:
        """Kill the whole group at a request, before or after the store has executed it."""
        store.reset()

        def kill(request: S3Request) -> str:
            if request.number == number:
                os.killpg(self._process.pid, signal.SIGKILL)
            return PASS

        def kill_after(request: S3Request) -> None:
            kill(request)

        if is_executed:
            store.decide, store.executed = lambda request: PASS, kill_after
        else:
            store.decide, store.executed = kill, lambda request: None

    def wait(self) -> int:
        self.output, _ = self._process.communicate(timeout=300)
        assert SECRET not in self.output
        assert KEY not in self.output
        return self._process.returncode


def ended(command: list[str]) -> int:
    """Run a command in this process and return its exit code."""
    with pytest.raises(SystemExit) as code:
        main(command)
    return int(code.value.code or 0)


COMMANDS = (
    ("sql", "{}", "select count(*) from pages"),
    ("explain", "{}", "http://www.grebe0.test/"),
    ("readdb", "{}", "--stats"),
    ("readdb", "{}", "--url", "http://www.grebe0.test/"),
    ("readseg", "{}", "--list"),
    ("readseg", "{}", "--get", "http://www.grebe0.test/"),
    ("readlinkdb", "{}", "--url", "http://www.grebe0.test/"),
    ("report", "{}", "largest"),
    ("updatehostdb", "{}"),
    ("readhostdb", "{}", "--limit", "3"),
    ("webgraph", "{}"),
    ("linkrank", "{}"),
    ("scoreupdater", "{}"),
    ("readwebgraph", "{}"),
    ("dedup", "{}"),
    ("domainstats", "{}"),
    ("crawlcomplete", "{}"),
    ("export", "{}", "{out}", "--format", "jsonl"),
    ("config", "show", "--crawl", "{}"),
    ("mergedb", "{}-merged", "{}"),
    ("mergelinkdb", "{}-merged", "{}"),
    ("mergesegs", "{}-merged", "{}"),
    ("inject", "{}", "http://new.test/"),
    ("generate", "{}"),
    ("prune", "{}", "--keep-segments", "1", "--versions"),
)
"""Commands on a crawl, in this order; each must do the same as on a local one."""


@pytest.fixture
def crawls(store: StoreProxy, url: str, server: SimServer, tmp_path: Path) -> tuple[str, str]:
    """The same crawl, local and in the store."""
    run_crawl(tmp_path / "crawl", server)
    run_crawl(url, server)
    return str(tmp_path / "crawl"), url


def test_commands_do_the_same_as_on_a_local_crawl(
    crawls: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        codes: list[int] = []
        for number, place in enumerate(crawls):
            given = [text.replace("{out}", str(tmp_path / f"out-{number}")).replace("{}", place) for text in command]
            codes.append(ended([*given, "-D", "agent.name=truthbot"]))
        told = capfd.readouterr()
        assert codes[0] == codes[1], (command, told)
        assert codes[0] in (0, 1), (command, told)
    assert not list(tmp_path.glob("s3:*"))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("index", "{}"), "the index writer tantivy needs a local folder"),
        (("search", "{}", "word"), "the embedded search index needs a crawl directory on a local disk"),
        (("generate", "{}/none"), "no such directory"),
    ],
)
def test_what_a_store_cannot_do_is_refused_in_one_sentence(
    store: StoreProxy,
    url: str,
    command: tuple[str, ...],
    told: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    CrawlDir.create(url, datetime.now(UTC))

    assert ended([text.replace("{}", url) for text in command]) == 2
    assert told in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
