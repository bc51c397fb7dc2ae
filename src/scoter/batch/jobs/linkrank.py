"""linkrank: compute ranks over the link graph, the host graph or the domain graph, and write them to its values.

The ranks are computed in this process, whatever the engine: the tables of the graph hold the same links on all.

Nutch's LinkRank counts one inlink per linking domain and page (``link.ignore_limit_domain`` and
``link.ignore_limit_page``), whichever comes first. Here it is the one whose source has the lowest number.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

import numpy as np
import xxhash
from msgspec import Struct
from numpy.typing import NDArray

from scoter.batch.crawldir.crawldb import remove_backup
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph.adjacency import Adjacency, choose_links, read_adjacency
from scoter.batch.graph.harmonic import harmonic_centrality
from scoter.batch.graph.node_values import read_sites_of, read_values, write_values
from scoter.batch.graph.ranks import NodeRanks, link_rank, page_rank
from scoter.batch.graph.tables import GraphName, StoredGraph, graph_tables, open_graph
from scoter.config import Config
from scoter.engine.factory import memory_limit
from scoter.errors import UsageError
from scoter.store.disk import Scratch

RankAlgorithm: TypeAlias = Literal["linkrank", "pagerank", "harmonic"]
RANK_COLUMNS: dict[RankAlgorithm, str] = {"linkrank": "score", "pagerank": "pagerank", "harmonic": "harmonic"}


class RankOptions(Struct, frozen=True, kw_only=True):
    """How to rank: iterations of LinkRank, tolerance of PageRank, and which links count.

    ``loops``: count links of a node to itself. ``reciprocal``: count links between nodes that link to each other.
    """

    iterations: int | None = None
    tolerance: float = 1e-6
    loops: bool = True
    reciprocal: bool = True


class LinkrankResult(Struct, frozen=True, kw_only=True):
    """The size of the graph, the links that counted, the iterations, and how much the last one changed in sum."""

    algorithm: str
    graph: str
    nodes: int
    links: int
    iterations: int
    change: float


def linkrank(
    crawl: CrawlDir,
    config: Config,
    *,
    now: datetime,
    algorithm: RankAlgorithm = "linkrank",
    graph: GraphName = "page",
    options: RankOptions | None = None,
) -> LinkrankResult:
    """Rank the nodes of a graph, and write the ranks to its table of nodes."""
    chosen = options or RankOptions()
    if not 0 < chosen.tolerance < 1:
        raise UsageError(f"must be between 0 and 1, not {chosen.tolerance}", where="--tolerance")
    tables = graph_tables(crawl, graph)
    with open_graph(crawl, graph) as opened, Scratch(crawl.scratch, "linkrank") as scratch:
        found = read_adjacency(opened, scratch.path)
        groups = _groups(crawl, opened, found, config) if algorithm == "linkrank" and graph == "page" else None
        if groups is not None or not (chosen.loops and chosen.reciprocal):
            found = choose_links(
                found, scratch.path / "links", groups=groups, loops=chosen.loops, reciprocal=chosen.reciprocal
            )
        ranks = _ranks(found, config, algorithm, chosen)
        names = [name for name in tables.value_schema.names if name != "id"]
        values = read_values(tables.values, tables.value_schema, names, opened.next_id)
        column = values[RANK_COLUMNS[algorithm]]
        column[:] = 0 if algorithm == "linkrank" else np.nan
        column[found.ids] = ranks.values
        write_values(tables, values, opened.values.manifest.properties, now=now, folder=scratch.path)
    remove_backup(tables.values, config)
    return LinkrankResult(
        algorithm=algorithm,
        graph=graph,
        nodes=found.nodes,
        links=found.links,
        iterations=ranks.iterations,
        change=ranks.change,
    )


def _ranks(graph: Adjacency, config: Config, algorithm: RankAlgorithm, options: RankOptions) -> NodeRanks:
    link = config.link
    if algorithm == "linkrank":
        return link_rank(
            graph,
            damping=link.analyze_damping_factor,
            initial=link.analyze_initial_score,
            iterations=options.iterations or link.analyze_num_iterations,
        )
    if algorithm == "pagerank":
        return page_rank(graph, damping=link.analyze_damping_factor, tolerance=options.tolerance)
    return harmonic_centrality(graph, memory_limit=memory_limit(config))


def _groups(crawl: CrawlDir, graph: StoredGraph, links: Adjacency, config: Config) -> NDArray[Any] | None:
    """Return a number per node; of the inlinks from nodes with the same number, only one counts; ``None`` if all count.

    The numbers of pages are hashes of 64 bits: two would have to collide among the inlinks of one node.
    """
    tables = graph.tables
    if config.link.ignore_limit_domain:  # two pages that differ in their query are of the same domain
        hosts = graph_tables(crawl, "host")
        domain_of = read_sites_of(hosts.nodes, hosts.node_schema, "domain")
        host_of = read_sites_of(tables.nodes, tables.node_schema, "host")
        return domain_of[host_of[links.ids]] if links.nodes else None
    if not config.link.ignore_limit_page:
        return None
    found = np.zeros(graph.next_id, np.uint64)
    for batch in graph.nodes.scan(["id", "url"]):
        names = (url.partition("?")[0].lower() for url in batch["url"].to_pylist())
        found[batch["id"].to_numpy()] = np.fromiter(map(_hashed, names), np.uint64, batch.num_rows)
    return found[links.ids]


def _hashed(text: str) -> int:
    return int(xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")))
