"""Columns come and go: what a reader wants of what a table holds.

A column that is missing gets its default, one that is not wanted is left out, and a type may have become wider. A
change of kind is an error that names the column and both types.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from scoter.errors import UsageError
from scoter.plugins import Column
from scoter.store.tables.types import arrow_type

Defaults = Mapping[str, Any]
"""The values of columns that a file lacks; a column without one is null there."""

_UNITS = ("s", "ms", "us", "ns")


def with_columns(schema: Any, extra: Iterable[Column]) -> Any:
    """Return a schema with the columns of plug-ins after its own."""
    for column in extra:
        if column.name in schema.names:
            hint = "Two plug-ins, or a plug-in and the table itself, use one name; rename the plug-in's."
            raise UsageError(f"the column {column.name} is declared twice", hint=hint)
        schema = schema.append(pa.field(column.name, arrow_type(column.arrow_type)))
    return schema


def defaults_of(extra: Iterable[Column], own: Defaults | None = None) -> dict[str, Any]:
    """Return the values for missing columns; that of a plug-in's column may be null."""
    return {**(own or {}), **{column.name: column.default for column in extra}}


def fits(have: Any, want: Any) -> bool:
    """Whether every value of one type can be read as another of the same kind.

    >>> fits(pa.int32(), pa.int64()), fits(pa.int64(), pa.int32()), fits(pa.int32(), pa.float64())
    (True, False, False)
    """
    # How values are encoded, or how long their offsets are, is no matter of kind.
    have, want = _plain(have), _plain(want)
    if have == want or kinds.is_null(have):
        return True
    if kinds.is_integer(have) and kinds.is_integer(want):
        if kinds.is_signed_integer(have) == kinds.is_signed_integer(want):
            return bool(have.bit_width <= want.bit_width)
        return bool(kinds.is_signed_integer(want) and have.bit_width < want.bit_width)
    if kinds.is_floating(have) and kinds.is_floating(want):
        return bool(have.bit_width <= want.bit_width)
    if kinds.is_timestamp(have) and kinds.is_timestamp(want):
        return (have.tz is None) == (want.tz is None) and _UNITS.index(have.unit) <= _UNITS.index(want.unit)
    if _is_list(have) and _is_list(want):
        return fits(have.value_type, want.value_type)
    if kinds.is_map(have) and kinds.is_map(want):
        return fits(have.key_type, want.key_type) and fits(have.item_type, want.item_type)
    if kinds.is_struct(have) and kinds.is_struct(want):
        pairs = list(zip(have, want, strict=False))
        return have.num_fields == want.num_fields and all(a.name == b.name and fits(a.type, b.type) for a, b in pairs)
    return False


def missing(have: Any, want: Any, defaults: Defaults, where: str, *, strict: bool = False) -> dict[str, Any]:
    """Return the wanted columns that are not there with the values they get, or say why it cannot be read so.

    A column without a default becomes null, unless it must not be or all of them are asked for (``strict``).
    """
    absent: dict[str, Any] = {}
    for field in want:
        at = have.get_field_index(field.name)
        if at >= 0:
            if not fits(have.field(at).type, field.type):
                message = f"the column {field.name} holds {have.field(at).type}, but {field.type} is wanted"
                hint = "A type may only become wider. Give the new column another name, or write the table anew."
                raise UsageError(message, where=where, hint=hint)
        elif field.nullable and (field.name in defaults or not strict):
            absent[field.name] = _scalar(field, defaults.get(field.name), where)
        elif defaults.get(field.name) is not None:
            absent[field.name] = _scalar(field, defaults[field.name], where)
        else:
            hint = "Give it a default, or let it be null."
            raise UsageError(f"the column {field.name} is missing and has no default", where=where, hint=hint)
    return absent


def guarantee(absent: Mapping[str, Any]) -> Any:
    """Return what is true of every row of a file: that columns it lacks have their defaults.

    Arrow fills columns from it, and uses it when it filters. Nothing: every one of them is null.
    """
    told = [pc.field(name) == pc.scalar(value) for name, value in absent.items() if value.is_valid]
    return reduce(and_, told) if told else None


def conform(batch: Any, want: Any, defaults: Defaults, where: str) -> Any:
    """Return a record batch in the form in which it is to be written; one that has it already is handed back.

    Only columns with a default may be missing: what forgets one of the others is mistaken.
    """
    if batch.schema.equals(want):
        return batch
    names = batch.schema.names
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"the column {min(twice)} stands twice in a record batch", where=where)
    absent = missing(batch.schema, want, defaults, where, strict=True)
    columns = []
    for field in want:
        if field.name in absent:
            columns.append(pa.repeat(absent[field.name], batch.num_rows))
        else:
            column = batch.column(field.name)
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=want)


def _scalar(field: Any, value: Any, where: str) -> Any:
    try:
        return pa.scalar(value, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        message = f"the default of the column {field.name}, {value!r}, is no {field.type}"
        raise UsageError(message, where=where) from None


def _is_list(kind: Any) -> bool:
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind))


def _plain(kind: Any) -> Any:
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    if kinds.is_large_string(kind):
        return pa.utf8()
    return pa.binary() if kinds.is_large_binary(kind) else kind
