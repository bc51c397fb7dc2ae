"""Output and exit codes of `scoter readseg`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, link, named, page, write_segment
from tests.cli.conftest import Run

A = "http://a.org/"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    hostile = {**named(A), "text": "a\x1b[2Jb"}
    for name in ("1", "2"):
        write_segment(
            found,
            name,
            fetches=[datum(A, "success")],
            pages=[page(A, title="T")],
            texts=[hostile],
            links=[link(A, "http://b.org/", "b")],
        )
    return found.path


def test_segments_are_listed(run: Run, crawl: Path) -> None:
    people, programs = run("readseg", crawl, "--list"), run("readseg", crawl, "2", "--list", "--json")

    assert [line.split()[:4] for line in people.out.splitlines()[2:]] == [
        ["1", "parsed", "1", "1"],
        ["2", "parsed", "1", "1"],
    ]
    row = json.loads(programs.out)
    assert (row["segment"], row["statuses"]) == ("2", {"success": 1})


def test_url_is_shown_from_every_segment_and_escaped(run: Run, crawl: Path) -> None:
    people, programs = run("readseg", crawl, "--get", A), run("readseg", crawl, "--get", A, "--json")

    assert people.code == 0
    assert "\x1b" not in people.out
    assert "a\\x1b[2Jb" in people.out
    found = [json.loads(line) for line in programs.out.splitlines()]
    assert [(row["segment"], row["parse_text"]["text"]) for row in found] == [("1", "a\x1b[2Jb"), ("2", "a\x1b[2Jb")]
    assert run("readseg", crawl, "--get", "http://nobody.org/").code == 1


def test_newest_segment_is_dumped_to_a_file(run: Run, crawl: Path, tmp_path: Path) -> None:
    shown = run("readseg", crawl, "--dump", "out.json", "--json", "--no-parse-text", "--no-parse")

    assert (shown.code, shown.out) == (0, "")
    (row,) = map(json.loads, (tmp_path / "out.json").read_text().splitlines())
    assert (row["segment"], row["parse_data"]["title"]) == ("2", "T")
    assert "parse_text" not in row


@pytest.mark.parametrize(("options", "told"), [([], "one of --list"), (["9", "--list"], "no such segment: 9")])
def test_usage_error_prints_one_message(run: Run, crawl: Path, options: list[str], told: str) -> None:
    shown = run("readseg", crawl, *options)

    assert shown.code == 2
    assert told in shown.err
