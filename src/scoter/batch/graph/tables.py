"""The tables of the three graphs.

```
webgraph/
  nodes/    node_values/    links/           the link graph: one node per URL
  hosts/    host_values/    host_links/      the host graph
  domains/  domain_values/  domain_links/    the domain graph
```

Nodes have numbers, and links refer to them. The numbers never change, so that an update writes only what is new: rows
of new nodes, and a *run* of links. The counts and ranks of nodes are in a table of their own, without texts, that has
one row for every number. A node is in the graph if it has links.

**Links of pages.** A run has all links of the pages that were parsed again. A link is live if no later run has links of
its source, or a row that says that it has none (target -1), or a row that drops all links to its target (source -1).
When more than half of the links are dead, they are removed.

**Links of sites.** The first rows, as many as the manifest says, are all links in the order of source and target. The
rows after them are differences that updates added; ``site_links.py`` reads both as one.

The links of pages are the truth. All other tables record the last run that they include, so a job that was killed in
between is completed by the next ``webgraph``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import UsageError, typed
from scoter.store.tables import Table

GraphName: TypeAlias = Literal["page", "host", "domain"]
SiteName: TypeAlias = Literal["host", "domain"]
GRAPHS: tuple[GraphName, ...] = ("page", "host", "domain")
SITES: tuple[SiteName, ...] = ("host", "domain")
NO_NODE = -1
"""The target of a row that says that a page has no links; the source of one that drops all links to a page."""
RUN = "run"
"""The property of a table with the last run that it includes."""
NODES, LINKS = "nodes", "links"
"""The properties of a table of values with the size of the graph."""
NEXT_ID = "next_id"
"""The property of a table of nodes with the first free number."""
BASE_ROWS = "base_rows"
"""The property of a table of site links with the number of rows before the differences."""
CRAWLDB = "crawldb"
"""The property of the values of pages with the version of the crawldb that they were compared with."""


class GraphTables(Struct, frozen=True):
    """Where the nodes, values and links of a graph are, and their columns."""

    name: GraphName
    nodes: Path
    values: Path
    links: Path
    node_schema: Any
    value_schema: Any
    link_schema: Any

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.nodes, self.values, self.links)


def graph_tables(crawl: CrawlDir, name: GraphName = "page") -> GraphTables:
    """Return the tables of a graph."""
    root = crawl.webgraph
    if name == "page":
        nodes, values, links = schemas.GRAPH_NODES, schemas.GRAPH_VALUES, schemas.GRAPH_LINKS
        return GraphTables(name, root / "nodes", root / "node_values", root / "links", nodes, values, links)
    nodes, values, links = schemas.SITE_NODES, schemas.SITE_VALUES, schemas.SITE_LINKS
    paths = (root / f"{name}s", root / f"{name}_values", root / f"{name}_links")
    return GraphTables(name, *paths, nodes, values, links)


class StoredGraph:
    """The tables of a graph, all including the same run."""

    def __init__(self, tables: GraphTables, nodes: Table, values: Table, links: Table) -> None:
        self.tables = tables
        self.nodes = nodes
        self.values = values
        self.links = links

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.nodes, self.values, self.links):
            each.close()

    @property
    def next_id(self) -> int:
        """The first free number."""
        return self.values.manifest.rows

    @property
    def size(self) -> int:
        """The number of nodes that have links."""
        return int(self.values.manifest.properties[NODES])


def open_graph(crawl: CrawlDir, name: GraphName = "page") -> StoredGraph:
    """Open a graph; raise if there is none, or if an update of it was interrupted."""
    tables = graph_tables(crawl, name)
    hint = f"Run: scoter webgraph {typed(crawl.path)}"
    if not all(map(table_exists, tables.paths)):
        raise UsageError(
            f"there is no {'link' if name == 'page' else name} graph yet", where=str(crawl.path), hint=hint
        )
    with ExitStack() as stack:
        nodes = stack.enter_context(Table.open(tables.nodes, tables.node_schema))
        values = stack.enter_context(Table.open(tables.values, tables.value_schema))
        links = stack.enter_context(Table.open(tables.links, tables.link_schema))
        run = values.manifest.properties.get(RUN)
        if run != last_run(crawl) or run != links.manifest.properties.get(RUN):
            raise UsageError("the last update of the graph was interrupted", where=str(tables.values), hint=hint)
        stack.pop_all()
    return StoredGraph(tables, nodes, values, links)


def properties_of(table: Path) -> Mapping[str, str]:
    """Return the properties of a table; none if it does not exist."""
    if not table_exists(table):
        return {}
    with Table.open(table) as opened:
        return opened.manifest.properties


def last_run(crawl: CrawlDir) -> str | None:
    """Return the last run of the link graph's links; ``None`` if there is none."""
    return properties_of(graph_tables(crawl).links).get(RUN)


def is_current(crawl: CrawlDir, name: GraphName) -> bool:
    """Return whether a graph includes the last run."""
    tables, run = graph_tables(crawl, name), last_run(crawl)
    return run is not None and all(properties_of(each).get(RUN) == run for each in (tables.values, tables.links))
