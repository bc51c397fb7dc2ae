"""Output of `scoter report` on a service and on a crawl."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import crawl_at, datum, link, page, write_crawldb, write_segment
from tests.cli.conftest import Run
from tests.live.reports.services import service

from scoter.batch.crawldir.directory import CrawlDir
from scoter.reports.questions import QUESTIONS

A, B = "http://www.a.org/", "http://b.org/"


@pytest.fixture
async def directory(tmp_path: Path) -> Path:
    return await service(tmp_path / "service", datetime.now(UTC))


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(found, [datum(A), datum(B)])
    write_segment(
        found,
        "1",
        fetches=[
            {**datum(A, "success"), "http_status": 200, "response_ms": 70},
            {**datum(B, "gone"), "http_status": 404, "reason": "not_found", "response_ms": 20},
        ],
        pages=[page(A, title="A page")],
        texts=[],
        links=[link(A, B, "see"), link(A, A, "me")],
    )
    return found.path


def rows(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:
    done = run("report", *arguments, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_reports_are_listed_without_a_name(run: Run, directory: Path) -> None:
    found = rows(run, directory)

    assert [row["name"] for row in found] == list(QUESTIONS)
    assert "latency" in run("report", directory).out


def test_reports_are_not_listed_for_other_directories(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    for name in ("missing", "empty"):
        done = run("report", name)

        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"scoter: {name}: ")


def test_report_is_a_table_json_or_csv(run: Run, directory: Path) -> None:
    table = run("report", directory, "most-linked-sites", "--limit", "1").out.splitlines()
    lines = run("report", directory, "most-linked-sites", "--csv").out.splitlines()

    assert table[0].split() == ["site", "messages", "links", "pages"]
    assert table[2].split() == ["bbc.co.uk", "3", "4", "3"]
    assert len(table) == 3
    assert lines[:2] == ["site,messages,links,pages", "bbc.co.uk,3,4,3"]
    assert rows(run, directory, "most-linked-sites")[0]["site"] == "bbc.co.uk"


def test_pages_from_one_site_yesterday(run: Run, directory: Path) -> None:
    for spelling in ("bbc.co.uk", "BBC.co.uk", "http://bbc.co.uk/news"):
        found = rows(run, directory, "pages-from", spelling, "--day", "yesterday")
        assert [row["page"] for row in found] == ["http://www.bbc.co.uk/n"]


def test_sql_works_on_a_service(run: Run, directory: Path) -> None:
    found = run("sql", directory, "select count(*) as n from events", "--json")
    views = run("sql", directory, "--json").out

    assert json.loads(found.out) == {"n": 11}
    assert '"fetches"' in views


def test_crawl_supports_some_reports(run: Run, crawl: Path) -> None:
    assert rows(run, crawl, "errors") == [
        {"state": "gone", "reason": "not_found", "status": 404, "fetches": 1, "sites": 1, "example": B}
    ]
    assert [(row["site"], row["linking_pages"]) for row in rows(run, crawl, "most-linked-sites")] == [
        ("b.org", 1),
        ("www.a.org", 1),
    ]
    assert [(row["page"], row["title"]) for row in rows(run, crawl, "pages-from", "a.org")] == [(A, "A page")]
    assert [(row["site"], row["median_ms"]) for row in rows(run, crawl, "slowest-sites")] == [
        ("www.a.org", 70.0),
        ("b.org", 20.0),
    ]
    assert rows(run, crawl, "images-per-day") == []


def test_instant_responses_count_as_fetches_and_unrequested_urls_do_not(run: Run, crawl: Path) -> None:
    asked = [{**datum(f"{A}{number}", "success"), "response_ms": ms} for number, ms in enumerate((0, 0, 9))]
    never = {**datum(f"{A}denied", "gone"), "reason": "robots_denied", "response_ms": None}
    write_segment(CrawlDir.open(crawl), "2", fetches=[*asked, never], pages=[], texts=[], links=[])

    found = {row["site"]: (row["fetches"], row["median_ms"]) for row in rows(run, crawl, "slowest-sites")}

    assert found["www.a.org"] == (4, 4.5)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["service", "most-linked-site"], "did you mean 'most-linked-sites'?"),
        (["service", "errors", "--day", "monday"], "'monday' is not a day"),
        (["service", "errors", "--day", "today", "--since", "today"], "--day cannot be combined"),
        (["service", "errors", "--since", "today", "--until", "yesterday"], "today is after yesterday"),
        (["service", "pages-from"], "needs a site"),
        (["service", "pages-from", "http://"], "is not a site"),
        (["service", "errors", "a.org"], "takes no site"),
        (["service", "errors", "--json", "--csv"], "cannot be combined"),
        (["crawl", "latency"], "is not available for a crawl"),
        (["crawl", "most-linked-sites", "--day", "today"], "cannot be limited to days"),
        (["nowhere", "errors"], "no such directory"),
    ],
)
def test_usage_error_is_reported(run: Run, directory: Path, crawl: Path, arguments: list[str], told: str) -> None:
    done = run("report", *arguments)

    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err
