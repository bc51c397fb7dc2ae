"""LinkRank and PageRank."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from scoter.batch.graph.adjacency import Adjacency, Values

MAX_ITERATIONS = 10_000


class NodeRanks(Struct, frozen=True):
    """The rank of each node, the number of iterations, and the sum of all changes in the last one."""

    values: Values
    iterations: int
    change: float


def link_rank(graph: Adjacency, *, damping: float, initial: float, iterations: int) -> NodeRanks:
    """Return the ranks of Nutch's LinkRank: (1 - d) + d · (1/N + Σ rank/outlinks over inlinks), after some iterations.

    They are not probabilities: a node without inlinks has about 1 - d. The rank of a node without outlinks is lost.
    """
    ranks, change = np.full(graph.nodes, float(initial)), 0.0
    shares = np.maximum(graph.outlinks, 1)
    for _ in range(iterations):
        new = (1 - damping) + damping * (1 / max(graph.nodes, 1) + graph.inflow(ranks / shares))
        change = float(np.abs(new - ranks).sum())
        ranks = new
    return NodeRanks(ranks, iterations, change)


def page_rank(graph: Adjacency, *, damping: float, tolerance: float, most: int = MAX_ITERATIONS) -> NodeRanks:
    """Return the PageRank of each node; they sum to 1. The rank of nodes without outlinks goes to all nodes alike.

    The iterations end when the ranks change by no more than ``tolerance`` in sum.
    """
    total = graph.nodes
    ranks, change = np.full(total, 1 / max(total, 1)), 0.0
    dangling = np.flatnonzero(graph.outlinks == 0)
    shares = np.where(graph.outlinks > 0, graph.outlinks, 1)
    number = 0
    while total and number < most:
        number += 1
        lost = ranks[dangling].sum()
        new = damping * (graph.inflow(ranks / shares) + lost / total) + (1 - damping) / total
        change = float(np.abs(new - ranks).sum())
        ranks = new
        if change <= tolerance:
            break
    return NodeRanks(ranks, number, change)
