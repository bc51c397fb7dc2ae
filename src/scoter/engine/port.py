"""The port between jobs and engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol, Self, TypeAlias

from scoter.engine.sources import TableSource, file_source
from scoter.store.tables import NewVersion

Rows: TypeAlias = Any
"""An Ibis table expression. Ibis is imported only where a job runs."""

Job: TypeAlias = Callable[[Mapping[str, Rows]], Rows]
"""From tables by name to the rows to write.

An engine may call it several times, each time with one range of keys, so the result for two ranges together must be the
union of their results: a job joins and groups by ``url`` or ``key`` only. An engine may also cache the query of a job
and reuse it for inputs with the same columns, because building a query takes longer than running it over a few rows.
Therefore anything that changes between runs, such as the time, must be an input.
"""

Progress: TypeAlias = Callable[[float], None]
"""Called with the share of a job that is done, from 0 to 1."""

BATCH: Final = 65_536
"""Rows of a record batch, unless they are long."""


class Engine(Protocol):
    """Runs Ibis expressions over tables."""

    name: str

    def read(self, source: TableSource, *, positions: bool = False) -> Rows:
        """Return the rows of a source that are not replaced, with the columns of its schema.

        With ``positions``, two more columns tell where each row is stored (``sources.STORED_FILE``, ``STORED_ROW``).
        """
        ...

    def write(
        self, job: Job, inputs: Mapping[str, TableSource | datetime], new: NewVersion, *, replaced: Path | None = None
    ) -> None:
        """Run a job over inputs that share a key; add its rows, sorted by ``key`` and ``url``, to a new version.

        The job gets a time among the inputs as a value that it can compare with columns. With ``replaced``, its rows
        have the position of the row that each of them replaces, if any, and possibly more columns; all these are
        written to Parquet files in that folder instead.
        """
        ...

    def save(
        self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = (), *, is_temporary: bool = False
    ) -> int:
        """Write rows to one Parquet file with a schema, in ascending order, and return their number.

        An engine may compress a temporary file less, which saves time.
        """
        ...

    def batches(self, rows: Rows, size: int = BATCH) -> Iterator[Any]:
        """Yield rows as Arrow record batches of at most ``size`` rows, with the order and types of the expression."""
        ...

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        """Return the rows that a function returns for each record batch, with a schema."""
        ...

    def close(self) -> None:
        """Remove temporary files."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def save_source(engine: Engine, rows: Rows, schema: Any, file: Path) -> TableSource:
    """Write rows to a file with a schema, and return it as a source."""
    engine.save(rows, schema, file)
    return file_source(file, schema)
