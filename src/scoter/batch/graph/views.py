"""The graphs as SQL views, with names instead of numbers.

The views are nodes, links, host_nodes, host_links, domain_nodes and domain_links.
"""
# ruff: noqa: S608 - builds SQL; all texts in it are quoted

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph.tables import GRAPHS, GraphName, graph_tables, is_current, open_graph
from scoter.engine.session import add_view, view_query

_RANKS = [(name, pa.float64()) for name in ("score", "pagerank", "harmonic")]
_COUNTS = [("inlinks", pa.int64()), ("outlinks", pa.int64())]
NODES = pa.schema([*schemas.texts("url", "host", "domain"), *_COUNTS, *_RANKS])
LINKS = pa.schema(schemas.texts("source", "target", "anchor"))
SITES = pa.schema([*schemas.texts("name"), ("pages", pa.int64()), *_COUNTS, *_RANKS])
SITE_LINKS = pa.schema([*schemas.texts("source", "target"), ("links", pa.int64()), ("pages", pa.int64())])
VIEWS = {
    "nodes": NODES,
    "links": LINKS,
    "host_nodes": SITES,
    "host_links": SITE_LINKS,
    "domain_nodes": SITES,
    "domain_links": SITE_LINKS,
}
_VALUES = "v.inlinks, v.outlinks, v.score, v.pagerank, v.harmonic"
_HAS_LINKS = "(v.inlinks > 0 OR v.outlinks > 0)"


def add_graph_views(crawl: CrawlDir, stack: ExitStack, connection: Any) -> list[str]:
    """Create the views, and return the files behind them; without a complete graph, they are empty."""
    if not all(is_current(crawl, name) for name in GRAPHS):
        for name, schema in VIEWS.items():
            add_view(connection, name, view_query(connection, (), schema))
        return []
    sql: dict[tuple[GraphName, str], str] = {}
    files: list[str] = []
    for name in GRAPHS:
        graph, tables = stack.enter_context(open_graph(crawl, name)), graph_tables(crawl, name)
        for part, table, schema in (
            ("nodes", graph.nodes, tables.node_schema),
            ("values", graph.values, tables.value_schema),
            ("links", graph.links, tables.link_schema),
        ):
            sql[name, part] = f"({view_query(connection, table.files, schema)})"
            files += table.files
    nodes, values = sql["page", "nodes"], sql["page", "values"]
    hosts, domains = sql["host", "nodes"], sql["domain", "nodes"]
    add_view(
        connection,
        "nodes",
        f"SELECT n.url, h.url AS host, d.url AS domain, {_VALUES} FROM {nodes} AS n JOIN {values} AS v USING (id)"
        f" JOIN {hosts} AS h ON h.id = n.host JOIN {domains} AS d ON d.id = h.domain WHERE {_HAS_LINKS}",
    )
    add_view(
        connection,
        "links",
        f"SELECT s.url AS source, t.url AS target, l.anchor FROM {sql['page', 'links']} AS l"
        f" JOIN {values} AS v ON v.id = l.source AND v.run = l.run"
        f" JOIN {values} AS w ON w.id = l.target AND w.cut < l.run"
        f" JOIN {nodes} AS s ON s.id = l.source JOIN {nodes} AS t ON t.id = l.target",
    )
    for site, sites in (("host", hosts), ("domain", domains)):
        _add_site_views(connection, site, sites, sql[site, "values"], sql[site, "links"])  # type: ignore[index]
    return files


def _add_site_views(connection: Any, site: str, sites: str, values: str, links: str) -> None:
    add_view(
        connection,
        f"{site}_nodes",
        f"SELECT n.url AS name, v.pages, {_VALUES} FROM {sites} AS n JOIN {values} AS v USING (id) WHERE {_HAS_LINKS}",
    )
    sums = "sum(links)::BIGINT AS links, sum(pages)::BIGINT AS pages"
    # Updates add differences.
    added = f"SELECT source, target, {sums} FROM {links} GROUP BY ALL HAVING sum(links) > 0"
    add_view(
        connection,
        f"{site}_links",
        f"SELECT s.url AS source, t.url AS target, l.links, l.pages FROM ({added}) AS l"
        f" JOIN {sites} AS s ON s.id = l.source JOIN {sites} AS t ON t.id = l.target",
    )
