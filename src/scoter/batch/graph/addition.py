"""Adding segments to the link graph: nodes for new URLs, hosts and domains, and the links as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.crawldb import TableSnapshot, table_snapshot
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.segment import Segment
from scoter.batch.graph.assembly import FoundLinks, find_links, gone_pages, new_nodes, write_links
from scoter.batch.graph.node_values import Ids, Numbers, read_values, write_file
from scoter.batch.graph.tables import NEXT_ID, RUN, GraphName, GraphTables, graph_tables, properties_of
from scoter.batch.graph.urls import SiteNames, known_ids, known_sites
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.domains import host_keys
from scoter.batch.urls.parsed_links import read_links
from scoter.config import Config
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.store.tables import Table

_KEYED_ROWS = 2**18


class AddedLinks(Struct, frozen=True):
    """A file with a run of links, and the numbers of the nodes that it concerns.

    ``sources`` are the pages that the run has rows for, ``linked`` the nodes with new links, and ``parsed`` the pages
    that were parsed when they were in the crawldb.
    """

    file: Path
    sources: Numbers
    linked: Numbers
    parsed: Numbers

    def pairs(self, most: int) -> tuple[Ids, Ids] | None:
        """Return the sources and targets of the links; ``None`` if there are more than ``most`` rows."""
        with pq.ParquetFile(self.file) as file:
            if file.metadata.num_rows > most:
                return None
            table = file.read(columns=["source", "target"])
        source, target = table["source"].to_numpy(), table["target"].to_numpy()
        is_link = target >= 0
        return source[is_link], target[is_link]


def add_segments(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    segments: Sequence[Segment],
    chains: UrlChains,
    folder: Path,
    *,
    now: datetime,
    rebuild: bool,
) -> AddedLinks:
    """Write the new nodes to the tables, and the links of segments to a file."""
    tables = graph_tables(crawl)
    applied = frozenset() if rebuild else applied_segments(tables.links) or frozenset()
    parsed = read_links(crawl, engine, chains, segments, applied, folder, once=False)
    gone = gone_pages(engine, parsed, segments, folder) if config.link.delete_gone else None
    found = find_links(engine, config.link, parsed, gone, folder)
    hosts = _add_sites(crawl, engine, found, folder, now)
    with table_snapshot(tables.nodes, tables.node_schema) as nodes:
        first = int(nodes.properties.get(NEXT_ID, 0))
        known = known_ids(engine, found.urls, nodes.source)
        ids, next_id = _numbered(known, found.is_linked, first)
        file = folder / "nodes.parquet"
        new_nodes(found, ids, first, hosts, file)
        _append(tables, nodes, file, next_id, now)
        lost = known[(found.page_segment >= 0) & (known >= 0)]
        lost = np.concatenate([lost, _ids_of(engine, nodes.source, gone)]) if gone is not None else lost
    outlinks = read_values(tables.values, tables.value_schema, ("outlinks",), next_id)["outlinks"]
    run = int(properties_of(tables.links).get(RUN, 0)) + 1
    file = folder / "links.parquet"
    sources = write_links(found, ids, run, lost[outlinks[lost] > 0], file)
    in_crawldb = applied_segments(crawl.crawldb) or frozenset()
    order = [place for each, place in zip(segments, parsed.places, strict=True) if each.is_in(in_crawldb)]
    of_page = ids[np.isin(found.page_segment, order) & (ids >= 0)]
    return AddedLinks(file, sources, ids[found.is_linked], of_page)


def _numbered(known: Ids, is_wanted: Any, first: int) -> tuple[Ids, int]:
    """Return the numbers of nodes, in the given order from ``first`` on for new ones, and the next free number."""
    ids = known.copy()
    new = np.flatnonzero(is_wanted & (known < 0))
    ids[new] = np.arange(first, first + len(new), dtype=np.int32)
    return ids, first + len(new)


def _ids_of(engine: Engine, nodes: TableSource, urls: TableSource) -> Numbers:
    if not nodes.files:
        return np.zeros(0, np.int64)
    rows = engine.read(source_of(nodes, ("url", "id"))).semi_join(engine.read(urls), "url")
    found = [batch["id"].to_numpy() for batch in engine.batches(rows.select("id"))]
    return np.concatenate([np.zeros(0, np.int64), *found])


def _add_sites(crawl: CrawlDir, engine: Engine, found: FoundLinks, folder: Path, now: datetime) -> Ids:
    """Write new domains and hosts of linked URLs to the tables; return the lasting numbers of hosts."""
    urls = found.urls
    domain_of = np.zeros(len(urls.hosts), np.int32)
    domain_of[urls.host_of] = urls.domain_of
    linked_hosts, linked_domains = np.zeros(len(urls.hosts), bool), np.zeros(len(urls.domains), bool)
    linked_hosts[urls.host_of[found.is_linked]] = True
    linked_domains[urls.domain_of[found.is_linked]] = True
    none = np.full(len(urls.domains), -1, np.int32)
    domains = _add(crawl, engine, "domain", urls.domains, linked_domains, none, folder, now)
    return _add(crawl, engine, "host", urls.hosts, linked_hosts, domains[domain_of], folder, now)


def _add(
    crawl: CrawlDir,
    engine: Engine,
    name: GraphName,
    sites: SiteNames,
    is_linked: Any,
    domains: Ids,
    folder: Path,
    now: datetime,
) -> Ids:
    tables = graph_tables(crawl, name)
    with table_snapshot(tables.nodes, tables.node_schema) as nodes:
        first = int(nodes.properties.get(NEXT_ID, 0))
        known = known_sites(engine, sites, nodes.source, folder)
        ids, next_id = _numbered(known, is_linked, first)
        # In the order of their numbers, which is about that of their keys.
        new = np.flatnonzero(ids >= first)

        def batches() -> Iterator[Any]:
            for at in range(0, len(new), _KEYED_ROWS):
                rows = new[at : at + _KEYED_ROWS]
                names = sites.names.take(pa.array(rows))
                columns = [names, host_keys(names), pa.array(ids[rows]), pa.array(domains[rows])]
                yield pa.RecordBatch.from_arrays(columns, schema=tables.node_schema)

        file = folder / f"{name}s.parquet"
        write_file(file, tables.node_schema, batches())
        _append(tables, nodes, file, next_id, now)
    return ids


def _append(tables: GraphTables, nodes: TableSnapshot, file: Path, next_id: int, now: datetime) -> None:
    """Add a file of nodes to their table; they are not in the graph before links refer to them."""
    if nodes.version and int(nodes.properties[NEXT_ID]) == next_id:
        return
    with Table.write(tables.nodes, tables.node_schema, writer="webgraph", clock=lambda: now) as version:
        if version.previous is not None:
            version.keep(nodes.source.files, version.previous.parts)
        version.adopt(file)
        version.commit(properties={NEXT_ID: str(next_id)})


def write_nodes(tables: GraphTables, nodes: Table, kept: Any, engine: Engine, folder: Path, *, now: datetime) -> None:
    """Write a version of the nodes as one file that has only those to keep."""
    schema = tables.node_schema

    def batches() -> Iterator[Any]:
        for batch in nodes.scan():
            yield batch.filter(pa.array(kept[batch["id"].to_numpy()]))

    file, ordered = folder / "kept.parquet", folder / "ordered.parquet"
    write_file(file, schema, batches())
    engine.save(engine.read(file_source(file, schema)), schema, ordered, ("key", "url"))
    with Table.write(tables.nodes, schema, writer="webgraph", clock=lambda: now) as version:
        version.adopt(ordered)
        version.commit(properties=nodes.manifest.properties)
