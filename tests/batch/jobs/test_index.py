"""Indexing a crawl: which pages become documents, and what a later run writes and deletes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, Row, crawl_at, datum, named, page, write_crawldb, write_linkdb, write_segment
from tests.index.fake_servers import fake_server, told

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.index import IndexResult, index
from scoter.config import Config, load
from scoter.engine import Engine
from scoter.errors import UsageError, UserError

A, B, C = "http://a.org/", "http://b.org/", "http://c.org/"


ONE_ENGINE = pytest.mark.parametrize("engine", ["duckdb"], indirect=True)


def config(*overrides: str) -> Config:
    return load(None, {}, ['index.writers=["jsonl"]', *overrides])


def text(url: str, words: str, **columns: Any) -> Row:
    return {**named(url), "text": words, **columns}


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(A), datum(B), datum(C, "gone")])
    write_segment(
        crawl,
        "20261115000001",
        fetches=[datum(url, "success", content_type="text/html", length=5, ip="192.0.2.1") for url in (A, B, C)],
        pages=[page(url, title=f"Title of {url}", content_type="text/html", language="en") for url in (A, B, C)],
        texts=[text(url, f"Text of {url}") for url in (A, B, C)],
    )
    return crawl


def run(crawl: CrawlDir, engine: Engine, *overrides: str, **choices: Any) -> IndexResult:
    return index(crawl, engine, config(*overrides), now=NOW, **choices)


def documents(crawl: CrawlDir) -> dict[str, Row]:
    """Return the documents that all runs together leave, by id."""
    found: dict[str, Row] = {}
    folder = crawl.path / "documents-jsonl"
    for file in sorted(folder.glob("*-*"), key=lambda path: (path.stem.partition("-")[2], path.stem)):
        for line in file.read_text().splitlines():
            if file.stem.startswith("deleted"):
                found.pop(line, None)
            else:
                row = json.loads(line)
                found[row["id"]] = row
    return found


def test_fetched_pages_become_documents(crawl: CrawlDir, engine: Engine) -> None:
    write_linkdb(crawl, {A: [(B, "To A"), (C, "to a"), ("http://d.org/", "Home")]})

    result = run(crawl, engine)

    assert result == IndexResult(written=2, deleted=0, left_out=0)
    found = documents(crawl)
    assert found.keys() == {A, B}
    expected = {
        "url": A,
        "host": "a.org",
        "domain": "a.org",
        "title": "Title of http://a.org/",
        "content": "Text of http://a.org/",
        "anchor": ["To A", "Home"],
        "type": ["text/html", "text", "html"],
        "lang": "en",
        "contentLength": 5,
        "segment": "20261115000001",
        "boost": 1.0,
    }
    assert {name: found[A][name] for name in expected} == expected


def test_a_second_run_writes_nothing(crawl: CrawlDir, engine: Engine) -> None:
    run(crawl, engine)

    assert run(crawl, engine) == IndexResult(written=0, deleted=0, left_out=0)


def test_only_changed_pages_are_written_again(crawl: CrawlDir, engine: Engine) -> None:
    run(crawl, engine)
    write_segment(
        crawl,
        "20261115000002",
        fetches=[datum(B, "success")],
        pages=[page(B, title="New title")],
        texts=[text(B, "New text")],
    )

    result = run(crawl, engine)

    assert result.written == 1
    assert documents(crawl)[B]["title"] == "New title"
    assert documents(crawl)[A]["title"] == "Title of http://a.org/"


@pytest.mark.parametrize("status", ["gone", "redir_perm", "redir_temp", "duplicate", "parse_failed", "unfetched"])
def test_documents_of_pages_that_are_gone_are_deleted(crawl: CrawlDir, engine: Engine, status: str) -> None:
    run(crawl, engine)
    write_crawldb(crawl, [datum(A), datum(B, status)])

    assert run(crawl, engine) == IndexResult(written=0, deleted=1, left_out=0)
    assert documents(crawl).keys() == {A}
    assert run(crawl, engine) == IndexResult(written=0, deleted=0, left_out=0)


def test_without_index_delete_documents_stay_until_clean(crawl: CrawlDir, engine: Engine) -> None:
    run(crawl, engine, "index.delete=false")
    write_crawldb(crawl, [datum(A), datum(B, "gone")])

    assert run(crawl, engine, "index.delete=false").deleted == 0
    assert documents(crawl).keys() == {A, B}
    assert run(crawl, engine, "index.delete=false", only_delete=True).deleted == 1
    assert documents(crawl).keys() == {A}


def test_clean_writes_no_documents(crawl: CrawlDir, engine: Engine) -> None:
    run(crawl, engine)
    write_crawldb(crawl, [datum(A), datum(B, "gone"), datum(C)])

    assert run(crawl, engine, only_delete=True) == IndexResult(written=0, deleted=1, left_out=0)
    assert run(crawl, engine).written == 1


def test_a_score_that_changes_a_little_is_no_reason_to_write(crawl: CrawlDir, engine: Engine) -> None:
    run(crawl, engine)
    write_crawldb(crawl, [datum(A, score=1.01), datum(B, score=9.0)])

    assert run(crawl, engine).written == 1


def test_new_anchor_texts_are_indexed(crawl: CrawlDir, engine: Engine) -> None:
    write_linkdb(crawl, {A: [(B, "One")]})
    run(crawl, engine)
    write_linkdb(crawl, {A: [(B, "One"), (C, "one"), ("http://d.org/", "ONE")]})
    assert run(crawl, engine).written == 0

    write_linkdb(crawl, {A: [(B, "One"), (C, "Two")]})

    assert run(crawl, engine).written == 1
    assert documents(crawl)[A]["anchor"] == ["One", "Two"]


def test_noindex_is_obeyed_unless_it_is_switched_off(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "20261115000002", fetches=[datum(B, "success")], pages=[page(B, noindex=True)])

    assert run(crawl, engine).written == 1
    assert documents(crawl).keys() == {A}
    assert run(crawl, engine, "index.delete_robots_noindex=false", force=True).written == 2


def test_pages_dropped_by_a_filter_are_not_tried_again(crawl: CrawlDir, engine: Engine) -> None:
    order = 'index.filters=["basic", "expression"]'
    result = run(crawl, engine, order, "index.filter_expr=host == 'a.org'")

    assert result == IndexResult(written=1, deleted=0, left_out=1)
    assert documents(crawl).keys() == {A}
    again = run(crawl, engine, order, "index.filter_expr=host == 'a.org'")
    assert again == IndexResult(written=0, deleted=0, left_out=0)


def test_changed_settings_write_all_documents_again(crawl: CrawlDir, engine: Engine) -> None:
    run(crawl, engine)

    result = run(crawl, engine, 'index.filters=["basic", "static"]', 'index.static=["source:crawl"]')

    assert result == IndexResult(written=2, deleted=0, left_out=0, rebuilt=True)
    assert {row["source"] for row in documents(crawl).values()} == {"crawl"}


def test_entries_of_a_feed_are_documents_unless_their_page_was_fetched(crawl: CrawlDir, engine: Engine) -> None:
    entry = "http://d.org/entry"
    write_segment(
        crawl,
        "20261115000002",
        fetches=[datum(B, "success")],
        pages=[
            page(B, title="Feed"),
            page(entry, part_of=B, title="Entry"),
            page(A, part_of=B, title="Summary of A"),
        ],
        texts=[text(B, "feed"), text(entry, "entry", part_of=B), text(A, "summary", part_of=B)],
    )

    run(crawl, engine)

    found = documents(crawl)
    assert found.keys() == {A, B, entry}
    assert (found[entry]["title"], found[entry]["content"]) == ("Entry", "entry")
    assert found[A]["title"] == "Title of http://a.org/"


def test_dry_run_counts_and_writes_nothing(crawl: CrawlDir, engine: Engine) -> None:
    assert run(crawl, engine, dry_run=True).written == 2
    assert not (crawl.path / "documents-jsonl").exists()
    assert not crawl.indexdb.exists()


def test_outlinks_are_read_only_for_the_links_filter(crawl: CrawlDir, engine: Engine) -> None:
    from tests.batch.crawls import link

    write_segment(
        crawl,
        "20261115000002",
        fetches=[datum(A, "success")],
        pages=[page(A)],
        links=[link(A, B, "b"), link(A, A, "self")],
    )
    write_linkdb(crawl, {A: [(B, "x")]})

    run(
        crawl,
        engine,
        'index.filters=["basic", "links"]',
        "index.links_outlinks_host_ignore=true",
    )

    assert documents(crawl)[A]["outlinks"] == B
    assert documents(crawl)[A]["inlinks"] == B


def test_a_crawl_without_parsed_segments_is_refused(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "empty")
    write_crawldb(crawl, [datum(A, "unfetched")])

    with pytest.raises(UsageError, match="no parsed segments"):
        run(crawl, engine)


@ONE_ENGINE
def test_rejected_documents_are_reported_and_tried_again(crawl: CrawlDir, engine: Engine) -> None:
    with fake_server() as server:
        settings = ('index.writers=["opensearch"]', f'plugin.indexwriter-opensearch.url=["{server.url}"]')
        server.judge = lambda operation, key: (400, {"reason": "bad date"}) if key == B else (201, None)

        first = run(crawl, engine, *settings)
        again = run(crawl, engine, *settings)
        server.judge = lambda operation, key: (201, None)
        last = run(crawl, engine, *settings)
        done = run(crawl, engine, *settings)

    assert (first.written, first.rejected, first.rejections) == (1, 1, (f"{B}: opensearch: bad date",))
    assert (again.written, again.rejected) == (0, 1)
    assert (last.written, last.rejected) == (1, 0)
    assert done.written == 0
    assert server.held.keys() == {A, B}


@ONE_ENGINE
def test_a_run_that_a_server_interrupts_is_completed_by_the_next(crawl: CrawlDir, engine: Engine) -> None:
    with fake_server() as server:
        settings = (
            'index.writers=["jsonl", "solr"]',
            f'plugin.indexwriter-solr.url="{server.url}/solr/pages"',
            "plugin.indexwriter-solr.retries=0",
        )
        server.fault = lambda asked: told(503, "shutting down") if b"commit" in asked.body else None
        with pytest.raises(UserError, match="shutting down"):
            run(crawl, engine, *settings)

        server.fault = lambda asked: None
        assert run(crawl, engine, *settings).written == 2

    assert server.held.keys() == documents(crawl).keys() == {A, B}


@ONE_ENGINE
def test_only_settings_that_change_the_index_rebuild_it(crawl: CrawlDir, engine: Engine) -> None:
    with fake_server() as server:
        settings = ['index.writers=["opensearch"]', f'plugin.indexwriter-opensearch.url=["{server.url}"]']
        run(crawl, engine, *settings, "plugin.indexwriter-opensearch.password=old")
        changed = [f"plugin.indexwriter-opensearch.{each}" for each in ("password=new", "timeout=5s", "retries=3")]

        assert not run(crawl, engine, *settings, *changed).rebuilt
        assert run(crawl, engine, *settings, "plugin.indexwriter-opensearch.index=other").rebuilt


@ONE_ENGINE
def test_changed_routes_rebuild_the_indexes(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "writers.toml"
    settings = ('index.writers=["jsonl"]', f'index.writers_file="{file}"')
    for expr, done in (("host == 'a.org'", (1, 1)), ("host == 'a.org'", (0, 0)), ("host == 'b.org'", (1, 1))):
        file.write_text(f'[[route]]\nwriters = ["jsonl"]\nexpr = "{expr}"\n')

        result = run(crawl, engine, *settings)
        assert (result.written, result.unrouted) == done

    assert documents(crawl).keys() == {B}
