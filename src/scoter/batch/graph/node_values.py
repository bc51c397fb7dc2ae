"""The counts and ranks of nodes: as arrays by node number, and as rows for an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.graph.tables import NEXT_ID, GraphTables, StoredGraph
from scoter.engine import Engine, source_of
from scoter.engine.port import Rows
from scoter.store.disk import disk_errors
from scoter.store.tables import Table

Ids: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.signedinteger[Any]]
Columns: TypeAlias = dict[str, NDArray[Any]]
RANKS = ("score", "pagerank", "harmonic")
_ROWS = 2**20
_GROUP_ROWS = 491_520
_DELTA = ("id", "source", "target")
_PLAIN = ("url", "key", *RANKS)
_TEXTS = ("url", "key", "anchor")


def node_rows(engine: Engine, graph: StoredGraph) -> Rows:
    """Return the nodes that have links, with their counts and ranks."""
    return engine.read(source_of(graph.nodes)).join(linked_values(engine, graph), "id")


def linked_values(engine: Engine, graph: StoredGraph) -> Rows:
    """Return the counts and ranks of the nodes that have links."""
    values = engine.read(source_of(graph.values))
    return values.filter((values.inlinks > 0) | (values.outlinks > 0))


def write_file(file: Path, schema: Any, batches: Iterator[Any], group_rows: int = _GROUP_ROWS) -> int:
    """Write record batches to a Parquet file that takes little time to read, and return the number of rows.

    Numbers of nodes are stored as differences. Measured with 10 million links between hosts, this takes 0.33 CPU
    seconds to write and 0.11 to read, against 0.47 and 0.21 with dictionaries and zstd, in less space.
    """
    names = [name for name in schema.names if name not in _DELTA and name not in _PLAIN]
    encodings = {name: "DELTA_BINARY_PACKED" for name in schema.names if name in _DELTA}
    rows = waiting = 0
    pending: list[Any] = []
    with (
        disk_errors("write the file", file),
        pq.ParquetWriter(
            file,
            schema,
            compression={name: "zstd" if name in _TEXTS else "lz4" for name in schema.names},
            compression_level={name: 1 for name in schema.names if name in _TEXTS} or None,
            use_dictionary=names,
            column_encoding=encodings or None,
        ) as writer,
    ):
        for batch in batches:
            rows += batch.num_rows
            waiting += batch.num_rows
            pending.append(batch)
            if waiting >= group_rows:
                writer.write_table(pa.Table.from_batches(pending, schema), row_group_size=group_rows)
                pending, waiting = [], 0
        if waiting or not rows:
            writer.write_table(pa.Table.from_batches(pending, schema), row_group_size=group_rows)
    return rows


def read_values(path: Path, schema: Any, names: Sequence[str], size: int) -> Columns:
    """Return columns of a table of values, as arrays of at least ``size``; what it lacks is zero, or null for ranks."""
    if not table_exists(path):
        return {name: _empty(schema, name, size) for name in names}
    with Table.open(path, schema) as table:
        rows = max(size, table.manifest.rows)
        found = {name: _empty(schema, name, rows) for name in names}
        at = 0
        for batch in table.scan(list(names)):
            for name in names:
                found[name][at : at + batch.num_rows] = batch[name].to_numpy(zero_copy_only=False)
            at += batch.num_rows
    return found


def _empty(schema: Any, name: str, size: int) -> NDArray[Any]:
    kind = schema.field(name).type.to_pandas_dtype()
    return np.full(size, np.nan if name in ("pagerank", "harmonic") else 0, kind)


def write_values(
    tables: GraphTables, values: Columns, properties: Mapping[str, str], *, now: datetime, folder: Path
) -> None:
    """Write a table of values: all columns except the number of the row."""
    schema = tables.value_schema
    size = len(next(iter(values.values())))

    def batches() -> Iterator[Any]:
        for first in range(0, size, _ROWS):
            last = min(first + _ROWS, size)
            arrays = [pa.array(np.arange(first, last, dtype=np.int32))]
            for field in list(schema)[1:]:
                part = values[field.name][first:last]
                empty = np.isnan(part) if field.name in RANKS else None
                arrays.append(pa.array(part, field.type, mask=empty))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    file = folder / f"{tables.values.name}.parquet"
    rows = write_file(file, schema, batches())
    with Table.write(tables.values, schema, writer="webgraph", clock=lambda: now) as new:
        if rows:
            new.adopt(file)
        new.commit(properties=dict(properties))


def read_sites_of(path: Path, schema: Any, name: str) -> Ids:
    """Return the number of the host of each page, or of the domain of each host, by the number of the node."""
    if not table_exists(path):
        return np.zeros(0, np.int32)
    with Table.open(path, schema) as table:
        found = np.zeros(int(table.manifest.properties[NEXT_ID]), np.int32)
        for batch in table.scan(["id", name]):
            found[batch["id"].to_numpy()] = batch[name].to_numpy()
    return found
