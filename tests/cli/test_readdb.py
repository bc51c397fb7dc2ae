"""Output and exit codes of `scoter readdb`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.cli.conftest import Run


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(found, [datum("http://a.org/", score=2.0), datum("http://a.org/gone", "gone", score=0.5)])
    return found.path


def test_statistics_are_tables_or_one_json_object(run: Run, crawl: Path) -> None:
    people = run("readdb", crawl, "--stats", "--sort")
    programs = run("readdb", crawl, "--stats", "--json")

    assert people.code == 0
    assert "URLs        2, on 1 host" in people.out
    assert "fetched  1" in people.out
    assert "a.org  2     0          1        1" in people.out
    found = json.loads(programs.out)
    assert (found["urls"], found["statuses"]) == (2, {"fetched": 1, "gone": 1})
    assert found["score"] == {"least": 0.5, "most": 2.0, "mean": 1.25}
    assert found["fetch_time"]["least"].endswith("Z")


def test_record_is_shown_and_unknown_url_exits_with_1(run: Run, crawl: Path) -> None:
    known = run("readdb", crawl, "--url", "HTTP://a.org", "--json")
    unknown = run("readdb", crawl, "--url", "http://a.org/other")

    assert json.loads(known.out)["status"] == "fetched"
    assert (unknown.code, unknown.out) == (1, "")
    assert "scoter explain" in unknown.err


def test_top_n_lists_the_highest_scores(run: Run, crawl: Path) -> None:
    assert run("readdb", crawl, "--top-n", "1").out.splitlines()[2].split() == ["2", "fetched", "http://a.org/"]


def test_dump_goes_to_a_file_or_stdout(run: Run, crawl: Path, tmp_path: Path) -> None:
    to_file = run("readdb", crawl, "--dump", tmp_path / "out.csv", "--format", "csv", "--status", "gone")
    to_stdout = run("readdb", crawl, "--dump", "-", "--json")

    assert (to_file.code, to_file.out) == (0, "")
    assert "Wrote 1 record to" in to_file.err
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 2
    rows = [json.loads(line) for line in to_stdout.out.splitlines()]
    assert [(row["url"], row["status"]) for row in rows] == [
        ("http://a.org/", "fetched"),
        ("http://a.org/gone", "gone"),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "one of --stats"),
        (["--stats", "--top-n", "3"], "one of --stats"),
        (["--url", "nope"], "not a URL"),
        (["--dump", "out", "--expr", "score >"], "expected a column"),
        (["--dump", "missing/out"], "missing/out"),
    ],
)
def test_usage_error_prints_one_message(run: Run, crawl: Path, options: list[str], told: str) -> None:
    shown = run("readdb", crawl, *options)

    assert shown.code == 2
    assert told in shown.err
    assert "Traceback" not in shown.err
    assert not (crawl.parent / "out").exists()


def test_directory_that_is_not_a_crawl_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    assert "no such directory" in run("readdb", "nowhere", "--stats").err
    assert "not a crawl directory" in run("readdb", "other", "--stats").err


@pytest.mark.parametrize(
    "asked",
    [
        ["readdb", "crawl", "--top-n"],
        ["generate", "crawl", "--add-days", "9999", "--top-n"],
        ["sql", "crawl", "from crawldb", "--limit"],
        ["report", "crawl", "slowest-sites", "--limit"],
    ],
    ids=" ".join,
)
def test_huge_limits_are_accepted(run: Run, crawl: Path, asked: list[str]) -> None:
    shown = run(*asked, "99999999999999999999999")

    assert shown.code == 0, shown.err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["readdb", "crawl", "--stats", "--format", "csv"], "--format: can only be used with --dump"),
        (["readdb", "crawl", "--top-n", "5", "--status", "gone"], "--status: can only be used with --dump"),
        (["readdb", "crawl", "--stats", "--min-score", "0"], "--min-score: can only be used with --top-n"),
        (["readdb", "crawl", "--top-n", "5", "--min-score", "nan"], "--min-score: nan is not a score"),
        (["readlinkdb", "crawl", "--url", "http://a.org/", "--regex", "a"], "--regex: can only be used with --dump"),
        (["readseg", "crawl", "--list", "--recode"], "--recode: can only be used with --get and --dump"),
        (
            ["readseg", "crawl", "--get", "http://a.org/", "--no-parse-text"],
            "--no-parse-text: can only be used with",
        ),
        (["dedup", "crawl", "--distance", "3"], "--distance: can only be used with --near"),
        (
            ["parsechecker", "-", "--dump-text", "--markdown"],
            "--dump-text, --main-text and --markdown cannot",
        ),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_option_without_effect_is_rejected(run: Run, crawl: Path, asked: list[str], told: str) -> None:
    shown = run(*asked)

    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith(f"scoter: {told}")


@pytest.mark.parametrize(
    "asked",
    [["readdb", "crawl", "--stats"], ["readdb", "crawl", "--dump", "-"], ["domainstats", "crawl"], ["sql", "crawl"]],
    ids=" ".join,
)
def test_read_only_crawl_can_be_read(run: Run, crawl: Path, asked: list[str]) -> None:
    (crawl / "tmp").write_text("a file, where the folder for temporary files would be made")

    shown = run(*asked)

    assert shown.code == 0, shown.err
    assert shown.out


def test_suggested_command_is_quoted_for_the_shell(run: Run, tmp_path: Path) -> None:
    told = run("readdb", str(tmp_path / "my crawl"), "--stats")

    assert told.code == 2
    assert f"scoter crawl '{tmp_path}/my crawl' https://www.example.org/" in told.err


def test_dump_into_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "mycrawl")
    write_crawldb(crawl, [datum(f"http://a.test/{number:0100d}") for number in range(5_000)])

    command = [sys.executable, "-m", "scoter.cli.main", "readdb", str(crawl.path), "--dump", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dumping:
        assert dumping.stdout is not None
        dumping.stdout.read(100)
        dumping.stdout.close()
        assert dumping.stderr is not None
        complaint = dumping.stderr.read()

    assert (dumping.returncode, complaint) == (0, b"")
