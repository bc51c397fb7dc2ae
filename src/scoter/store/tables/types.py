"""Arrow types as text: how plug-ins declare them and how a manifest keeps them.

The text is what Arrow itself prints (``timestamp[ms, tz=UTC]``, ``list<item: struct<url: string>>``), and a little
more: the aliases (``utf8``, ``float64``), and lists and time zones without their labels (``list<utf8>``,
``timestamp[ms, UTC]``).
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scoter.errors import UsageError

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
