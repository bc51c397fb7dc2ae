"""generate with a hostdb: dead hosts, and limits and delays by expression."""

from __future__ import annotations

import asyncio
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb, write_segment
from tests.batch.jobs.test_updatehostdb import MISSING, Names

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.fetchlists.lists import read_requests
from scoter.batch.jobs.generate import GenerateOptions, GenerateResult, generate
from scoter.batch.jobs.updatehostdb import updatehostdb
from scoter.config import load
from scoter.core.expr import ExprError
from scoter.core.url import Url
from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import UsageError

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def three_hosts(path: Path) -> CrawlDir:
    """Make a crawl of three hosts: one is slow, one dead, and one unknown to the hostdb's segments."""
    found = crawl_at(path)
    due = {"fetch_time": NOW - HOUR}
    urls = [f"http://{host}.org/{number}" for host in ("slow", "dead", "new") for number in range(4)]
    write_crawldb(found, [datum(url, "unfetched", **due) for url in urls])
    asked = {"http_status": 200, "response_ms": 700, "fetch_time": NOW - HOUR}
    write_segment(found, "1", fetches=[{**datum("http://slow.org/old", "success"), **asked}])
    return found


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """A crawl without a hostdb."""
    return three_hosts(tmp_path / "crawl")


@pytest.fixture(scope="module")
def with_hosts(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    """A crawl with a hostdb, to be copied: making one takes longer than most tests that need it."""
    found = three_hosts(tmp_path_factory.mktemp("hosts") / "crawl")
    with DuckDbEngine(found.scratch, 2**28) as engine:
        updatehostdb(found, engine, load(), now=NOW, resolver=Names({"dead.org": MISSING}))
    return found


@pytest.fixture
def known(crawl: CrawlDir, with_hosts: CrawlDir) -> CrawlDir:
    """A crawl with a hostdb."""
    shutil.copytree(with_hosts.hostdb, crawl.hostdb)
    return crawl


def run(crawl: CrawlDir, engine: Engine, *settings: str, now: datetime = NOW, **options: Any) -> GenerateResult:
    return generate(crawl, engine, load(overrides=settings), now=now, options=GenerateOptions(**options))


def rows_of(crawl: CrawlDir, done: GenerateResult) -> list[dict[str, Any]]:
    files = [file for name in done.segments for file in crawl.segment(name).crawl_generate().files]
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def by_host(crawl: CrawlDir, done: GenerateResult) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows_of(crawl, done):
        found[row["host"]] = found.get(row["host"], 0) + 1
    return found


def test_dead_hosts_are_left_out_until_they_are_due_for_another_check(engine: Engine, known: CrawlDir) -> None:
    assert by_host(known, run(known, engine, hostdb=True)) == {"slow.org": 4, "new.org": 4}
    assert by_host(known, run(known, engine, hostdb=True, now=NOW + 2 * DAY))["dead.org"] == 4
    assert by_host(known, run(known, engine))["dead.org"] == 4


def test_skipped_urls_of_dead_hosts_are_reported(engine: Engine, known: CrawlDir) -> None:
    done = run(known, engine, hostdb=True, expr="host == 'dead.org'")

    assert done.segments == {}
    assert done.skipped["of dead hosts"] == 4


def test_expression_limits_each_host(engine: Engine, known: CrawlDir) -> None:
    expression = "generate.max_count_expr=if(latency_ms.p50 > 500, 1, -1)"

    assert by_host(known, run(known, engine, expression, "generate.max_count=2")) == {"slow.org": 1, "new.org": 4}
    assert by_host(known, run(known, engine, "generate.max_count_expr=0 * urls")) == {}
    missing = "generate.max_count_expr=latency_ms.p50 / 350"
    assert by_host(known, run(known, engine, missing, "generate.max_count=3")) == {"slow.org": 2, "new.org": 3}
    assert by_host(known, run(known, engine, missing, top_n=3, max_segments=2)) == {"slow.org": 2, "new.org": 4}


@pytest.mark.parametrize("expression", ["latency_ms.max * 2", "1400", "1.4s", "max(1400, urls)"])
def test_expression_sets_the_delay_of_a_host(engine: Engine, known: CrawlDir, expression: str) -> None:
    done = run(known, engine, f"generate.fetch_delay_expr={expression}", expr="host == 'slow.org'")

    told: list[tuple[str, timedelta]] = []

    def note(url: Url, delay: timedelta) -> None:
        told.append((url.host, delay))

    files = [Path(file) for name in done.segments for file in known.segment(name).crawl_generate().files]

    async def read() -> int:
        return len([request async for request in read_requests(files, (), note)])

    assert asyncio.run(read()) == 4
    assert set(told) == {("slow.org", timedelta(seconds=1.4))}


def test_lists_have_no_delay_without_an_expression(engine: Engine, crawl: CrawlDir) -> None:
    rows = rows_of(crawl, run(crawl, engine))

    assert {row["delay_ms"] for row in rows} == {None}


def test_hostdb_of_another_crawl_can_be_used(engine: Engine, known: CrawlDir, tmp_path: Path) -> None:
    folder = known.hostdb.rename(tmp_path / "elsewhere")

    done = run(known, engine, f"generate.hostdb={folder}")

    assert by_host(known, done) == {"slow.org": 4, "new.org": 4}


def test_missing_hostdb_is_an_error_and_leaves_no_segment(engine: Engine, crawl: CrawlDir) -> None:
    for hostdb in (True, False):
        with pytest.raises(UsageError, match="there is no hostdb") as error:
            run(crawl, engine, *([] if hostdb else ["generate.max_count_expr=urls"]), hostdb=hostdb)
        assert "scoter updatehostdb" in error.value.hint
    assert len(crawl.all_segments()) == 1


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("generate.max_count_expr=fetchd", "fetchd is not a column; did you mean fetched?"),
        ("generate.max_count_expr=urls > 3", "the result is true or false; it must be a number"),
        ("generate.fetch_delay_expr=homepage", "the result is a string; it must be a number or a duration"),
        ("generate.fetch_delay_expr=urls +", "urls +"),
    ],
)
def test_faulty_expression_names_its_setting(engine: Engine, known: CrawlDir, setting: str, message: str) -> None:
    with pytest.raises(ExprError) as error:
        run(known, engine, setting)

    assert message in str(error.value)
    assert error.value.where == setting.partition("=")[0]
    assert len(known.all_segments()) == 1
