"""Tables that a job writes out in its text (``ibis.memtable``), put into files as everything else that is read.

Ibis hands them to an engine's connection when it runs an expression itself; here SQL is run, and on other connections.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis.expr.operations as ops

from scoter.engine.port import Rows


def with_literals_stored(rows: Rows, store: Callable[[Any], Rows]) -> Rows:
    """Return rows with each table in their text replaced by what ``store`` makes of it, an Arrow table."""
    found = rows.op().find(ops.InMemoryTable)
    if not found:
        return rows
    stored = {node: store(node.data.to_pyarrow(node.schema)).op() for node in found}
    return rows.op().replace(stored).to_expr()
