"""Spark, on this machine or on a cluster: the same jobs on more than one machine.

All results leave Spark as Parquet (``spark_files``), because maps cannot leave it any other way. Row functions run in
the processes of the cluster, next to the rows; the plug-ins that they hold travel by name. Spark is an optional extra
and is imported only where it is used.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from scoter.engine.batches import cast_batch
from scoter.engine.ibis_compat import arrow_schema, store_memtables
from scoter.engine.port import BATCH, Job, Progress, Rows
from scoter.engine.portable import timestamp
from scoter.engine.row_functions import raise_sent_error, row_mapper, sent, task_runner
from scoter.engine.sources import (
    STORED_FILE,
    STORED_ROW,
    SourceSurvey,
    TableSource,
    UniformFiles,
    file_source,
    open_parquet,
    stored_name,
    survey,
    with_positions,
)
from scoter.engine.spark_files import PART, ROW, FolderFiles, SparkFiles, StoreFiles
from scoter.errors import UsageError, UserError
from scoter.store.disk import Closing, disk_errors
from scoter.store.tables import NewVersion
from scoter.store.tables.parquet import write_batches
from scoter.store.tables.replaced import POSITIONS

_SORTED_BY = ("key", "url")
_TIME = "timestamp('UTC', 6)"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.caseSensitive": "true",
    # An overflow, or a text that is not a number, is an error as in DuckDB.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",  # errors are raised, and Spark would print their Java traces first
}
_PYTHON = "spark.pyspark.python"
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def start_session(folder: Path, memory_limit: int, master: str, conf: Iterable[str] = ()) -> Any:
    """Start a session with a master; ``conf`` has settings of Spark as ``name=value``.

    In local mode it shuffles into a folder, with as many partitions as there are threads.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    settings = {
        **_SETTINGS,
        "spark.driver.memory": f"{max(memory_limit // 2**20, 512)}m",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if master.startswith("local"):
        asked = re.sub(r"\D", "", master)
        threads = asked or str(os.cpu_count() or 1)
        master = f"local[{threads}]"
        settings |= {
            **_LOOPBACK,
            "spark.local.dir": str(folder),
            "spark.sql.shuffle.partitions": threads,
            _PYTHON: sys.executable,
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
    elif master.startswith("spark://"):
        _check_reachable(master)
    settings |= dict(line.split("=", 1) for line in conf)
    if _PYTHON in settings:  # Spark reads this setting only in spark-submit
        os.environ["PYSPARK_PYTHON"] = settings[_PYTHON]
    folder.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(master).appName("scoter")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as failure:
        hint = "Spark needs Java 17 or later: install it, or set JAVA_HOME."
        if not isinstance(failure, PySparkException):
            hint = f"Check the master {master} and the settings in engine.spark_conf."
        raise UserError(f"cannot start Spark: {_first_line(failure)}", where="engine.kind", hint=hint) from failure


def _check_reachable(master: str) -> None:
    """Raise if no master of a standalone cluster listens; Spark itself would try for a minute, and blame itself."""
    problem: Exception | None = None
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=5):
                return
        except (OSError, ValueError) as error:
            problem = error
    hint = "Start the master, or correct the address: spark://host:7077."
    raise UserError(f"no master of Spark can be reached: {problem}", where="engine.spark_master", hint=hint)


class SparkEngine(Closing):
    """Runs jobs in a Spark session, which it stops if it is its own."""

    name = "spark"

    def __init__(
        self,
        folder: Path,
        session: Any,
        *,
        store: str = "",
        is_own: bool = False,
        progress: Progress = lambda share: None,
    ) -> None:
        """Use a folder for temporary files; if executors cannot see it, also ``store``, a folder in an object store."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="spark-", dir=folder))
        self._is_own = is_own
        self._session = session
        self._progress = progress
        self._numbers = itertools.count(1)
        self._views: list[str] = []
        self.ibis = ibis.pyspark.connect(self._session)
        self._files: SparkFiles = (
            StoreFiles(store, session, self._spelled, self._module_path())
            if store
            else FolderFiles(self._folder, session)
        )

    def __repr__(self) -> str:
        return f"SparkEngine({self._folder})"

    def close(self) -> None:
        for name in self._views:
            self._session.catalog.dropTempView(name)
        self._files.close()
        if self._is_own:
            self._session.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, source: TableSource, *, positions: bool = False) -> Rows:
        schema = with_positions(source.schema) if positions else source.schema
        numbers = {file: number for number, file in enumerate(source.files)} if positions else None
        found = survey(source)
        uniform = found.uniform
        if not uniform:
            found, numbers = survey(file_source(self._empty(schema), schema)), None
            uniform = found.uniform
        frames = [self._frame(found, each, schema, numbers) for each in uniform]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame)
        return self._view(whole)

    def write(
        self, job: Job, inputs: Mapping[str, TableSource | datetime], new: NewVersion, *, replaced: Path | None = None
    ) -> None:
        rows = job({name: self._input(each) for name, each in inputs.items()})
        frame = self._framed(rows)
        if replaced is not None:
            # Stored, because two outputs are made of it.
            stored = self._framed(self._store(frame, arrow_schema(rows)))
            places = [name for name in rows.columns if name not in new.schema.names]
            columns = [stored[f"`{name}`"] for name in places]
            kept = pa.schema([arrow_schema(rows).field(name) for name in places])
            with _translate_errors():
                files = self._files.store(stored.filter(stored[STORED_ROW].isNotNull()).select(*columns), kept)
            self._files.move(files, replaced)
            frame = stored
        with _translate_errors():
            self._files.add(self._cast(frame, new.schema).orderBy(*_SORTED_BY), new)
        self._progress(1.0)

    def _input(self, given: TableSource | datetime) -> Any:
        return timestamp(given) if isinstance(given, datetime) else self.read(given, positions=given.has_positions)

    def save(
        self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = (), *, is_temporary: bool = False
    ) -> int:
        frame = self._cast(self._framed(rows), schema).repartition(1)
        with _translate_errors():
            files = self._files.store(frame.sortWithinPartitions(*order) if order else frame, schema)
        with disk_errors("write the file", file):
            if files:
                self._files.move(files, file.parent)[0].replace(file)
            else:
                pq.write_table(schema.empty_table(), file)
        self._progress(1.0)
        return int(pq.read_metadata(file).num_rows)

    def batches(self, rows: Rows, size: int = BATCH) -> Iterator[Any]:
        schema = arrow_schema(rows)
        with _translate_errors():
            files = self._files.store(self._framed(rows), schema)
        try:
            for part in files:
                with open_parquet(part) as file:
                    for batch in file.iter_batches(size):
                        yield cast_batch(batch, schema)
        finally:
            self._files.remove(files)

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        mapper = sent(row_mapper(function, arrow_schema(rows), schema), self._module_path())
        mapped = self._framed(rows).mapInArrow(mapper, self._spelled(schema))
        return self._store(mapped, schema)  # stored, because the function must see each row once

    @property
    def driver_host(self) -> str:
        """The address at which executors reach this process."""
        return str(self._session.conf.get("spark.driver.host"))

    @property
    def bind_address(self) -> str:
        """The address at which this process listens for executors; empty for all of its addresses."""
        return str(self._session.conf.get("spark.driver.bindAddress", ""))

    def run_tasks(self, function: Callable[[int], None], numbers: Sequence[int]) -> None:
        """Call a function with each number on an executor, and wait for all of them."""
        if str(self._session.conf.get("spark.speculation", "false")).lower() == "true":
            message = "tasks that contact hosts must not run twice at a time"
            raise UsageError(message, where="engine.spark_conf", hint="Remove spark.speculation=true.")
        context = self._session.sparkContext
        runner = sent(task_runner(function, numbers), self._module_path())
        context.setJobGroup(self._folder.name, "scoter")
        tasks = self._session.range(0, len(numbers), 1, len(numbers))
        with _translate_errors():
            tasks.mapInArrow(runner, "id long").collect()

    def cancel_tasks(self) -> None:
        """End what ``run_tasks`` still waits for."""
        self._session.sparkContext.cancelJobGroup(self._folder.name)

    def _module_path(self) -> list[str]:
        # On this machine, processes that were started earlier may lack folders that were added to the path since.
        return list(sys.path) if self._session.sparkContext.master.startswith("local") else []

    def _frame(
        self, found: SourceSurvey, uniform: UniformFiles, schema: Any, positions: Mapping[str, int] | None = None
    ) -> Any:
        """Return files of a source with the same columns as a frame of a schema; ``positions`` numbers the files."""
        from pyspark.sql import functions as sql

        types = self._types(schema)
        placed = {STORED_FILE, STORED_ROW} if positions is not None else set()
        present = pa.schema([field for field in schema if field.name not in {*uniform.absent, *placed}])
        with _translate_errors():
            has_places = bool(uniform.replaced) or positions is not None
            stored = self._files.scan(found, uniform.files, present, positions=has_places)
            if uniform.replaced:
                gone = survey(TableSource(files=uniform.replaced, schema=POSITIONS, defaults={}))
                rows = self._files.scan(gone, uniform.replaced, POSITIONS, positions=False)
                stored = stored.join(rows, (stored[PART] == rows["part"]) & (stored[ROW] == rows["row"]), "left_anti")
        place: dict[str, Any] = {}
        if positions is not None:
            pairs = [sql.lit(each) for file in uniform.files for each in (stored_name(file), positions[file])]
            place = {STORED_FILE: sql.create_map(*pairs)[stored[PART]], STORED_ROW: stored[ROW]}
        values = {
            name: _literal(uniform.absent[name], kind) if name in uniform.absent else stored[f"`{name}`"]
            for name, kind in types.items()
            if name not in place
        } | place
        return stored.select(*(values[name].cast(kind).alias(name) for name, kind in types.items()))

    def _cast(self, frame: Any, schema: Any) -> Any:
        types = self._types(schema)
        return frame.select(*(frame[f"`{name}`"].cast(kind).alias(name) for name, kind in types.items()))

    def _framed(self, rows: Rows) -> Any:
        text = self.ibis.compile(store_memtables(rows, self._store_batches))
        with _translate_errors():
            frame = self._session.sql(text)
        # The SQL that Ibis writes for an offset adds a column.
        return frame.select(*(frame[f"`{name}`"] for name in rows.columns))

    def _store(self, frame: Any, schema: Any) -> Rows:
        """Write a frame to temporary files and return their rows."""
        with _translate_errors():
            files = self._files.store(frame, schema)
        return self.read(TableSource(files=tuple(files), schema=schema, defaults={}))

    def _view(self, frame: Any) -> Rows:
        name = self._new_name()
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        rows = self.ibis.table(name)
        # Spark's timestamps are points in time, but Ibis takes them for times without a zone.
        return rows.cast({column: _TIME for column, kind in rows.schema().items() if kind.is_timestamp()})

    def _types(self, schema: Any) -> dict[str, str]:
        spelled = self.ibis.compiler.type_mapper.to_string
        return {name: spelled(kind) for name, kind in ibis.Schema.from_pyarrow(schema).items()}

    def _spelled(self, schema: Any) -> str:
        """Return a schema as Spark writes it."""
        return ", ".join(f"`{name}` {kind}" for name, kind in self._types(schema).items())

    def _store_batches(self, batches: Iterable[Any], schema: Any) -> Rows:
        """Write record batches to a temporary file and return its rows."""
        file = self._folder / f"{self._new_name()}.parquet"
        write_batches(file, schema, batches)
        return self.read(file_source(file, schema))

    def _empty(self, schema: Any) -> Path:
        file = self._folder / f"{self._new_name()}.parquet"
        pq.write_table(schema.empty_table(), file)
        return file

    def _new_name(self) -> str:
        # Several engines may share the views of a session.
        return f"{self._folder.name.replace('-', '_')}_t{next(self._numbers)}"


def _first_line(failure: Exception) -> str:
    """Return the first line that says something; errors of Java are preceded by the name of the call."""
    lines = [line.strip().removeprefix(": ") for line in str(failure).splitlines()]
    return next((line for line in lines[1:] if line), lines[0] if lines else type(failure).__name__)[:300]


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn Spark's errors about memory and disks into messages that say what to do."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as failure:
        text = str(failure)
        raise_sent_error(text)
        if (lacking := re.search(r"ModuleNotFoundError: No module named '([^']+)'", text)) is not None:
            hint = "Run: scoter cluster pack environment.tar.gz, and add the settings that it prints."
            raise UserError(f"the executors lack the Python module {lacking[1]}", hint=hint) from failure
        if "No space left" in text:
            raise UserError("the disk is full", hint="Free some disk space.") from failure
        if "OutOfMemoryError" in text:
            raise UserError("the job needs more memory than it may use", where="engine.memory_limit") from failure
        raise


def _literal(value: Any, kind: str = "") -> Any:
    """Return a value as a literal column that the caller casts."""
    from pyspark.sql import functions as sql

    match value:
        case [] if kind.lower().startswith("map"):
            return sql.create_map()
        case [tuple(), *_]:  # a map, as Arrow returns it
            return sql.create_map(*(_literal(each) for pair in value for each in pair))
        case dict():
            return sql.struct(*(_literal(each).alias(name) for name, each in value.items()))
        case list():
            return sql.array(*map(_literal, value))
        case _:
            return sql.lit(value)
