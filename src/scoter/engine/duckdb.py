"""The embedded engine: DuckDB in this process, within a memory limit, spilling to a folder of its own."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import itertools
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

import duckdb
import ibis
import ibis.expr.operations as ops
import pyarrow.parquet as pq

from scoter.core.display import size
from scoter.engine.ibis_compat import as_told, import_few_compilers, told_schema, with_literals_stored
from scoter.engine.monitor import Steps, streamed, telling
from scoter.engine.port import Job, Progress, Rows
from scoter.engine.portable import named_moment
from scoter.engine.sources import Alike, Source, Survey, cuts, how_many, one_key_in, sample, survey
from scoter.engine.sql import cast_sql, number_sql, quoted, scan_sql, within_sql
from scoter.store import disk
from scoter.store.tables import NewVersion

ROW_GROUP = 122_880
_BATCH = 65_536
_SORTED_BY = ("key", "url")
_RANGE = "range_of_key"
_INPUT = "input_"
_OUTSIDE = 2**28
"""Memory that DuckDB does not count: the interpreter and its libraries, Parquet writers, what allocators keep."""
_A_THREAD = 2**27
"""The least memory that DuckDB's guide advises for each thread."""
_SETTINGS = (
    "SET GLOBAL TimeZone = 'UTC'",
    # Progress is reckoned only for a bar, and the bar is printed unless it is told not to.
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET progress_bar_time = 0",
    # A sorted table's footers are read again for every range otherwise.
    "SET GLOBAL parquet_metadata_cache = true",
)


