"""How DuckDB names the types of Arrow, as Ibis writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as kinds

_NAMES: Final[Mapping[Any, str]] = {
    pa.utf8(): "TEXT",
    pa.large_utf8(): "TEXT",
    pa.binary(): "BLOB",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}


def type_names(schema: Any) -> Mapping[str, str]:
    """Return the columns of an Arrow schema with their types in DuckDB.

    >>> type_names(pa.schema([("urls", pa.list_(pa.utf8())), ("score", pa.float64())]))
    {'urls': 'TEXT[]', 'score': 'DOUBLE'}
    """
    found = {field.name: _name(field.type) for field in schema}
    known = {name: kind for name, kind in found.items() if kind is not None}
    if len(known) == len(found):
        return known
    from scoter.engine.duckdb_compiler import ibis_type_names

    return ibis_type_names(schema)


def _name(kind: Any) -> str | None:
    """Return the name of a type that tables of Scoter have; ``None`` for any other."""
    if kinds.is_list(kind):
        inner = _name(kind.value_type)
        return None if inner is None else f"{inner}[]"
    if kinds.is_map(kind):
        key, value = _name(kind.key_type), _name(kind.item_type)
        return None if key is None or value is None else f"MAP({key}, {value})"
    if kinds.is_struct(kind):
        fields = [(field.name, _name(field.type)) for field in kind]
        if any(name is None or not field.isidentifier() for field, name in fields):
            return None
        named = ", ".join(f'"{field}" {name}' for field, name in fields)
        return f"STRUCT({named})"
    return _NAMES.get(kind)
