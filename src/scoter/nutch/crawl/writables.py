"""Hadoop's encodings (Writables): numbers, texts, maps; and Nutch's Metadata, which is built from them."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from scoter.nutch.crawl.codecs import Damage, gunzip

_CLASSES: Final = {
    -127 + number: name
    for number, name in enumerate(
        (
            *("ArrayWritable", "BooleanWritable", "BytesWritable", "FloatWritable", "IntWritable", "LongWritable"),
            *("MapWritable", "MD5Hash", "NullWritable", "ObjectWritable", "SortedMapWritable", "Text"),
            *("TwoDArrayWritable", "VIntWritable", "VLongWritable"),
        )
    )
}
"""The classes that every map knows (Hadoop's AbstractMapWritable)."""
_MAX_TEXT: Final = 64 * 2**20
_MAX_NESTING: Final = 8
_INT: Final = struct.Struct(">i").unpack_from
_LONG: Final = struct.Struct(">q").unpack_from
_FLOAT: Final = struct.Struct(">f").unpack_from
_DOUBLE: Final = struct.Struct(">d").unpack_from
_SHORT: Final = struct.Struct(">h").unpack_from


class UnknownClass(Damage):
    """A value in a map whose class, and so whose length, is not known. ``known`` holds the entries before it."""

    def __init__(self, name: str, known: dict[str, str]) -> None:
        super().__init__(f"metadata of the class {name} cannot be read")
        self.known = known


class WritableReader:
    """Reads values from bytes, one after the other; raises ``Damage`` where there is none."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.data)

    def raw(self, length: int) -> bytes:
        """Return the next bytes."""
        end = self.at + length
        if length < 0 or end > len(self.data):
            raise Damage("the record ends within a value")
        found = self.data[self.at : end]
        self.at = end
        return found

    def int8(self) -> int:
        """Return a signed byte."""
        found = self.raw(1)[0]
        return found - 256 if found > 127 else found

    def boolean(self) -> bool:
        return self.raw(1) != b"\0"

    def int16(self) -> int:
        found: int = self._number(_SHORT, 2)
        return found

    def int32(self) -> int:
        found: int = self._number(_INT, 4)
        return found

    def int64(self) -> int:
        found: int = self._number(_LONG, 8)
        return found

    def float32(self) -> float:
        found: float = self._number(_FLOAT, 4)
        return found

    def float64(self) -> float:
        found: float = self._number(_DOUBLE, 8)
        return found

    def _number(self, unpack: Any, size: int) -> Any:
        at = self.at
        if at + size > len(self.data):
            raise Damage("the record ends within a value")
        self.at = at + size
        return unpack(self.data, at)[0]

    @staticmethod
    def vint_size(first: int) -> int:
        """Return the size in bytes of a vint, by its first byte.

        >>> [WritableReader.vint_size(first) for first in (0, 127, 0x90, 0x8F, 0x88, 0x87, 0x80)]
        [1, 1, 1, 2, 9, 2, 9]
        """
        if first <= 127 or first >= 144:
            return 1
        return 145 - first if first >= 136 else 137 - first

    def vint(self) -> int:
        """Return an integer of variable length (WritableUtils.readVLong).

        >>> [WritableReader(data).vint() for data in (b"\\x05", b"\\xff", b"\\x8f\\xc8", b"\\x87\\xc8")]
        [5, -1, 200, -201]
        """
        at = self.at
        if at >= len(self.data):
            raise Damage("the record ends within a value")
        first = self.data[at]
        if first <= 127:
            self.at = at + 1
            return first
        if first >= 144:
            self.at = at + 1
            return first - 256
        size = self.vint_size(first)
        if at + size > len(self.data):
            raise Damage("the record ends within a value")
        self.at = at + size
        found = int.from_bytes(self.data[at + 1 : at + size])
        return ~found if first < 136 else found

    def text(self) -> str:
        """Return a text: its length, then UTF-8."""
        at, data = self.at, self.data
        if at < len(data) and (length := data[at]) <= 127:
            start = at + 1
        else:
            length = self.vint()
            start = self.at
            if not 0 <= length <= _MAX_TEXT:
                raise Damage(f"a text cannot have {length} bytes")
        end = start + length
        if end > len(data):
            raise Damage("the record ends within a text")
        self.at = end
        return data[start:end].decode("utf-8", "replace")

    def count(self, smallest: int) -> int:
        """Return a number of elements; raise if the rest is too short for them, at ``smallest`` bytes each."""
        found = self.int32()
        if not 0 <= found * smallest <= len(self.data) - self.at:
            raise Damage(f"there cannot be {found} elements")
        return found

    def strings(self, *, compressed: bool = False) -> tuple[str, ...]:
        """Return an array of strings (WritableUtils.readStringArray); compressed ones are gzipped one by one."""
        number = self.int32()
        if number == -1:
            return ()
        if not 0 <= number <= len(self.data) - self.at:
            raise Damage(f"there cannot be {number} texts")
        return tuple(self.compressed_string() if compressed else self._string() for _ in range(number))

    def _string(self) -> str:
        length = self.int32()
        return "" if length == -1 else self.raw(length).decode("utf-8", "replace")

    def compressed_string(self) -> str:
        """Return a gzipped string (WritableUtils.readCompressedString)."""
        length = self.int32()
        return "" if length == -1 else gunzip(self.raw(length), _MAX_TEXT).decode("utf-8", "replace")

    def metadata(self) -> dict[str, tuple[str, ...]]:
        """Return Nutch's Metadata: the values of each name."""
        found: dict[str, tuple[str, ...]] = {}
        text = self.text
        for _ in range(self.count(5)):
            name = text()
            found[name] = tuple([text() for _ in range(self.count(1))])
        return found

    def map_writable(self, nesting: int = 0) -> dict[str, str]:
        """Return Hadoop's MapWritable, keys and values as texts."""
        if nesting > _MAX_NESTING:
            raise Damage("maps are nested too deeply")
        classes = _CLASSES
        if new := self.int8():
            if new < 0:
                raise Damage(f"a map cannot have {new} classes")
            classes = dict(_CLASSES)
            for _ in range(new):
                number, length = self.int8(), self.int16()
                classes[number] = self.raw(length).decode("utf-8", "replace").rpartition(".")[2]
        found: dict[str, str] = {}
        for _ in range(self.count(2)):
            key = self._value(classes, found, nesting)
            found[key] = self._value(classes, found, nesting)
        return found

    def _value(self, classes: dict[int, str], found: dict[str, str], nesting: int) -> str:
        number = self.int8()
        name = classes.get(number, f"number {number}")
        match name:
            case "Text":
                return self.text()
            case "BooleanWritable":
                return "true" if self.boolean() else "false"
            case "ByteWritable":
                return str(self.int8())
            case "ShortWritable":
                return str(self.int16())
            case "IntWritable":
                return str(self.int32())
            case "LongWritable":
                return str(self.int64())
            case "VIntWritable" | "VLongWritable":
                return str(self.vint())
            case "FloatWritable":
                return str(np.float32(self.float32()))
            case "DoubleWritable":
                return str(self.float64())
            case "BytesWritable":
                return self.raw(self.int32()).hex()
            case "MD5Hash":
                return self.raw(16).hex()
            case "NullWritable":
                return ""
            case "MapWritable" | "SortedMapWritable":
                return ", ".join(f"{key}={value}" for key, value in self.map_writable(nesting + 1).items())
            case "ProtocolStatus":
                return self.protocol_status()
            case "ParseStatus":
                return self.parse_status()[2]
            case _:
                raise UnknownClass(name, found)

    def protocol_status(self) -> str:
        """Return Nutch's ProtocolStatus as Nutch shows it.

        >>> status = bytes([2, 14]) + bytes(8) + b"\\xff" * 4
        >>> WritableReader(status).protocol_status()
        'notfound(14), lastModified=0'
        """
        version, code, modified = self.int8(), self.int8(), self.int64()
        if version not in (1, 2):
            raise Damage(f"ProtocolStatus version {version} is not known")
        args = self.strings(compressed=version == 1)
        shown = f"{PROTOCOL_CODES.get(code, 'unknown')}({code}), lastModified={modified}"
        return f"{shown}: {', '.join(args)}" if args else shown

    def parse_status(self) -> tuple[int, int, str]:
        """Return Nutch's ParseStatus: the major code, the minor code, and the arguments as a text."""
        version, major, minor = self.int8(), self.int8(), self.int16()
        if version not in (1, 2):
            raise Damage(f"ParseStatus version {version} is not known")
        return major, minor, ", ".join(self.strings(compressed=version == 1))


_PROTOCOL_NAMES: Final = (
    *("proto_not_found", "gone", "moved", "temp_moved", "notfound", "retry", "exception", "access_denied"),
    *("robots_denied", "redir_exceeded", "notfetching", "notmodified", "wouldblock", "blocked"),
)
PROTOCOL_CODES: Final = {1: "success", 2: "failed", **dict(enumerate(_PROTOCOL_NAMES, 10))}
