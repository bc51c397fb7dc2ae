"""Questions in SQL over Parquet files, as views of DuckDB: nothing but these can be read, and nothing written."""
# mypy: disable-error-code="import-untyped"
# ruff: noqa: S608 - SQL is what it is made of; texts in it are quoted

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from msgspec import Struct

from scoter.engine.monitor import is_interrupt, streamed
from scoter.engine.sql import name_sql, quoted
from scoter.errors import UsageError, UserError

_BATCH = 8_192
_PIECE = 4_096  # rows that are Python objects at once
_NOTHING: Mapping[str, Any] = {}


class View(Struct, frozen=True):
    """A table that can be asked: its name, and its columns with their types in SQL."""

    name: str
    columns: tuple[tuple[str, str], ...]


class Answer(Struct, frozen=True):
    """The columns of an answer, and its rows as they come."""

    columns: tuple[str, ...]
    rows: Iterator[dict[str, Any]]


class Session:
    """Tables that can be asked until they are closed."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def views(self) -> list[View]:
        """Return what can be asked."""
        found: dict[str, list[tuple[str, str]]] = {}
        sql = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY column_index"
        for table, column, kind in self._connection.execute(sql).fetchall():
            found.setdefault(table, []).append((column, kind))
        return [View(name, tuple(columns)) for name, columns in sorted(found.items())]

    def ask(self, query: str, values: Mapping[str, Any] = _NOTHING) -> Answer:
        """Return the answer to one SELECT; ``values`` stand where it says ``$name``."""
        self._check(query)
        with self._telling():
            reader = self._connection.execute(query, dict(values) or None).to_arrow_reader(_BATCH)
        return Answer(tuple(_distinct(reader.schema.names)), self._rows(reader))

    def _rows(self, reader: Any) -> Iterator[dict[str, Any]]:
        batches = streamed(reader)
        while True:
            with self._telling():
                batch = next(batches, None)
            if batch is None:
                return
            names = _distinct(batch.schema.names)
            if names != batch.schema.names:
                batch = pa.RecordBatch.from_arrays(batch.columns, names=names)
            for start in range(0, batch.num_rows, _PIECE):
                try:
                    rows = batch.slice(start, _PIECE).to_pylist(maps_as_pydicts="lossy")
                except OverflowError as failure:
                    hint = "Make it a text: CAST(... AS VARCHAR)."
                    raise UsageError("a time lies beyond the year 9999", where="SQL", hint=hint) from failure
                yield from rows

    def _check(self, query: str) -> None:
        if any("\ud800" <= character <= "\udfff" for character in query):
            raise UsageError("it holds bytes that are not UTF-8", where="SQL")
        with self._telling():
            kinds = [each.type for each in self._connection.extract_statements(query)]
        # DuckDB makes a temporary type for a PIVOT, and says so as a statement in front of it.
        *before, last = kinds or [None]
        select, create = duckdb.StatementType.SELECT, duckdb.StatementType.CREATE
        if last != select or any(each != create for each in before):
            raise UsageError(
                "only one question is answered at a time, and nothing is changed", hint="Write one SELECT."
            )

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as failure:
            hint = "Give it more, for example: -D engine.memory_limit=8GiB"
            raise UserError(f"the query does not fit into its memory: {_told(failure)}", hint=hint) from failure
        except duckdb.CatalogException as failure:
            hint = f"There are {', '.join(view.name for view in self.views())}."
            raise UsageError(_told(failure), where="SQL", hint=hint) from failure
        except duckdb.PermissionException as failure:
            hint = "Only the tables of this directory can be read."
            raise UsageError(_told(failure), where="SQL", hint=hint) from failure
        except (duckdb.Error, RuntimeError) as failure:
            if is_interrupt(failure):
                raise KeyboardInterrupt from failure
            if not isinstance(failure, duckdb.Error):
                raise
            raise UsageError(_told(failure), where="SQL") from failure


@contextmanager
def asking(make_views: Callable[[Any], Sequence[str]], *, spill: Path, memory_limit: int) -> Iterator[Session]:
    """Open tables for questions; ``make_views`` makes views on a connection and returns the files behind them."""
    connection = duckdb.connect(
        config={
            "memory_limit": f"{memory_limit // 2**20}MiB",
            "temp_directory": str(spill),
            "autoinstall_known_extensions": "false",
            "python_enable_replacements": "false",
        }
    )
    try:
        connection.execute("SET TimeZone = 'UTC'")
        allowed = ", ".join(map(quoted, make_views(connection)))
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield Session(connection)
    finally:
        connection.interrupt()  # closing waits for whatever Ctrl-C has left at work
        connection.close()


def add_view(connection: Any, name: str, select: str) -> None:
    """Make a query a view."""
    connection.execute(f"CREATE VIEW {name} AS {select}")


def scan(connection: Any, files: Sequence[str], schema: Any, told: Mapping[str, str] = _NOTHING) -> str:
    """Return the SELECT over files that has all the columns of a schema, and others that they have after them.

    ``told`` are columns in front of them, of text, by what makes them of ``_file``, the path of a row's file.
    """
    connection.register("shape", schema.empty_table())
    wanted = {row[0]: row[1] for row in connection.execute("DESCRIBE SELECT * FROM shape").fetchall()}
    connection.unregister("shape")
    if not files:
        absent = [
            f"NULL::{kind} AS {name_sql(name)}" for name, kind in {**dict.fromkeys(told, "VARCHAR"), **wanted}.items()
        ]
        return f"SELECT {', '.join(absent)} WHERE false"
    listed = ", ".join(map(quoted, files))
    source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false, filename = '_file')"
    with _naming_what_is_damaged(files):
        described = connection.execute(f"DESCRIBE SELECT * EXCLUDE (_file) FROM {source}").fetchall()
    stored = [row[0] for row in described]
    columns = [f"{expression} AS {name_sql(name)}" for name, expression in told.items()]
    columns += [
        name_sql(name) if name in stored else f"NULL::{kind} AS {name_sql(name)}" for name, kind in wanted.items()
    ]
    columns += [name_sql(name) for name in stored if name not in wanted]
    return f"SELECT {', '.join(columns)} FROM {source}"


@contextmanager
def _naming_what_is_damaged(files: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as failure:
        if is_interrupt(failure):
            raise KeyboardInterrupt from failure
        from scoter.engine.sources import footer

        for file in files:  # DuckDB does not always say which of them it was reading
            footer(file)
        raise


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of which none stands twice: what follows gets a number, as in DuckDB's own tables."""
    found: list[str] = []
    for name in names:
        number = names[: len(found)].count(name)
        found.append(f"{name}_{number}" if number else name)
    return found


def _told(failure: Exception) -> str:
    """Return DuckDB's message with the line it points into, without its stack and its guesses at system tables."""
    text = str(failure).partition("\n\nStack Trace")[0]
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("Did you mean"))
