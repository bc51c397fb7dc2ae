"""The links of a graph as arrays on disk: the sources of the links to each node, one node after the other.

Nodes are numbered by their place among the nodes that have links. Only the sources (and weights) of links are on disk,
and they are read in blocks: a link takes no memory, a node about 50 bytes while ranks are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from scoter.batch.graph.links import LiveLinks
from scoter.batch.graph.node_values import Columns, Ids, Numbers, read_values
from scoter.batch.graph.site_links import read_site_links
from scoter.batch.graph.tables import StoredGraph
from scoter.store.disk import disk_errors

Values = NDArray[np.float64]
BLOCK = 2**21
"""Links that are read at a time, if one node does not have more."""


class LinkBlock(Struct, frozen=True):
    """The links to the nodes from ``first`` on; ``starts`` says where those of each start, and where the last end."""

    first: int
    starts: Numbers
    sources: NDArray[np.int32]
    weights: Values | None

    @property
    def targets(self) -> Numbers:
        """The target of each link."""
        return np.repeat(np.arange(self.first, self.first + len(self.starts) - 1), np.diff(self.starts))


class Adjacency(Struct, frozen=True):
    """The links of a graph, by target: ``ends`` says where those of each node end.

    ``ids`` are the numbers of the nodes in their table, ``outlinks`` their numbers of links, or sums of weights.
    """

    ids: Numbers
    ends: Numbers
    outlinks: Values
    sources: Path
    weights: Path | None = None

    @property
    def nodes(self) -> int:
        return len(self.ids)

    @property
    def links(self) -> int:
        return int(self.ends[-1]) if self.nodes else 0

    def blocks(self, most: int = BLOCK) -> Iterator[LinkBlock]:
        """Yield all links, at most ``most`` at a time unless a node has more."""
        if not self.links:
            return
        sources: Any = np.memmap(self.sources, np.int32, "r")
        weights: Any = None if self.weights is None else np.memmap(self.weights, np.float64, "r")
        first = done = 0
        while first < self.nodes:
            last = max(first + 1, int(np.searchsorted(self.ends, done + most, "right")))
            end = int(self.ends[last - 1])
            starts = np.concatenate([np.array([0]), self.ends[first:last] - done])
            taken = None if weights is None else np.array(weights[done:end])
            yield LinkBlock(first, starts, np.array(sources[done:end]), taken)
            first, done = last, end

    def inflow(self, values: Values) -> Values:
        """Return for each node the sum of a value over its inlinks, times the weights of the links if they have any."""
        found = np.zeros(self.nodes)
        for block in self.blocks():
            gathered = values[block.sources]
            if block.weights is not None:
                gathered *= block.weights
            linked = np.flatnonzero(np.diff(block.starts))
            if len(linked):
                found[block.first + linked] = np.add.reduceat(gathered, block.starts[linked])
        return found


def read_adjacency(graph: StoredGraph, folder: Path) -> Adjacency:
    """Write the links of a graph to files in a folder; those between sites are weighted by linking pages."""
    tables = graph.tables
    names = ("inlinks", "outlinks", "run", "cut") if tables.name == "page" else ("inlinks", "outlinks")
    values = read_values(tables.values, tables.value_schema, names, graph.next_id)
    ids = np.flatnonzero((values["inlinks"] > 0) | (values["outlinks"] > 0))
    place = np.zeros(graph.next_id, np.int32)
    place[ids] = np.arange(len(ids), dtype=np.int32)
    ends, outlinks = np.cumsum(values["inlinks"][ids]), values["outlinks"][ids].astype(np.float64)
    weights = None if tables.name == "page" else folder / "weights.float64"
    found = Adjacency(ids, ends, outlinks, folder / "sources.int32", weights)
    pairs = _site_pairs(graph) if weights else _page_pairs(graph, values)
    with disk_errors("write the links", folder):
        _write(found, pairs, place)
    return found


def _page_pairs(graph: StoredGraph, values: Columns) -> Iterator[tuple[Any, Any, Any]]:
    for source, target in LiveLinks(graph.links, values["run"], values["cut"]).pairs():
        yield source, target, None


def _site_pairs(graph: StoredGraph) -> Iterator[tuple[Any, Any, Any]]:
    for each in read_site_links(graph.links):
        yield each.sources, each.targets, each.pages.astype(np.float64)


def _write(graph: Adjacency, pairs: Iterator[tuple[Any, Any, Any]], place: Ids) -> None:
    graph.sources.touch()
    if not graph.links:
        return
    sources: Any = np.memmap(graph.sources, np.int32, "w+", shape=(graph.links,))
    weights: Any = None
    if graph.weights is not None:
        weights = np.memmap(graph.weights, np.float64, "w+", shape=(graph.links,))
        graph.outlinks[:] = 0
    free = np.concatenate([np.array([0]), graph.ends[:-1]])
    for source, target, weight in _gathered(pairs):
        source, target = place[source], place[target]
        # Sorting numbers is several times as fast as computing their order.
        ordered = np.sort((target.astype(np.int64) << 32) | np.arange(len(target)))
        order, target = ordered & 0xFFFFFFFF, ordered >> 32
        # Links to the same node are next to each other now, so each gets the next free place by its place among them.
        firsts = np.concatenate([np.array([0]), np.flatnonzero(target[1:] != target[:-1]) + 1])
        sizes = np.diff(np.append(firsts, len(target)))
        spots = np.repeat(free[target[firsts]] - firsts, sizes) + np.arange(len(target))
        sources[spots] = source[order]
        if weights is not None:
            weights[spots] = weight[order]
            np.add.at(graph.outlinks, source, weight)
        free[target[firsts]] += sizes


def _gathered(pairs: Iterator[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield links in blocks."""
    waiting: list[tuple[Any, Any, Any]] = []
    rows = 0
    for each in pairs:
        if len(each[0]):
            waiting.append(each)
            rows += len(each[0])
        if rows >= BLOCK:
            yield _together(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _together(waiting)


def _together(parts: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    weight = None if parts[0][2] is None else np.concatenate([each[2] for each in parts])
    return np.concatenate([each[0] for each in parts]), np.concatenate([each[1] for each in parts]), weight


def choose_links(
    graph: Adjacency, folder: Path, *, groups: NDArray[Any] | None, loops: bool, reciprocal: bool
) -> Adjacency:
    """Return a graph, written to a folder, with fewer links but the same numbers of outlinks.

    ``groups``: of the links from nodes of one group to a node, keep only the first. ``loops``: keep links of nodes to
    themselves. ``reciprocal``: keep links between nodes that link to each other.
    """
    folder.mkdir()
    # In this graph, the sources of each node are in order, and it can be searched for links.
    ordered = _rewritten(graph, folder / "ordered", lambda block, order: order)

    def chosen(block: LinkBlock, _: Numbers) -> Numbers:
        source, target = block.sources, block.targets
        kept = np.ones(len(source), bool)
        if not loops:
            kept &= source != target
        if not reciprocal:
            kept &= (source == target) | ~_has_link(ordered, target, source)
        order = np.flatnonzero(kept)
        if groups is None or not len(order):
            return order
        group = groups[source[order]]
        by_group = np.lexsort((order, group, target[order]))
        order, group = order[by_group], group[by_group]
        is_first = np.concatenate([np.array([True]), (np.diff(target[order]) != 0) | (group[1:] != group[:-1])])
        return np.sort(order[is_first])

    return _rewritten(ordered, folder / "chosen", chosen)


def _rewritten(graph: Adjacency, folder: Path, choose: Callable[[LinkBlock, Numbers], Numbers]) -> Adjacency:
    """Write a graph with the links that a function chooses from each block, given their order by target and source."""
    folder.mkdir()
    sizes = np.zeros(graph.nodes, np.int64)
    sources = folder / "sources.int32"
    weights = None if graph.weights is None else folder / "weights.float64"
    with ExitStack() as stack, disk_errors("write the links", folder):
        source_file = stack.enter_context(sources.open("wb"))
        weight_file = None if weights is None else stack.enter_context(weights.open("wb"))
        for block in graph.blocks():
            target = block.targets
            order = choose(block, np.lexsort((block.sources, target)))
            np.add.at(sizes, target[order], 1)
            block.sources[order].tofile(source_file)
            if weight_file is not None and block.weights is not None:
                block.weights[order].tofile(weight_file)
    return Adjacency(graph.ids, np.cumsum(sizes), graph.outlinks, sources, weights)


def _has_link(graph: Adjacency, sources: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether a graph with ordered sources has links, by binary search among the inlinks of each target."""
    known: Any = np.memmap(graph.sources, np.int32, "r")
    low = np.where(targets > 0, graph.ends[targets - 1], 0)
    high = end = graph.ends[targets]
    while (open_ := low < high).any():
        middle = (low + high) // 2
        is_less = open_ & (known[np.minimum(middle, len(known) - 1)] < sources)
        low, high = np.where(is_less, middle + 1, low), np.where(open_ & ~is_less, middle, high)
    is_found: NDArray[np.bool_] = (low < end) & (known[np.minimum(low, len(known) - 1)] == sources)
    return is_found
