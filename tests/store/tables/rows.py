"""Small tables for tests: every row of a version has the version's mark, so that a mixture is detected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from scoter.store.tables import Manifest, Table
from scoter.store.tables.storage import TableStorage

SCHEMA = pa.schema([("url", pa.utf8()), ("mark", pa.int64())])
NOW = datetime(2026, 11, 15, 3, 30, tzinfo=UTC)


def rows(mark: int, count: int = 10) -> Any:
    """Return a batch in which every row has one mark."""
    urls = [f"http://example.com/{mark}/{each}" for each in range(count)]
    return pa.RecordBatch.from_arrays([pa.array(urls), pa.array([mark] * count, pa.int64())], schema=SCHEMA)


def write(
    path: str | TableStorage, mark: int, *, parts: int = 1, options: Mapping[str, Any] | None = None, applied: Any = ()
) -> Manifest:
    """Commit a version with a number of parts."""
    with Table.write(path, SCHEMA, writer="test", clock=lambda: NOW, options=options) as new:
        for _ in range(parts):
            with new.part() as part:
                part.write(rows(mark))
        return new.commit(applied)


def marks(table: Table) -> list[int]:
    """Return the mark of every row."""
    return [each for batch in table.scan(["mark"]) for each in batch.column("mark").to_pylist()]
