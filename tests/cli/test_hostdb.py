"""Output of `scoter updatehostdb` and `scoter readhostdb`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb, write_segment
from tests.cli.conftest import Run

A, B, C = "https://a.org/", "http://b.org/", "http://c.org/"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
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


def test_list_can_be_sorted_limited_and_filtered(run: Run, crawl: Path) -> None:
    run("updatehostdb", crawl, "--no-check")

    assert [row["host"] for row in rows(run, crawl, "--sort", "latency_ms.p95")] == ["b.org", "a.org", "c.org"]
    assert [row["host"] for row in rows(run, crawl, "--sort", "host")] == ["a.org", "b.org", "c.org"]
    assert [row["host"] for row in rows(run, crawl, "--sort", "bytes", "--limit", "1")] == ["a.org"]
    assert [row["host"] for row in rows(run, crawl, "--expr", "latency_ms.p50 > 100 and gone > 0")] == ["b.org"]
    assert [row["host"] for row in rows(run, crawl, "--expr", "dns == 'failed'")] == ["c.org"]


def test_one_host_by_name_or_url(run: Run, crawl: Path) -> None:
    run("updatehostdb", crawl, "--no-check")

    for spelling in ("a.org", "A.ORG", "https://a.org/some/page"):
        found = json.loads(run("readhostdb", crawl, "--get", spelling, "--json").out)
        assert (found["host"], found["urls"], found["latency_ms"]["max"]) == ("a.org", 2, 70)
    assert "homepage             https://a.org/\n" in run("readhostdb", crawl, "--get", "a.org").out
    missing = run("readhostdb", crawl, "--get", "x.org")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.startswith("The hostdb does not contain x.org\n")


def test_dumps_of_records_homepages_and_names(run: Run, crawl: Path, tmp_path: Path) -> None:
    run("updatehostdb", crawl, "--no-check")

    assert run("readhostdb", crawl, "--dump-homepages", "-").out == f"{A}\n"
    assert run("readhostdb", crawl, "--dump-hostnames", "-").out == "a.org\nb.org\nc.org\n"
    assert run("readhostdb", crawl, "--dump-hostnames", "-", "--expr", "fetched > 1").out == "a.org\n"
    plain = run("readhostdb", crawl, "--dump", "-").out
    assert plain.startswith("a.org\n  urls ")
    assert "bins" not in plain
    done = run("readhostdb", crawl, "--dump", "hosts.csv", "--format", "csv")
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
def test_wrong_options_get_one_message(run: Run, crawl: Path, arguments: list[str], message: str) -> None:
    run("updatehostdb", crawl, "--no-check")

    done = run("readhostdb", crawl, *arguments)

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
