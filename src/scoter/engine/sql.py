"""Pieces of DuckDB's SQL: names, texts, and columns brought to a type."""
# ruff: noqa: S608 - SQL is what it is made of; texts in it are quoted

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoter.engine.sources import Alike


def quoted(text: str) -> str:
    """Return text as a literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def name_sql(text: str) -> str:
    """Return a column's name as it is written in a query.

    >>> name_sql("key")
    '"key"'
    """
    return '"' + text.replace('"', '""') + '"'


def cast_sql(inner: str, types: Mapping[str, str]) -> str:
    """Return a query for exactly these columns of another query, each of its type.

    DuckDB takes ``0.0`` for a decimal and ``0`` for 32 bits, whatever the expression believes; a cast that changes
    nothing costs nothing.
    """
    columns = ", ".join(f"CAST({name_sql(name)} AS {kind}) AS {name_sql(name)}" for name, kind in types.items())
    return f"SELECT {columns} FROM ({inner})"


def scan_sql(alike: Sequence[Alike], types: Mapping[str, str]) -> str:
    """Return a query that reads columns of Parquet files; where a file lacks one, its default stands."""
    if not alike:
        return _nothing(types)
    return " UNION ALL ".join(_scan(each, types) for each in alike)


def _scan(alike: Alike, types: Mapping[str, str]) -> str:
    values = {
        name: _default(alike.absent[name], kind) if name in alike.absent else name_sql(name)
        for name, kind in types.items()
    }
    columns = ", ".join(f"CAST({values[name]} AS {kind}) AS {name_sql(name)}" for name, kind in types.items())
    files = ", ".join(map(quoted, alike.files))
    return f"SELECT {columns} FROM read_parquet([{files}], hive_partitioning = false)"


def _default(value: Any, kind: str = "") -> str:
    """Return a value as a literal that is still to be cast; whatever is neither bytes nor nested is read from text."""
    match value:
        case [] if kind.startswith("MAP"):
            return "MAP {}"
        case None:
            return "NULL"
        case bytes():
            return f"from_hex('{value.hex()}')"
        case dict():
            return "{" + ", ".join(f"{quoted(name)}: {_default(each)}" for name, each in value.items()) + "}"
        case [tuple(), *_]:  # a map, as Arrow tells it
            return "MAP {" + ", ".join(f"{_default(name)}: {_default(each)}" for name, each in value) + "}"
        case list():
            return f"[{', '.join(map(_default, value))}]"
        case _:
            return quoted(str(value))


def _nothing(types: Mapping[str, str]) -> str:
    """Return a query for no rows of these columns."""
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name_sql(name)}" for name, kind in types.items())
    return f"SELECT {columns} WHERE false"


def number_sql(cuts: Sequence[str], low: int = 0, high: int | None = None) -> str:
    """Return the number of the range in which ``key`` lies, by halving.

    >>> number_sql(["m"])
    "CASE WHEN key < 'm' THEN 0 ELSE 1 END"
    """
    high = len(cuts) if high is None else high
    if low == high:
        return str(low)
    middle = (low + high) // 2
    below, above = number_sql(cuts, low, middle), number_sql(cuts, middle + 1, high)
    return f"CASE WHEN key < {quoted(cuts[middle])} THEN {below} ELSE {above} END"


def within_sql(cuts: Sequence[str], number: int) -> str:
    """Return whether ``key`` lies in a range.

    >>> within_sql(["m"], 1)
    "key >= 'm'"
    """
    limits = []
    if number > 0:
        limits.append(f"key >= {quoted(cuts[number - 1])}")
    if number < len(cuts):
        limits.append(f"key < {quoted(cuts[number])}")
    return " AND ".join(limits) or "true"
