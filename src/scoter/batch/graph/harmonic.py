"""Harmonic centrality: the sum of 1/distance from all other nodes to a node.

In step t, every node collects the nodes from which it can be reached in t links: those of its inlinks' sources in step
t - 1. Small graphs keep exact sets, some thousands of nodes at a time, one bit each. Large ones keep HyperLogLog
counters, which estimate the size of a set from 2**p bytes with a standard error of 1.04/√(2**p) (Boldi, Vigna: In-core
computation of geometric centralities with HyperBall, 2013).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoter.batch.graph.adjacency import Adjacency, Values
from scoter.batch.graph.node_values import Numbers
from scoter.batch.graph.ranks import NodeRanks

EXACT_NODES = 20_000
"""The size up to which a graph gets exact values: they take time in proportion to nodes times links."""
_WORDS = 16
_LEAST_BITS, _MOST_BITS = 4, 10
_LINKS = 2**21  # bytes of counters that are compared at a time, roughly


def harmonic_centrality(graph: Adjacency, *, memory_limit: int, exact_nodes: int = EXACT_NODES) -> NodeRanks:
    """Return the harmonic centrality of each node: exact for graphs up to ``exact_nodes``, otherwise estimated."""
    if graph.nodes <= exact_nodes:
        return _exact(graph)
    return _estimated(graph, counter_bits(graph.nodes, memory_limit))


def counter_bits(nodes: int, memory_limit: int) -> int:
    """Return p, so that two counters of 2**p bytes per node take at most half of the memory.

    >>> counter_bits(10_000_000, 4 * 2**30), counter_bits(100, 2**30)
    (6, 10)
    """
    fitting = int(np.log2(max(memory_limit / 4 / max(nodes, 1), 1)))
    return max(_LEAST_BITS, min(_MOST_BITS, fitting))


def _exact(graph: Adjacency) -> NodeRanks:
    found, most = np.zeros(graph.nodes), 0
    for first in range(0, graph.nodes, 64 * _WORDS):
        members = np.arange(first, min(first + 64 * _WORDS, graph.nodes))
        sets = np.zeros((graph.nodes, _WORDS), np.uint64)
        bits = members - first
        sets[members, bits // 64] = np.uint64(1) << (bits % 64).astype(np.uint64)
        size, step = _set_sizes(sets), 0
        while True:
            sets = _spread(graph, sets, np.bitwise_or)
            new, step = _set_sizes(sets), step + 1
            if (new == size).all():
                break
            found += (new - size) / step
            size = new
        most = max(most, step)
    return NodeRanks(found, most, 0.0)


def _set_sizes(sets: NDArray[np.uint64]) -> Numbers:
    sizes: Numbers = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return sizes


def _estimated(graph: Adjacency, bits: int) -> NodeRanks:
    counters = _first_counters(graph.ids, bits)
    found, size, step, change = np.zeros(graph.nodes), np.ones(graph.nodes), 0, 0.0
    while True:
        new = _spread(graph, counters, np.maximum)
        changed = np.flatnonzero((new != counters).any(axis=1))
        counters, step = new, step + 1
        if not len(changed):
            return NodeRanks(found, step, change)
        # An estimate may be smaller than the one before: more bits are set, but the formulas differ.
        estimate = np.maximum(_estimate(counters[changed]), size[changed])
        gain = (estimate - size[changed]) / step
        found[changed] += gain
        size[changed] = estimate
        change = float(gain.sum())


def _spread(graph: Adjacency, sets: NDArray[Any], merge: Any) -> NDArray[Any]:
    """Return for each node its set, merged with those of the nodes that link to it."""
    new = sets.copy()
    width = sets.shape[1] * sets.itemsize
    for block in graph.blocks(max(_LINKS * 16 // width, 1)):
        linked = np.flatnonzero(np.diff(block.starts))
        if len(linked):
            rows = block.first + linked
            new[rows] = merge(new[rows], merge.reduceat(sets[block.sources], block.starts[linked], axis=0))
    return new


def _first_counters(ids: NDArray[np.int64], bits: int) -> NDArray[np.uint8]:
    """Return counters that hold the node itself; the hash is SplitMix64 of its number."""
    hashed = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashed = (hashed ^ (hashed >> np.uint64(shift))) * np.uint64(factor)
    hashed ^= hashed >> np.uint64(31)
    counters = np.zeros((len(ids), 2**bits), np.uint8)
    register = (hashed & np.uint64(2**bits - 1)).astype(np.int64)
    # The position of the lowest set bit of the rest; the highest bit makes sure that there is one.
    rest = (hashed >> np.uint64(bits)) | np.uint64(1 << (63 - bits))
    lowest = rest & (~rest + np.uint64(1))
    counters[np.arange(len(ids)), register] = np.bitwise_count(lowest - np.uint64(1)) + 1
    return counters


def _estimate(counters: NDArray[np.uint8]) -> Values:
    """Return the sizes of sets (Flajolet et al.: HyperLogLog, 2007), by linear counting while they are small."""
    number = counters.shape[1]
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(number, 0.7213 / (1 + 1.079 / number))
    powers = np.ldexp(1.0, -np.arange(65))
    found = np.zeros(len(counters))
    for first in range(0, len(counters), 2**16):
        part = counters[first : first + 2**16]
        raw = alpha * number**2 / powers[part].sum(axis=1)
        empty = (part == 0).sum(axis=1)
        linear = number * np.log(number / np.maximum(empty, 1))
        found[first : first + 2**16] = np.where((raw <= 2.5 * number) & (empty > 0), linear, raw)
    return found
