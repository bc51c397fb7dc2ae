"""Output of `scoter updatehostdb` and `scoter readhostdb`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb, write_segment
from tests.cli.conftest import Run, run_in_process

A, B, C = "https://a.org/", "http://b.org/", "http://c.org/"


def three_hosts(path: Path) -> Path:
    found = crawl_at(path)
    write_crawldb(found, [datum(A), datum(f"{A}1"), datum(B, "gone"), datum(f"{C}x", "unfetched")])
    write_segment(
        found,
        "1",
        fetches=[
            {**datum(A, "success"), "http_status": 200, "response_ms": 70, "length": 2_048, "fetch_time": NOW},
            {**datum(f"{A}1", "success"), "http_status": 200, "response_ms": 30, "length": 1, "fetch_time": NOW},
            {**datum(B, "gone"), "http_status": 404, "reason": "not_found", "response_ms": 900, "fetch_time": NOW},
            {**datum(f"{C}x", "gone"), "reason": "unresolved", "fetch_time": NOW},
        ],
    )
    return found.path


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return three_hosts(tmp_path / "crawl")


@pytest.fixture(scope="module")
def with_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with a hostdb, to be copied: making one takes longer than most tests that need it."""
    folder = tmp_path_factory.mktemp("hosts")
    three_hosts(folder / "crawl")
    assert run_in_process(folder, "updatehostdb", "crawl", "--no-check").code == 0
    return folder / "crawl"


@pytest.fixture
def known(crawl: Path, with_hosts: Path) -> Path:
    """A crawl with a hostdb."""
    shutil.copytree(with_hosts / "hostdb", crawl / "hostdb")
    return crawl


def rows(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:
    done = run("readhostdb", *arguments, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_update_and_list(run: Run, crawl: Path) -> None:
    first = run("updatehostdb", crawl, "--no-check")
    again = run("updatehostdb", crawl, "--no-check", "--json")
    table = run("readhostdb", crawl).out.splitlines()

    assert (first.code, first.out) == (0, "3 hosts, +3 since the last update\n")
    assert json.loads(again.out)["hosts_before"] == 3
    assert " ".join(table[0].split()) == "host urls fetched unfetched gone errors p50 ms p95 ms bytes dns"
    assert [line.split()[0] for line in table[2:]] == ["a.org", "b.org", "c.org"]
    assert table[4].split()[-2:] == ["failed", "1×"]


def test_list_can_be_sorted_limited_and_filtered(run: Run, known: Path) -> None:
    assert [row["host"] for row in rows(run, known, "--sort", "latency_ms.p95")] == ["b.org", "a.org", "c.org"]
    assert [row["host"] for row in rows(run, known, "--sort", "host")] == ["a.org", "b.org", "c.org"]
    assert [row["host"] for row in rows(run, known, "--sort", "bytes", "--limit", "1")] == ["a.org"]
    assert [row["host"] for row in rows(run, known, "--expr", "latency_ms.p50 > 100 and gone > 0")] == ["b.org"]
    assert [row["host"] for row in rows(run, known, "--expr", "dns == 'failed'")] == ["c.org"]


def test_one_host_by_name_or_url(run: Run, known: Path) -> None:
    for spelling in ("a.org", "A.ORG", "https://a.org/some/page"):
        found = json.loads(run("readhostdb", known, "--get", spelling, "--json").out)
        assert (found["host"], found["urls"], found["latency_ms"]["max"]) == ("a.org", 2, 70)
    assert "homepage             https://a.org/\n" in run("readhostdb", known, "--get", "a.org").out
    missing = run("readhostdb", known, "--get", "x.org")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.startswith("The hostdb does not contain x.org\n")


def test_dumps_of_records_homepages_and_names(run: Run, known: Path, tmp_path: Path) -> None:
    assert run("readhostdb", known, "--dump-homepages", "-").out == f"{A}\n"
    assert run("readhostdb", known, "--dump-hostnames", "-").out == "a.org\nb.org\nc.org\n"
    assert run("readhostdb", known, "--dump-hostnames", "-", "--expr", "fetched > 1").out == "a.org\n"
    plain = run("readhostdb", known, "--dump", "-").out
    assert plain.startswith("a.org\n  urls ")
    assert "bins" not in plain
    done = run("readhostdb", known, "--dump", "hosts.csv", "--format", "csv")
    assert (done.code, done.err) == (0, "Wrote 3 hosts to hosts.csv\n")
    assert (tmp_path / "hosts.csv").read_text().startswith("host,urls,pages,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--expr", "latency_ms > 3"], "expression: name an entry of latency_ms\n"),
        (["--expr", "fetchd > 3"], "expression: fetchd is not a column; did you mean fetched?\n"),
        (["--expr", "urls + 1"], "expression: the result is a number; it must be true or false\n"),
        (["--sort", "latency_ms"], "--sort: hosts cannot be sorted by 'latency_ms'\n"),
        (["--sort", "sitemaps"], "--sort: hosts cannot be sorted by 'sitemaps'\n"),
        (["--get", "a.org", "--dump", "x"], "give only one of --get, --dump"),
        (["--get", "a.org", "--limit", "3"], "--limit: can only be used with a list of hosts\n"),
        (["--get", "no host"], "'no host' is not a host\n"),
    ],
)
def test_wrong_options_get_one_message(run: Run, known: Path, arguments: list[str], message: str) -> None:
    done = run("readhostdb", known, *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"scoter: {message}")


def test_missing_tables_are_named(run: Run, tmp_path: Path, crawl: Path) -> None:
    empty = crawl_at(tmp_path / "empty").path

    assert "there is no hostdb yet\nRun: scoter updatehostdb" in run("readhostdb", crawl).err
    done = run("updatehostdb", empty)
    assert (done.code, "there is no crawldb yet" in done.err) == (2, True)
    assert not (empty / "hostdb").exists()


def test_check_options_exclude_each_other(run: Run, crawl: Path) -> None:
    done = run("updatehostdb", crawl, "--no-check", "--check-all")

    assert (done.code, done.err) == (
        2,
        "scoter: --no-check cannot be combined with other --check options or --force\n",
    )


def test_command_lines_of_nutch_are_answered(run: Run, crawl: Path) -> None:
    update = run("updatehostdb", "-hostdb", crawl / "hostdb", "-crawldb", crawl / "crawldb", "-checkFailed")
    read = run("readhostdb", crawl / "hostdb", "-dumpHomepages", "out")

    assert f"Run: scoter updatehostdb {crawl} --check-failed" in update.err
    assert f"Run: scoter readhostdb {crawl} --dump-homepages out" in read.err


def test_hosts_are_a_view_of_sql(run: Run, crawl: Path) -> None:
    empty = run("sql", crawl, "select count(*) as hosts from hosts", "--json")
    run("updatehostdb", crawl, "--no-check")
    asked = run("sql", crawl, "select host, latency_ms['max'] as ms from hosts order by ms desc nulls last", "--json")

    assert json.loads(empty.out) == {"hosts": 0}
    assert json.loads(asked.out.splitlines()[0]) == {"host": "b.org", "ms": 900}
