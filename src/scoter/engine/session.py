"""Read-only SQL sessions: DuckDB over Parquet files, which it sees as views and cannot leave."""
# ruff: noqa: S608 - builds SQL; all texts in it are quoted

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from msgspec import Struct

from scoter.engine.monitor import CtrlC, is_interrupt, read_batches, watch_ctrl_c
from scoter.engine.sources import read_footer
from scoter.engine.sql import live_sql, quoted, quoted_name
from scoter.engine.types import type_names
from scoter.errors import UsageError, UserError

_BATCH = 8_192
_SLICE = 4_096  # rows converted to Python objects at a time
_NO_VALUES: Mapping[str, Any] = {}
# What changes the state of the session or tells about the machine, although it looks like reading; `query` takes
# another query as a text.
_FORBIDDEN = re.compile(
    r"(?i)\b(?:(?:enable|disable)_\w+|truncate_duckdb_logs|write_log|duckdb_logs\w*|duckdb_log_contexts|parse_duckdb_log\w*"
    r"|duckdb_settings|duckdb_views|duckdb_temporary_files|duckdb_external_file_cache|duckdb_secrets|which_secret"
    r"|duckdb_extensions|duckdb_databases|current_setting|getenv|set_config|sqlite_(?:temp_)?(?:master|schema)|pg_views"
    r"|pg_settings|pg_database|pragma_\w+|(?:force_)?checkpoint|sql_auto_complete|json_execute_serialized_sql"
    r"|information_schema\"?\s*\.\s*\"?views"
    r"|(?:query|query_table|from_substrait\w*)(?=\"?\s*\())"
)
_LITERAL = re.compile(r"(?s)'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1")


class SqlView(Struct, frozen=True):
    """A table that can be queried: its name, and its columns with their SQL types."""

    name: str
    columns: tuple[tuple[str, str], ...]


class QueryResult(Struct, frozen=True):
    """The columns of a result, and its rows as they arrive."""

    columns: tuple[str, ...]
    rows: Iterator[dict[str, Any]]


class SqlSession:
    """A connection that can only read the views made for it."""

    def __init__(self, connection: Any, ctrl_c: CtrlC, names: Sequence[str] = ()) -> None:
        self._connection = connection
        self._ctrl_c = ctrl_c
        self._names = names

    def views(self) -> list[SqlView]:
        """Return the tables that can be queried."""
        found: dict[str, list[tuple[str, str]]] = {}
        sql = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY column_index"
        for table, column, kind in self._connection.execute(sql).fetchall():
            found.setdefault(table, []).append((column, kind))
        return [SqlView(name, tuple(columns)) for name, columns in sorted(found.items())]

    def query(self, query: str, values: Mapping[str, Any] = _NO_VALUES) -> QueryResult:
        """Run one SELECT; ``values`` are bound to its ``$name`` parameters."""
        schema, batches = self.batches(query, values)
        return QueryResult(tuple(schema.names), self._rows(batches))

    def batches(self, query: str, values: Mapping[str, Any] = _NO_VALUES) -> tuple[Any, Iterator[Any]]:
        """Run one SELECT; return the Arrow schema of its result, and its record batches as they arrive."""
        self._check(query)
        with self._translate_errors():
            reader = self._connection.execute(query, dict(values) or None).to_arrow_reader(_BATCH)
        names = _distinct(reader.schema.names)
        fields = (field.with_name(name) for field, name in zip(reader.schema, names, strict=True))
        schema = pa.schema(list(fields))
        return schema, self._named(reader, schema)

    def _named(self, reader: Any, schema: Any) -> Iterator[Any]:
        batches = read_batches(reader)
        while True:
            with self._translate_errors():
                batch = next(batches, None)
            if batch is None:
                return
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def _rows(self, batches: Iterator[Any]) -> Iterator[dict[str, Any]]:
        for batch in batches:
            for start in range(0, batch.num_rows, _SLICE):
                try:
                    rows = batch.slice(start, _SLICE).to_pylist(maps_as_pydicts="lossy")
                except OverflowError as failure:
                    hint = "Convert it to text: CAST(... AS VARCHAR)."
                    raise UsageError("a time is after the year 9999", where="SQL", hint=hint) from failure
                yield from rows

    def _check(self, query: str) -> None:
        if any("\ud800" <= character <= "\udfff" for character in query):
            raise UsageError("the query is not valid UTF-8", where="SQL")
        with self._translate_errors():
            statements = self._connection.extract_statements(query)
        # For a PIVOT, DuckDB puts a statement in front that creates a temporary type, and that has no text.
        *before, last = statements or [None]
        is_select = last is not None and last.type == duckdb.StatementType.SELECT
        if not is_select or any(each.type != duckdb.StatementType.CREATE or each.query for each in before):
            raise UsageError("the session is read-only", where="SQL", hint="Pass a single SELECT.")
        if found := _FORBIDDEN.search(_LITERAL.sub(_without_content, query)):
            name = found[0].rstrip("( \t\r\n")
            raise UsageError(f"{name} cannot be used here", where="SQL", hint="Query the tables of this directory.")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as failure:
            hint = "Raise the limit, for example: -D engine.memory_limit=8GiB"
            raise UserError(
                f"the query needs more memory than it may use: {_message(failure).partition(chr(10))[0]}", hint=hint
            ) from failure
        except duckdb.CatalogException as failure:
            names = self._names or [view.name for view in self.views()]
            hint = f"Tables: {', '.join(names)}."
            raise UsageError(_message(failure), where="SQL", hint=hint) from failure
        except duckdb.PermissionException as failure:
            hint = "A query can read only the tables of this directory."
            raise UsageError(_message(failure), where="SQL", hint=hint) from failure
        except (duckdb.Error, RuntimeError) as failure:
            if is_interrupt(failure):
                if self._ctrl_c.seen:
                    raise KeyboardInterrupt from failure
                # When one thread of a query fails, DuckDB interrupts the others, and may report only that.
                raise UsageError("the query failed", where="SQL", hint="Run it again to see why.") from failure
            if not isinstance(failure, duckdb.Error):
                raise
            raise UsageError(_message(failure), where="SQL") from failure


