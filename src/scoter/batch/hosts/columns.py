"""The columns of the hostdb as people and expressions see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.core.expr import ValueType

HIDDEN: Final = frozenset({"key", "latency_bins", "size_bins"})
"""Columns that only updates need."""
_KINDS = (
    (pa.types.is_integer, ValueType.NUMBER),
    (pa.types.is_floating, ValueType.NUMBER),
    (pa.types.is_string, ValueType.TEXT),
    (pa.types.is_timestamp, ValueType.TIME),
)


def _expression_columns() -> dict[str, ValueType]:
    found: dict[str, ValueType] = {}
    for field in schemas.HOSTDB:
        if field.type == schemas.NUMBERS:
            found[field.name] = ValueType.NUMBERS
        elif field.type == schemas.METADATA:
            found[field.name] = ValueType.METADATA
        elif field.name not in HIDDEN:
            kind = next((kind for is_one, kind in _KINDS if is_one(field.type)), None)
            if kind is not None:
                found[field.name] = kind
    return found


EXPRESSION_COLUMNS: Final[Mapping[str, ValueType]] = _expression_columns()
"""The columns that expressions over hosts may use."""


def shown_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the hostdb as it is shown: with ``host`` first, and maps in the order of their keys."""
    found = {"host": row["url"], **{name: value for name, value in row.items() if name not in HIDDEN | {"url"}}}
    statistics = found.get("statistics")
    if statistics:
        found["statistics"] = dict(sorted(dict(statistics).items()))
    return found
