"""Structs in Thrift's compact protocol, in which the footers of Parquet files are written.

A struct is read without knowing its fields and written again with all of them. See
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Struct: TypeAlias = dict[int, tuple[int, Any]]
"""The fields of a struct by number: the type of each and its value.

Integers of any size are ``int``, texts and doubles ``bytes``, a list is a pair of the type and the list of its values.
"""

TRUE: Final = 1
FALSE: Final = 2
BYTE: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
STRUCT: Final = 12

_INTEGERS = (I16, I32, I64)
_DEPTH = 32
_LONG_LIST = 15
_BITS = 64


class BadThriftError(Exception):
    """Bytes that are no struct, or have something that Parquet does not use."""


def read_struct(data: bytes) -> Struct:
    """Read a struct.

    >>> read_struct(b"\\x15\\x04\\x18\\x01x\\x00")
    {1: (5, 2), 2: (8, b'x')}
    """
    reader = _Reader(data)
    try:
        found = reader.struct(0)
    except IndexError:
        raise BadThriftError("the struct is truncated") from None
    if reader.at != len(data):
        raise BadThriftError("there are bytes after the struct")
    return found


def write_struct(struct: Struct) -> bytes:
    """Return a struct as bytes.

    >>> write_struct({1: (I32, 2), 2: (BINARY, b"x")})
    b'\\x15\\x04\\x18\\x01x\\x00'
    """
    into = bytearray()
    _write_struct(into, struct)
    return bytes(into)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def _byte(self) -> int:
        found = self._data[self.at]
        self.at += 1
        return found

    def _bytes(self, count: int) -> bytes:
        found = self._data[self.at : self.at + count]
        if len(found) < count:
            raise BadThriftError("a text is truncated")
        self.at += count
        return found

    def _varint(self) -> int:
        found = shift = 0
        while shift < _BITS:
            byte = self._byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7
        raise BadThriftError("an integer has more than 64 bits")

    def _integer(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def struct(self, depth: int) -> Struct:
        if depth > _DEPTH:
            raise BadThriftError("structs are nested too deeply")
        found: Struct = {}
        number = 0
        while header := self._byte():
            kind = header & 15
            number = number + (header >> 4) if header >> 4 else self._integer()
            if number in found:
                raise BadThriftError(f"the field {number} occurs twice")
            found[number] = kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == LIST:
            header = self._byte()
            count, kind = header >> 4, header & 15
            if count == _LONG_LIST:
                count = self._varint()
            if count > len(self._data) - self.at:  # every value takes a byte
                raise BadThriftError("a list is truncated")
            return kind, [self._value(kind, depth + 1) for _ in range(count)]
        if kind in (TRUE, FALSE, BYTE):  # of a list, a truth is a byte, too
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        raise BadThriftError(f"there is a value of type {kind}")


def _write_struct(into: bytearray, struct: Struct) -> None:
    before = 0
    for number in sorted(struct):
        kind, value = struct[number]
        if 0 < number - before <= 15:
            into.append((number - before) << 4 | kind)
        else:
            into.append(kind)
            _write_integer(into, number)
        before = number
        if kind not in (TRUE, FALSE):
            _write_value(into, kind, value)
    into.append(0)


def _write_value(into: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _write_integer(into, value)
    elif kind == BINARY:
        _write_varint(into, len(value))
        into += value
    elif kind == STRUCT:
        _write_struct(into, value)
    elif kind == LIST:
        kind, values = value
        into.append(min(len(values), _LONG_LIST) << 4 | kind)
        if len(values) >= _LONG_LIST:
            _write_varint(into, len(values))
        for each in values:
            _write_value(into, kind, each)
    elif kind == DOUBLE:
        into += value
    else:
        into.append(value)


def _write_integer(into: bytearray, value: int) -> None:
    _write_varint(into, value << 1 if value >= 0 else (-value << 1) - 1)


def _write_varint(into: bytearray, value: int) -> None:
    while value >= 0x80:
        into.append(value & 0x7F | 0x80)
        value >>= 7
    into.append(value)
