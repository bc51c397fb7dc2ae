"""Metadata of hosts that plug-ins aggregate from the crawldb, record by record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.schemas import datum_of, url_of
from scoter.core.domain import reversed_host
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.store.tables import Table
from scoter.store.tables.parquet import write_batches

HOST_METADATA = pa.schema([*schemas.texts("url", "key"), ("metadata", schemas.METADATA)])
_BATCH = 4_096


def save_metadata(engine: Engine, crawldb: Table, processors: Sequence[tuple[str, Any]], file: Path) -> TableSource:
    """Save the metadata that the plug-ins return for each host."""
    rows = engine.read(source_of(crawldb))
    ordered = rows.filter(rows.host.notnull() & (rows.host != "")).order_by(["host", "key", "url"])
    extra = tuple(name for name in crawldb.schema.names if name not in schemas.CRAWLDB.names)
    write_batches(file, HOST_METADATA, _batches(iter_rows(engine.batches(ordered)), processors, extra))
    return file_source(file, HOST_METADATA)


def _batches(rows: Iterator[Any], processors: Sequence[tuple[str, Any]], extra: Sequence[str]) -> Iterator[Any]:
    found: list[dict[str, Any]] = []
    for host, its in groupby(rows, key=lambda row: row["host"]):
        for _, processor in processors:
            processor.start(host)
        for row in its:
            url, datum = url_of(row), datum_of(row, extra=extra)
            for _, processor in processors:
                processor.add(url, datum)
        metadata = {str(key): str(value) for _, each in processors for key, value in each.finish().items()}
        if metadata:
            found.append({"url": host, "key": reversed_host(host), "metadata": list(metadata.items())})
        if len(found) >= _BATCH:
            yield pa.RecordBatch.from_pylist(found, schema=HOST_METADATA)
            found = []
    yield pa.RecordBatch.from_pylist(found, schema=HOST_METADATA)
