"""webgraph: updates give the same tables as deriving everything anew, and pages that left the crawldb leave."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, link, page, write_crawldb, write_segment
from tests.batch.jobs.test_webgraph import ALL, A, B, C, D, build, links_of, nodes_of, site_links
from tests.batch.making import known
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph import buckets, derivation, sites, urls
from scoter.batch.graph.tables import GRAPHS, open_graph
from scoter.batch.jobs import webgraph as job
from scoter.batch.jobs.linkrank import linkrank
from scoter.batch.jobs.sql import sql
from scoter.batch.jobs.webgraph import pending
from scoter.config import load
from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine
from scoter.engine.portable import fast_hash

__all__ = ["run"]

URLS = [f"http://{host}.{domain}.org/{number}" for domain in "abc" for host in ("www", "m") for number in range(4)]


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def values_of(crawl: CrawlDir) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the values of the nodes of all graphs by name."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in GRAPHS:
        with open_graph(crawl, name) as graph:
            names = {row["id"]: row["url"] for batch in graph.nodes.scan() for row in batch.to_pylist()}
            rows = [row for batch in graph.values.scan() for row in batch.to_pylist()]
        wanted = ("pages", "inlinks", "outlinks")
        found[name] = {
            names[row["id"]]: {key: row[key] for key in wanted if key in row}
            for row in rows
            if row["inlinks"] + row["outlinks"]
        }
    return found


def whole(crawl: CrawlDir) -> object:
    return values_of(crawl), links_of(crawl), site_links(crawl, "host"), site_links(crawl, "domain")


def random_segment(crawl: CrawlDir, name: str, drawn: Random, share: float) -> None:
    pages = [each for each in URLS if drawn.random() < share]
    links = [link(each, drawn.choice(URLS), drawn.choice("xyz")) for each in pages for _ in range(drawn.randrange(6))]
    write_segment(crawl, name, pages=list(map(page, pages)), links=links)


@pytest.mark.parametrize("seed", range(4))
def test_updates_give_the_same_tables_as_deriving_them_anew(
    crawl: CrawlDir, engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Random(seed)
    monkeypatch.setattr(buckets, "ROWS", 7)
    monkeypatch.setattr(sites, "BLOCK", 11)
    monkeypatch.setattr(sites, "_SHARE", 0)
    random_segment(crawl, "1", drawn, 1.0)
    write_crawldb(crawl, [known(each) for each in URLS], applied=["1"])
    build(crawl, engine, *ALL)
    for name in "234":
        random_segment(crawl, name, drawn, 0.2)
        write_crawldb(crawl, [known(each) for each in URLS if drawn.random() < 0.97], applied=[name])
        with monkeypatch.context() as patch:
            patch.setattr(derivation, "build_sites", forbidden)
            build(crawl, engine, *ALL)
    updated = whole(crawl)

    for each in ("node_values", "host_links", "domain_links"):
        shutil.rmtree(crawl.webgraph / each)
    build(crawl, engine, *ALL)

    assert whole(crawl) == updated


def forbidden(*_: Any, **__: Any) -> Any:
    raise AssertionError("everything is derived anew")


def test_many_differences_are_merged(crawl: CrawlDir, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "_SHARE", 0)
    monkeypatch.setattr(job, "MAX_FILES", 3)
    for number in range(12):
        write_segment(
            crawl, f"{number:02}", pages=[page(A), page(C)], links=[link(A, f"http://e{number}.org/"), link(C, B)]
        )
        build(crawl, engine)

    assert site_links(crawl, "host") == {("a.org", "e11.org"): (1, 1), ("c.org", "b.org"): (1, 1)}
    with open_graph(crawl, "host") as graph:
        assert len(graph.links.files) <= sites.MAX_DIFFERENCES + 1
    with open_graph(crawl) as graph:
        assert len(graph.links.files) <= 4
        assert len(graph.nodes.files) <= 4
    assert links_of(crawl) == [(A, "http://e11.org/"), (C, B)]


def test_urls_with_the_same_hash_are_told_apart(
    crawl: CrawlDir, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fast_hash

    def same_hash(text: Any, engine: str) -> Any:
        return real(text, engine) if text.get_name() == "key" else text.length().cast("int64")

    monkeypatch.setattr(urls, "fast_hash", same_hash)
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C), link(B, D)])
    build(crawl, engine)
    write_segment(crawl, "2", pages=[page(C)], links=[link(C, A), link(C, "http://e.org/")])
    build(crawl, engine)

    assert links_of(crawl) == [(A, C), (B, D), (C, A), (C, "http://e.org/")]


def test_page_that_left_the_crawldb_leaves_the_graph(crawl: CrawlDir, run: Run) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B), page(C)], links=[link(A, B), link(B, C), link(C, A), link(C, D)])
    write_crawldb(crawl, [known(each) for each in (A, B, C)], applied=["1"])
    run("webgraph", crawl.path)
    write_crawldb(crawl, [known(each) for each in (A, C)])  # D was never in it, so it stays

    done = run("webgraph", crawl.path)
    again = run("webgraph", crawl.path)

    assert done.out == (
        "Added 0 segments to the link graph and removed 1 page that left the crawldb: 3 nodes, 2 links\n"
    )
    assert links_of(crawl) == [(C, A), (C, D)]
    assert site_links(crawl, "host").keys() == {("c.org", "a.org"), ("c.org", "d.org")}
    assert again.code == 1
    assert run("readwebgraph", crawl.path, "--url", B).code == 1


def test_removed_page_stays_away_until_the_crawldb_has_it_again(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, B), link(B, C)])
    write_crawldb(crawl, [known(A), known(C)], applied=["1"])  # removed before the graph was built
    build(crawl, engine)
    first = nodes_of(crawl).keys()
    write_segment(crawl, "2", pages=[page(A)], links=[link(A, B), link(A, D)])
    build(crawl, engine)
    still = links_of(crawl)
    build(crawl, engine, rebuild=True)
    rebuilt = links_of(crawl)
    write_crawldb(crawl, [known(A), known(B)])
    write_segment(crawl, "3", pages=[page(A)], links=[link(A, B)])
    build(crawl, engine)

    assert first == set()
    assert still == rebuilt == [(A, D)]
    assert links_of(crawl) == [(A, B)]


def test_page_of_a_segment_that_is_not_in_the_crawldb_yet_stays(crawl: CrawlDir, engine: Engine) -> None:
    write_crawldb(crawl, [known(A)])
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, B), link(B, C)])
    build(crawl, engine)

    assert links_of(crawl) == [(A, B), (B, C)]


@pytest.mark.parametrize(("delete", "left"), [("true", [(B, A)]), ("false", [(A, C), (B, A)])])
def test_page_that_the_crawldb_calls_gone_loses_its_links_on_request(
    crawl: CrawlDir, engine: Engine, delete: str, left: list[tuple[str, str]]
) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C), link(B, A)])
    write_crawldb(crawl, [known(each) for each in (A, B, C)], applied=["1"])
    build(crawl, engine, f"link.delete_gone={delete}")
    write_crawldb(crawl, [known(A, "gone"), known(B), known(C)])
    build(crawl, engine, f"link.delete_gone={delete}")

    assert links_of(crawl) == left


def test_removed_segment_is_noticed_and_keeps_its_links_except_after_a_rebuild(crawl: CrawlDir, run: Run) -> None:
    lost = write_segment(crawl, "1", pages=[page(A)], links=[link(A, C)])
    write_segment(crawl, "2", pages=[page(B)], links=[link(B, C)])
    run("webgraph", crawl.path)
    for each in sorted(lost.path.rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() else each.unlink()
    lost.path.rmdir()
    write_segment(crawl, "3", pages=[page(D)], links=[link(D, C)])

    updated = run("webgraph", crawl.path, "--json")
    kept = links_of(crawl)
    rebuilt = run("webgraph", crawl.path, "--rebuild")

    assert '"lost_segments":["1"]' in updated.out
    assert kept == [(A, C), (B, C), (D, C)]
    assert "Segment 1 no longer exists" in rebuilt.err
    assert links_of(crawl) == [(B, C), (D, C)]
    assert pending(crawl) == []


def test_graphs_can_be_queried_with_sql(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "see"), link(B, C), link(B, D)])
    build(crawl, engine)
    write_segment(crawl, "2", pages=[page(A)], links=[link(A, D, "look")])
    build(crawl, engine)

    with sql(crawl, memory_limit=2**28) as session:
        links, hosts, nodes = (
            [tuple(row.values()) for row in session.query(query).rows]
            for query in (
                "select * from links order by all",
                "select source, target, links, pages from host_links order by all",
                "select url, host, domain, inlinks, outlinks from nodes where inlinks > 0 order by all",
            )
        )

    assert links == [(A, D, "look"), (B, C, ""), (B, D, "")]
    assert hosts == [("a.org", "d.org", 1, 1), ("b.org", "c.org", 1, 1), ("b.org", "d.org", 1, 1)]
    assert nodes == [(C, "c.org", "c.org", 1, 0), (D, "d.org", "d.org", 2, 0)]


def test_engines_give_the_same_ranks(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    other = crawl_at(tmp_path / "other")
    for each in (crawl, other):
        for name, seed, share in (("1", 5, 1.0), ("2", 6, 0.3)):
            random_segment(each, name, Random(seed), share)
    build(crawl, engine, *ALL)
    with DuckDbEngine(tmp_path / "duckdb", 2**28) as duckdb:
        build(other, duckdb, *ALL)
    for each in (crawl, other):
        for algorithm in ("linkrank", "pagerank", "harmonic"):
            linkrank(each, load(None, {}, ALL), now=NOW, algorithm=algorithm)

    found, wanted = nodes_of(crawl), nodes_of(other)
    assert whole(crawl) == whole(other)
    for name in ("id", "score", "pagerank", "harmonic"):
        values = ({url: row[name] for url, row in nodes.items()} for nodes in (found, wanted))
        assert next(values) == pytest.approx(next(values), abs=1e-6)
