"""The tables that are derived from the links of pages: counts of nodes, and the graphs of hosts and domains.

An update computes them from what changed. After an interruption, or if much changed, they are computed from all links;
the results are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph.links import LiveLinks, count_links
from scoter.batch.graph.node_values import RANKS, Columns, Ids, Numbers, read_sites_of, read_values, write_values
from scoter.batch.graph.site_links import SiteLinks, aggregate, is_once, read_site_links, relabelled
from scoter.batch.graph.sites import LinkChanges, SiteBlocks, build_sites, can_update, page_blocks, update_sites
from scoter.batch.graph.tables import (
    CRAWLDB,
    GRAPHS,
    LINKS,
    NEXT_ID,
    NODES,
    RUN,
    SITES,
    GraphTables,
    SiteName,
    graph_tables,
    is_current,
    properties_of,
)
from scoter.store.tables import Table

MAX_CHANGES = 8_000_000
"""Links of changed pages that are held in memory; if there are more, everything is derived from all links."""


class GraphUpdate(Struct, frozen=True):
    """What a version of the links changed.

    ``sources`` are the pages whose links the run replaced by ``added`` (``None`` if there are too many to hold). The
    run ``cut``, which comes after it, dropped all links from and to the pages ``removed``, and those of ``gone`` pages.
    """

    run: int
    cut: int
    sources: Numbers
    removed: Numbers
    gone: Numbers
    added: tuple[Ids, Ids] | None


def derive(
    crawl: CrawlDir,
    update: GraphUpdate | None,
    folder: Path,
    *,
    is_known: Any = None,
    crawldb: str = "",
    now: datetime,
) -> tuple[int, int]:
    """Bring all derived tables up to date, and return the numbers of nodes and links.

    ``update`` says what changed since the derived tables were written; ``None`` if unknown. ``is_known`` says which
    nodes are in the given version of the crawldb, if it was read.
    """
    tables = graph_tables(crawl)
    size = int(properties_of(tables.nodes)[NEXT_ID])
    names = ("inlinks", "outlinks", "run", "cut", "is_known", *RANKS)
    values = read_values(tables.values, tables.value_schema, names, size)
    if is_known is not None:
        values["is_known"] = _fitted(is_known, size)
    with Table.open(tables.links, tables.link_schema) as links:
        run = links.manifest.properties[RUN]
        changes = _changes(links, update, values) if update is not None else None
        if changes is None or update is None:
            live = LiveLinks.of(links, size)
            values["run"], values["cut"] = live.newest, live.cut
            counts = count_links(live)
            values["inlinks"], values["outlinks"] = counts.inlinks, counts.outlinks
            is_ordered = counts.is_ordered
        else:
            _apply(update, changes, values)
            live = LiveLinks(links, values["run"], values["cut"])
            is_ordered = False
        done = _write(crawl, values, run, crawldb, folder, now)
        hosts = graph_tables(crawl, "host")
        host_of = read_sites_of(tables.nodes, tables.node_schema, "host")
        domain_of = read_sites_of(hosts.nodes, hosts.node_schema, "domain")
        page_links = _PageLinks(live, is_ordered, domain_of[host_of] if len(domain_of) else host_of)
        for name in SITES:
            site = graph_tables(crawl, name)
            site_of = host_of if name == "host" else page_links.domain_of
            if properties_of(site.values).get(RUN) == run == properties_of(site.links).get(RUN):
                continue
            if changes is not None and can_update(crawl, name, len(changes.before[0]) + len(changes.now[0])):
                update_sites(crawl, name, changes, site_of, run, folder, now=now)
            else:
                with page_links.aggregated(hosts, name, site_of, domain_of) as found:
                    build_sites(crawl, name, found, site_of, values, run, folder, now=now)
    return done


class _PageLinks:
    """The links of pages, aggregated by host, and by domain from those of hosts if that is exact."""

    def __init__(self, live: LiveLinks, is_ordered: bool, domain_of: Ids) -> None:
        self.domain_of = domain_of
        self._live = live
        self._is_ordered = is_ordered
        self._is_once = False
        """No page links to a domain twice."""

    @contextmanager
    def aggregated(self, hosts: GraphTables, name: SiteName, site_of: Ids, of_host: Ids) -> Iterator[SiteBlocks]:
        """Yield the links between sites."""
        if name == "domain" and self._is_once:
            with Table.open(hosts.links, hosts.link_schema) as table:
                blocks = (relabelled(each, of_host) for each in read_site_links(table))
                yield SiteBlocks(blocks, _is_ascending(of_host))
        else:
            yield SiteBlocks(self._blocks(site_of), self._is_ordered and _is_ascending(site_of))

    def _blocks(self, site_of: Ids) -> Iterator[SiteLinks]:
        is_once_so_far = True
        for source, target in page_blocks(self._live.pairs()):
            is_once_so_far = is_once_so_far and is_once(source, target, self.domain_of)
            yield aggregate(source, target, site_of)
        self._is_once = is_once_so_far


def _is_ascending(numbers: Ids) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())


def _fitted(mask: Any, size: int) -> Any:
    whole = np.zeros(size, bool)
    whole[: len(mask)] = mask
    return whole


def _write(crawl: CrawlDir, values: Columns, run: str, crawldb: str, folder: Path, now: datetime) -> tuple[int, int]:
    tables = graph_tables(crawl)
    is_live = (values["inlinks"] > 0) | (values["outlinks"] > 0)
    # A node that left and comes back starts anew.
    values["score"][~is_live] = 0
    for name in ("pagerank", "harmonic"):
        values[name][~is_live] = np.nan
    nodes, links = int(is_live.sum()), int(values["outlinks"].sum())
    before = properties_of(tables.values)
    if before.get(RUN) != run or before.get(CRAWLDB, "") != crawldb:
        properties = {RUN: run, NODES: str(nodes), LINKS: str(links), CRAWLDB: crawldb}
        write_values(tables, values, properties, now=now, folder=folder)
    return nodes, links


def _changes(links: Table, update: GraphUpdate, values: Columns) -> LinkChanges | None:
    """Return the links of changed pages before and now; ``None`` if there are too many.

    Only the files before the update have links that are no longer live. A page that links to a removed one changes too.
    """
    size = len(values["run"])
    replaced, removed = np.zeros(size, bool), np.zeros(size, bool)
    for each in (update.sources, update.removed, update.gone):
        replaced[each] = True
    removed[update.removed] = True
    changed = replaced.copy()
    old = LiveLinks(links, values["run"], values["cut"])
    if len(update.removed):
        for source, target in old.pairs():
            changed[source[removed[target]]] = True
    before = _collected(
        (source[mask], target[mask]) for source, target in old.pairs() if (mask := changed[source]).any()
    )
    if before is None or update.added is None:
        return None
    stay = ~replaced[before[0]] & ~removed[before[1]]
    dropped = removed.copy()
    dropped[update.gone] = True
    enter = ~dropped[update.added[0]] & ~removed[update.added[1]]
    source, target = (
        np.concatenate([old_side[stay], new_side[enter]])
        for old_side, new_side in zip(before, update.added, strict=True)
    )
    after = (source, target)
    inlinks, outlinks = values["inlinks"].copy(), values["outlinks"].copy()
    _count(inlinks, outlinks, before, -1)
    _count(inlinks, outlinks, after, 1)
    was, is_now = ((a > 0) | (b > 0) for a, b in ((values["inlinks"], values["outlinks"]), (inlinks, outlinks)))
    return LinkChanges(before, after, np.flatnonzero(is_now & ~was), np.flatnonzero(was & ~is_now))


def _collected(pairs: Iterator[tuple[Ids, Ids]]) -> tuple[Ids, Ids] | None:
    found, total = [(np.zeros(0, np.int32), np.zeros(0, np.int32))], 0
    for each in pairs:
        found.append(each)
        total += len(each[0])
        if total > MAX_CHANGES:
            return None
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _count(inlinks: Numbers, outlinks: Numbers, pairs: tuple[Ids, Ids], step: int) -> None:
    np.add.at(outlinks, pairs[0], step)
    np.add.at(inlinks, pairs[1], step)


def _apply(update: GraphUpdate, changes: LinkChanges, values: Columns) -> None:
    _count(values["inlinks"], values["outlinks"], changes.before, -1)
    _count(values["inlinks"], values["outlinks"], changes.now, 1)
    values["run"][update.sources] = update.run
    for each in (update.removed, update.gone):
        values["run"][each] = update.cut
    values["cut"][update.removed] = update.cut


def is_complete(crawl: CrawlDir) -> bool:
    """Return whether all graphs include all links: not if a run was killed."""
    return not table_exists(graph_tables(crawl).links) or all(is_current(crawl, name) for name in GRAPHS)
