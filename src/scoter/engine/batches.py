"""Record batches with exact types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def cast_batch(batch: Any, schema: Any) -> Any:
    """Return a record batch with the types of a schema that has the same columns.

    DuckDB takes ``x + 0.5`` for a decimal where Ibis says double, and Spark's times have no zone.
    """
    if batch.schema.equals(schema):
        return batch
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
