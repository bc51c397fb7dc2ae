"""readlinkdb: the inlinks of a URL, and dumps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, write_linkdb
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.jobs.readlinkdb import inlinks, select
from scoter.errors import UsageError

__all__ = ["run"]

A, B, C = "http://a.org/", "http://b.org/", "http://c.org/"
LINKS = {A: [(C, "z"), (B, "y"), (C, "a")], B: [], C: [(A, "to c")]}


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    made = crawl_at(tmp_path / "crawl")
    write_linkdb(made, LINKS)
    return made


def test_url_is_found_by_any_spelling_with_sorted_links(crawl: CrawlDir) -> None:
    found = inlinks(crawl, "HTTP://A.org:80")

    assert found == [{"url": B, "anchor": "y"}, {"url": C, "anchor": "a"}, {"url": C, "anchor": "z"}]
    assert inlinks(crawl, B) == []
    assert inlinks(crawl, "http://unknown.org/") is None


def test_dump_has_every_link_sorted_under_its_url(crawl: CrawlDir) -> None:
    _, batches = select(crawl)

    found = {row["url"]: [(each["url"], each["anchor"]) for each in row["inlinks"]] for row in iter_rows(batches)}

    assert found == {url: sorted(links) for url, links in LINKS.items()}


def test_pattern_selects_the_dumped_urls(crawl: CrawlDir) -> None:
    _, batches = select(crawl, "//[bc]")

    assert [row["url"] for row in iter_rows(batches)] == [B, C]
    with pytest.raises(UsageError, match="--regex"):
        select(crawl, "(")


def test_missing_linkdb_suggests_invertlinks(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="scoter invertlinks"):
        inlinks(crawl_at(tmp_path / "new"), A)


def test_command_shows_a_url_and_writes_dumps(crawl: CrawlDir, run: Run) -> None:
    shown = run("readlinkdb", crawl.path, "--url", "a.org")
    one = run("readlinkdb", crawl.path, "--url", A, "--json")
    unknown = run("readlinkdb", crawl.path, "--url", B)
    dumped = run("readlinkdb", crawl.path, "--dump", "-", "--format", "json", "--regex", "c[.]org")
    neither = run("readlinkdb", crawl.path)

    assert shown.code == 2
    assert [json.loads(line)["url"] for line in one.out.splitlines()] == [B, C, C]
    assert (unknown.code, unknown.out) == (1, "")
    assert [json.loads(line)["url"] for line in dumped.out.splitlines()] == [C]
    assert neither.code == 2
