"""Makes DuckDB SQL of expressions; the only module of the embedded engine that imports Ibis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import ibis
import ibis.expr.operations as ops

from scoter.engine.ibis_compat import arrow_schema, import_compilers_lazily, store_memtables
from scoter.engine.port import Rows
from scoter.engine.portable import named_timestamp
from scoter.plugins.recorded import real, time


class DuckDbCompiler:
    """Makes tables of views, and SQL of the expressions over them."""

    def __init__(self, connection: Any) -> None:
        import_compilers_lazily()
        self._ibis = ibis.duckdb.from_connection(connection)
        self._schemas: dict[tuple[tuple[str, str], ...], Any] = {}

    def table(self, name: str, types: Mapping[str, str]) -> Rows:
        """Return a view with these columns."""
        key = tuple(types.items())
        columns = self._schemas.get(key)
        if columns is None:
            read = self._ibis.compiler.type_mapper.from_string
            columns = self._schemas[key] = ibis.schema({column: read(kind) for column, kind in key})
        return ops.DatabaseTable(name, schema=columns, source=self._ibis, namespace=ops.Namespace()).to_expr()

    def compile(
        self, rows: Rows, store: Callable[[Iterable[Any], Any], Rows], times: Sequence[datetime], token: str
    ) -> tuple[str, Any]:
        """Return the SQL of an expression, with places for times (``sql.filled``), and the schema of its result."""
        schema = arrow_schema(rows)
        places = {
            real(time(each)).op(): real(named_timestamp(f"time_{token}_{number}_")).op()
            for number, each in enumerate(times)
        }
        if places:
            rows = rows.op().replace(places).to_expr()
        # DuckDB flattens selects itself, and Ibis spends a third of its time on it; Spark needs it.
        before, ibis.options.sql.fuse_selects = ibis.options.sql.fuse_selects, False
        try:
            return str(self._ibis.compile(store_memtables(rows, store))), schema
        finally:
            ibis.options.sql.fuse_selects = before


def ibis_type_names(schema: Any) -> Mapping[str, str]:
    """Return the columns of an Arrow schema with their types in DuckDB."""
    import_compilers_lazily()
    from ibis.backends.sql.datatypes import DuckDBType

    return {name: DuckDBType.to_string(kind) for name, kind in ibis.Schema.from_pyarrow(schema).items()}
