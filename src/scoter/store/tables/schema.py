"""Arrow types as text: how plug-ins declare them and how a manifest keeps them.

The text is what Arrow itself prints (``timestamp[ms, tz=UTC]``, ``list<item: struct<url: string>>``), and a little
more: the aliases (``utf8``, ``float64``), and lists and time zones without their labels (``list<utf8>``,
``timestamp[ms, UTC]``).
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from scoter.errors import UsageError
from scoter.plugins import Column

DEPTH = 32
"""Types are nested no deeper than this."""

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:,\s*(?:tz=)?([^\]]+))?\]")
_BINARY = re.compile(r"fixed_size_binary\[(\d+)\]")
_DECIMAL = re.compile(r"decimal(128|256)\((\d+),\s*(-?\d+)\)")
_ATOM = re.compile(r"\s*([a-z_]\w*(?:\[[^\]]*\]|\([^)]*\))?)")
_LABEL = re.compile(r"\s*([^:<>,\s][^:<>,]*):\s")


def arrow_type(text: str) -> Any:
    """Return the Arrow type that a text names.

    >>> arrow_type("map<utf8, list<int32>>")
    MapType(map<string, list<item: int32>>)
    >>> arrow_type("timestamp[ms, UTC]")
    TimestampType(timestamp[ms, tz=UTC])
    """
    reading = _Reading(text)
    found = reading.type()
    if reading.rest.strip():
        raise reading.error()
    return found


class _Reading:
    """One text on its way to a type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def error(self) -> UsageError:
        hint = (
            "Types are written as Arrow does: int32, double, utf8, timestamp[ms, tz=UTC], list<utf8>, map<utf8, utf8>."
        )
        return UsageError(f"{self.text!r} is no Arrow type (stopped at {self.rest[:20]!r})", hint=hint)

    def type(self) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.error()
        atom = _ATOM.match(self.text, self.at)
        if atom is None:
            raise self.error()
        name = atom[1]
        build = _NESTED.get(name)
        if build is None:
            found = self._plain(name)
            self.at = atom.end()
        else:
            self.at = atom.end()
            self.expect("<")
            found = build(self)
            self.expect(">")
        self.depth -= 1
        return found

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise self.error()

    def accept(self, sign: str) -> bool:
        rest = self.rest
        spaces = len(rest) - len(rest.lstrip())
        if not rest.startswith(sign, spaces):
            return False
        self.at += spaces + len(sign)
        return True

    def label(self, default: str | None) -> str:
        found = _LABEL.match(self.text, self.at)
        if found is None:
            if default is None:
                raise self.error()
            return default
        self.at = found.end()
        return found[1]

    def field(self, default: str | None) -> Any:
        name = self.label(default)
        kind = self.type()
        return pa.field(name, kind, nullable=not self.accept("not null"))

    def _plain(self, name: str) -> Any:
        if found := _TIMESTAMP.fullmatch(name):
            return pa.timestamp(found[1], found[2].strip() if found[2] else None)
        if found := _BINARY.fullmatch(name):
            return pa.binary(int(found[1]))
        if found := _DECIMAL.fullmatch(name):
            make = pa.decimal128 if found[1] == "128" else pa.decimal256
            try:
                return make(int(found[2]), int(found[3]))
            except ValueError:
                raise self.error() from None
        try:
            return pa.type_for_alias(name)
        except ValueError:
            raise self.error() from None


def _list(reading: _Reading) -> Any:
    return pa.list_(reading.field("item"))


def _large_list(reading: _Reading) -> Any:
    return pa.large_list(reading.field("item"))


def _map(reading: _Reading) -> Any:
    key = reading.type()
    reading.expect(",")
    value = reading.type()
    return pa.map_(key, pa.field("value", value, nullable=not reading.accept("not null")))


def _struct(reading: _Reading) -> Any:
    fields: list[Any] = []
    while not reading.rest.lstrip().startswith(">"):
        if fields:
            reading.expect(",")
        fields.append(reading.field(None))
    return pa.struct(fields)


def _dictionary(reading: _Reading) -> Any:
    reading.expect("values=")
    values = reading.type()
    reading.expect(", indices=")
    indices = reading.type()
    ordered = reading.accept(", ordered=1")
    if not ordered:
        reading.accept(", ordered=0")
    return pa.dictionary(indices, values, ordered)


_NESTED: dict[str, Callable[[_Reading], Any]] = {
    "list": _list,
    "large_list": _large_list,
    "map": _map,
    "struct": _struct,
    "dictionary": _dictionary,
}


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
