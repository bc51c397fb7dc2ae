"""Pages that left the crawldb leave the link graph, with all links from and to them.

A URL that was never in the crawldb stays: a crawl may not add all links that it finds. So the nodes record whether they
were in the crawldb once; pages that were parsed were.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph.node_values import Numbers, read_values
from scoter.batch.graph.tables import CRAWLDB, NEXT_ID, graph_tables, properties_of
from scoter.config import Config
from scoter.core.datum import DbStatus, short_name
from scoter.engine import Engine, source_of
from scoter.store.tables import Table

_GONE = short_name(DbStatus.GONE)


class RemovedPages(Struct, frozen=True):
    """Nodes that are no longer in the crawldb, and those that lose their links because they are gone.

    ``is_known`` says which nodes were ever in the crawldb.
    """

    removed: Numbers
    gone: Numbers
    is_known: Any


def crawldb_state(crawl: CrawlDir, config: Config) -> str:
    """Return what the removal of pages depends on: the version of the crawldb, and a setting; empty without crawldb."""
    if not table_exists(crawl.crawldb):
        return ""
    with Table.open(crawl.crawldb) as table:
        return f"{table.version} without gone pages" if config.link.delete_gone else str(table.version)


def needs_removal(crawl: CrawlDir, config: Config) -> bool:
    """Return whether the link graph was not compared with the current crawldb yet."""
    values = properties_of(graph_tables(crawl).values)
    return bool(values) and values.get(CRAWLDB, "") != crawldb_state(crawl, config)


def find_removed(
    crawl: CrawlDir, engine: Engine, config: Config, *, parsed: Numbers, linked: Numbers
) -> RemovedPages | None:
    """Compare the nodes with the crawldb; ``None`` without crawldb.

    ``parsed`` are pages that were in the crawldb when they were parsed, ``linked`` nodes that get new links.
    """
    if not table_exists(crawl.crawldb):
        return None
    tables = graph_tables(crawl)
    size = int(properties_of(tables.nodes)[NEXT_ID])
    values = read_values(tables.values, tables.value_schema, ("is_known", "inlinks", "outlinks"), size)
    is_found, is_gone = np.zeros(size, bool), np.zeros(size, bool)
    with Table.open(tables.nodes, tables.node_schema) as nodes, Table.open(crawl.crawldb, schemas.CRAWLDB) as crawldb:
        rows, known = (engine.read(source_of(each, names)) for each, names in (
            (nodes, ("url", "id")), (crawldb, ("url", "status")),
        ))  # fmt: skip
        joined = rows.join(known.mutate(is_gone=known.status == _GONE).select("url", "is_gone"), "url")
        for batch in engine.batches(joined.select("id", "is_gone")):
            ids = batch["id"].to_numpy()
            is_found[ids] = True
            is_gone[ids] = batch["is_gone"].to_numpy(zero_copy_only=False)
    is_known = values["is_known"] | is_found
    is_known[parsed] = True
    has_links = (values["inlinks"] > 0) | (values["outlinks"] > 0)
    has_links[linked] = True
    loses = is_gone & (values["outlinks"] > 0) if config.link.delete_gone else np.zeros(size, bool)
    loses[parsed] = False
    return RemovedPages(np.flatnonzero(is_known & ~is_found & has_links), np.flatnonzero(loses), is_known)
