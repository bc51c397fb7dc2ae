"""mergelinkdb: all links of all linkdbs, each source once, up to the limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import NOW, crawl_at, linkdb, write_linkdb
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.mergelinkdb import MergelinkdbResult, mergelinkdb
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError
from scoter.store.tables import Table

__all__ = ["run"]

A, B, C, D = "http://a.org/", "http://b.org/", "http://c.org/", "http://d.org/"


@pytest.fixture
def crawls(tmp_path: Path) -> list[CrawlDir]:
    made = [crawl_at(tmp_path / f"part{number}") for number in range(2)]
    write_linkdb(made[0], {A: [(B, "b"), (C, "")], B: [(C, "c")]}, applied=["1"])
    write_linkdb(made[1], {A: [(C, "words"), (D, "d")], D: [(A, "a")]}, applied=["2"])
    return made


def test_url_gets_the_links_of_all_linkdbs_each_source_once(crawls: list[CrawlDir], engine: Engine) -> None:
    out = crawl_at(crawls[0].path.parent / "out")

    made = mergelinkdb(out, crawls, engine, load(None, {}, []), now=NOW)

    assert made == MergelinkdbResult(records=4, urls=3)
    assert linkdb(out) == {A: [(B, "b"), (C, "words"), (D, "d")], B: [(C, "c")], D: [(A, "a")]}
    with Table.open(out.linkdb) as table:
        assert table.manifest.applied == ("1", "2")
    with pytest.raises(UsageError, match="already"):
        mergelinkdb(out, crawls, engine, load(None, {}, []), now=NOW)


def test_limit_applies_to_all_linkdbs_together(crawls: list[CrawlDir], engine: Engine) -> None:
    out = crawl_at(crawls[0].path.parent / "out")

    mergelinkdb(out, crawls, engine, load(None, {}, ["linkdb.max_inlinks=2"]), now=NOW)

    assert linkdb(out)[A] == [(B, "b"), (C, "words")]


def test_links_from_and_to_filtered_urls_are_dropped(crawls: list[CrawlDir], engine: Engine, tmp_path: Path) -> None:
    out = crawl_at(tmp_path / "out")
    (tmp_path / "rules.txt").write_text("-^http://d\n+.\n")
    settings = ["urlfilter.filters=['regex']", f"urlfilter.regex_file={str(tmp_path / 'rules.txt')!r}"]

    mergelinkdb(out, crawls, engine, load(None, {}, settings), now=NOW, filter=True)

    assert linkdb(out) == {A: [(B, "b"), (C, "words")], B: [(C, "c")]}


def test_command_creates_a_crawl(crawls: list[CrawlDir], run: Run) -> None:
    good = run("mergelinkdb", "out", *(crawl.path for crawl in crawls), "--json")
    without = run("mergelinkdb", "other", crawl_at(crawls[0].path.parent / "empty").path)

    assert (good.code, good.out) == (0, '{"records":4,"urls":3}\n')
    assert without.code == 2
    assert "invertlinks" in without.err
