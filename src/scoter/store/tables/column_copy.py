"""Copy a Parquet file with other values of one column.

The encoded pages of all other columns are copied byte for byte, with what the footer says about them, so that only the
new values are encoded. https://parquet.apache.org/docs/file-format/metadata/ describes the footer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq

from scoter.errors import Defect, UserError
from scoter.store.disk import disk_errors
from scoter.store.tables.thrift import I64, BadThriftError, Struct, read_struct, write_struct

_MAGIC = b"PAR1"
_TAIL = 8
_PIECE = 2**20
_MAX_GROUP_ROWS = 2**24
_MAX_FOOTER = 2**28
_WRITERS = (b"DuckDB version ", b"parquet-cpp-arrow version ")
"""Those whose files are known to have nothing that depends on where their pages are, except what is listed here."""

# Numbers of fields; of each struct, all that this module knows.
_SCHEMA, _ROW_GROUPS, _CREATED_BY, _COLUMN_ORDERS = 2, 4, 6, 7
_OF_FILE = range(1, 8)  # without those about encryption
_COLUMNS, _TOTAL_BYTES, _ROWS, _SORTED_BY, _GROUP_OFFSET, _GROUP_BYTES = 1, 2, 3, 4, 5, 6
_OF_GROUP = range(1, 8)
_CHUNK_OFFSET, _CHUNK = 2, 3
_PAGE_INDEX = range(4, 8)
_OF_CHUNK = range(2, 8)  # without another file's path, and without encryption
_PATH, _PLAIN_BYTES, _BYTES, _FIRST_PAGE, _DICTIONARY = 3, 6, 7, 9, 11
_BLOOM_FILTER = range(14, 16)
_OF_DATA = {*range(1, 10), *range(11, 17)}  # without an offset of an index page, which nobody writes


class _NotCopiedError(Exception):
    """The file has something that could become wrong in a copy."""


class ColumnCopy:
    """A file that can be copied with other values of one column."""

    def __init__(self, file: BinaryIO, footer: Struct, field: Any, place: int, start: int) -> None:
        """``field`` is the column, ``place`` its number, ``start`` the position of the footer."""
        self._file = file
        self._footer = footer
        self._field = field
        self._place = place
        self._start = start

    @classmethod
    def of(cls, file: BinaryIO, schema: Any, name: str) -> Self | None:
        """Return the copy of a file with other values of a column, or ``None`` if it has to be written anew.

        The file must have exactly the columns of the schema.
        """
        try:
            stored = pq.read_schema(file)
            if stored.names != schema.names or stored.types != schema.types:
                return None
            footer, start = _read_footer(file)
            field = stored.field(name)
            return cls(file, footer, field, _checked_place(footer, field, start), start)
        except (_NotCopiedError, BadThriftError, pa.ArrowException):  # whoever reads a damaged file says so
            return None

    @property
    def group_rows(self) -> Sequence[int]:
        """The number of rows of each row group."""
        return [_value(group, _ROWS) for group in _row_groups(self._footer)]

    @property
    def values_schema(self) -> Any:
        """The schema of a file with the values of the column."""
        return pa.schema([self._field])

    def write(self, values: Path, into: Path) -> None:
        """Write the copy; ``values`` is a file with the same row groups, which has only this column."""
        with disk_errors("read the file", values), values.open("rb") as other:
            found, start = _read_footer(other)
            if [_value(group, _ROWS) for group in _row_groups(found)] != self.group_rows:
                raise Defect(f"{values} has other row groups than the file to copy")
            with disk_errors("write the file", into), into.open("wb") as opened:
                opened.write(_MAGIC)
                copied = _Copied(opened)
                for group, changed in zip(_row_groups(self._footer), _row_groups(found), strict=True):
                    self._copy_group(group, _columns(changed)[0], other, start, copied)
                copied.flush()
                if _COLUMN_ORDERS in self._footer and _COLUMN_ORDERS in found:
                    _items(self._footer, _COLUMN_ORDERS)[self._place] = _items(found, _COLUMN_ORDERS)[0]
                data = write_struct(self._footer)
                opened.write(data + len(data).to_bytes(4, "little") + _MAGIC)

    def _copy_group(self, group: Struct, changed: Struct, other: BinaryIO, start: int, copied: _Copied) -> None:
        """Copy the chunks of a row group, and change what it says about them."""
        begun, columns = copied.end, _columns(group)
        columns[self._place] = changed
        for place, chunk in enumerate(columns):
            is_changed = place == self._place
            first, length = _place_of(chunk, start if is_changed else self._start)
            moved = copied.add(other if is_changed else self._file, first, length) - first
            data = _value(chunk, _CHUNK)
            for number in (_FIRST_PAGE, _DICTIONARY):
                if _value(data, number, 0):
                    data[number] = I64, _value(data, number) + moved
            # Page indexes and Bloom filters are elsewhere in the file; readers do without them.
            _drop(data, _BLOOM_FILTER)
            _drop(chunk, _PAGE_INDEX)
            chunk[_CHUNK_OFFSET] = I64, 0  # as the specification wants it
        group[_TOTAL_BYTES] = I64, sum(_value(_value(each, _CHUNK), _PLAIN_BYTES) for each in columns)
        if _GROUP_BYTES in group:
            group[_GROUP_BYTES] = I64, copied.end - begun
        if _GROUP_OFFSET in group:
            group[_GROUP_OFFSET] = I64, begun
        group.pop(_SORTED_BY, None)  # it might name the changed column


class _Copied:
    """Appends ranges of files to another one; neighbours are copied together."""

    def __init__(self, into: BinaryIO) -> None:
        self.end = into.tell()
        self._into = into
        self._source: BinaryIO | None = None
        self._first = self._last = 0

    def add(self, source: BinaryIO, first: int, length: int) -> int:
        """Append a range; return where it starts."""
        if source is not self._source or first != self._last:
            self.flush()
            self._source, self._first = source, first
        self._last = first + length
        self.end += length
        return self.end - length

    def flush(self) -> None:
        """Write what waits."""
        if self._source is None:
            return
        self._source.seek(self._first)
        for piece in _pieces(self._last - self._first):
            data = self._source.read(piece)
            if len(data) < piece:
                raise UserError("the file to copy became shorter")
            self._into.write(data)
        self._source = None


def _pieces(length: int) -> Iterator[int]:
    yield from (min(_PIECE, length - at) for at in range(0, length, _PIECE))


def _read_footer(file: BinaryIO) -> tuple[Struct, int]:
    """Return the footer of a file, and where it starts."""
    end = file.seek(0, 2)
    file.seek(max(end - _TAIL, 0))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(end - _TAIL - len(_MAGIC), _MAX_FOOTER):
        raise _NotCopiedError
    start = end - _TAIL - length
    file.seek(start)
    return read_struct(file.read(length)), start


def _checked_place(footer: Struct, field: Any, start: int) -> int:
    """Return the number of a column; raise if the file has anything that is not known to be safe to copy."""
    if not footer.keys() <= set(_OF_FILE) or not _value(footer, _CREATED_BY, b"").startswith(_WRITERS):
        raise _NotCopiedError
    path = [field.name.encode()]
    if _element(_items(footer, _SCHEMA), path[0]) != _element(_written_schema(field), path[0]):
        raise _NotCopiedError
    places = set()
    for group in _row_groups(footer):
        if not group.keys() <= set(_OF_GROUP) or not 0 < _value(group, _ROWS) <= _MAX_GROUP_ROWS:
            raise _NotCopiedError
        for place, chunk in enumerate(_columns(group)):
            if not chunk.keys() <= set(_OF_CHUNK) or not _value(chunk, _CHUNK).keys() <= _OF_DATA:
                raise _NotCopiedError
            _place_of(chunk, start)
            if _value(_value(chunk, _CHUNK), _PATH)[1] == path:
                places.add(place)
    if len(places) != 1:
        raise _NotCopiedError
    return places.pop()


def _element(schema: Sequence[Struct], name: bytes) -> Struct:
    """Return what a schema says about a column that is not nested and whose name occurs once."""
    found = [each for each in schema if _value(each, _ELEMENT_NAME) == name and _CHILDREN not in each]
    if len(found) != 1:
        raise _NotCopiedError
    return found[0]


_ELEMENT_NAME, _CHILDREN = 4, 5


def _written_schema(field: Any) -> Sequence[Struct]:
    """Return the schema of a file that Arrow writes with a column."""
    with BytesIO() as file:
        pq.write_table(pa.schema([field]).empty_table(), file)
        return _items(_read_footer(file)[0], _SCHEMA)


def _place_of(chunk: Struct, end: int) -> tuple[int, int]:
    """Return where the pages of a column start, and their length; they must end before the footer."""
    data = _value(chunk, _CHUNK)
    first, length = _value(data, _FIRST_PAGE), _value(data, _BYTES)
    if 0 < _value(data, _DICTIONARY, 0) < first:
        first = _value(data, _DICTIONARY)
    if first < len(_MAGIC) or length < 0 or first + length > end:
        raise _NotCopiedError
    return first, length


_MISSING = object()


def _value(struct: Struct, number: int, default: Any = _MISSING) -> Any:
    if number in struct:
        return struct[number][1]
    if default is _MISSING:
        raise _NotCopiedError
    return default


def _items(struct: Struct, number: int) -> list[Any]:
    found: list[Any] = _value(struct, number)[1]
    return found


def _row_groups(footer: Struct) -> list[Struct]:
    return _items(footer, _ROW_GROUPS)


def _columns(group: Struct) -> list[Struct]:
    return _items(group, _COLUMNS)


def _drop(struct: Struct, numbers: range) -> None:
    for number in numbers:
        struct.pop(number, None)
