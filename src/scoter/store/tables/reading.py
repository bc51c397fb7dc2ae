"""Parquet files as one Arrow dataset of the wanted columns, and its rows as record batches."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from scoter.errors import UsageError, UserError, nearest
from scoter.store.tables.evolution import Defaults, guarantee, missing
from scoter.store.tables.place import Place

BATCH_ROWS = 32_768

Explain = Callable[[Exception], UserError]


def dataset_of(place: Place, files: Iterable[tuple[str, Any]], want: Any, defaults: Defaults) -> Any:
    """Return files, each with the schema it was written with, as one dataset of the wanted columns."""
    # Not above: it brings pandas along, half a second that processes which only write should not pay.
    import pyarrow.dataset as ds

    form, filesystem = ds.ParquetFileFormat(), place.filesystem
    fragments = []
    for name, have in files:
        known = guarantee(missing(have, want, defaults, place.location(name)))
        path = place.arrow_path(name)
        fragments.append(form.make_fragment(path, filesystem=filesystem, partition_expression=known))
    return ds.FileSystemDataset(fragments, want, form, filesystem)


def batches(
    dataset: Any, columns: Sequence[str] | None, where: Any, explain: Explain, *, rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Yield the rows that pass a filter, in the order of the files; little is read ahead.

    ``explain`` says what a failure to read means.
    """
    known = dataset.schema.names
    for name in columns or ():
        if name not in known:
            near = nearest(name, known)
            hint = f"Did you mean {near}?" if near else f"The columns are {', '.join(known)}."
            raise UsageError(f"there is no column {name}", hint=hint)
    try:
        chosen = list(columns) if columns is not None else None
        scanner = dataset.scanner(
            columns=chosen, filter=where, batch_size=rows, batch_readahead=4, fragment_readahead=1
        )
    except (pa.ArrowException, TypeError) as failure:
        raise UsageError(f"the filter does not fit the columns: {_first_line(failure)}") from failure
    try:
        yield from scanner.to_batches()
    except (OSError, pa.ArrowException) as failure:
        raise explain(failure) from failure


def count_rows(dataset: Any, where: Any, explain: Explain) -> int:
    """Return the number of rows that pass a filter."""
    try:
        return int(dataset.count_rows(filter=where))
    except pa.ArrowNotImplementedError as failure:
        raise UsageError(f"the filter does not fit the columns: {_first_line(failure)}") from failure
    except (OSError, pa.ArrowException) as failure:
        raise explain(failure) from failure


def _first_line(failure: Exception) -> str:
    return str(failure).partition("\n")[0]
