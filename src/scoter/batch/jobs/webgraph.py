"""webgraph: add the links of segments to the link graph, and remove pages that left the crawldb.

The newest version of a page replaces its links. ``graph/tables.py`` describes the tables. They are written in an order
that a kill cannot break: first nodes for the new URLs, hosts and domains, then the links, then the counts of the nodes,
and last the host graph and the domain graph. The next run completes what a killed one left.

Differences from Nutch: the result does not depend on the order of links on a page, since of several links to a domain
the one whose target sorts first is kept; and an update writes only what changed. As in Nutch, filters and normalisers
are off by default, because the links of a segment have been through them already.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from msgspec import Struct

from scoter.batch.crawldir.crawldb import remove_backup, table_exists, table_snapshot
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.segment import Segment
from scoter.batch.graph.addition import AddedLinks, add_segments, write_nodes
from scoter.batch.graph.derivation import MAX_CHANGES, GraphUpdate, derive, is_complete
from scoter.batch.graph.links import LiveLinks, marks, write_live_links
from scoter.batch.graph.node_values import read_values, write_file
from scoter.batch.graph.removal import RemovedPages, crawldb_state, find_removed, needs_removal
from scoter.batch.graph.tables import (
    GRAPHS,
    NEXT_ID,
    NO_NODE,
    NODES,
    RUN,
    graph_tables,
    properties_of,
)
from scoter.batch.urls.chains import UrlChains
from scoter.config import Config
from scoter.engine import Engine
from scoter.errors import UsageError, typed
from scoter.store.disk import Scratch
from scoter.store.tables import Table

MAX_FILES = 32
"""Files of links, after which they are written as one."""


class WebgraphResult(Struct, frozen=True, kw_only=True):
    """The segments added to the link graph, the pages removed from it, and its size before and now.

    ``lost_segments`` are those that the graph was made from and that no longer exist: their links stay, except after a
    rebuild.
    """

    segments: tuple[str, ...]
    removed: int
    nodes: int
    links: int
    nodes_before: int
    lost_segments: tuple[str, ...] = ()


def pending(crawl: CrawlDir, *, rebuild: bool = False) -> list[Segment]:
    """Return the parsed segments that are not in the link graph yet, oldest first; all of them for a rebuild."""
    applied = frozenset[str]() if rebuild else applied_segments(graph_tables(crawl).links) or frozenset()
    return [each for each in crawl.all_segments() if each.is_parsed and not each.is_in(applied)]


def lost_segments(crawl: CrawlDir) -> tuple[str, ...]:
    """Return the segments that the link graph was made from and that no longer exist, not even merged into another."""
    applied = applied_segments(graph_tables(crawl).links) or frozenset()
    there = crawl.all_segments()
    names = {each.name for each in there}
    # Only a merged segment can stand for others.
    merged = [origin for each in there if (origin := each.origin()).merged]
    return tuple(name for name in sorted(applied - names) if not any(each.is_partly_in({name}) for each in merged))


def is_up_to_date(crawl: CrawlDir, config: Config) -> bool:
    """Return whether there is nothing to complete or to remove."""
    return is_complete(crawl) and not needs_removal(crawl, config)


def webgraph(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    segments: Sequence[Segment],
    *,
    now: datetime,
    filter: bool = False,
    normalize: bool = False,
    rebuild: bool = False,
) -> WebgraphResult:
    """Add the links of parsed segments to the link graph; ``rebuild``: drop all other links.

    Without segments, only remove pages that left the crawldb, and complete what a killed run left.
    """
    tables = graph_tables(crawl)
    segments = sorted(segments, key=lambda each: each.name)
    lost = lost_segments(crawl)
    before = int(properties_of(tables.values).get(NODES, 0))
    if segments:
        _check(segments, frozenset() if rebuild else applied_segments(tables.links) or frozenset())
    elif is_up_to_date(crawl, config):
        raise UsageError("no segment given", where=str(crawl.segments))
    is_whole = is_complete(crawl) and table_exists(tables.values) and not rebuild
    with Scratch(crawl.scratch, "webgraph") as scratch:
        added = None
        if segments:
            chains = UrlChains.from_config(config, "linkdb", filter=filter, normalize=normalize)
            added = add_segments(crawl, engine, config, segments, chains, scratch.path, now=now, rebuild=rebuild)
        removed, update = _commit(crawl, engine, config, segments, added, scratch.path, now=now, rebuild=rebuild)
        nodes, links = derive(
            crawl,
            update if is_whole else None,
            scratch.path,
            is_known=None if removed is None else removed.is_known,
            crawldb=crawldb_state(crawl, config),
            now=now,
        )
        _compact(crawl, links, scratch.path, now=now)
        _remove_dead_nodes(crawl, engine, nodes, scratch.path, now=now)
    for graph in (graph_tables(crawl, name) for name in GRAPHS):
        for path in graph.paths:
            remove_backup(path, config)
    return WebgraphResult(
        segments=tuple(each.name for each in segments),
        removed=0 if removed is None else len(removed.removed),
        nodes=nodes,
        links=links,
        nodes_before=before,
        lost_segments=lost,
    )


def _check(segments: Sequence[Segment], applied: frozenset[str]) -> None:
    for each in segments:
        if not each.is_parsed:
            hint = f"Run: scoter parse {typed(each.path.parent.parent)} {each.name}"
            raise UsageError("the segment is not parsed yet", where=str(each.path), hint=hint)
        if each.is_in(applied):
            hint = "To rebuild the graph, for example with other settings, use --rebuild."
            raise UsageError(f"segment {each.name} is already in the link graph", where=str(each.path), hint=hint)


def _commit(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    segments: Sequence[Segment],
    added: AddedLinks | None,
    folder: Path,
    *,
    now: datetime,
    rebuild: bool,
) -> tuple[RemovedPages | None, GraphUpdate | None]:
    """Write the links with those that were added, and with marks for removed pages."""
    tables = graph_tables(crawl)
    none = np.zeros(0, np.int32)
    removed = find_removed(
        crawl,
        engine,
        config,
        parsed=none if added is None else added.parsed,
        linked=none if added is None else added.linked,
    )
    run = int(properties_of(tables.links).get(RUN, 0)) + 1
    files = [] if added is None else [added.file]
    cut, schema = run + 1, tables.link_schema
    if removed is not None and len(removed.removed) + len(removed.gone):
        file = folder / "removed.parquet"
        rows = [
            marks(np.concatenate([removed.removed, removed.gone]), NO_NODE, cut, schema),
            marks(NO_NODE, removed.removed, cut, schema),
        ]
        write_file(file, schema, iter(rows))
        files.append(file)
        last = cut
    elif added is None:
        return removed, None
    else:
        last = run
    # Read before the table takes the files over.
    update = GraphUpdate(
        run=run,
        cut=cut,
        sources=none if added is None else added.sources,
        removed=none if removed is None else removed.removed,
        gone=none if removed is None else removed.gone,
        added=(none, none) if added is None else added.pairs(MAX_CHANGES),
    )
    names = {each.name for each in segments}
    with (
        table_snapshot(tables.links, schema) as links,
        Table.write(tables.links, schema, writer="webgraph", clock=lambda: now) as version,
    ):
        if version.previous is not None and not rebuild:
            version.keep(links.source.files, version.previous.parts)
        for file in files:
            version.adopt(file)
        forget = links.applied - names if rebuild else ()
        version.commit(sorted(names - links.applied), forget=forget, properties={RUN: str(last)})
    return removed, update


def _compact(crawl: CrawlDir, live: int, folder: Path, *, now: datetime) -> None:
    """Write only the live links if more than half of all are dead or there are many files."""
    tables = graph_tables(crawl)
    with Table.open(tables.links, tables.link_schema) as table:
        if len(table.files) <= MAX_FILES and 2 * live >= table.manifest.rows:
            return
        size = int(properties_of(tables.nodes)[NEXT_ID])
        values = read_values(tables.values, tables.value_schema, ("run", "cut"), size)
        write_live_links(tables, table, LiveLinks(table, values["run"], values["cut"]), folder, now=now)


def _remove_dead_nodes(crawl: CrawlDir, engine: Engine, live: int, folder: Path, *, now: datetime) -> None:
    """Write only the nodes with links if more than half of all have none or there are many files."""
    tables = graph_tables(crawl)
    with Table.open(tables.nodes, tables.node_schema) as table:
        if len(table.files) <= MAX_FILES and 2 * live >= table.manifest.rows:
            return
        size = int(table.manifest.properties[NEXT_ID])
        counts = read_values(tables.values, tables.value_schema, ("inlinks", "outlinks", "is_known"), size)
        # A node without links that was in the crawldb stays: if it left the crawldb, it must not come back.
        kept = (counts["inlinks"] > 0) | (counts["outlinks"] > 0) | counts["is_known"]
        if len(table.files) <= MAX_FILES and 2 * int(kept.sum()) >= table.manifest.rows:
            return
        write_nodes(tables, table, kept, engine, folder, now=now)
