"""A sample of the keys of Parquet files, in proportion to their rows, without reading them all."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq

from scoter.engine.sources import Source

KEY = "key"
ONE_IN = 1_000
_GROUPS_READ = 32


def extent(source: Source) -> int:
    """Return how many bytes the columns wanted of a source take on disk."""
    wanted = set(source.schema.names)
    total = 0
    for file in source.files:
        metadata = _opened(file).metadata
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            columns = map(group.column, range(metadata.num_columns))
            total += sum(
                column.total_compressed_size for column in columns if column.path_in_schema.partition(".")[0] in wanted
            )
    return total


def sample(source: Source) -> list[str]:
    """Return about one key in a thousand."""
    groups = [(file, group) for file in source.files for group in range(_opened(file).metadata.num_row_groups)]
    if source.is_sorted:
        return [key for file, group in groups for key in _lowest(_opened(file), group)]
    step = max(1, math.ceil(len(groups) / _GROUPS_READ))
    return [key for file, group in groups[::step] for key in _every(_opened(file), group, ONE_IN // step or 1)]


def _lowest(file: Any, group: int) -> Iterator[str]:
    """Yield a sorted row group's first key as often as the group has thousands of rows."""
    metadata = file.metadata.row_group(group)
    times = max(1, metadata.num_rows // ONE_IN)
    found = next(
        (
            column.statistics.min
            for column in map(metadata.column, range(metadata.num_columns))
            if column.path_in_schema == KEY and column.statistics is not None and column.statistics.has_min_max
        ),
        None,
    )
    # A writer may leave the statistics of long texts out.
    first = found if found is not None else file.read_row_group(group, columns=[KEY])[KEY][0].as_py()
    yield from [first] * times


def _every(file: Any, group: int, step: int) -> Iterator[str]:
    keys = file.read_row_group(group, columns=[KEY])[KEY]
    yield from keys.take(list(range(0, len(keys), step))).to_pylist()


def _opened(file: str) -> Any:
    if "://" not in file:
        return pq.ParquetFile(file)
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(file)
    return pq.ParquetFile(path, filesystem=filesystem)
