"""webgraph: which links enter the link graph, which are replaced, and what readers of the graph show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, link, page, write_segment
from tests.batch.making import fetch
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph import derivation
from scoter.batch.graph.links import LiveLinks
from scoter.batch.graph.site_links import read_site_links
from scoter.batch.graph.tables import GraphName, graph_tables, open_graph
from scoter.batch.jobs import webgraph as job
from scoter.batch.jobs.readwebgraph import read_node
from scoter.batch.jobs.webgraph import WebgraphResult, pending, webgraph
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError
from scoter.store.tables import Table

__all__ = ["run"]

A, B, C, D = "http://a.org/", "http://b.org/", "http://c.org/", "http://d.org/x"
ALL = ("link.ignore_internal_host=false", "link.ignore_internal_domain=false", "link.ignore_limit_domain=false")


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def build(crawl: CrawlDir, engine: Engine, *settings: str, **options: bool) -> WebgraphResult:
    chosen = pending(crawl, rebuild=options.get("rebuild", False))
    return webgraph(crawl, engine, load(None, {}, settings), chosen, now=NOW, **options)


def nodes_of(crawl: CrawlDir) -> dict[str, dict[str, Any]]:
    with open_graph(crawl) as graph, Table.open(graph_tables(crawl, "host").nodes) as hosts:
        names = {row["id"]: row["url"] for batch in hosts.scan() for row in batch.to_pylist()}
        values = {row["id"]: row for batch in graph.values.scan() for row in batch.to_pylist()}
        rows = [row | values[row["id"]] for batch in graph.nodes.scan() for row in batch.to_pylist()]
    return {row["url"]: row | {"host": names[row["host"]]} for row in rows if row["inlinks"] + row["outlinks"]}


def links_of(crawl: CrawlDir) -> list[tuple[str, str]]:
    """Return the live links; check that they agree with the counts of the nodes."""
    known = nodes_of(crawl)
    urls = {row["id"]: url for url, row in known.items()}
    assert len(urls) == len(known)
    with open_graph(crawl) as graph:
        found = [
            (urls[source], urls[target])
            for sources, targets in LiveLinks.of(graph.links, graph.next_id).pairs()
            for source, target in zip(sources.tolist(), targets.tolist(), strict=True)
        ]
    for url, row in known.items():
        assert row["inlinks"] == sum(target == url for _, target in found)
        assert row["outlinks"] == sum(source == url for source, _ in found)
    return sorted(found)


def test_links_of_pages_become_links_of_nodes_with_counts(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "see"), link(B, C), link(A, D), link(A, D)])

    done = build(crawl, engine)

    assert done == WebgraphResult(segments=("1",), removed=0, nodes=4, links=3, nodes_before=0)
    assert links_of(crawl) == [(A, C), (A, D), (B, C)]
    assert nodes_of(crawl)[C] | {"id": 0} == {
        "url": C, "key": "org,c)/", "host": "c.org", "id": 0, "inlinks": 2, "outlinks": 0,
        "score": 0.0, "pagerank": None, "harmonic": None, "run": 0, "cut": 0, "is_known": False,
    }  # fmt: skip


def test_numbers_follow_the_order_of_keys_and_stay(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(D)], links=[link(D, B)])
    build(crawl, engine)
    write_segment(crawl, "2", pages=[page(A)], links=[link(A, C), link(A, B)])
    build(crawl, engine)

    assert {url: row["id"] for url, row in nodes_of(crawl).items()} == {B: 0, D: 1, A: 2, C: 3}


def test_newest_version_of_a_page_replaces_its_links(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C), link(A, D), link(B, D)])
    build(crawl, engine)
    write_segment(crawl, "2", pages=[page(A), page(C)], links=[link(A, B), link(C, A)])

    done = build(crawl, engine)

    assert (done.nodes_before, done.nodes) == (4, 4)
    assert links_of(crawl) == [(A, B), (B, D), (C, A)]


def test_page_without_links_any_more_loses_them_and_lonely_nodes_leave(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C), link(B, A)])
    build(crawl, engine)
    write_segment(crawl, "2", pages=[page(A), page(B, "failed")])
    build(crawl, engine)

    assert links_of(crawl) == [(B, A)]
    assert nodes_of(crawl).keys() == {A, B}


def test_older_segment_added_later_does_not_replace_newer_links(crawl: CrawlDir, engine: Engine) -> None:
    older = write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, D), link(B, D)])
    newer = write_segment(crawl, "2", pages=[page(A)], links=[link(A, C)])
    for each in (newer, older):
        webgraph(crawl, engine, load(None, {}, ()), [each], now=NOW)

    assert links_of(crawl) == [(A, C), (B, D)]


def test_rebuild_applies_other_settings_to_all_segments(crawl: CrawlDir, engine: Engine) -> None:
    links = [link(A, f"{A}x"), link(A, "http://www.a.org/"), link(A, C), link(A, f"{C}2")]
    write_segment(crawl, "1", pages=[page(A)], links=links)
    build(crawl, engine)
    by_default = links_of(crawl)
    build(crawl, engine, *ALL, rebuild=True)

    assert by_default == [(A, C)]
    assert links_of(crawl) == [(A, f"{A}x"), (A, C), (A, f"{C}2"), (A, "http://www.a.org/")]
    assert pending(crawl) == []


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        (["link.ignore_internal_domain=false"], ["http://c.org/", "http://www.a.org/"]),
        (["link.ignore_limit_domain=false"], ["http://c.org/", "http://c.org/p?x=1", "http://www.c.org/"]),
        (
            ["link.ignore_limit_domain=false", "link.ignore_limit_page=false"],
            ["http://c.org/", "http://c.org/p?x=1", "http://c.org/p?x=2", "http://www.c.org/"],
        ),
    ],
)
def test_settings_choose_the_links(crawl: CrawlDir, engine: Engine, settings: list[str], kept: list[str]) -> None:
    targets = [f"{A}y", "http://www.a.org/", C, "http://c.org/p?x=2", "http://c.org/p?x=1", "http://www.c.org/"]
    write_segment(crawl, "1", pages=[page(A)], links=[link(A, each) for each in targets])

    build(crawl, engine, *settings)

    assert [target for _, target in links_of(crawl)] == kept


@pytest.mark.parametrize(("delete", "left"), [("true", [(B, A)]), ("false", [(A, C), (B, A)])])
def test_links_of_gone_pages_leave_the_graph_on_request(
    crawl: CrawlDir, engine: Engine, delete: str, left: list[tuple[str, str]]
) -> None:
    setting = f"link.delete_gone={delete}"
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C), link(B, A)])
    build(crawl, engine, setting)
    write_segment(crawl, "2", fetches=[fetch(A, "gone")])
    build(crawl, engine, setting)

    assert links_of(crawl) == left


def test_dead_links_are_removed_when_they_are_the_majority(crawl: CrawlDir, engine: Engine) -> None:
    for name in "1234":
        write_segment(crawl, name, pages=[page(A)], links=[link(A, C), link(A, D), link(A, f"http://e{name}.org/")])
        build(crawl, engine)

    with open_graph(crawl) as graph:
        assert graph.links.manifest.rows <= 6
    assert links_of(crawl) == [(A, C), (A, D), (A, "http://e4.org/")]


def test_sites_are_linked_with_the_number_of_links_and_pages(crawl: CrawlDir, engine: Engine) -> None:
    one, two, www = "http://a.org/1", "http://a.org/2", "http://www.a.org/"
    links = [link(one, B), link(one, f"{B}2"), link(two, B), link(www, B), link(www, one), link(B, B)]
    write_segment(crawl, "1", pages=[page(each) for each in (one, two, www, B)], links=links)

    build(crawl, engine, *ALL)

    assert site_links(crawl, "host") == {
        ("a.org", "b.org"): (3, 2),
        ("www.a.org", "b.org"): (1, 1),
        ("www.a.org", "a.org"): (1, 1),
        ("b.org", "b.org"): (1, 1),
    }
    assert site_links(crawl, "domain") == {
        ("a.org", "b.org"): (4, 3),
        ("a.org", "a.org"): (1, 1),
        ("b.org", "b.org"): (1, 1),
    }
    found = read_node(crawl, "B.org", graph="host")
    assert found is not None
    counts = {name: found.node[name] for name in ("pages", "inlinks", "outlinks")}
    assert counts == {"pages": 2, "inlinks": 3, "outlinks": 1}


def site_links(crawl: CrawlDir, name: GraphName) -> dict[tuple[str, str], tuple[int, int]]:
    with open_graph(crawl, name) as graph:
        names = {row["id"]: row["url"] for batch in graph.nodes.scan() for row in batch.to_pylist()}
        found = {
            (names[source], names[target]): (links, pages)
            for each in read_site_links(graph.links)
            for source, target, links, pages in zip(
                each.sources.tolist(), each.targets.tolist(), each.links.tolist(), each.pages.tolist(), strict=True
            )
        }
        counts = {row["id"]: row for batch in graph.values.scan() for row in batch.to_pylist()}
    for number, row in counts.items():
        assert row["inlinks"] == sum(target == names[number] for _, target in found)
        assert row["outlinks"] == sum(source == names[number] for source, _ in found)
    return found


@pytest.mark.parametrize("step", ["_commit", "derive", "build_sites"])
def test_next_run_completes_what_a_killed_one_left(
    crawl: CrawlDir, engine: Engine, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C), link(B, D)])
    build(crawl, engine)
    write_segment(crawl, "2", pages=[page(A)], links=[link(A, "http://new.org/")])
    with monkeypatch.context() as patch:
        patch.setattr(derivation if step == "build_sites" else job, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            build(crawl, engine)
    if step == "derive":
        with pytest.raises(UsageError, match="interrupted"):
            open_graph(crawl)
    build(crawl, engine)

    assert links_of(crawl) == [(A, "http://new.org/"), (B, D)]
    assert site_links(crawl, "host").keys() == {("a.org", "new.org"), ("b.org", "d.org")}


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_segment_without_any_link_gives_an_empty_graph(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A)])

    assert build(crawl, engine) == WebgraphResult(segments=("1",), removed=0, nodes=0, links=0, nodes_before=0)
    assert read_node(crawl, A) is None


def test_commands_show_nodes_and_neighbours(crawl: CrawlDir, run: Run) -> None:
    early = run("readwebgraph", crawl.path)
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "see"), link(B, C), link(B, A, "up")])

    done = run("webgraph", crawl.path)
    again = run("webgraph", crawl.path)
    named = run("webgraph", crawl.path, "1")
    node = run("readwebgraph", crawl.path, "--url", A)
    unknown = run("readwebgraph", crawl.path, "--url", D)
    top = run("nodedumper", crawl.path, "--by", "inlinks", "--top-n", "2")
    grouped = run("nodedumper", crawl.path, "--by", "outlinks", "--group", "domain", "--json")
    unranked = run("nodedumper", crawl.path, "--by", "pagerank")

    assert (early.code, "scoter webgraph" in early.err) == (2, True)
    assert (done.code, done.out) == (0, "Added 1 segment to the link graph: 3 nodes, 3 links\n")
    assert (again.code, again.out) == (1, "")
    assert (named.code, "--rebuild" in named.err) == (2, True)
    facts, into, out = (part.split() for part in node.out.replace("─", "").split("\n\n"))
    assert facts == f"url {A} host a.org inlinks 1 outlinks 1 score 0".split()
    assert into == f"Links to it url anchor {B} up".split()
    assert out == f"Links from it url anchor {C} see".split()
    assert unknown.code == 1
    assert top.out.splitlines()[2:] == [f"2        {C}", f"1        {A}"]
    assert grouped.out.splitlines()[0] == '{"outlinks":2,"pages":1,"domain":"b.org"}'
    assert (unranked.code, "scoter linkrank" in unranked.err) == (2, True)
