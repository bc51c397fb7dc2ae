"""Build DuckDB SQL: quoted names and texts, scans, casts, and conditions on key ranges."""
# ruff: noqa: S608 - builds SQL; all texts in it are quoted

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoter.engine.sources import STORED_FILE, STORED_ROW, UniformFiles, stored_name


def quoted(text: str) -> str:
    """Return a text as a SQL literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def quoted_name(text: str) -> str:
    """Return a column name as a quoted identifier.

    >>> quoted_name("key")
    '"key"'
    """
    return '"' + text.replace('"', '""') + '"'


def cast_sql(inner: str, types: Mapping[str, str], *, rest: bool = False) -> str:
    """Return a query for exactly these columns of another query, cast to their types; or also for its other columns.

    DuckDB takes ``0.0`` for a decimal and ``0`` for 32 bits, whatever Ibis says; a cast to the same type is free.
    """
    columns = ", ".join(f"CAST({quoted_name(name)} AS {kind}) AS {quoted_name(name)}" for name, kind in types.items())
    if rest:
        columns += f", * EXCLUDE ({', '.join(map(quoted_name, types))})"
    return f"SELECT {columns} FROM ({inner})"


def scan_sql(
    uniform: Sequence[UniformFiles], types: Mapping[str, str], positions: Mapping[str, int] | None = None
) -> str:
    """Return a query that reads columns of Parquet files; a column that a file lacks has its default.

    ``positions`` gives each file a number; with it, the rows have columns for their position.
    """
    if not uniform:
        columns = ", ".join(f"CAST(NULL AS {kind}) AS {quoted_name(name)}" for name, kind in types.items())
        return f"SELECT {columns} WHERE false"
    return " UNION ALL ".join(_scan(each, types, positions) for each in uniform)


def _scan(uniform: UniformFiles, types: Mapping[str, str], positions: Mapping[str, int] | None) -> str:
    values = {
        name: _default(uniform.absent[name], kind) if name in uniform.absent else quoted_name(name)
        for name, kind in types.items()
    }
    if positions is not None:
        numbers = ", ".join(str(positions[file]) for file in uniform.files)
        values |= {STORED_FILE: f"[{numbers}][CAST(file_index AS BIGINT) + 1]", STORED_ROW: "file_row_number"}
    columns = ", ".join(f"CAST({values[name]} AS {kind}) AS {quoted_name(name)}" for name, kind in types.items())
    return f"SELECT {columns} FROM {live_sql(uniform.files, uniform.replaced)}"


def live_sql(files: Sequence[str], replaced: Sequence[str], options: str = "hive_partitioning = false") -> str:
    """Return a table expression for Parquet files without the rows whose positions are in other files."""
    stored = f"read_parquet([{', '.join(map(quoted, files))}], {options})"
    if not replaced:
        return stored
    names = ", ".join(f"({quoted(stored_name(file))}, CAST({number} AS UBIGINT))" for number, file in enumerate(files))
    positions = f"read_parquet([{', '.join(map(quoted, replaced))}], hive_partitioning = false)"
    gone = (
        f"SELECT named.number, positions.row FROM {positions} AS positions"
        f" JOIN (VALUES {names}) AS named(name, number) ON positions.part = named.name"
    )
    matched = "stored.file_index = gone.number AND stored.file_row_number = gone.row"
    return f"{stored} AS stored ANTI JOIN ({gone}) AS gone ON {matched}"


def _default(value: Any, kind: str = "") -> str:
    """Return a value as a literal that the caller casts; values that are neither bytes nor nested are texts."""
    match value:
        case [] if kind.startswith("MAP"):
            return "MAP {}"
        case None:
            return "NULL"
        case bytes():
            return f"from_hex('{value.hex()}')"
        case dict():
            return "{" + ", ".join(f"{quoted(name)}: {_default(each)}" for name, each in value.items()) + "}"
        case [tuple(), *_]:  # a map, as Arrow returns it
            return "MAP {" + ", ".join(f"{_default(name)}: {_default(each)}" for name, each in value) + "}"
        case list():
            return f"[{', '.join(map(_default, value))}]"
        case _:
            return quoted(str(value))


def range_number_sql(edges: Sequence[str], low: int = 0, high: int | None = None) -> str:
    """Return an expression for the number of the range of ``key``, by binary search.

    >>> range_number_sql(["m"])
    "CASE WHEN key < 'm' THEN 0 ELSE 1 END"
    """
    high = len(edges) if high is None else high
    if low == high:
        return str(low)
    middle = (low + high) // 2
    below, above = range_number_sql(edges, low, middle), range_number_sql(edges, middle + 1, high)
    return f"CASE WHEN key < {quoted(edges[middle])} THEN {below} ELSE {above} END"


def in_range_sql(edges: Sequence[str], number: int) -> str:
    """Return a condition for ``key`` being in a range.

    >>> in_range_sql(["m"], 1)
    "key >= 'm'"
    """
    limits = []
    if number > 0:
        limits.append(f"key >= {quoted(edges[number - 1])}")
    if number < len(edges):
        limits.append(f"key < {quoted(edges[number])}")
    return " AND ".join(limits) or "true"
