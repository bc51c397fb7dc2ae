"""Output and exit codes of `scoter explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, link, page, write_crawldb, write_linkdb, write_segment
from tests.cli.conftest import Run

A, B = "http://a.org/", "http://b.org/"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(found, [datum(A, signature=b"s", metadata=[("k", "v")]), datum(B, signature=b"s")], applied=["1"])
    write_linkdb(found, {A: [(B, "words")]})
    write_segment(
        found,
        "1",
        fetches=[{**datum(A, "success"), "http_status": 200, "ip": "192.0.2.7"}],
        pages=[page(A, title="a\x1b[2Jtitle")],
        links=[link(B, A, "words", score=0.5)],
    )
    return found.path


def test_verdict_comes_before_the_facts(run: Run, crawl: Path) -> None:
    shown = run("explain", crawl, "http://A.org:80")

    assert shown.code == 0
    assert shown.out.startswith("http://a.org/: fetched ")
    for fact in ("filter        validator keeps it", "192.0.2.7", "total score 0.5", "same content (1)", "title"):
        assert fact in shown.out
    assert "\x1b" not in shown.out


def test_json_is_one_object(run: Run, crawl: Path) -> None:
    found = json.loads(run("explain", crawl, A, "--json").out)

    assert found["verdict"].startswith("fetched ")
    assert (found["url"], found["record"]["metadata"], found["record"]["signature"]) == (A, {"k": "v"}, "73")
    assert found["links"]["first"][0]["source"] == B
    assert found["inlinks"] == {"count": 1, "first": [{"url": B, "anchor": "words"}]}
    assert [step["name"] for step in found["filters"]] == ["validator", "suffix"]


def test_unknown_url_is_explained_with_exit_code_1(run: Run, crawl: Path) -> None:
    shown = run("explain", crawl, "http://a.org/x.jpg")

    assert shown.code == 1
    assert "never fetched: dropped by urlfilter suffix" in shown.out.splitlines()[0]


def test_invalid_url_is_a_usage_error(run: Run, crawl: Path) -> None:
    assert run("explain", crawl, "nope").code == 2
