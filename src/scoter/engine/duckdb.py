"""The embedded engine: DuckDB in this process, within a memory limit, spilling to its own folder."""

from __future__ import annotations

import itertools
import math
import os
import re
import secrets
import shutil
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa
from msgspec.structs import replace

from scoter.core.display import size
from scoter.engine.batches import cast_batch
from scoter.engine.monitor import JobProgress, read_batches, translate_errors
from scoter.engine.port import BATCH, Job, Progress, Rows
from scoter.engine.portable import named_timestamp
from scoter.engine.sources import (
    STORED_ROW,
    SourceSurvey,
    TableSource,
    UniformFiles,
    local_source,
    range_count,
    range_edges,
    sample_keys,
    sample_step,
    survey,
)
from scoter.engine.sql import cast_sql, emptied, filled, in_range_sql, quoted, range_number_sql, scan_sql, with_sql
from scoter.engine.types import type_names
from scoter.errors import OutOfMemory
from scoter.plugins.query_cache import QUERIES
from scoter.plugins.recorded import real, table, written
from scoter.store.disk import Closing
from scoter.store.tables import NewVersion
from scoter.store.tables.parquet import RowGroupWriter, write_batches

ROW_GROUP = 122_880
ROW_GROUP_BYTES = 2**26
"""Bytes of a row group, however much memory there is: a job with less memory must be able to read its pages."""
_DISTINCT = ("key", "url")
"""Columns of sorted tables whose texts are distinct."""
_ORDER = ("key", "hash(url)")
"""How they are sorted: the order of URLs with the same key is arbitrary, and a hash costs less than another text."""
_RANGE = "range_of_key"
_INPUT = "input_"
_OVERHEAD = 2**28
"""Memory that DuckDB does not count: the interpreter and its libraries, Parquet writers, free memory of allocators."""
_MEMORY_PER_THREAD = 2**27
"""The minimum that DuckDB's guide recommends."""
_FOR_THREADS = 2**26
"""Bytes of a source, uncompressed, from which a job uses several threads: on less they mostly wait for each other."""
_ROW_GROUPS = 16
"""A row group takes at most this fraction of the memory before it is written, however long its texts are."""
_DICTIONARY = 2**22
"""Bytes of a column's dictionary in a row group; one of long texts would take hundreds of mebibytes."""
_ROW_BYTES = 64  # that a row in memory takes besides its values
_VECTOR = 2_048  # rows that DuckDB processes at a time
_MIN_WAITING, _MAX_WAITING = 4_096, 524_288
_MAX_SPLITS = 10
_SAMPLE = 1_000
_SETTINGS = (
    "SET GLOBAL TimeZone = 'UTC'",
    # A name in a query must never mean a variable of Python.
    "SET python_enable_replacements = false",
    # DuckDB computes progress only for its progress bar, and prints the bar unless told not to.
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET progress_bar_time = 0",
    # Otherwise the footers of a sorted table are read again for every range.
    "SET GLOBAL parquet_metadata_cache = true",
    # Return freed memory; a job may do other things than queries.
    "SET GLOBAL allocator_background_threads = true",
    # The function of portable.fast_hash.
    "CREATE MACRO fast_hash(text) AS CAST(hash(text) >> 1 AS BIGINT)",
)

_QUERIES: WeakKeyDictionary[Job, dict[Hashable, str]] = WeakKeyDictionary()
"""The queries of jobs by the columns of their inputs, for all engines of this process."""


class _Scan(NamedTuple):
    """A query that reads files, and the temporary file that it reads, if any."""

    sql: str
    file: Path | None = None


class _RangeJob(NamedTuple):
    """A job that runs one key range at a time."""

    job: Job
    surveys: Mapping[str, SourceSurvey]
    times: Mapping[str, datetime]
    new: NewVersion
    progress: JobProgress
    replaced: Path | None


