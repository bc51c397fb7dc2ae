"""Small tables for tests of engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scoter.engine import Engine, TableSource
from scoter.store.tables import NewVersion, Table

NOW = datetime(2026, 11, 15, 3, 30, tzinfo=UTC)
TIME = pa.timestamp("us", tz="UTC")
MAP = pa.map_(pa.utf8(), pa.utf8())
SCHEMA = pa.schema([("url", pa.utf8()), ("key", pa.utf8()), ("score", pa.float64()), ("seen", TIME), ("notes", MAP)])


def page(name: str, score: float | None = 1.0, notes: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    pairs = None if notes is None else list(notes.items())
    return {"url": f"http://x.example/{name}", "key": f"example.x/{name}", "score": score, "seen": NOW, "notes": pairs}


def stored(file: Path, rows: Iterable[Mapping[str, Any]], schema: Any = SCHEMA) -> str:
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), file, row_group_size=50)
    return str(file)


def source(
    *files: str, schema: Any = SCHEMA, is_sorted: bool = False, defaults: Mapping[str, Any] | None = None
) -> TableSource:
    return TableSource(files=files, schema=schema, defaults=defaults or {}, is_sorted=is_sorted)


def new_table(folder: Path, schema: Any = SCHEMA) -> NewVersion:
    return Table.write(folder, schema, writer="test")


def rows_of(engine: Engine, rows: Any) -> list[dict[str, Any]]:
    """Return rows as dictionaries; maps too."""
    return [plain(row) for batch in engine.batches(rows) for row in batch.to_pylist()]


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dict(value) if _is_map(value) else value for name, value in row.items()}


def column(engine: Engine, rows: Any, name: str, by: Sequence[str] = ()) -> list[Any]:
    return [row[name] for row in rows_of(engine, rows.order_by(list(by)) if by else rows)]


def _is_map(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, tuple) for each in value) and bool(value)
