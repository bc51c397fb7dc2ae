"""The embedded engine: DuckDB in this process, within a memory limit, spilling to a folder of its own."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import ibis
import pyarrow.parquet as pq
from msgspec.structs import replace

from scoter.engine.port import Job, Progress, Rows
from scoter.engine.ranges import cuts, how_many, number_sql, quoted, within_sql
from scoter.engine.sampling import extent, sample
from scoter.engine.sources import Source
from scoter.engine.watching import telling, watched
from scoter.store.tables import NewVersion

ROW_GROUP = 122_880
_BATCH = 65_536
_SORTED_BY = ("key", "url")


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
        self._names = (f"t{number}" for number in itertools.count(1))
        self.ibis = ibis.duckdb.connect(
            threads=threads or os.cpu_count() or 1,
            memory_limit=f"{memory_limit // 2**20}MiB",
            temp_directory=str(self._folder / "spill"),
            # With it a COPY keeps whole inputs in memory; where an order is wanted, the query says so.
            preserve_insertion_order=False,
            autoinstall_known_extensions=False,
        )
        self._run("SET TimeZone = 'UTC'")

    def __repr__(self) -> str:
        return f"DuckDbEngine({self._folder}, {self._memory_limit // 2**20} MiB)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.ibis.disconnect()
        shutil.rmtree(self._folder, ignore_errors=True)

    def read(self, source: Source) -> Rows:
        return self._view(self._scan(source))

    def write(self, job: Job, inputs: Mapping[str, Source], new: NewVersion) -> None:
        ranges = self._ranges or how_many(sum(map(extent, inputs.values())), self._memory_limit)
        edges = cuts([key for source in inputs.values() for key in sample(source)], ranges) if ranges > 1 else []
        dealt = {name: self._dealt(source, edges) for name, source in inputs.items()}
        share = 1 / (len(edges) + 1)
        for number in range(len(edges) + 1):
            rows = job({name: self._view(scan(number)) for name, scan in dealt.items()})
            file = new.workspace / f"{number:05d}.parquet"
            if self._copy(rows, new.schema, file, _SORTED_BY, number * share, share):
                new.adopt(file)
        self._progress(1.0)

    def save(self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = ()) -> int:
        return self._copy(rows, schema, file, order, 0.0, 1.0)

    def batches(self, rows: Rows) -> Iterator[Any]:
        reader = self._run(self.ibis.compile(rows)).to_arrow_reader(_BATCH)
        while True:
            with telling(self._folder):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        file = self._folder / f"{next(self._names)}.parquet"
        with pq.ParquetWriter(file, schema, compression="lz4") as writer:
            for batch in self.batches(rows):
                writer.write_batch(function(batch))
        return self.read(Source(files=(str(file),), schema=schema, defaults={}))

    def _dealt(self, source: Source, edges: Sequence[str]) -> Callable[[int], str]:
        """Return the SQL that scans a source's rows of a range; what is not sorted is dealt out to ranges first."""
        if not edges or not source.files:
            return lambda number: self._scan(source)
        if source.is_sorted:
            return lambda number: f"{self._scan(source)} WHERE {within_sql(edges, number)}"
        folder = self._folder / next(self._names)
        self._run(
            f"COPY (SELECT *, {number_sql(edges)} AS range FROM ({self._scan(source)})) TO {quoted(str(folder))}"
            " (FORMAT parquet, COMPRESSION lz4, PARTITION_BY range)"
        )
        return lambda number: self._scan(
            replace(source, files=tuple(map(str, sorted((folder / f"range={number}").glob("*.parquet")))))
        )

    def _scan(self, source: Source) -> str:
        """Return the SQL that reads a source with exactly its columns."""
        types = ibis.Schema.from_pyarrow(source.schema)
        spelled = {name: self.ibis.compiler.type_mapper.to_string(types[name]) for name in source.schema.names}
        if not source.files:
            return (
                "SELECT "
                + ", ".join(f"NULL::{kind} AS {_name(name)}" for name, kind in spelled.items())
                + " WHERE false"
            )
        files = "[" + ", ".join(map(quoted, source.files)) + "]"
        scan = f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
        stored = {row[0]: row[1] for row in self._run(f"DESCRIBE SELECT * FROM {scan}").fetchall()}
        return (
            "SELECT "
            + ", ".join(
                _column(name, kind, stored.get(name), source.defaults.get(name)) for name, kind in spelled.items()
            )
            + f" FROM {scan}"
        )

    def _view(self, sql: str) -> Rows:
        name = next(self._names)
        self._run(f"CREATE TEMP VIEW {name} AS {sql}")
        return self.ibis.table(name)

    def _copy(self, rows: Rows, schema: Any, file: Path, order: Sequence[str], begun: float, share: float) -> int:
        """Write rows as a Parquet file of a schema; progress goes on from where it has come."""
        rows = rows.select(**{name: rows[name].cast(kind) for name, kind in ibis.Schema.from_pyarrow(schema).items()})
        ordered = rows.order_by(list(order)) if order else rows
        sql = (
            f"COPY ({self.ibis.compile(ordered)}) TO {quoted(str(file))}"
            f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
        )
        with watched(self.ibis.con, lambda done: self._progress(begun + done * share)):
            return int(self._run(sql).fetchone()[0])

    def _run(self, sql: str) -> Any:
        with telling(self._folder):
            return self.ibis.con.execute(sql)


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _column(name: str, kind: str, stored: str | None, default: Any) -> str:
    if stored == kind:
        return _name(name)
    if stored is not None:
        return f"CAST({_name(name)} AS {kind}) AS {_name(name)}"
    literal = "NULL" if default is None else quoted(default) if isinstance(default, str) else repr(default)
    return f"CAST({literal} AS {kind}) AS {_name(name)}"
