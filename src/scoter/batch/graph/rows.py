"""The nodes of a graph as rows for an engine."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from scoter.batch.graph.tables import StoredGraph
from scoter.engine import Engine, source_of
from scoter.engine.port import Rows


def node_rows(engine: Engine, graph: StoredGraph) -> Rows:
    """Return the nodes that have links, with their counts and ranks."""
    values = engine.read(source_of(graph.values))
    values = values.filter((values.inlinks > 0) | (values.outlinks > 0))
    return engine.read(source_of(graph.nodes)).join(values, "id")
