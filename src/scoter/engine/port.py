"""What a job asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from scoter.engine.sources import Source
from scoter.store.tables import NewVersion

Rows: TypeAlias = Any
"""An Ibis table expression; Ibis is imported only where a job runs."""

Job: TypeAlias = Callable[[Mapping[str, Rows]], Rows]
"""From tables by name to the rows to be written.

An engine may call it several times, each time with the rows of one range of keys: what it returns for two ranges
together must be what it returns for each of them. So it joins and groups by ``url`` or ``key``, and by nothing else.
Or the engine keeps what the job made of some inputs for whenever the same function comes with inputs of the same
columns: to make a query takes longer than to run it over few rows. What changes from one time to the next, such as the
hour, is an input.
"""

Progress: TypeAlias = Callable[[float], None]
"""Told how much of a job is done, from 0 to 1."""


class Engine(Protocol):
    """Runs Ibis expressions over tables."""

    name: str

    def read(self, source: Source) -> Rows:
        """Return a source's rows, with the columns of its schema."""
        ...

    def write(self, job: Job, inputs: Mapping[str, Source | datetime], new: NewVersion) -> None:
        """Run a job over inputs that share a key, and make its rows, by ``key`` and ``url``, parts of a version.

        A time among the inputs reaches the job as a value that it can compare columns with.
        """
        ...

    def save(self, rows: Rows, schema: Any, file: Path, order: Sequence[str] = ()) -> int:
        """Write rows as one Parquet file of a schema, by columns upwards, and return their number."""
        ...

    def batches(self, rows: Rows) -> Iterator[Any]:
        """Yield rows as Arrow record batches, in the order and of the types of the expression."""
        ...

    def map_batches(self, rows: Rows, function: Callable[[Any], Any], schema: Any) -> Rows:
        """Return what a function makes of the rows: record batch in, record batch of the schema out."""
        ...

    def close(self) -> None:
        """Remove what was spilled."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
