"""The links of pages: which are live, and how many each node has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from scoter.batch.graph.node_values import Ids, Numbers, write_file
from scoter.batch.graph.tables import GraphTables
from scoter.store.tables import Table


class LiveLinks:
    """The links that no later run replaces or drops.

    ``newest`` has the last run with links of each node, ``cut`` the last run that dropped all links to it.
    """

    def __init__(self, links: Table, newest: Ids, cut: Ids) -> None:
        self._links = links
        self.newest = newest
        self.cut = cut
        self._has_cuts = bool(cut.any())

    @classmethod
    def of(cls, links: Table, size: int) -> LiveLinks:
        """Read from the links themselves which are live."""
        newest, cut = np.zeros(size, np.int32), np.zeros(size, np.int32)
        # The files are in the order of their runs.
        for batch in links.scan(["source", "target", "run"]):
            source, target, run = (batch[name].to_numpy() for name in ("source", "target", "run"))
            if len(source) and source.min() < 0:
                dropped = source < 0
                cut[target[dropped]] = run[dropped]
                source, run = source[~dropped], run[~dropped]
            newest[source] = run
        return cls(links, newest, cut)

    def pairs(self) -> Iterator[tuple[Ids, Ids]]:
        """Yield the numbers of sources and targets; the links of a page come together, in the order of targets."""
        for batch in self._links.scan(["source", "target", "run"]):
            source, target, run = (batch[name].to_numpy() for name in ("source", "target", "run"))
            live = self.is_live(source, target, run)
            yield (source, target) if live.all() else (source[live], target[live])

    def is_live(self, source: Any, target: Any, run: Any) -> Any:
        """Return for each row whether it is a live link."""
        # The values for -1 are those of the last node, which do no harm.
        live = (self.newest[source] == run) & (np.minimum(source, target) >= 0)
        return live & (self.cut[target] < run) if self._has_cuts else live


class LinkCounts(Struct, frozen=True):
    """The numbers of inlinks and outlinks of each node, and whether all links are in the order of their sources."""

    inlinks: Numbers
    outlinks: Numbers
    is_ordered: bool


def count_links(links: LiveLinks) -> LinkCounts:
    """Count all links."""
    inlinks, outlinks = np.zeros(len(links.newest), np.int64), np.zeros(len(links.newest), np.int64)
    is_ordered, last = True, -1
    for source, target in links.pairs():
        np.add.at(outlinks, source, 1)
        np.add.at(inlinks, target, 1)
        if is_ordered and len(source):
            is_ordered = bool(source[0] >= last and (source[1:] >= source[:-1]).all())
            last = source[-1]
    return LinkCounts(inlinks, outlinks, is_ordered)


def write_live_links(tables: GraphTables, table: Table, live: LiveLinks, folder: Path, *, now: datetime) -> None:
    """Write a version of the links that has only the live ones."""

    def batches() -> Iterator[Any]:
        for batch in table.scan():
            mask = live.is_live(*(batch[name].to_numpy() for name in ("source", "target", "run")))
            yield batch.filter(pa.array(mask))

    file = folder / "live.parquet"
    write_file(file, tables.link_schema, batches())
    with Table.write(tables.links, tables.link_schema, writer="webgraph", clock=lambda: now) as new:
        new.adopt(file)
        new.commit(properties=table.manifest.properties)


def marks(source: Numbers | int, target: Numbers | int, run: int, schema: Any) -> Any:
    """Return rows of links that say that pages have none, or that drop all links to pages."""
    size = len(source) if isinstance(source, np.ndarray) else len(target)  # type: ignore[arg-type]
    columns = {
        "source": pa.array(np.broadcast_to(source, size).astype(np.int32)),
        "target": pa.array(np.broadcast_to(target, size).astype(np.int32)),
        "run": pa.array(np.full(size, run, np.int32)),
        "anchor": pa.array([""]).take(pa.array(np.zeros(size, np.int64))),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def links_of(links: Table, live: LiveLinks, node: int) -> list[dict[str, Any]]:
    """Return the live links from and to a node."""
    found = []
    for batch in links.scan(where=(pc.field("source") == node) | (pc.field("target") == node)):
        mask = live.is_live(*(batch[name].to_numpy() for name in ("source", "target", "run")))
        found += batch.filter(pa.array(mask)).to_pylist()
    return found