@contextmanager
def open_session(
    make_views: Callable[[Any], Sequence[str]],
    *,
    spill: Path,
    memory_limit: int,
    spill_limit: int | None = None,
    names: Sequence[str] = (),
) -> Iterator[SqlSession]:
    """Open a read-only session; ``make_views`` creates its views and returns the files behind them.

    ``spill_limit`` is the size of its temporary files, most of the free disk space by default. ``names`` are the views
    that an error lists, if not only those that were created.
    """
    config: dict[str, Any] = {
        "memory_limit": f"{memory_limit // 2**20}MiB",
        "temp_directory": str(spill),
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
    }
    if spill_limit is not None:
        config["max_temp_directory_size"] = f"{spill_limit // 2**20}MiB"
    connection = duckdb.connect(config=config)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        allowed = ", ".join(map(quoted, make_views(connection)))
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        with watch_ctrl_c() as ctrl_c:
            yield SqlSession(connection, ctrl_c, names)
    finally:
        connection.interrupt()  # close() would wait for a query that Ctrl-C left running
        connection.close()


def add_view(connection: Any, name: str, select: str) -> None:
    """Create a view of a query."""
    connection.execute(f"CREATE VIEW {name} AS {select}")


def view_query(
    connection: Any,
    files: Sequence[str],
    schema: Any,
    added: Mapping[str, str] = _NO_VALUES,
    *,
    replaced: Sequence[str] = (),
) -> str:
    """Return a SELECT over files: the columns of a schema, then any others that the files have.

    ``added`` are text columns in front: name → SQL expression over ``_file``, the path of the row's file. ``replaced``
    are the files with the positions of rows to leave out.
    """
    wanted = type_names(schema)
    if not files:
        absent = [
            f"NULL::{kind} AS {quoted_name(name)}"
            for name, kind in {**dict.fromkeys(added, "VARCHAR"), **wanted}.items()
        ]
        return f"SELECT {', '.join(absent)} WHERE false"
    source = live_sql(files, replaced, "union_by_name = true, hive_partitioning = false, filename = '_file'")
    with _name_damaged_file(files):
        described = connection.execute(f"DESCRIBE SELECT * EXCLUDE (_file) FROM {source}").fetchall()
    stored = [row[0] for row in described]
    columns = [f"{expression} AS {quoted_name(name)}" for name, expression in added.items()]
    columns += [
        quoted_name(name) if name in stored else f"NULL::{kind} AS {quoted_name(name)}" for name, kind in wanted.items()
    ]
    columns += [quoted_name(name) for name in stored if name not in wanted]
    return f"SELECT {', '.join(columns)} FROM {source}"


@contextmanager
def _name_damaged_file(files: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as failure:
        if is_interrupt(failure):
            raise KeyboardInterrupt from failure
        for file in files:  # DuckDB does not always name the file
            read_footer(file)
        raise


def _distinct(names: Sequence[str]) -> list[str]:
    """Return unique names: repeated ones get a number, as in DuckDB's own tables."""
    found: list[str] = []
    for name in names:
        number = names[: len(found)].count(name)
        found.append(f"{name}_{number}" if number else name)
    return found


def _without_content(found: re.Match[str]) -> str:
    """Return what stands for a literal or a comment."""
    return " " if found[0].startswith(("-", "/")) else "''"


def _message(failure: Exception) -> str:
    """Return DuckDB's message and the line that it points to, without stack trace and suggested system tables."""
    text = str(failure).partition("\n\nStack Trace")[0]
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("Did you mean"))