class DuckDbEngine(Closing):
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
        """Spill into a folder, which is created if missing; ``ranges`` overrides the number derived from memory."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="duckdb-", dir=folder))
        self._memory_limit = memory_limit
        self._ranges = ranges
        self._progress = progress
        self._numbers = itertools.count(1)
        self._scans: dict[str, _Scan] = {}
        self._type_names: dict[Any, Mapping[str, str]] = {}
        # Nothing in an expression can look like the name of a scan by chance, or on purpose.
        self._prefix = f"t{secrets.token_hex(8)}_"
        self._names = re.compile(rf'"({self._prefix}\d+_|{_INPUT}\w+)"')
        self._own = own = max(memory_limit - _OVERHEAD, memory_limit // 2)
        self._more_threads = 0 if threads else min(len(os.sched_getaffinity(0)), own // _MEMORY_PER_THREAD)
        self.connection = duckdb.connect(
            config={
                "threads": threads or 1,
                "memory_limit": f"{own // 2**20}MiB",
                "temp_directory": str(self._folder / "spill"),
                # Otherwise a COPY keeps whole inputs in memory; queries that need an order say so.
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
            }
        )
        for setting in _SETTINGS:
            self._run(setting)

    def __repr__(self) -> str:
        return f"DuckDbEngine({self._folder}, {size(self._memory_limit)})"

    def close(self) -> None:
        with suppress(duckdb.Error):  # already closed
            self.connection.interrupt()  # close() would wait for a query that Ctrl-C left running
        self.connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, source: TableSource, *, positions: bool = False) -> Rows:
        source = replace(local_source(source), has_positions=positions)
        schema = source.columns
        return self._scanned(schema, scan_sql(self._survey(source).uniform, self._types(schema), source.numbers()))

    def write(
        self, job: Job, inputs: Mapping[str, TableSource | datetime], new: NewVersion, *, replaced: Path | None = None
    ) -> None:
        sources = {name: local_source(each) for name, each in inputs.items() if isinstance(each, TableSource)}
        surveys = {name: self._survey(each) for name, each in sources.items()}
        times = {name: each for name, each in inputs.items() if isinstance(each, datetime)}
        edges = self._edges(list(surveys.values()))
        partitioned = sum(each.is_partitioned(len(edges) + 1) for each in surveys.values())
        progress = JobProgress(self._progress, partitioned + len(edges) + 1)
        partitions = self._folder / self._new_name()
        try:
            scans = {name: self._range_scan(each, edges, partitions / name, progress) for name, each in surveys.items()}
            run = _RangeJob(job, surveys, times, new, progress, replaced)
            for number in range(len(edges) + 1):
                self._write_range(run, {name: scan(number) for name, scan in scans.items()})
                for done in partitions.glob(f"*/{_RANGE}={number}"):
                    shutil.rmtree(done, ignore_errors=True)
        finally:
            shutil.rmtree(partitions, ignore_errors=True)

    def _write_range(self, run: _RangeJob, scans: Mapping[str, str], splits: int = 0) -> None:
        """Write one range; if it does not fit into memory, write its halves one after the other."""
        file = run.new.workspace / "range.parquet"
        try:
            with self._temporary_scans():
                query = self._query(run.job, run.surveys, scans, run.times)
                row_bytes = max(each.row_bytes for each in run.surveys.values())
                if run.replaced is not None:
                    number = self._copy_parted(query, run, file, run.replaced, row_bytes)
                else:
                    number = self._copy(query, run.new.schema, file, _ORDER, run.progress, row_bytes)
                if number:
                    run.new.adopt(file)
        except OutOfMemory:
            middle = self._middle_key(scans.values()) if splits < _MAX_SPLITS else None
            if middle is None:
                raise
            run.progress.add_step()
            for condition in (f"key < {quoted(middle)}", f"key >= {quoted(middle)}"):
                halves = {name: f"SELECT * FROM ({scan}) WHERE {condition}" for name, scan in scans.items()}
                self._write_range(run, halves, splits + 1)

    def _copy_parted(self, query: str, run: _RangeJob, file: Path, folder: Path, row_bytes: int) -> int:
        """Write the rows of a query to a file, and their columns that do not belong there to one in a folder.

        The rows pass through this process: DuckDB would have to store them before it can write them to two files.
        """
        own = run.new.schema
        wanted = cast_sql(query, self._types(own), rest=True)
        rows, _ = self._row_group(row_bytes)
        with (
            translate_errors(self._folder),
            self.connection.cursor() as cursor,
            run.progress.watch(cursor),
            RowGroupWriter(file, own, rows, plain=_DISTINCT) as into,
        ):
            reader = cursor.execute(f"{wanted} ORDER BY {', '.join(_ORDER)}").to_arrow_reader(BATCH)
            other = pa.schema([field for field in reader.schema if field.name not in own.names])
            with RowGroupWriter(folder / f"{self._new_name()}.parquet", other, ROW_GROUP) as places:
                try:
                    for batch in read_batches(reader):
                        into.write(cast_batch(batch.select(own.names), own))
                        places.write(batch.select(other.names).filter(batch[STORED_ROW].is_valid()))
                except BaseException:
                    cursor.interrupt()  # closing would wait for the rest of the query
                    raise
            return into.rows

    def _middle_key(self, scans: Iterable[str]) -> str | None:
        """Return a key that splits rows into about equal parts; ``None`` if all have the same key."""
        keys = " UNION ALL ".join(f"SELECT key FROM ({scan})" for scan in scans)
        sample = self._run(f"SELECT key FROM ({keys}) USING SAMPLE reservoir({_SAMPLE} ROWS)").fetchall()
        ordered = sorted(key for (key,) in sample if key is not None)
        middle = ordered[len(ordered) // 2 :]
        return next((key for key in middle if key != ordered[0]), None)

    def save(
        self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = (), *, is_temporary: bool = False
    ) -> int:
        progress = JobProgress(self._progress, 1)
        return self._copy(
            self._with_scans(self._compiled(rows)[0]),
            schema,
            file,
            order,
            progress,
            compression="lz4" if is_temporary else "zstd",
        )

    def batches(self, rows: Rows, size: int = BATCH) -> Iterator[Any]:
        sql, schema = self._compiled(rows)
        # Use a separate connection: another query on the same one would end this result.
        with translate_errors(self._folder), self.connection.cursor() as cursor:
            try:
                for batch in read_batches(cursor.execute(self._with_scans(sql)).to_arrow_reader(size)):
                    yield cast_batch(batch, schema)
            finally:
                with suppress(duckdb.Error):  # a reader that ended early may drop this after the engine was closed
                    cursor.interrupt()  # closing would wait for the rest of the query

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        return self._store_batches((function(batch) for batch in self.batches(rows)), schema)

    def _survey(self, source: TableSource) -> SourceSurvey:
        """Survey a source; from the first large one on, use several threads."""
        found = survey(source)
        if self._more_threads > 1 and found.raw >= _FOR_THREADS:
            self._run(f"SET threads = {self._more_threads}")
            self._more_threads = 0
        return found

    def _edges(self, surveys: Sequence[SourceSurvey]) -> list[str]:
        """Return the keys at which to cut the inputs of a job into ranges."""
        ranges = self._ranges or range_count(
            math.ceil(sum(each.size * each.source.weight for each in surveys)), self._own
        )
        if ranges == 1:
            return []
        step = sample_step(sum(each.rows for each in surveys))
        return range_edges([key for each in surveys for key in sample_keys(each, step, ranges)], ranges)

    def _range_scan(
        self, survey: SourceSurvey, edges: Sequence[str], folder: Path, progress: JobProgress
    ) -> Callable[[int], str]:
        """Return a function from a range number to the SQL that scans it; partition sources first if necessary."""
        types = self._types(survey.source.columns)
        scan = scan_sql(survey.uniform, types, survey.source.numbers())
        if not edges:
            return lambda number: scan
        if not survey.is_partitioned(len(edges) + 1):
            nulls = not survey.source.is_sorted
            return lambda number: f"SELECT * FROM ({scan}) WHERE {in_range_sql(edges, number, has_nulls=nulls)}"
        folder.mkdir(parents=True)
        # Rows wait in memory, uncounted, until so many are there to be written to their partitions.
        waiting = self._own // _ROW_GROUPS // (survey.row_bytes + _ROW_BYTES)
        self._run(f"SET partitioned_write_flush_threshold = {max(_MIN_WAITING, min(waiting, _MAX_WAITING))}")
        with progress.watch(self.connection):
            self._run(
                f"COPY (SELECT *, {range_number_sql(edges)} AS {_RANGE} FROM ({scan})) TO {quoted(str(folder))}"
                f" (FORMAT parquet, COMPRESSION lz4, PARTITION_BY {_RANGE}, OVERWRITE_OR_IGNORE,"
                f" STRING_DICTIONARY_PAGE_SIZE_LIMIT {_DICTIONARY})"
            )

        def of_range(number: int) -> str:
            files = tuple(map(str, sorted((folder / f"{_RANGE}={number}").glob("*.parquet"))))
            return scan_sql([UniformFiles(files)] if files else [], types)

        return of_range

    def _query(
        self, job: Job, surveys: Mapping[str, SourceSurvey], scans: Mapping[str, str], times: Mapping[str, datetime]
    ) -> str:
        """Return the query of a job over scans with fixed names; it is cached if possible."""
        for name, time in times.items():
            self._run(f"CREATE OR REPLACE MACRO {_INPUT}{name}() AS CAST({quoted(time.isoformat())} AS TIMESTAMPTZ)")
        for name, scan in scans.items():
            self._scans[_INPUT + name] = _Scan(scan)
        columns = tuple((name, tuple(self._types(each.source.columns).items())) for name, each in surveys.items())
        key = (columns, *times)
        known = _QUERIES.setdefault(job, {})
        if key not in known:
            before = len(self._scans)
            tables = {
                name: self._table(_INPUT + name, each.source.columns, is_fixed=True) for name, each in surveys.items()
            }
            query, _ = self._compiled(job({**tables, **{name: named_timestamp(_INPUT + name) for name in times}}))
            if len(self._scans) > before:
                return self._with_scans(query)  # it reads rows that were stored for this run only
            known[key] = query
        return self._with_scans(known[key])

    def _types(self, schema: Any) -> Mapping[str, str]:
        """Return the columns of a schema with their DuckDB types."""
        known = self._type_names.get(schema)
        if known is None:
            known = self._type_names[schema] = type_names(schema)
        return known

    def _scanned(self, schema: Any, sql: str, file: Path | None = None) -> Rows:
        name = self._new_name()
        self._scans[name] = _Scan(sql, file)
        return self._table(name, schema)

    def _table(self, name: str, schema: Any, *, is_fixed: bool = False) -> Rows:
        """Return a scan as an expression; its columns are passed in, since Ibis would query DuckDB for them."""
        types = self._types(schema)
        return table(name, types, is_fixed=is_fixed, make=lambda: self._compiler.table(name, types))

    @cached_property
    def _compiler(self) -> Any:
        """What makes SQL of expressions; loaded only for those that are not in the cache."""
        from scoter.engine.duckdb_compiler import DuckDbCompiler

        return DuckDbCompiler(self.connection)

    def _with_scans(self, sql: str) -> str:
        """Return a query with the scans that it names. Planning takes less time than with views of them."""
        names = dict.fromkeys(name for name in self._names.findall(sql) if name in self._scans)
        return with_sql({name: self._scans[name].sql for name in names}, sql)

    @contextmanager
    def _temporary_scans(self) -> Iterator[None]:
        """Forget the scans added inside the context, and remove their files."""
        before = len(self._scans)
        try:
            yield
        finally:
            while len(self._scans) > before:
                _, scan = self._scans.popitem()
                if scan.file is not None:
                    with suppress(OSError):  # leftovers are removed with the engine's folder
                        scan.file.unlink()

    def _copy(
        self,
        query: str,
        schema: Any,
        file: Path,
        order: Sequence[str],
        progress: JobProgress,
        row_bytes: int = 0,
        compression: str = "zstd",
    ) -> int:
        """Write the rows of a query to a Parquet file with a schema; this is one step of the progress.

        ``row_bytes`` is the size of a row, if known: with several threads, DuckDB ignores the limit on the bytes of a
        row group if the rows are sorted.
        """
        wanted = cast_sql(query, self._types(schema))
        ordered = f"{wanted} ORDER BY {', '.join(order)}" if order else wanted
        rows, most = self._row_group(row_bytes)
        try:
            with progress.watch(self.connection):
                return int(
                    self._run(
                        f"COPY ({ordered}) TO {quoted(str(file))}"
                        f" (FORMAT parquet, COMPRESSION {compression}, ROW_GROUP_SIZE {rows},"
                        f" ROW_GROUP_SIZE_BYTES {most}, STRING_DICTIONARY_PAGE_SIZE_LIMIT {_DICTIONARY})"
                    ).fetchone()[0]
                )
        except BaseException:
            with suppress(OSError):
                file.unlink()
            raise

    def _row_group(self, row_bytes: int) -> tuple[int, int]:
        """Return the rows and the bytes of a row group."""
        most = min(self._own // _ROW_GROUPS, ROW_GROUP_BYTES)
        return max(_VECTOR, min(ROW_GROUP, most // (row_bytes + _ROW_BYTES))), most

    def _compiled(self, rows: Rows) -> tuple[str, Any]:
        """Return the SQL of an expression and the schema of its result."""
        query = written(rows)
        known = None if query is None else QUERIES.get(query.digest)
        if query is not None and known is not None:
            sql = filled(known["sql"], known["token"], [each.name for each in query.tables], query.times)
            return sql, pa.ipc.read_schema(pa.py_buffer(b64decode(known["schema"])))
        scans, token = len(self._scans), secrets.token_hex(8)
        times = () if query is None else query.times
        sql, schema = self._compiler.compile(real(rows), self._store_batches, times, token)
        names = [] if query is None else [each.name for each in query.tables]
        if query is not None and len(self._scans) == scans:  # otherwise it reads rows that only this run has
            encoded = b64encode(schema.serialize().to_pybytes()).decode()
            QUERIES.put(query.digest, {"sql": emptied(sql, token, names), "token": token, "schema": encoded})
        return filled(sql, token, names, times), schema

    def _store_batches(self, batches: Iterable[Any], schema: Any) -> Rows:
        """Write record batches to a temporary file and return its rows."""
        file = self._folder / f"{self._new_name()}.parquet"
        write_batches(file, schema, batches)
        return self._scanned(schema, scan_sql([UniformFiles((str(file),))], self._types(schema)), file)

    def _new_name(self) -> str:
        return f"{self._prefix}{next(self._numbers)}_"

    def _run(self, sql: str) -> Any:
        with translate_errors(self._folder):
            return self.connection.execute(sql)
