"""Build DuckDB SQL: quoted names and texts, scans, casts, and conditions on key ranges."""
# ruff: noqa: S608 - builds SQL; all texts in it are quoted

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from scoter.engine.sources import STORED_FILE, STORED_ROW, UniformFiles, stored_name
from scoter.engine.types import type_names


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


def with_sql(named: Mapping[str, str], sql: str) -> str:
    """Return a query with other queries that it names as tables.

    >>> with_sql({"t": "SELECT 1 AS x"}, "WITH u AS (SELECT 2 AS x) SELECT * FROM t, u")
    'WITH t AS NOT MATERIALIZED (SELECT 1 AS x), u AS (SELECT 2 AS x) SELECT * FROM t, u'
    """
    if not named:
        return sql
    added = ", ".join(f"{name} AS NOT MATERIALIZED ({each})" for name, each in named.items())
    return f"WITH {added}, {sql.removeprefix('WITH ')}" if sql.startswith("WITH ") else f"WITH {added} {sql}"


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


def in_range_sql(edges: Sequence[str], number: int, *, has_nulls: bool = False) -> str:
    """Return a condition for ``key`` being in a range; nulls are in the last one, as for ``range_number_sql``.

    >>> in_range_sql(["m"], 1)
    "key >= 'm'"
    >>> in_range_sql(["m"], 1, has_nulls=True)
    "(key >= 'm' OR key IS NULL)"
    """
    if has_nulls and number == len(edges):
        return f"({in_range_sql(edges, number)} OR key IS NULL)"
    limits = []
    if number > 0:
        limits.append(f"key >= {quoted(edges[number - 1])}")
    if number < len(edges):
        limits.append(f"key < {quoted(edges[number])}")
    return " AND ".join(limits) or "true"


def rows_sql(rows: Iterable[Mapping[str, Any]], schema: Any) -> str:
    """Return a query for a few rows of texts, numbers, truths and times, in order.

    An Arrow table could be registered instead, but for that DuckDB imports pandas where it is installed.

    >>> import pyarrow as pa
    >>> print(rows_sql([{"x": "it's"}], pa.schema([("x", pa.utf8())])))
    SELECT CAST("x" AS TEXT) AS "x" FROM (VALUES ('it''s')) AS t("x")
    """
    columns = {quoted_name(name): kind for name, kind in type_names(schema).items()}
    values = ", ".join(f"({', '.join(_literal(row.get(name)) for name in schema.names)})" for row in rows)
    wanted = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in columns.items())
    if not values:
        return scan_sql([], type_names(schema))
    return f"SELECT {wanted} FROM (VALUES {values}) AS t({', '.join(columns)})"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return quoted(value.isoformat())
    return quoted(value) if isinstance(value, str) else str(value)


def emptied(sql: str, token: str, names: Sequence[str]) -> str:
    """Return a query with places instead of the names of tables; ``token`` must not occur in it by chance.

    >>> emptied('SELECT x FROM "t5_"', "c0ffee", ["t5_"])
    'SELECT x FROM "table_c0ffee_0_"'
    """
    for number, name in enumerate(names):
        sql = sql.replace(name, f"table_{token}_{number}_")
    return sql


def filled(sql: str, token: str, names: Sequence[str], times: Sequence[datetime]) -> str:
    """Return a query with names of tables and with times in their places.

    >>> filled('SELECT x FROM "table_c0ffee_0_"', "c0ffee", ["t7_"], [])
    'SELECT x FROM "t7_"'
    """

    def put(place: re.Match[str]) -> str:
        return names[int(place[1])] if place[1] else f"CAST({quoted(times[int(place[2])].isoformat())} AS TIMESTAMPTZ)"

    # DuckDB's names of functions are written in capitals.
    return re.sub(rf"table_{token}_(\d+)_|time_{token}_(\d+)_\(\)", put, sql, flags=re.IGNORECASE)
