"""Rows of which an expression is true, found by the core's own function: exact on every engine, a call a row."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from scoter.core.expr import Typed, matches
from scoter.core.expr.types import Apply, Column
from scoter.engine import Engine
from scoter.engine.port import Rows


def matching(engine: Engine, rows: Rows, expression: Typed, now: datetime) -> Rows:
    """Return the rows of which an expression is true."""
    keep = partial(_keep, expression, tuple(sorted(set(columns_of(expression)))), now)
    return engine.map_batches(rows, keep, rows.schema().to_pyarrow())


def columns_of(expression: Typed) -> Iterator[str]:
    """Yield the columns that an expression asks for."""
    if isinstance(expression, Column):
        yield expression.name
    elif isinstance(expression, Apply):
        for part in expression.parts:
            yield from columns_of(part)


def _keep(expression: Typed, names: tuple[str, ...], now: datetime, batch: Any) -> Any:
    if not names:
        return batch if matches(expression, {}, now) else batch.slice(0, 0)
    asked = batch.select(list(names)).to_pylist(maps_as_pydicts="lossy")
    return batch.filter(pa.array([matches(expression, _told(row), now) for row in asked], pa.bool_()))


def _told(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row as expressions see it: an interval is a duration."""
    seconds = row.get("interval")
    return row if seconds is None else {**row, "interval": timedelta(seconds=seconds)}
