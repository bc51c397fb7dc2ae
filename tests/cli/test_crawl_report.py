"""Reports about a crawl: tables, JSON, and one HTML page that strangers' texts cannot break."""

from __future__ import annotations

import json
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, named, page, write_crawldb, write_segment
from tests.cli.conftest import Run

from scoter.batch.reports.questions import CRAWL_REPORTS

A, B = "http://a.org/", "http://b.org/x/y"
EVIL = "http://a.org/?q=%3C/td%3E&amp;onmouseover=alert(1)"
TITLE = '</title><script>alert("1")</script>\u202e<img src=x onerror=alert(2)>'


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    same: dict[str, Any] = {"signature": b"same"}
    write_crawldb(
        found,
        [datum(A, **same), datum(EVIL, "duplicate", **same), datum(B, "gone"), datum(f"{B}/z", "unfetched")],
    )
    asked = {"http_status": 200, "fetch_time": NOW}
    write_segment(
        found,
        "1",
        fetches=[
            {**datum(A, "success"), **asked, "response_ms": 70, "length": 900, "content_type": "text/html; charset=x"},
            {**datum(EVIL, "success"), **asked, "response_ms": 90, "length": 4_096, "content_type": "<b>"},
            {**datum(B, "gone"), "http_status": 404, "reason": "not_found", "response_ms": 500, "fetch_time": NOW},
        ],
        pages=[page(A, title="A page", language="en"), page(EVIL, title=TITLE, language="<i>")],
        texts=[{**named(A), "text": "words"}],
    )
    return found.path


def rows(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:
    done = run("report", *arguments, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_reports_of_a_crawl_are_listed(run: Run, crawl: Path) -> None:
    names = [row["name"] for row in rows(run, crawl)]

    assert {*CRAWL_REPORTS, "errors", "slowest-sites"} <= set(names)
    assert "latency" not in names


def test_reports_answer_the_usual_questions(run: Run, crawl: Path) -> None:
    assert {row["status"]: row["urls"] for row in rows(run, crawl, "statuses")} == {
        "fetched": 1,
        "duplicate": 1,
        "gone": 1,
        "unfetched": 1,
    }
    assert [(row["host"], row["urls"], row["pages"]) for row in rows(run, crawl, "hosts")] == [
        ("a.org", 2, 1),
        ("b.org", 2, 0),
    ]
    assert [(row["page"], row["bytes"]) for row in rows(run, crawl, "largest", "--limit", "1")] == [(EVIL, 4_096)]
    assert {row["title"] for row in rows(run, crawl, "newest")} == {"A page", TITLE}
    assert rows(run, crawl, "duplicates") == [{"copies": 2, "page": A, "another": EVIL}]
    assert {row["language"]: row["pages"] for row in rows(run, crawl, "languages")} == {"en": 1, "<i>": 1}
    assert {row["type"]: row["pages"] for row in rows(run, crawl, "types")} == {"text/html": 1, "<b>": 1}
    assert [(row["folders"], row["urls"]) for row in rows(run, crawl, "depth")] == [(0, 2), (1, 1), (2, 1)]
    assert rows(run, crawl, "slow-hosts")[0]["host"] == "b.org"
    assert [(row["host"], row["failures"]) for row in rows(run, crawl, "failing-hosts")] == [("b.org", 1)]
    assert [(row["reason"], row["urls"], row["setting"]) for row in rows(run, crawl, "failures")] == [
        ("not_found", 1, None)
    ]
    assert rows(run, crawl, "large-hosts")[0]["bytes"] == 4_996
    assert rows(run, crawl, "fetches-per-day")[0]["requests"] == 3
    assert run("report", crawl, "statuses", "--csv").out.startswith("status,urls\n")


class _PageTags(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.targets: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_page_is_self_contained_and_escapes_everything(run: Run, crawl: Path, tmp_path: Path) -> None:
    done = run("report", crawl, "--html", "report.html")

    text = (tmp_path / "report.html").read_text()
    found = _PageTags(text)
    assert (done.code, done.out, done.err) == (0, "", "Wrote report.html\n")
    assert not found.tags & {"script", "img", "link", "iframe", "i", "object"}
    assert not {name for name in found.attributes if name.startswith("on")} | {"src"} & found.attributes
    assert set(found.targets) == {A, EVIL, B}
    assert found.tags >= {"svg", "rect", "table"}
    assert "prefers-color-scheme: dark" in text
    assert any('<script>alert("1")</script>' in each for each in found.texts)
    assert "\u202e" not in text
    for each in CRAWL_REPORTS:
        assert f'<section id="{each}">' in text


@pytest.fixture
def refusals(tmp_path: Path) -> Path:
    """A crawl with a refused, a truncated and a disallowed URL, and one that was refused before it was fetched."""
    found = crawl_at(tmp_path / "refusals")
    refused = {"reason": "refused_port", "detail": "port 8000 is not in fetch.allow_ports", "http_status": None}
    before = [datum("http://a.org:9/", "retry", **refused, fetch_time=NOW - timedelta(days=1))]
    after = [
        datum("http://a.org:9/", "success", http_status=200, fetch_time=NOW),
        datum("http://b.org:8000/", "retry", **refused, fetch_time=NOW),
        datum("http://wiki.local/", "gone", reason="robots_denied", fetch_time=NOW),
        datum(A, "success", http_status=200, truncated="length", fetch_time=NOW),
    ]
    write_segment(found, "1", fetches=before)
    write_segment(found, "2", fetches=after)
    return found.path


def test_failures_name_the_setting_that_decided_and_a_command(run: Run, refusals: Path, tmp_path: Path) -> None:
    found = {row["reason"]: row for row in rows(run, refusals, "failures")}
    done = run("report", refusals, "--html", "report.html")

    assert {reason: (row["urls"], row["setting"]) for reason, row in found.items()} == {
        "refused_port": (1, "fetch.allow_hosts"),
        "robots_denied": (1, "http.robot_rules_allowlist"),
        "truncated": (1, "fetch.content_limit"),
    }
    assert found["refused_port"]["to_allow"] == f"scoter crawl {refusals} http://b.org:8000/"
    assert found["truncated"]["to_allow"] == f"scoter crawl {refusals} -D fetch.content_limit=10MiB"
    text = (tmp_path / "report.html").read_text()
    assert done.code == 0
    assert all(row["to_allow"].partition(" -D ")[0] in text for row in found.values())
    assert "fetch.content_limit=10MiB" in text


def test_html_page_of_an_empty_crawl(run: Run, tmp_path: Path) -> None:
    empty = crawl_at(tmp_path / "empty").path

    assert run("report", empty, "--html", "-").out.count("<p>None.</p>") == len(CRAWL_REPORTS)
    assert rows(run, empty, "statuses") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["crawl", "statusses"], "there is no report 'statusses'; did you mean 'statuses'?"),
        (["crawl", "statuses", "a.org"], "takes no site and no days"),
        (["crawl", "statuses", "--day", "today"], "takes no site and no days"),
        (["crawl", "statuses", "--html", "x.html"], "--html writes all reports"),
        (["crawl", "--html", "missing/x.html"], "missing/x.html"),
        (["crawl", "--html", "crawl"], "is a directory"),
    ],
)
def test_wrong_use_leaves_no_file(run: Run, crawl: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run("report", *arguments)

    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]
