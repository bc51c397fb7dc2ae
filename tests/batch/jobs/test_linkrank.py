"""linkrank and scoreupdater: ranks compared with networkx and with a plain implementation of Nutch's rules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import networkx
import numpy as np
import pytest
from tests.batch.crawls import crawl_at, crawldb, link, page, write_crawldb, write_segment
from tests.batch.making import known
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph import adjacency
from scoter.batch.graph.adjacency import Adjacency, choose_links, read_adjacency
from scoter.batch.graph.harmonic import counter_bits, harmonic_centrality
from scoter.batch.graph.ranks import link_rank, page_rank
from scoter.batch.graph.tables import StoredGraph, graph_tables
from scoter.store.tables import Table

__all__ = ["run"]

Edges = Sequence[tuple[int, int]]


def random_graph(nodes: int, links: int, seed: int) -> tuple[int, Edges]:
    """Return links that prefer low numbers as targets, and how many nodes have any: those are numbered."""
    drawn = Random(seed)
    edges = {(drawn.randrange(nodes), int(nodes * drawn.random() ** 3)) for _ in range(links)}
    places = {each: place for place, each in enumerate(sorted({node for edge in edges for node in edge}))}
    return len(places), sorted((places[source], places[target]) for source, target in edges)


GRAPHS: Mapping[str, tuple[int, Edges]] = {
    "random": random_graph(60, 300, 1),
    "sparse, in parts": random_graph(80, 70, 2),
    "cycle": (5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]),
    "one sink": (6, [(each, 0) for each in range(1, 6)]),
    "one source": (6, [(0, each) for each in range(1, 6)]),
    "only self-loops": (3, [(0, 0), (1, 1), (2, 2)]),
    "self-loop and chain": (4, [(0, 0), (0, 1), (1, 2), (2, 3), (3, 2)]),
    "one node with a self-loop": (1, [(0, 0)]),
    "empty": (0, []),
}


def graph_of(nodes: int, edges: Edges, folder: Path, weights: Sequence[int] | None = None) -> Adjacency:
    """Write a graph as tables and read it back."""
    into: dict[int, int] = defaultdict(int)
    out: dict[int, int] = defaultdict(int)
    for source, target in edges:
        into[target] += 1
        out[source] += 1
    rows = [{"id": each, "inlinks": into[each], "outlinks": out[each], "run": 1, "cut": 0} for each in range(nodes)]
    by_source = sorted(zip(edges, weights or [1] * len(edges), strict=True))
    links = [{"source": s, "target": t, "run": 1, "links": w, "pages": w} for (s, t), w in by_source]
    tables = graph_tables(CrawlDir(folder), "page" if weights is None else "host")
    with (
        _table(tables.nodes, tables.node_schema, []) as node_table,
        _table(tables.values, tables.value_schema, rows) as value_table,
        _table(tables.links, tables.link_schema, links) as link_table,
    ):
        return read_adjacency(StoredGraph(tables, node_table, value_table, link_table), folder)


def _table(path: Path, schema: Any, rows: Sequence[dict[str, Any]]) -> Table:
    import pyarrow as pa

    with Table.write(path, schema, writer="test") as new:
        if rows:
            with new.part() as part:
                wanted = [{name: row.get(name) for name in schema.names} for row in rows]
                part.write(pa.RecordBatch.from_pylist(wanted, schema=schema))
        new.commit()
    return Table.open(path, schema)


def by_number(graph: Adjacency, values: Any) -> list[float]:
    return [value for _, value in sorted(zip(graph.ids.tolist(), values.tolist(), strict=True))]


def networkx_graph(nodes: int, edges: Edges, weights: Sequence[int] | None = None) -> Any:
    found = networkx.DiGraph()
    found.add_nodes_from(range(nodes))
    found.add_weighted_edges_from((s, t, w) for (s, t), w in zip(edges, weights or [1] * len(edges), strict=True))
    return found


@pytest.fixture(params=GRAPHS)
def case(request: pytest.FixtureRequest) -> tuple[int, Edges]:
    return GRAPHS[request.param]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjacency.Adjacency.blocks, "__defaults__", (7,))


def test_pagerank_agrees_with_networkx(case: tuple[int, Edges], tmp_path: Path) -> None:
    graph = graph_of(*case, tmp_path)

    ranks = page_rank(graph, damping=0.85, tolerance=1e-13)

    expected = _pagerank(networkx_graph(*case))
    assert by_number(graph, ranks.values) == pytest.approx(expected, abs=1e-9)
    assert ranks.change <= 1e-13


def test_weighted_pagerank_agrees_with_networkx(tmp_path: Path) -> None:
    nodes, edges = GRAPHS["random"]
    weights = [1 + each % 5 for each in range(len(edges))]
    graph = graph_of(nodes, edges, tmp_path, weights)

    ranks = page_rank(graph, damping=0.85, tolerance=1e-13)

    assert by_number(graph, ranks.values) == pytest.approx(_pagerank(networkx_graph(nodes, edges, weights)), abs=1e-9)


def _pagerank(graph: Any) -> list[float]:
    # Its tolerance is per node, and networkx.pagerank itself needs SciPy.
    from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

    return list(_pagerank_python(graph, tol=1e-15, max_iter=500).values()) if graph else []


def test_harmonic_centrality_agrees_with_networkx(case: tuple[int, Edges], tmp_path: Path) -> None:
    graph = graph_of(*case, tmp_path)

    ranks = harmonic_centrality(graph, memory_limit=2**30)

    expected = list(networkx.harmonic_centrality(networkx_graph(*case)).values())
    assert by_number(graph, ranks.values) == pytest.approx(expected, abs=1e-9)


def test_harmonic_centrality_of_large_graphs_is_estimated_within_its_error(tmp_path: Path) -> None:
    nodes, edges = random_graph(400, 2_000, 3)
    graph = graph_of(nodes, edges, tmp_path)

    exact = harmonic_centrality(graph, memory_limit=2**30).values
    estimated = harmonic_centrality(graph, memory_limit=2**30, exact_nodes=0).values
    rough = harmonic_centrality(graph, memory_limit=0, exact_nodes=0).values

    assert counter_bits(nodes, 2**30) == 10
    assert counter_bits(nodes, 0) == 4
    assert estimated == pytest.approx(exact, rel=0.15, abs=0.5)
    assert rough.mean() == pytest.approx(exact.mean(), rel=0.3)
    assert (rough != estimated).any()


def plain_linkrank(nodes: int, edges: Edges, counted: Edges, iterations: int) -> list[float]:
    """Return LinkRank as Nutch defines it; all edges count as outlinks, only some pass on ranks."""
    out: dict[int, int] = defaultdict(int)
    for source, _ in edges:
        out[source] += 1
    ranks = [1.0] * nodes
    for _ in range(iterations):
        sums = [0.0] * nodes
        for source, target in counted:
            sums[target] += ranks[source] / out[source]
        ranks = [0.15 + 0.85 * (1 / nodes + each) for each in sums]
    return ranks


def test_linkrank_follows_nutch(case: tuple[int, Edges], tmp_path: Path) -> None:
    graph = graph_of(*case, tmp_path)

    ranks = link_rank(graph, damping=0.85, initial=1.0, iterations=10)

    assert by_number(graph, ranks.values) == pytest.approx(plain_linkrank(*case, case[1], 10), abs=1e-9)


@pytest.mark.parametrize(
    ("loops", "reciprocal", "grouped"), [(False, True, False), (True, False, False), (False, False, True)]
)
def test_linkrank_ignores_links_on_request(
    case: tuple[int, Edges], tmp_path: Path, loops: bool, reciprocal: bool, grouped: bool
) -> None:
    nodes, edges = case
    graph = graph_of(nodes, edges, tmp_path)
    groups = (graph.ids % 4).astype(np.uint64) if grouped else None

    chosen = choose_links(graph, tmp_path / "chosen", groups=groups, loops=loops, reciprocal=reciprocal)
    ranks = link_rank(chosen, damping=0.85, initial=1.0, iterations=10)

    counted, seen = [], set()
    for source, target in sorted(edges):
        if (source == target and not loops) or (source != target and not reciprocal and (target, source) in edges):
            continue
        if not grouped or (target, source % 4) not in seen:
            counted.append((source, target))
        seen.add((target, source % 4))
    assert chosen.links == len(counted)
    assert by_number(chosen, ranks.values) == pytest.approx(plain_linkrank(nodes, edges, counted, 10), abs=1e-9)


A, B, C, D = "http://a.org/", "http://b.org/", "http://c.org/", "http://d.org/x"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    found = crawl_at(tmp_path / "crawl")
    links = [link(A, C), link(f"{A}2", C), link(B, C), link(B, A), link(C, B)]
    write_segment(found, "1", pages=[page(each) for each in (A, f"{A}2", B, C)], links=links)
    write_crawldb(found, [known(A, score=7.0), known(C, score=7.0), known(D, score=7.0)])  # segment 1 is not in it
    return found


def test_commands_rank_the_graph_and_update_the_crawldb(crawl: CrawlDir, run: Run) -> None:
    early = run("linkrank", crawl.path)
    run("webgraph", crawl.path)
    ranked = run("linkrank", crawl.path)
    top = run("nodedumper", crawl.path, "--json")
    unranked = run("scoreupdater", crawl.path, "--algorithm", "pagerank")
    updated = run("scoreupdater", crawl.path, "-D", "link.score_updater_clear_score=0.25")

    # Of the two pages of a.org, only one counts.
    edges = [(0, 3), (1, 3), (2, 3), (2, 0), (3, 2)]
    a, _, b, c = plain_linkrank(4, edges, edges[:1] + edges[2:], 10)
    assert (early.code, "scoter webgraph" in early.err) == (2, True)
    assert (ranked.code, ranked.out) == (0, "Computed linkrank over 4 nodes and 4 links in 10 iterations\n")
    assert [line.split('"')[-2] for line in top.out.splitlines()] == [C, B, A, f"{A}2"]
    assert (unranked.code, "--algorithm pagerank" in unranked.err) == (2, True)
    assert (updated.code, updated.out) == (
        0, "Updated the scores of the crawldb: 2 URLs ranked, 1 not in the link graph\n"
    )  # fmt: skip
    assert {url: row["score"] for url, row in crawldb(crawl).items()} == pytest.approx({A: a, C: c, D: 0.25})
    assert b < c


def test_ranks_of_sites_survive_an_update(crawl: CrawlDir, run: Run) -> None:
    run("webgraph", crawl.path)
    done = run("linkrank", crawl.path, "--algorithm", "pagerank", "--graph", "host", "--tolerance", "1e-12")
    before = run("nodedumper", crawl.path, "--graph", "host", "--by", "pagerank", "--json")
    write_segment(crawl, "2", pages=[page(D)], links=[link(D, C)])
    run("webgraph", crawl.path)
    after = run("nodedumper", crawl.path, "--graph", "host", "--by", "pagerank", "--json")

    assert done.code == 0
    assert len(before.out.splitlines()) == 3
    assert after.out == before.out


def test_bad_options_are_explained(crawl: CrawlDir, run: Run) -> None:
    run("webgraph", crawl.path)

    for arguments, told in (
        (["--algorithm", "pagerank", "--tolerance", "0"], "between 0 and 1"),
        (["--algorithm", "pagerank", "--tolerance", "nan"], "between 0 and 1"),
        (["--tolerance", "0.1"], "--algorithm pagerank"),
        (["--algorithm", "harmonic", "--iterations", "3"], "--algorithm linkrank"),
    ):
        done = run("linkrank", crawl.path, *arguments)
        assert (done.code, told in done.err) == (2, True), done.err


def test_empty_graph_has_no_ranks(tmp_path: Path, run: Run) -> None:
    crawl = crawl_at(tmp_path / "empty")
    write_segment(crawl, "1", pages=[page(A)])
    write_crawldb(crawl, [known(A, score=7.0)])
    run("webgraph", crawl.path)

    for algorithm in ("linkrank", "pagerank", "harmonic"):
        assert run("linkrank", crawl.path, "--algorithm", algorithm, "--no-loops").code == 0
    assert run("scoreupdater", crawl.path).code == 0
    assert crawldb(crawl)[A]["score"] == 0.0


LINKS = [
    *(link("http://a.org/1", each) for each in ("http://b.org/1", "http://b.org/2", "http://c.org/1")),
    *(link("http://a.org/2", each) for each in ("http://b.org/1", "http://c.org/1")),
    *(link("http://b.org/1", each) for each in ("http://a.org/1", "http://www.c.org/2")),
    link("http://b.org/2", "http://c.org/1"),
    link("http://c.org/1", "http://a.org/1"),
    *(link("http://www.c.org/2", each) for each in ("http://a.org/1", "http://a.org/2", "http://c.org/1")),
]
PAGES = ("http://a.org/1", "http://a.org/2", "http://b.org/1", "http://b.org/2", "http://c.org/1", "http://www.c.org/2")


@pytest.mark.parametrize(
    ("limits", "ranks"),
    [  # written by Nutch 1.22, with a sort that keeps the order of links
        (True, (1.910053, 0.29166666, 1.0902021, 0.29166666, 1.3381188, 0.7608857)),
        (False, (3.5052714, 0.6862315, 1.552484, 1.2648385, 2.6037736, 0.9384472)),
    ],
)
def test_ranks_are_those_of_nutchs_own_jobs(tmp_path: Path, run: Run, limits: bool, ranks: Sequence[float]) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_segment(crawl, "1", pages=[page(each) for each in PAGES], links=LINKS)
    flags = [f"-Dlink.ignore_limit_{each}={str(limits).lower()}" for each in ("page", "domain")]

    for command in ("webgraph", "linkrank"):
        assert run(command, crawl.path, *flags).code == 0

    rows = map(json.loads, run("nodedumper", crawl.path, "--json").out.splitlines())
    expected = dict(zip(PAGES, ranks, strict=True))
    assert {row["url"]: row["score"] for row in rows} == pytest.approx(expected, rel=1e-6)
