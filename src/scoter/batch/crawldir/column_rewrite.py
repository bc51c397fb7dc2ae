"""Rewrite a table with new values of one column, while its rows stay where they are.

A job that changes the scores of all URLs would join all columns of the crawldb with the new scores and sort the result
again. Instead, an engine writes the scores to a file in the order of the stored rows, which is sorted by two numbers.
Then each part is copied with its new scores: byte for byte except for these, or row by row if rows of it were replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scoter.engine.sources import STORED_FILE, STORED_ROW, read_row_groups
from scoter.errors import UserError
from scoter.store.disk import disk_errors
from scoter.store.objects.copies import local_file
from scoter.store.tables import Defaults, NewVersion, StoredPart, Table
from scoter.store.tables.column_copy import ColumnCopy
from scoter.store.tables.parquet import PartLimits, RowGroupWriter, checksum
from scoter.store.tables.schema import conform

IN_PLACE = (STORED_FILE, STORED_ROW)
"""The order of the values."""
_FILE_ROWS = 2**40
_DISTINCT = ("url", "key")


def rewrite_column(table: Table, name: str, values: Path, new: NewVersion) -> None:
    """Add the live rows of a table to a new version, in their order, with other values of a column.

    ``values`` is a file with the positions of all these rows and their values, in the order ``IN_PLACE``.
    """
    with pq.ParquetFile(values) as opened:
        placed = _PlacedValues(opened.iter_batches(columns=[*IN_PLACE, name]), name)
        for number, (file, part) in enumerate(zip(table.files, table.manifest.parts, strict=True)):
            written, place = new.workspace / "rewritten.parquet", number * _FILE_ROWS
            if part.replaced or not _copy_part(file, part, placed, place, new, written):
                _write_rows(file, placed, place, new, table.defaults, written)
            new.adds_delta = part.is_delta
            new.adopt(written)


def _copy_part(file: str, part: StoredPart, placed: _PlacedValues, place: int, new: NewVersion, written: Path) -> bool:
    """Copy a part without reading its rows, and return true; false if that is not possible."""
    with disk_errors("read the file", Path(file)), Path(local_file(file)).open("rb") as opened:
        copy = ColumnCopy.of(opened, new.schema, placed.name)
        if copy is None:
            return False
        opened.seek(0)
        # The copy gets a checksum of its own, which must not certify damaged pages.
        if checksum(opened) != part.xxh3_128:
            raise UserError("the file is damaged: its checksum is wrong", where=file)
        column = new.workspace / "column.parquet"
        with RowGroupWriter(column, copy.values_schema, max(copy.group_rows)) as into:
            for rows in copy.group_rows:
                _, found = placed.before(place := place + rows)
                into.write(pa.RecordBatch.from_arrays([found], schema=copy.values_schema))
                into.end_group()
        copy.write(column, written)
        column.unlink()
    return True


def _write_rows(
    file: str, placed: _PlacedValues, place: int, new: NewVersion, defaults: Defaults, written: Path
) -> None:
    """Write the live rows of a part."""
    with RowGroupWriter(written, new.schema, PartLimits().row_group_rows, plain=_DISTINCT) as into:
        for group in read_row_groups(file, new.schema.names):
            places, found = placed.before(place + group.num_rows)
            live = group if len(places) == group.num_rows else group.take(places - place)
            place += group.num_rows
            live = live.set_column(live.schema.get_field_index(placed.name), placed.name, found)
            for batch in live.combine_chunks().to_batches():
                into.write(conform(batch, new.schema, defaults, file))
            into.end_group()


class _PlacedValues:
    """Reads values and their places in order."""

    def __init__(self, batches: Iterator[Any], name: str) -> None:
        self._batches = batches
        self.name = name
        self._places: NDArray[np.int64] = np.zeros(0, np.int64)
        self._values = pa.array([], pa.float64())

    def before(self, end: int) -> tuple[NDArray[np.int64], Any]:
        """Return the places before one, and the values there, after those that were returned before."""
        while not len(self._places) or self._places[-1] < end:
            batch = next(self._batches, None)
            if batch is None:
                break
            places = batch[STORED_FILE].to_numpy().astype(np.int64) * _FILE_ROWS + batch[STORED_ROW].to_numpy()
            self._places = np.concatenate([self._places, places])
            self._values = pa.concat_arrays([self._values, batch[self.name]])
        count = int(np.searchsorted(self._places, end))
        found = self._places[:count], self._values[:count]
        self._places, self._values = self._places[count:], self._values[count:]
        return found
