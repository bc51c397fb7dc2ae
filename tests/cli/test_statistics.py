"""Output of `scoter domainstats`, `protocolstats` and `crawlcomplete`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb, write_segment
from tests.cli.conftest import Run


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(found, [datum("http://x.a.org/"), datum("http://y.a.org/", "unfetched")])
    write_segment(found, "1", fetches=[{**datum("http://x.a.org/", "success"), "http_status": 200}])
    return found.path


def test_domains_are_counted(run: Run, crawl: Path) -> None:
    assert run("domainstats", crawl).out.splitlines()[2].split() == ["a.org", "1", "2"]
    assert json.loads(run("domainstats", crawl, "--by", "tld", "--json").out) == {"tld": "org", "fetched": 1, "urls": 2}


def test_progress_is_counted_by_host_or_domain(run: Run, crawl: Path) -> None:
    assert run("crawlcomplete", crawl, "--by", "domain").out.splitlines()[2].split()[-1] == "50%"
    rows = [json.loads(line) for line in run("crawlcomplete", crawl, "--json").out.splitlines()]
    assert [(row["host"], row["done"]) for row in rows] == [("x.a.org", 1.0), ("y.a.org", 0.0)]


def test_fetches_are_counted(run: Run, crawl: Path) -> None:
    found = json.loads(run("protocolstats", crawl, "1", "--json").out)

    assert found == {"fetches": 1, "status": "success", "reason": None, "http_status": 200}
    assert run("protocolstats", crawl, "9").code == 2
