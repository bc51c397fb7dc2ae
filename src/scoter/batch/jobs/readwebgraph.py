"""readwebgraph: the size of the graphs, or one node and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.lookup import find_rows
from scoter.batch.graph.links import LiveLinks, links_of
from scoter.batch.graph.node_values import read_values
from scoter.batch.graph.site_links import read_site_links
from scoter.batch.graph.tables import GRAPHS, LINKS, NODES, GraphName, StoredGraph, open_graph
from scoter.batch.urls.domains import host_in
from scoter.core.domain import reversed_host
from scoter.core.url import canonical
from scoter.engine import source_of
from scoter.store.tables import Table

_SHOWN = ("url", "host", "pages", "inlinks", "outlinks", "score", "pagerank", "harmonic")


class GraphNode(Struct, frozen=True):
    """A node, and the first of its links in both directions: url, and anchor or weights."""

    node: Mapping[str, Any]
    inlinks: Sequence[Mapping[str, Any]]
    outlinks: Sequence[Mapping[str, Any]]


def sizes(crawl: CrawlDir) -> Iterator[dict[str, Any]]:
    """Yield the number of nodes and links of each graph."""
    for name in GRAPHS:
        with open_graph(crawl, name) as graph:
            properties = graph.values.manifest.properties
            yield {"graph": name, "nodes": int(properties[NODES]), "links": int(properties[LINKS])}


def read_node(crawl: CrawlDir, name: str, *, graph: GraphName = "page", limit: int = 100) -> GraphNode | None:
    """Return a URL, host or domain with at most ``limit`` links in each direction; ``None`` if it is not a node."""
    if graph == "page":
        url = canonical(name)
        wanted = {"key": url.key, "url": url.text}
    else:
        wanted = {"key": reversed_host(name.lower()), "url": name.lower()}
    with open_graph(crawl, graph) as opened:
        node = next(find_rows(source_of(opened.nodes), wanted), None)
        if node is None:
            return None
        node |= next(find_rows(source_of(opened.values), {"id": node["id"]}), {})
        if not node.get("inlinks") and not node.get("outlinks"):  # also that of a killed run
            return None
        if graph == "page":
            node["host"] = host_in(node["url"])
        found = _links_of(opened, node["id"])
        inlinks = [row for row in found if row["target"] == node["id"]][:limit]
        outlinks = [row for row in found if row["source"] == node["id"]][:limit]
        urls = _urls(opened.nodes, [*(row["source"] for row in inlinks), *(row["target"] for row in outlinks)])
        return GraphNode(
            node={key: node[key] for key in _SHOWN if key in node},
            inlinks=sorted((_shown(row, urls[row["source"]]) for row in inlinks), key=_by_url),
            outlinks=sorted((_shown(row, urls[row["target"]]) for row in outlinks), key=_by_url),
        )


def _links_of(graph: StoredGraph, node: int) -> list[dict[str, Any]]:
    tables = graph.tables
    if tables.name == "page":
        values = read_values(tables.values, tables.value_schema, ("run", "cut"), graph.next_id)
        return links_of(graph.links, LiveLinks(graph.links, values["run"], values["cut"]), node)
    found = []
    for each in read_site_links(graph.links):
        source, target = each.sources, each.targets
        for at in np.flatnonzero((source == node) | (target == node)).tolist():
            weights = {"links": int(each.links[at]), "pages": int(each.pages[at])}
            found.append({"source": int(source[at]), "target": int(target[at]), **weights})
    return found


def _urls(nodes: Table, ids: Sequence[int]) -> dict[int, str]:
    wanted = pc.field("id").isin(pa.array(sorted(set(ids)), pa.int32()))
    return {row["id"]: row["url"] for row in iter_rows(nodes.scan(["id", "url"], wanted))}


def _shown(row: Mapping[str, Any], url: str) -> dict[str, Any]:
    return {"url": url, **{key: value for key, value in row.items() if key not in ("source", "target", "run")}}


def _by_url(row: Mapping[str, Any]) -> str:
    return str(row["url"])
