"""Rows as they leave an engine: record batches of the types that the expression tells.

DuckDB takes ``x + 0.5`` for a decimal where Ibis says a double, and Spark's times have no zone.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

import ibis.expr.operations as ops
import pyarrow as pa

from scoter.engine.port import Rows

_TIME = pa.timestamp("us", tz="UTC")


def told_schema(rows: Rows) -> Any:
    """Return the Arrow schema of an expression's rows; times are microseconds in UTC."""
    return pa.schema(
        [(name, _TIME if kind.is_timestamp() else kind.to_pyarrow()) for name, kind in rows.schema().items()]
    )


def as_told(batch: Any, told: Any) -> Any:
    """Return a record batch with the types of a schema that has the same columns."""
    if batch.schema.equals(told):
        return batch
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, told, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=told)


def with_literals_stored(rows: Rows, store: Callable[[Any], Rows]) -> Rows:
    """Return rows with each table in their text replaced by what ``store`` makes of it, an Arrow table."""
    found = rows.op().find(ops.InMemoryTable)
    if not found:
        return rows
    stored = {node: store(node.data.to_pyarrow(node.schema)).op() for node in found}
    return rows.op().replace(stored).to_expr()


_PACKAGE = "ibis.backends.sql.compilers"


def import_few_compilers() -> None:
    """Let compilers be imported one by one from now on, unless all of them are there."""
    if _PACKAGE in sys.modules:
        return
    spec = find_spec(_PACKAGE)
    if spec is None or spec.loader is None:  # another Ibis: it knows best
        return
    package, loader = module_from_spec(spec), spec.loader

    def named(name: str) -> Any:
        if not name.startswith("_") and find_spec(f"{_PACKAGE}.{name}") is not None:
            return import_module(f"{_PACKAGE}.{name}")
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = named
    sys.modules[_PACKAGE] = package
