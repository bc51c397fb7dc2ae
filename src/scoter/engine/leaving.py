"""Rows as they leave an engine: record batches of the types that the expression tells.

DuckDB takes ``x + 0.5`` for a decimal where Ibis says a double, and Spark's times have no zone.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from typing import Any

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
