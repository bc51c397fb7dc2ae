"""Arrow types as text, and schema evolution: how a reader gets the columns it wants from older files.

Types are written as Arrow prints them (``timestamp[ms, tz=UTC]``, ``list<item: struct<url: string>>``), or with
aliases (``utf8``, ``float64``) and without labels (``list<utf8>``, ``timestamp[ms, UTC]``).

A missing column gets its default, an unwanted one is not read, and a type may have become wider. Any other change is
an error that names the column and both types.
"""

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
"""Maximum nesting of types."""

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:,\s*(?:tz=)?([^\]]+))?\]")
_BINARY = re.compile(r"fixed_size_binary\[(\d+)\]")
_DECIMAL = re.compile(r"decimal(128|256)\((\d+),\s*(-?\d+)\)")
_ATOM = re.compile(r"\s*([a-z_]\w*(?:\[[^\]]*\]|\([^)]*\))?)")
_LABEL = re.compile(r"\s*([^:<>,\s][^:<>,]*):\s")


def arrow_type(text: str) -> Any:
    """Parse an Arrow type.

    >>> arrow_type("map<utf8, list<int32>>")
    MapType(map<string, list<item: int32>>)
    >>> arrow_type("timestamp[ms, UTC]")
    TimestampType(timestamp[ms, tz=UTC])
    """
    parser = _TypeParser(text)
    found = parser.type()
    if parser.rest.strip():
        raise parser.error()
    return found


class _TypeParser:
    """A recursive-descent parser of types."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def error(self) -> UsageError:
        hint = "Write types as Arrow does: int32, double, utf8, timestamp[ms, tz=UTC], list<utf8>, map<utf8, utf8>."
        return UsageError(f"{self.text!r} is not an Arrow type (error at {self.rest[:20]!r})", hint=hint)

    def type(self) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.error()
        atom = _ATOM.match(self.text, self.at)
        if atom is None:
            raise self.error()
        build = _NESTED.get(atom[1])
        if build is None:
            found = self._plain(atom[1])
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

    def field(self, name: str = "") -> Any:
        """Parse a type with its label, which may be missing if the field has a name."""
        if label := _LABEL.match(self.text, self.at):
            name, self.at = label[1], label.end()
        if not name:
            raise self.error()
        kind = self.type()
        return pa.field(name, kind, nullable=not self.accept("not null"))

    def _plain(self, name: str) -> Any:
        if found := _TIMESTAMP.fullmatch(name):
            return pa.timestamp(found[1], found[2].strip() if found[2] else None)
        if found := _BINARY.fullmatch(name):
            return pa.binary(int(found[1]))
        try:
            if found := _DECIMAL.fullmatch(name):
                make = pa.decimal128 if found[1] == "128" else pa.decimal256
                return make(int(found[2]), int(found[3]))
            return pa.type_for_alias(name)
        except ValueError:
            raise self.error() from None


def _map(parser: _TypeParser) -> Any:
    key = parser.type()
    parser.expect(",")
    value = parser.type()
    return pa.map_(key, pa.field("value", value, nullable=not parser.accept("not null")))


def _struct(parser: _TypeParser) -> Any:
    fields: list[Any] = []
    while not parser.rest.lstrip().startswith(">"):
        if fields:
            parser.expect(",")
        fields.append(parser.field())
    return pa.struct(fields)


def _dictionary(parser: _TypeParser) -> Any:
    parser.expect("values=")
    values = parser.type()
    parser.expect(", indices=")
    indices = parser.type()
    ordered = parser.accept(", ordered=1")
    parser.accept(", ordered=0")
    return pa.dictionary(indices, values, ordered)


_NESTED: dict[str, Callable[[_TypeParser], Any]] = {
    "list": lambda parser: pa.list_(parser.field("item")),
    "large_list": lambda parser: pa.large_list(parser.field("item")),
    "map": _map,
    "struct": _struct,
    "dictionary": _dictionary,
}


Defaults = Mapping[str, Any]
"""The values of columns that are missing in a file; ``None`` if not listed."""

_UNITS = ("s", "ms", "us", "ns")


def with_columns(schema: Any, extra: Iterable[Column]) -> Any:
    """Append the columns of plug-ins to a schema."""
    for column in extra:
        if column.name in schema.names:
            hint = "Two plug-ins, or a plug-in and the table, use the same name; rename the plug-in's column."
            raise UsageError(f"the column {column.name} is declared twice", hint=hint)
        schema = schema.append(pa.field(column.name, arrow_type(column.arrow_type)))
    return schema


def defaults_of(extra: Iterable[Column], own: Defaults | None = None) -> dict[str, Any]:
    """Return the defaults of missing columns; that of a plug-in's column may be null."""
    return {**(own or {}), **{column.name: column.default for column in extra}}


def fits(have: Any, want: Any) -> bool:
    """Return whether every value of one type can be read as another of the same kind.

    >>> fits(pa.int32(), pa.int64()), fits(pa.int64(), pa.int32()), fits(pa.int32(), pa.float64())
    (True, False, False)
    """
    # Encoding and width of offsets do not matter.
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
    """Return the missing columns with their values; raise if the files cannot be read with the wanted schema.

    A column without a default becomes null, unless it is not nullable or ``strict`` is set.
    """
    absent: dict[str, Any] = {}
    for field in want:
        at = have.get_field_index(field.name)
        if at >= 0:
            if not fits(have.field(at).type, field.type):
                message = f"the column {field.name} holds {have.field(at).type}, but {field.type} is expected"
                hint = "A type may only become wider. Rename the new column, or rewrite the table."
                raise UsageError(message, where=where, hint=hint)
        elif field.nullable and (field.name in defaults or not strict):
            absent[field.name] = _scalar(field, defaults.get(field.name), where)
        elif defaults.get(field.name) is not None:
            absent[field.name] = _scalar(field, defaults[field.name], where)
        else:
            hint = "Give it a default, or make it nullable."
            raise UsageError(f"the column {field.name} is missing and has no default", where=where, hint=hint)
    return absent


def guarantee(absent: Mapping[str, Any]) -> Any:
    """Return an expression that is true for every row of a file: missing columns have their defaults.

    Arrow fills the columns from it and uses it for filters. ``None`` if all of them are null.
    """
    known = [pc.field(name) == pc.scalar(value) for name, value in absent.items() if value.is_valid]
    return reduce(and_, known) if known else None


def conform(batch: Any, want: Any, defaults: Defaults, where: str) -> Any:
    """Return a record batch with the schema of the table.

    Only columns with a default may be missing; omitting any other is a mistake of the caller.
    """
    if batch.schema.equals(want):
        return batch
    names = batch.schema.names
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"the column {min(twice)} occurs twice in a record batch", where=where)
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
        message = f"the default of the column {field.name}, {value!r}, is not {field.type}"
        raise UsageError(message, where=where) from None


def _is_list(kind: Any) -> bool:
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind))


def _plain(kind: Any) -> Any:
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    if kinds.is_large_string(kind):
        return pa.utf8()
    return pa.binary() if kinds.is_large_binary(kind) else kind
