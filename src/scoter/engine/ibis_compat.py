"""What both engines need of Ibis: fewer imports, tables written in an expression, and output types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

import ibis.expr.operations as ops
import pyarrow as pa

from scoter.engine.port import Rows

_COMPILERS = "ibis.backends.sql.compilers"
_TIME = pa.timestamp("us", tz="UTC")


def import_compilers_lazily() -> None:
    """Import each of Ibis's SQL compilers when it is first used, unless all of them are already imported.

    The package imports the compilers of all twenty back ends, which is a tenth of the start-up time of a command. A
    stand-in is put into ``sys.modules`` before Ibis asks for the package; it loads a compiler when it is named, and the
    real package for anything else.
    """
    if _COMPILERS in sys.modules:
        return
    spec = find_spec(_COMPILERS)
    if spec is None or spec.loader is None:  # a version of Ibis with another layout
        return
    package, loader = module_from_spec(spec), spec.loader

    def attribute(name: str) -> Any:
        if not name.startswith("_") and find_spec(f"{_COMPILERS}.{name}") is not None:
            return import_module(f"{_COMPILERS}.{name}")
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = attribute
    sys.modules[_COMPILERS] = package


def store_memtables(rows: Rows, store: Callable[[Iterable[Any], Any], Rows]) -> Rows:
    """Return rows with each ``ibis.memtable`` replaced by what ``store`` returns for its record batches and schema.

    Ibis registers such tables on a connection when it runs an expression itself; the engines run the SQL, and on other
    connections.
    """
    found = rows.op().find(ops.InMemoryTable)
    if not found:
        return rows
    tables = {node: node.data.to_pyarrow(node.schema) for node in found}
    stored = {node: store(table.to_batches(), table.schema).op() for node, table in tables.items()}
    return rows.op().replace(stored).to_expr()


def arrow_schema(rows: Rows) -> Any:
    """Return the Arrow schema of an expression; times are microseconds in UTC."""
    return pa.schema(
        [(name, _TIME if kind.is_timestamp() else kind.to_pyarrow()) for name, kind in rows.schema().items()]
    )
