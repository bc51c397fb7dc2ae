"""Spark, in local mode: the same jobs on the engine that clusters run.

Everything leaves Spark through Parquet, since maps cannot leave it otherwise. ``map_batches`` runs in this process:
what a job hands to it may hold compiled patterns, which do not travel, and may count what it sees. Spark is an extra,
and imported only where it is used.
"""
# mypy: disable-error-code="import-untyped, import-not-found"

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import ibis
import pyarrow.parquet as pq

from scoter.engine.ibis_compat import as_told, told_schema, with_literals_stored
from scoter.engine.port import Job, Progress, Rows
from scoter.engine.portable import moment
from scoter.engine.sources import Alike, Source, survey
from scoter.errors import UserError
from scoter.store import disk
from scoter.store.tables import NewVersion

_BATCH = 65_536
_SORTED_BY = ("key", "url")
_TIME = "timestamp('UTC', 6)"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.caseSensitive": "true",
    # An overflow or a text that is no number is an error, as it is on DuckDB.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def start_session(folder: Path, memory_limit: int, threads: int) -> Any:
    """Start Spark in local mode; its shuffles lie in a folder."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{threads}]").appName("scoter")
    settings = {
        **_SETTINGS,
        "spark.driver.memory": f"{max(memory_limit // 2**20, 512)}m",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": str(threads),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as failure:
        hint = "Spark needs a Java runtime, 17 or later: install one, or set JAVA_HOME."
        raise UserError("Spark does not start", where="engine.kind", hint=hint) from failure


class SparkEngine:
    """Runs jobs in a Spark session: one of its own, or one that is handed in and left running."""

    name = "spark"

    def __init__(
        self,
        folder: Path,
        memory_limit: int,
        *,
        threads: int = 2,
        session: Any = None,
        progress: Progress = lambda share: None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="spark-", dir=folder))
        self._is_own = session is None
        self._session = session or start_session(self._folder, memory_limit, threads)
        self._progress = progress
        self._numbers = itertools.count(1)
        self._views: list[str] = []
        self.ibis = ibis.pyspark.connect(self._session)

    def __repr__(self) -> str:
        return f"SparkEngine({self._folder})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for name in self._views:
            self._session.catalog.dropTempView(name)
        if self._is_own:
            self._session.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, source: Source) -> Rows:
        types = self._types(source.schema)
        alike = survey(source).alike or (Alike((self._empty(source.schema),)),)
        frames = [self._frame(each, types) for each in alike]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame)
        return self._view(whole)

    def write(self, job: Job, inputs: Mapping[str, Source | datetime], new: NewVersion) -> None:
        rows = job(
            {name: moment(each) if isinstance(each, datetime) else self.read(each) for name, each in inputs.items()}
        )
        folder = new.workspace / self._new_name()
        self._store(self._cast(self._framed(rows), new.schema).orderBy(*_SORTED_BY), folder)
        for file in _parts(folder):
            if pq.read_metadata(file).num_rows:
                new.adopt(file)
        self._progress(1.0)

    def save(self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = ()) -> int:
        frame = self._cast(self._framed(rows), schema).repartition(1)
        folder = self._folder / self._new_name()
        self._store(frame.sortWithinPartitions(*order) if order else frame, folder)
        with disk.disk_errors("write the file", file):
            shutil.move(_parts(folder)[0], file)
            shutil.rmtree(folder)
        self._progress(1.0)
        return int(pq.read_metadata(file).num_rows)

    def batches(self, rows: Rows) -> Iterator[Any]:
        folder = self._folder / self._new_name()
        told = told_schema(rows)
        try:
            self._store(self._framed(rows), folder)
            for part in _parts(folder):
                with pq.ParquetFile(part) as file:
                    for batch in file.iter_batches(_BATCH):
                        yield as_told(batch, told)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        return self._kept((function(batch) for batch in self.batches(rows)), schema)

    def _frame(self, alike: Alike, types: Mapping[str, str]) -> Any:
        # Looked up one by one: no folder's name is to be taken for a column.
        reader = self._session.read.option("recursiveFileLookup", "true")
        with _telling():
            stored = reader.parquet(*map(_escaped, alike.files))
        values = {
            name: _literal(alike.absent[name], kind) if name in alike.absent else stored[f"`{name}`"]
            for name, kind in types.items()
        }
        return stored.select(*(values[name].cast(kind).alias(name) for name, kind in types.items()))

    def _cast(self, frame: Any, schema: Any) -> Any:
        types = self._types(schema)
        return frame.select(*(frame[f"`{name}`"].cast(kind).alias(name) for name, kind in types.items()))

    def _framed(self, rows: Rows) -> Any:
        text = self.ibis.compile(with_literals_stored(rows, self._stored))
        with _telling():
            frame = self._session.sql(text)
        # What Ibis writes for an offset leaves a column of its own in the rows.
        return frame.select(*(frame[f"`{name}`"] for name in rows.columns))

    def _store(self, frame: Any, folder: Path) -> None:
        with _telling():
            frame.write.parquet(str(folder))

    def _view(self, frame: Any) -> Rows:
        name = self._new_name()
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        rows = self.ibis.table(name)
        # Spark's times are points in time; that Ibis takes them for times without a zone would show in its schemas.
        return rows.cast({column: _TIME for column, kind in rows.schema().items() if kind.is_timestamp()})

    def _types(self, schema: Any) -> dict[str, str]:
        spelled = self.ibis.compiler.type_mapper.to_string
        return {name: spelled(kind) for name, kind in ibis.Schema.from_pyarrow(schema).items()}

    def _stored(self, table: Any) -> Rows:
        return self._kept(table.to_batches(), table.schema)

    def _kept(self, batches: Iterable[Any], schema: Any) -> Rows:
        """Put record batches into a file, and return its rows."""
        file = self._folder / f"{self._new_name()}.parquet"
        with disk.disk_errors("write temporary rows", file), pq.ParquetWriter(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return self.read(Source(files=(str(file),), schema=schema, defaults={}))

    def _empty(self, schema: Any) -> str:
        file = self._folder / f"{self._new_name()}.parquet"
        pq.write_table(schema.empty_table(), file)
        return str(file)

    def _new_name(self) -> str:
        # Views are the session's, which several engines may share.
        return f"{self._folder.name.replace('-', '_')}_t{next(self._numbers)}"


def _parts(folder: Path) -> list[Path]:
    """Return the files that Spark wrote, in the order of their rows."""
    return sorted(folder.glob("part-*.parquet"))


def _escaped(file: str) -> str:
    """Return a path in which nothing is a wildcard."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", file)


@contextmanager
def _telling() -> Iterator[None]:
    """Turn what Spark raises about memory and disks into messages that say what to do."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as failure:
        text = str(failure)
        if "No space left" in text:
            raise UserError("the disk is full", hint="Make room on the disk.") from failure
        if "OutOfMemoryError" in text:
            raise UserError("the job does not fit into its memory", where="engine.memory_limit") from failure
        raise


def _literal(value: Any, kind: str = "") -> Any:
    """Return a value as a column that is still to be cast."""
    from pyspark.sql import functions as sql

    match value:
        case [] if kind.lower().startswith("map"):
            return sql.create_map()
        case [tuple(), *_]:  # a map, as Arrow tells it
            return sql.create_map(*(_literal(each) for pair in value for each in pair))
        case dict():
            return sql.struct(*(_literal(each).alias(name) for name, each in value.items()))
        case list():
            return sql.array(*map(_literal, value))
        case _:
            return sql.lit(value)
