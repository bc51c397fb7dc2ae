"""Questions in SQL: DuckDB over the tables of a crawl, as views; nothing but these can be read, and nothing written."""
# mypy: disable-error-code="import-untyped"
# ruff: noqa: S608 - SQL is what it is made of; texts in it are quoted

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.counted import counted
from scoter.batch.directory import CrawlDir
from scoter.batch.dumping import rows
from scoter.engine.sql import name_sql, quoted
from scoter.errors import UsageError, UserError
from scoter.store.scratch import Scratch
from scoter.store.tables import Table

_SEGMENTS = pa.schema(
    [
        ("segment", pa.utf8()),
        ("created", schemas.TIME),
        ("lists", pa.int32()),
        ("urls", pa.int64()),
        ("made_by", pa.utf8()),
        ("partition", pa.utf8()),
        ("is_fetched", pa.bool_()),
        ("is_parsed", pa.bool_()),
        ("is_applied", pa.bool_()),
    ]
)
_BATCH = 8_192


class View(Struct, frozen=True):
    """A table that can be asked: its name, and its columns with their types in SQL."""

    name: str
    columns: tuple[tuple[str, str], ...]


class Answer(Struct, frozen=True):
    """The columns of an answer, and its rows as they come."""

    columns: tuple[str, ...]
    rows: Iterator[dict[str, Any]]


class Session:
    """A crawl that can be asked until it is closed."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def views(self) -> list[View]:
        """Return what can be asked."""
        found: dict[str, list[tuple[str, str]]] = {}
        sql = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY column_index"
        for table, column, kind in self._connection.execute(sql).fetchall():
            found.setdefault(table, []).append((column, kind))
        return [View(name, tuple(columns)) for name, columns in sorted(found.items())]

    def ask(self, query: str) -> Answer:
        """Return the answer to one SELECT."""
        self._check(query)
        with self._telling():
            reader = self._connection.execute(query).to_arrow_reader(_BATCH)
        return Answer(tuple(_distinct(reader.schema.names)), rows(self._batches(reader)))

    def _batches(self, reader: Any) -> Iterator[Any]:
        while True:
            with self._telling():
                batch = next(reader, None)
            if batch is None:
                return
            names = _distinct(batch.schema.names)
            yield batch if names == batch.schema.names else pa.RecordBatch.from_arrays(batch.columns, names=names)

    def _check(self, query: str) -> None:
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
            hint = "Only the crawl's own tables can be read."
            raise UsageError(_told(failure), where="SQL", hint=hint) from failure
        except duckdb.Error as failure:
            raise UsageError(_told(failure), where="SQL") from failure


@contextmanager
def sql(crawl: CrawlDir, *, memory_limit: int) -> Iterator[Session]:
    """Open a crawl for questions: the views crawldb, linkdb, segments, fetches, pages and outlinks."""
    with ExitStack() as stack:
        spill = _spill(crawl)
        stack.callback(spill.close)
        connection = duckdb.connect(
            config={
                "memory_limit": f"{memory_limit // 2**20}MiB",
                "temp_directory": str(spill.path),
                "autoinstall_known_extensions": "false",
                "python_enable_replacements": "false",
            }
        )
        stack.callback(connection.close)
        connection.execute("SET TimeZone = 'UTC'")
        files = _make_views(connection, crawl, stack)
        allowed = ", ".join(map(quoted, files))
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield Session(connection)


def _make_views(connection: Any, crawl: CrawlDir, stack: ExitStack) -> list[str]:
    """Make every view, and return the files behind them."""
    applied: Sequence[str] = ()
    files: list[str] = []
    for name, path, schema in (
        ("crawldb", crawl.crawldb, schemas.CRAWLDB),
        ("linkdb", crawl.linkdb, schemas.LINKDB),
    ):
        found: tuple[str, ...] = ()
        if path.exists():
            table = stack.enter_context(Table.open(path))
            found = table.files
            applied = table.manifest.applied if name == "crawldb" else applied
        _view(connection, name, _scan(connection, found, schema))
        files += found
    segments = crawl.all_segments()
    parts = counted(segments)
    for name, source in (("fetches", parts.fetch), ("outlinks", parts.links)):
        _view(connection, name, _scan(connection, source.files, source.schema, segment=True))
    data, text = (
        _scan(connection, each.files, each.schema, segment=True) for each in (parts.parse_data, parts.parse_text)
    )
    texts = f"SELECT segment, url, text, main_text FROM ({text})"
    _view(connection, "pages", f"SELECT * FROM ({data}) LEFT JOIN ({texts}) USING (segment, url)")
    for source in (parts.fetch, parts.links, parts.parse_data, parts.parse_text):
        files += source.files
    _segments_table(connection, crawl, applied)
    return files


def _segments_table(connection: Any, crawl: CrawlDir, applied: Sequence[str]) -> None:
    known = []
    for segment in crawl.all_segments():
        about = segment.about()
        facts = (about.created, about.lists, about.urls, about.made_by, about.partition)
        known.append((segment.name, *facts, segment.is_fetched, segment.is_parsed, segment.name in applied))
    columns = [list(column) for column in zip(*known, strict=True)] or [[] for _ in _SEGMENTS]
    table = pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _SEGMENTS, strict=True)], schema=_SEGMENTS
    )
    connection.register("known", table)
    connection.execute("CREATE TABLE segments AS SELECT * FROM known")
    connection.unregister("known")


def _view(connection: Any, name: str, select: str) -> None:
    connection.execute(f"CREATE VIEW {name} AS {select}")


def _scan(connection: Any, files: Sequence[str], schema: Any, *, segment: bool = False) -> str:
    """Return the SELECT over files that has all the columns of a schema, and those of plug-ins after them."""
    connection.register("shape", schema.empty_table())
    wanted = {row[0]: row[1] for row in connection.execute("DESCRIBE SELECT * FROM shape").fetchall()}
    connection.unregister("shape")
    if not files:
        columns = [f"NULL::{kind} AS {name_sql(name)}" for name, kind in wanted.items()]
        return f"SELECT {'NULL::VARCHAR AS segment, ' * segment}{', '.join(columns)} WHERE false"
    listed = ", ".join(map(quoted, files))
    scan = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false, filename = '_file')"
    described = connection.execute(f"DESCRIBE SELECT * EXCLUDE (_file) FROM {scan}").fetchall()
    stored = [row[0] for row in described]
    columns = [
        name_sql(name) if name in stored else f"NULL::{kind} AS {name_sql(name)}" for name, kind in wanted.items()
    ]
    columns += [name_sql(name) for name in stored if name not in wanted]
    if segment:
        columns.insert(0, "parse_path(_file)[-3] AS segment")
    return f"SELECT {', '.join(columns)} FROM {scan}"


def _spill(crawl: CrawlDir) -> Scratch:
    try:
        return Scratch(crawl.scratch, "sql")
    except UserError:  # a crawl that cannot be written to can be asked all the same
        return Scratch(Path(tempfile.gettempdir()), "scoter-sql")


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