class DuckDbEngine:
    """Runs jobs in this process."""

    name = "duckdb"

    def __init__(
        self,
        folder: Path,
        memory_limit: int,
        *,
        threads: int | None = None,
        ranges: int | None = None,
        progress: Progress = lambda share: None,
    ) -> None:
        """Spill into a folder, made if need be; ``ranges`` overrides the number that follows from the memory."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="duckdb-", dir=folder))
        self._memory_limit = memory_limit
        self._ranges = ranges
        self._progress = progress
        self._numbers = itertools.count(1)
        self._made: list[tuple[str, Path | None]] = []
        self._spelled: dict[Any, Mapping[str, str]] = {}
        self._columns: dict[Any, Any] = {}
        self._known: WeakKeyDictionary[Job, dict[Hashable, str]] = WeakKeyDictionary()
        """The queries of jobs, by the columns of their inputs."""
        own = max(memory_limit - _OUTSIDE, memory_limit // 2)
        import_few_compilers()
        self.ibis = ibis.duckdb.connect(
            threads=threads or max(1, min(len(os.sched_getaffinity(0)), own // _A_THREAD)),
            memory_limit=f"{own // 2**20}MiB",
            temp_directory=str(self._folder / "spill"),
            # With it a COPY keeps whole inputs in memory; where an order is wanted, the query says so.
            preserve_insertion_order=False,
            autoinstall_known_extensions=False,
        )
        for setting in _SETTINGS:
            self._run(setting)

    def __repr__(self) -> str:
        return f"DuckDbEngine({self._folder}, {size(self._memory_limit)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(duckdb.Error):  # closed already
            self.ibis.con.interrupt()  # else it waits for what Ctrl-C has left at work
        self.ibis.disconnect()
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, source: Source) -> Rows:
        return self._view(source.schema, scan_sql(survey(source).alike, self._types(source.schema)))

    def write(self, job: Job, inputs: Mapping[str, Source | datetime], new: NewVersion) -> None:
        surveys = {name: survey(each) for name, each in inputs.items() if isinstance(each, Source)}
        times = {name: each for name, each in inputs.items() if isinstance(each, datetime)}
        edges = self._edges(list(surveys.values()))
        unsorted = sum(not each.source.is_sorted for each in surveys.values()) if edges else 0
        steps = Steps(self._progress, unsorted + len(edges) + 1)
        dealing = self._folder / self._new_name()
        try:
            dealt = {name: self._dealt(each, edges, dealing / name, steps) for name, each in surveys.items()}
            for number in range(len(edges) + 1):
                with self._forgetting():
                    query = self._query(job, surveys, {name: scan(number) for name, scan in dealt.items()}, times)
                    file = new.workspace / f"{number:05d}.parquet"
                    if self._copy(query, new.schema, file, _SORTED_BY, steps):
                        new.adopt(file)
                for done in dealing.glob(f"*/{_RANGE}={number}"):
                    shutil.rmtree(done, ignore_errors=True)
        finally:
            shutil.rmtree(dealing, ignore_errors=True)

    def save(self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = ()) -> int:
        return self._copy(self._compiled(rows), schema, file, order, Steps(self._progress, 1))

    def batches(self, rows: Rows) -> Iterator[Any]:
        sql, told = self._compiled(rows), told_schema(rows)
        # A connection of its own: another query on the same one would end this one's rows.
        with telling(self._folder), self.ibis.con.cursor() as cursor:
            try:
                for batch in streamed(cursor.execute(sql).to_arrow_reader(_BATCH)):
                    yield as_told(batch, told)
            finally:
                cursor.interrupt()  # closing waits for whatever is still at work, of which nobody wants the rest

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        return self._kept((function(batch) for batch in self.batches(rows)), schema)

    def _edges(self, surveys: Sequence[Survey]) -> list[str]:
        """Return the keys at which the inputs of a job are cut into ranges."""
        ranges = self._ranges or how_many(
            math.ceil(sum(each.size * each.source.weight for each in surveys)), self._memory_limit
        )
        if ranges == 1:
            return []
        one_in = one_key_in(sum(each.rows for each in surveys))
        return cuts([key for each in surveys for key in sample(each, one_in, ranges)], ranges)

    def _dealt(self, survey: Survey, edges: Sequence[str], folder: Path, steps: Steps) -> Callable[[int], str]:
        """Return the SQL that scans a source's rows of a range; what is not sorted is dealt out to ranges first."""
        types = self._types(survey.source.schema)
        scan = scan_sql(survey.alike, types)
        if not edges:
            return lambda number: scan
        if survey.source.is_sorted:
            return lambda number: f"SELECT * FROM ({scan}) WHERE {within_sql(edges, number)}"
        folder.mkdir(parents=True)
        with steps.watched(self.ibis.con):
            self._run(
                f"COPY (SELECT *, {number_sql(edges)} AS {_RANGE} FROM ({scan})) TO {quoted(str(folder))}"
                f" (FORMAT parquet, COMPRESSION lz4, PARTITION_BY {_RANGE}, OVERWRITE_OR_IGNORE)"
            )

        def of_range(number: int) -> str:
            files = tuple(map(str, sorted((folder / f"{_RANGE}={number}").glob("*.parquet"))))
            return scan_sql([Alike(files)] if files else [], types)

        return of_range

    def _query(
        self, job: Job, surveys: Mapping[str, Survey], scans: Mapping[str, str], times: Mapping[str, datetime]
    ) -> str:
        """Return a job's query over inputs, which get names that are always the same; made once, if it can be."""
        for name, time in times.items():
            self._run(f"CREATE OR REPLACE MACRO {_INPUT}{name}() AS CAST({quoted(time.isoformat())} AS TIMESTAMPTZ)")
        for name, scan in scans.items():
            self._create(_INPUT + name, scan)
        columns = tuple((name, tuple(self._types(each.source.schema).items())) for name, each in surveys.items())
        key = (columns, *times)
        known = self._known.setdefault(job, {})
        if key not in known:
            before = len(self._made)
            tables = {name: self._table(_INPUT + name, each.source.schema) for name, each in surveys.items()}
            query = self._compiled(job({**tables, **{name: named_moment(_INPUT + name) for name in times}}))
            if len(self._made) > before:
                return query  # it asks for something that was made for this time alone
            known[key] = query
        return known[key]

    def _types(self, schema: Any) -> Mapping[str, str]:
        """Return the columns of a schema with their types as DuckDB spells them."""
        known = self._spelled.get(schema)
        if known is None:
            spelled = self.ibis.compiler.type_mapper.to_string
            known = {name: spelled(kind) for name, kind in ibis.Schema.from_pyarrow(schema).items()}
            self._spelled[schema] = known
        return known

    def _view(self, schema: Any, sql: str, file: Path | None = None) -> Rows:
        name = self._new_name()
        self._create(name, sql, file)
        return self._table(name, schema)

    def _table(self, name: str, schema: Any) -> Rows:
        """Return a view whose columns are known; Ibis would ask DuckDB for them each time."""
        columns = self._columns.get(schema)
        if columns is None:
            read = self.ibis.compiler.type_mapper.from_string
            columns = ibis.schema({column: read(kind) for column, kind in self._types(schema).items()})
            self._columns[schema] = columns
        return ops.DatabaseTable(name, schema=columns, source=self.ibis, namespace=ops.Namespace()).to_expr()

    def _create(self, name: str, sql: str, file: Path | None = None) -> None:
        self._run(f"CREATE VIEW {name} AS {sql}")
        self._made.append((name, file))

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """Drop the views that were made inside, and the files that were written for them."""
        before = len(self._made)
        try:
            yield
        finally:
            while len(self._made) > before:
                name, file = self._made.pop()
                with suppress(duckdb.Error, OSError):  # what could not be removed goes with the engine's folder
                    self.ibis.con.execute(f"DROP VIEW {name}")
                    if file is not None:
                        file.unlink()

    def _copy(self, query: str, schema: Any, file: Path, order: Sequence[str], steps: Steps) -> int:
        """Write the rows of a query as a Parquet file of a schema; it is one step."""
        wanted = cast_sql(query, self._types(schema))
        ordered = f"{wanted} ORDER BY {', '.join(order)}" if order else wanted
        try:
            with steps.watched(self.ibis.con):
                return int(
                    self._run(
                        f"COPY ({ordered}) TO {quoted(str(file))}"
                        f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
                    ).fetchone()[0]
                )
        except BaseException:
            with suppress(OSError):
                file.unlink()
            raise

    def _compiled(self, rows: Rows) -> str:
        # DuckDB flattens selects by itself, and Ibis takes a third of its time for it; Spark needs it done.
        before, ibis.options.sql.fuse_selects = ibis.options.sql.fuse_selects, False
        try:
            return str(self.ibis.compile(with_literals_stored(rows, self._stored)))
        finally:
            ibis.options.sql.fuse_selects = before

    def _stored(self, table: Any) -> Rows:
        return self._kept(table.to_batches(), table.schema)

    def _kept(self, batches: Iterable[Any], schema: Any) -> Rows:
        """Put record batches into a file, and return its rows."""
        file = self._folder / f"{self._new_name()}.parquet"
        with (
            disk.disk_errors("write temporary rows", file),
            pq.ParquetWriter(file, schema, compression="lz4") as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
        return self._view(schema, scan_sql([Alike((str(file),))], self._types(schema)), file)

    def _new_name(self) -> str:
        return f"t{next(self._numbers)}"

    def _run(self, sql: str) -> Any:
        with telling(self._folder):
            return self.ibis.con.execute(sql)
