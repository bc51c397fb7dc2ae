"""Rows as CSV, JSON lines, Parquet or plain text, written to a file atomically."""

from __future__ import annotations

import csv
import io
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scoter.core.csv_cells import csv_cell
from scoter.errors import UsageError
from scoter.store.disk import disk_errors

FORMATS = ("csv", "json", "parquet", "plain")
_SLICE = 4_096  # rows converted to Python objects at a time


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the context ends without an error."""
    if path.is_dir():
        raise UsageError("is a directory", where=str(path), hint="Pass the name of a file.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with disk_errors("write the file", path):
        file = draft.open("xb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def write_rows(batches: Iterable[Any], schema: Any, out: BinaryIO, form: str, *, exact: bool = False) -> int:
    """Write record batches of a schema in one of ``FORMATS``, or as lines of values, and return the number of rows.

    ``exact``: in CSV, keep texts that a spreadsheet would take for formulas.
    """
    if form == "parquet":
        return _parquet(batches, schema, out)
    if form == "csv":
        out.write(_csv_line(schema.names))
    encode = partial(csv_row, exact=exact) if form == "csv" else _ENCODERS[form]
    number = 0
    for number, row in enumerate(iter_rows(batches), 1):  # noqa: B007 - the last number is the count
        out.write(encode(row))
    return number


def iter_rows(batches: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of record batches."""
    for batch in batches:
        names = batch.schema.names
        for start in range(0, batch.num_rows, _SLICE):
            columns = [_values(column) for column in batch.slice(start, _SLICE).columns]
            yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _values(column: Any) -> list[Any]:
    try:
        return _python_values(column)
    except (OverflowError, ValueError) as failure:
        if pa.types.is_timestamp(column.type):
            return [_time_value(value) for value in column]
        hint = "Convert it to text: CAST(... AS VARCHAR)."
        raise UsageError("a time is outside of the years 1 to 9999", where="SQL", hint=hint) from failure


def _time_value(value: Any) -> Any:
    """Return a time that Python may not be able to represent; such a time is a text, as in SQL."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        if abs(value.value) == 2**63 - 1:
            return "infinity" if value.value > 0 else "-infinity"
        return str(value.cast(pa.utf8()).as_py())


def _python_values(column: Any) -> list[Any]:
    # Arrow converts nested values much faster if it is not told how to convert maps.
    has_maps = "map<" in str(column.type)
    found: list[Any] = column.to_pylist(maps_as_pydicts="lossy") if has_maps else column.to_pylist()
    return found


def only_row(batches: Iterable[Any]) -> dict[str, Any]:
    """Return the row of record batches that hold one, such as an aggregate."""
    (row,) = iter_rows(batches)
    return row


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON."""
    return msgspec.json.encode(json_value(row)) + b"\n"


def csv_row(row: Mapping[str, Any], *, exact: bool = False) -> bytes:
    """Return a row as a line of CSV; nested values are JSON. Without ``exact``, no cell is a formula."""
    return _csv_line(
        [
            value if isinstance(value, float) else csv_cell(value, text_value(value), exact=exact)
            for value in row.values()
        ]
    )


def plain_block(row: Mapping[str, Any]) -> bytes:
    """Return a row as a text block: its URL or first column, then one line per column that has a value."""
    widest, title = max(map(len, row)), "url" if "url" in row else next(iter(row))
    lines = [text_value(row[title])]
    lines += [
        f"  {name:<{widest}}  {_one_line(text_value(value))}"
        for name, value in row.items()
        if value not in (None, {}, []) and name != title
    ]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")


def value_line(row: Mapping[str, Any]) -> bytes:
    """Return the values of a row as a line of text."""
    return (_one_line(" ".join(map(text_value, row.values()))) + "\n").encode("utf-8", "replace")


_ENCODERS: Mapping[str, Callable[[Mapping[str, Any]], bytes]] = {
    "csv": csv_row,
    "json": json_line,
    "plain": plain_block,
    "lines": value_line,
}


def _parquet(batches: Iterable[Any], schema: Any, out: BinaryIO) -> int:
    number = 0
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch.cast(schema))
            number += batch.num_rows
    return number


def _csv_line(cells: Sequence[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8", "replace")


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


def json_value(value: Any) -> Any:
    """Return a value for JSON: bytes as hex digits, times in UTC.

    >>> json_value(b"\\x01\\xff"), json_value(datetime(2026, 11, 15, 5, tzinfo=UTC)), json_value({"a": (1, None)})
    ('01ff', '2026-11-15T05:00:00Z', {'a': [1, None]})
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return value.hex()
        case datetime():
            return utc_text(value)
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Mapping():
            return {str(key): json_value(each) for key, each in value.items()}
        case list() | tuple():
            return [json_value(each) for each in value]
        case _:
            return str(value)


def text_value(value: Any) -> str:
    """Return a value as text: empty for ``None``, JSON for nested values.

    >>> text_value(None), text_value({"a": 1}), text_value(0.1 + 0.2), text_value(True)
    ('', '{"a":1}', '0.3', 'true')
    """
    match value:
        case None:
            return ""
        case float():
            return f"{value:.6g}"
        case datetime():
            return utc_text(value.replace(microsecond=0))
        case _:
            found = json_value(value)
            return found if isinstance(found, str) else msgspec.json.encode(found).decode()


def utc_text(value: datetime) -> str:
    """Return a time as text; without a zone it is taken as UTC."""
    known = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat().replace("+00:00", "Z")
