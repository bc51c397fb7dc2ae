"""Positions of rows that are no longer valid, because a later part has a newer row or because they were removed.

They are kept in Parquet files beside the parts: the name of a part within the table, and the number of a row in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoter.store.tables.storage import TableStorage

POSITIONS = pa.schema([("part", pa.utf8()), ("row", pa.int64())])
"""The columns of a file of positions."""


def count_positions(file: Path) -> dict[str, int]:
    """Return how many rows of each part a file mentions."""
    counted = pc.value_counts(pq.read_table(file, columns=["part"])["part"])
    return {each["values"]: each["counts"] for each in counted.to_pylist()}


def load_positions(place: TableStorage, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the replaced rows of each part, in order, as arrays."""
    tables = [pq.read_table(place.arrow_path(name), filesystem=place.filesystem) for name in names]
    return group_positions(pa.concat_tables([each.cast(POSITIONS) for each in tables]))


def group_positions(table: Any) -> Mapping[str, Any]:
    """Return the rows of a table of positions by part, in order, as arrays."""
    found: dict[str, Any] = {}
    for part in pc.unique(table["part"]).to_pylist():
        rows = table.filter(pc.equal(table["part"], part))["row"].to_numpy()
        found[part] = np.sort(rows)
    return found


def live_batches(batches: Iterable[Any], gone: Any, columns: Sequence[str] | None, where: Any) -> Iterator[Any]:
    """Yield all batches of a part without its replaced rows and those that a filter drops."""
    start = 0
    for batch in batches:
        rows = batch.num_rows
        low, high = np.searchsorted(gone, (start, start + rows))
        if high > low:
            is_live = np.ones(rows, bool)
            is_live[gone[low:high] - start] = False
            batch = batch.filter(pa.array(is_live))
        start += rows
        if where is not None:
            found = pa.Table.from_batches([batch]).filter(where).combine_chunks().to_batches()
            batch = found[0] if found else batch.slice(0, 0)
        yield batch if columns is None else batch.select(list(columns))
