"""A SQL workspace: tables that are made step by step in a temporary DuckDB database, within a memory limit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from scoter.engine.monitor import read_batches, translate_errors
from scoter.engine.session import view_query
from scoter.engine.sql import quoted, quoted_name
from scoter.store.disk import Closing
from scoter.store.objects.path import StorePath

_BATCH = 8_192
_OVERHEAD = 2**28  # memory that DuckDB does not count, as in ``duckdb.py``
_SETTINGS = ("SET TimeZone = 'UTC'", "SET preserve_insertion_order = false", "SET enable_progress_bar = false")


class SqlWorkspace(Closing):
    """Tables in a temporary database on disk, made from Parquet files and from each other.

    Memory is bounded: what does not fit is spilled to the folder.
    """

    def __init__(self, folder: Path, memory_limit: int, store: Path | None = None) -> None:
        """``store`` is a path in the object store that files may be read from."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder = Path(tempfile.mkdtemp(prefix="workspace-", dir=folder))
        self._connection = duckdb.connect(
            str(folder / "workspace.duckdb"),
            config={
                "memory_limit": f"{max(memory_limit - _OVERHEAD, memory_limit // 2) // 2**20}MiB",
                "temp_directory": str(folder / "spill"),
                "autoinstall_known_extensions": "false",
                "python_enable_replacements": "false",
            },
        )
        for setting in _SETTINGS:
            self._connection.execute(setting)
        if isinstance(store, StorePath):
            from scoter.store.objects.query_files import QueryFiles  # fsspec is slow to import

            self._connection.register_filesystem(QueryFiles(store.client))

    def close(self) -> None:
        self._connection.interrupt()  # close() would wait for a query that Ctrl-C left running
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a statement."""
        with translate_errors(self._folder):
            self._connection.execute(sql, None if values is None else dict(values))

    def table(self, name: str, query: str) -> None:
        """Make a table of a query."""
        self.run(f"CREATE OR REPLACE TABLE {quoted_name(name)} AS {query}")

    def view(self, name: str, query: str) -> None:
        """Make a view of a query."""
        self.run(f"CREATE OR REPLACE VIEW {quoted_name(name)} AS {query}")

    def files(self, name: str, files: Sequence[str], schema: Any) -> None:
        """Make a view of Parquet files, with the columns of a schema."""
        with translate_errors(self._folder):
            self.view(name, view_query(self._connection, files, schema))

    def value(self, query: str, values: Mapping[str, Any] | None = None) -> Any:
        """Return the first value of the first row."""
        with translate_errors(self._folder):
            row = self._connection.execute(query, None if values is None else dict(values)).fetchone()
        return None if row is None else row[0]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small result."""
        with translate_errors(self._folder):
            found: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        return found

    def batches(self, query: str) -> Iterator[Any]:
        """Yield the rows of a query as Arrow record batches."""
        with translate_errors(self._folder), self._connection.cursor() as cursor:
            yield from read_batches(cursor.execute(query).to_arrow_reader(_BATCH))

    @contextmanager
    def arrow(self, name: str, table: Any) -> Iterator[None]:
        """Make an Arrow table readable as a view while the context is open."""
        self._connection.register(name, table)
        try:
            yield
        finally:
            self._connection.unregister(name)

    def save(self, query: str, file: Path) -> None:
        """Write the rows of a query to a Parquet file, in its order."""
        self.run("SET preserve_insertion_order = true")
        try:
            self.run(f"COPY ({query}) TO {quoted(str(file))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)")
        finally:
            self.run("SET preserve_insertion_order = false")
