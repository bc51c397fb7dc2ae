"""Output and exit codes of `scoter sql`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.cli.conftest import Run


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(found, [datum(f"http://a.org/{number}", score=float(number)) for number in range(3)])
    return found.path


def test_result_is_a_table_json_or_csv(run: Run, crawl: Path) -> None:
    query = "select url, fetch_time, metadata from crawldb order by score desc"

    table = run("sql", "crawl", query, "--limit", "1")
    rows = [json.loads(line) for line in run("sql", crawl, query, "--json").out.splitlines()]
    lines = run("sql", crawl, query, "--csv").out.splitlines()

    assert table.out.splitlines()[2].split() == ["http://a.org/2", "2026-12-15T04:00:00Z"]
    assert len(table.out.splitlines()) == 3
    assert [row["url"] for row in rows] == ["http://a.org/2", "http://a.org/1", "http://a.org/0"]
    assert lines[:2] == ["url,fetch_time,metadata", "http://a.org/2,2026-12-15T04:00:00Z,"]


def test_views_are_listed_without_a_query(run: Run, crawl: Path) -> None:
    rows = [json.loads(line) for line in run("sql", crawl, "--json").out.splitlines()]

    tables = {"crawldb", "linkdb", "hosts", "segments", "fetches", "pages", "outlinks", "traps", "problems"}
    graphs = {"nodes", "links", "host_nodes", "host_links", "domain_nodes", "domain_links"}
    assert {row["view"] for row in rows} == tables | graphs
    assert {"view": "crawldb", "column": "score", "type": "DOUBLE"} in rows


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["select * from nowhere"], "Tables: crawldb"),
        (["selec"], "syntax error"),
        (["copy crawldb to 'out'"], "Pass a single SELECT"),
        (["select 1", "--json", "--csv"], "cannot be combined"),
    ],
)
def test_usage_error_prints_one_message(run: Run, crawl: Path, arguments: list[str], told: str) -> None:
    shown = run("sql", crawl, *arguments)

    assert (shown.code, shown.out) == (2, "")
    assert told in shown.err
    assert "Traceback" not in shown.err
