"""What an engine reads: Parquet files, the columns wanted of them, and what to put where a file lacks one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from scoter.store.tables import Defaults


class Stored(Protocol):
    """A table or a set of parts."""

    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def schema(self) -> Any: ...
    @property
    def defaults(self) -> Defaults: ...


class Source(Struct, frozen=True, kw_only=True):
    """Files of rows.

    ``is_sorted``: the rows lie by their key, so that a range of keys is found without reading the rest. ``weight``: how
    many times as much memory as usual a job takes for each of its bytes, such as one that gathers rows into lists.
    """

    files: tuple[str, ...]
    schema: Any
    defaults: Defaults
    is_sorted: bool = False
    weight: float = 1.0


def source_of(stored: Stored, columns: Sequence[str] | None = None, *, is_sorted: bool = False) -> Source:
    """Return a table or a set of parts as a source, with all of its columns or some."""
    schema = stored.schema if columns is None else _only(stored.schema, columns)
    return Source(files=stored.files, schema=schema, defaults=stored.defaults, is_sorted=is_sorted)


def _only(schema: Any, columns: Sequence[str]) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped]

    return pa.schema([schema.field(name) for name in columns])
