"""The commands index, clean and search, and `crawl --index`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, named, page, write_crawldb, write_segment
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.simweb import WebSpec, running

__all__ = ["run"]

A, B = "http://a.org/", "http://b.org/"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    crawl = crawl_at(tmp_path / "mycrawl")
    write_crawldb(crawl, [datum(A), datum(B)])
    write_segment(
        crawl,
        "20261115000001",
        fetches=[datum(url, "success", content_type="text/html") for url in (A, B)],
        pages=[page(A, title="Grey seals", language="en"), page(B, title="Walruses", language="en")],
        texts=[{**named(A), "text": "Seals swim."}, {**named(B), "text": "Walruses swim."}],
    )
    return crawl


def test_a_crawl_is_indexed_searched_and_cleaned(run: Run, crawl: CrawlDir) -> None:
    assert run("index", "mycrawl").out == "Wrote 2 documents and deleted 0\n"
    found = run("search", "mycrawl", "seals")
    assert found.code == 0
    assert "1. Grey seals" in found.out
    assert A in found.out
    write_crawldb(crawl, [datum(A, "gone"), datum(B)])

    assert run("clean", "mycrawl", "--dry-run").out == "Would write 0 documents and delete 1\n"
    assert json.loads(run("clean", "mycrawl", "--json").out)["deleted"] == 1
    nothing = run("search", "mycrawl", "grey")
    assert (nothing.code, nothing.out) == (1, "No page matches.\n")


def test_search_prints_one_object_per_result(run: Run, crawl: CrawlDir) -> None:
    run("index", "mycrawl")

    lines = run("search", "mycrawl", "swim", "--json", "--limit", "1").out.splitlines()
    more = run("search", "mycrawl", "swim", "--json", "--limit", "1", "--page", "2").out.splitlines()

    assert {json.loads(line)["url"] for line in (*lines, *more)} == {A, B}


def test_search_explains_scores(run: Run, crawl: CrawlDir) -> None:
    run("index", "mycrawl")

    shown = run("search", "mycrawl", "seals", "--explain").out
    (line,) = run("search", "mycrawl", "seals", "--explain", "--json").out.splitlines()

    assert re.search(r"score [\d.]+ = text [\d.]+ × links 1\.0000", shown)
    assert re.search(r"(?m)^ +word +field +terms +frequency +idf +length +bm25 +weight +score$", shown)
    assert re.search(r"(?m)^ +seals +title +seal +1 ", shown)
    assert [part["field"] for part in json.loads(line)["explanation"]["parts"]] == ["title", "content"]


def test_search_says_that_it_corrected_or_relaxed_the_query(run: Run, crawl: CrawlDir) -> None:
    run("index", "mycrawl")

    assert "Results for 'walruses'" in run("search", "mycrawl", "walrusse").out
    assert "No page has all of the words" in run("search", "mycrawl", "grey", "walruses").out


def test_search_without_an_index_says_how_to_build_it(run: Run, crawl: CrawlDir) -> None:
    told = run("search", "mycrawl", "seals")

    assert told.code == 2
    assert "scoter index" in told.err


def test_a_damaged_index_is_reported_and_built_again_by_the_next_run(run: Run, crawl: CrawlDir) -> None:
    run("index", "mycrawl")
    next((crawl.path / "index").glob("*/*.term")).write_bytes(b"")

    told = run("search", "mycrawl", "seals")
    assert told.code == 2
    assert "the index is damaged" in told.err
    assert "--force" in told.err
    assert "Wrote 2 documents (all of them" in run("index", "mycrawl").out
    assert run("search", "mycrawl", "seals").code == 0


def test_an_index_of_a_newer_version_is_replaced_only_when_forced(run: Run, crawl: CrawlDir) -> None:
    run("index", "mycrawl")
    (crawl.path / "index" / "scoter.json").write_text('{"format": 99}')

    for command in (("index", "mycrawl"), ("clean", "mycrawl"), ("search", "mycrawl", "seals")):
        told = run(*command)
        assert told.code == 2
        assert "newer version of Scoter" in told.err
    assert run("index", "mycrawl", "--force").code == 0
    assert run("search", "mycrawl", "seals").code == 0


@pytest.mark.parametrize("query", ["seals " * 2_000, "seals\udcff", "((((seals", "site:(["])
def test_a_strange_query_ends_with_results_or_one_message(run: Run, crawl: CrawlDir, query: str) -> None:
    run("index", "mycrawl")

    told = run("search", "mycrawl", query)

    assert told.code in (0, 1, 2)
    assert "Traceback" not in told.err


def test_a_title_cannot_send_control_characters_to_the_terminal(run: Run, crawl: CrawlDir) -> None:
    write_segment(
        crawl,
        "20261115000002",
        fetches=[datum(A, "success")],
        pages=[page(A, title="\x1b[2Jseals \x07", language="en")],
    )
    run("index", "mycrawl")

    shown = run("search", "mycrawl", "seals").out

    assert "\x1b[2J" not in shown
    assert "\x07" not in shown


def test_an_unknown_writer_is_refused(run: Run, crawl: CrawlDir) -> None:
    told = run("index", "mycrawl", "-D", 'index.writers=["tantiwy"]')

    assert told.code == 2
    assert "tantivy" in told.err


def test_a_missing_package_is_named(run: Run, crawl: CrawlDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.index.writers.connection.find_spec", lambda package: None)

    told = run("index", "mycrawl", "-D", 'index.writers=["kafka"]')

    assert told.code == 2
    assert "[kafka]'" in told.err


def test_crawl_can_index_at_the_end(run: Run, tmp_path: Path) -> None:
    with running(WebSpec(hosts=2, pages=6)) as web:
        seed, *_ = web.web.seeds()
        options = ["--agent", "testbot", "-D", "fetch.delay=0", "-D", f'fetch.connect_to=["*:*=127.0.0.1:{web.port}"]']
        done = run("crawl", "mine", seed, "--rounds", "2", "--scope", "any", "--index", *options)

    assert done.code == 0, done.err
    assert "Wrote " in done.err
    assert run("search", "mine", "site:test", "--json").code in (0, 1)
    assert (tmp_path / "mine" / "index" / "scoter.json").exists()


def test_words_that_look_like_options_can_be_searched_as_the_error_says(run: Run, crawl: CrawlDir) -> None:
    run("index", "mycrawl")

    taken = run("search", "mycrawl", "--onto")
    found = run("search", "mycrawl", "--", "--onto")

    assert (taken.code, taken.out) == (2, "")
    assert "scoter search DIR -- --onto" in taken.err
    assert found.code == 1, found.err
    assert "No page matches" in found.out
