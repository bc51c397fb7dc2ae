"""Hadoop's SequenceFile: keys and values, uncompressed or compressed by record or block.

    header   "SEQ" version · key class · value class · compressed? · by block? · [codec] · metadata · sync marker
    record   length · key length · key · value           the value is compressed in files compressed by record
    block    −1 · sync marker · count · key lengths · keys · value lengths · values, each compressed
    sync     −1 · sync marker                            before some records; before every block

A damaged record or block is reported with its offset. Reading continues at the next sync marker, so at most what is
between two markers is lost. No record may contain a marker: a wrong length cannot skip one.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from scoter.nutch.crawl.codecs import Damage, Decoder, decoder_of, supported_codecs
from scoter.nutch.crawl.writables import WritableReader

MAX_RECORD: Final = 256 * 2**20
"""The longest record, and the longest buffer of a block, in bytes; longer ones count as damaged."""

_MAGIC: Final = b"SEQ"
_VERSIONS: Final = (4, 5, 6)
_WITH_CODEC, _WITH_METADATA = 5, 6
_ESCAPE: Final = b"\xff\xff\xff\xff"
_SYNC: Final = 16
_CHUNK: Final = 2**20
_LONGEST_HEADER: Final = 2**20
_MAX_RECORDS: Final = 2**24  # in a block

Problem: TypeAlias = Callable[[int, str], None]
"""Called with the offset of a damaged record or block, and what is wrong."""


class RawRecord(NamedTuple):
    """A record as stored; ``at`` is the offset of the record, or of its block."""

    key: bytes
    value: bytes
    at: int


class FileHeader(NamedTuple):
    """The header of a file."""

    key_class: str
    value_class: str
    is_compressed: bool
    is_by_block: bool
    codec: str
    sync: bytes
    end: int


def read_header(file: BinaryIO) -> FileHeader:
    """Read the header at the start of a file; raise ``Damage`` if it is not one."""
    file.seek(0)
    data = file.read(_LONGEST_HEADER)
    if data[:3] != _MAGIC:
        raise Damage("not a SequenceFile: it does not begin with SEQ", 0)
    version = data[3] if len(data) > 3 else 0
    if version not in _VERSIONS:
        raise Damage(f"SequenceFile version {version} is not supported; versions 4 to 6 are", 3)
    reader = WritableReader(data, 4)
    try:
        key_class, value_class = reader.text(), reader.text()
        is_compressed, is_by_block = reader.boolean(), reader.boolean()
        codec = "org.apache.hadoop.io.compress.DefaultCodec" if is_compressed else ""
        if is_compressed and version >= _WITH_CODEC:
            codec = reader.text()
        for _ in range(reader.count(2) if version >= _WITH_METADATA else 0):
            reader.text()
            reader.text()
        sync = reader.raw(_SYNC)
    except Damage as failure:
        raise Damage(f"the header is damaged: {failure}", reader.at) from None
    return FileHeader(key_class, value_class, is_compressed, is_by_block, codec, sync, reader.at)


class SequenceFile:
    """Reads the records of a file in order, skipping damaged parts."""

    def __init__(self, path: Path, problem: Problem) -> None:
        self.path = path
        self._problem = problem

    def __repr__(self) -> str:
        return f"SequenceFile({str(self.path)!r})"

    def __iter__(self) -> Iterator[RawRecord]:
        with self.path.open("rb", buffering=_CHUNK) as file:
            try:
                header = read_header(file)
                decode = _decoder(header)
            except Damage as failure:
                self._problem(failure.at or 0, str(failure))
                return
            yield from _Records(file, header, decode, self._problem)


def _decoder(header: FileHeader) -> Decoder | None:
    if not header.is_compressed:
        return None
    found = decoder_of(header.codec)
    if found is None:
        short = header.codec.rpartition(".")[2]
        raise Damage(f"compressed with {short}, which is not supported; {', '.join(supported_codecs())} are", 0)
    return found


class _Records:
    """The records after a header."""

    def __init__(self, file: BinaryIO, header: FileHeader, decode: Decoder | None, problem: Problem) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        self._at = file.seek(header.end)
        self._marker = _ESCAPE + header.sync
        self._foreign = b""
        self._by_block = header.is_by_block
        self._decode = decode
        self._problem = problem

    def __iter__(self) -> Iterator[RawRecord]:
        while self._at < self._size:
            start = self._at
            try:
                if self._by_block:
                    yield from self._block()
                else:
                    record = self._record()
                    if record is not None:
                        yield record
            except Damage as failure:
                self._problem(start, str(failure))
                if not self._resume(start + 1):
                    return

    def _record(self) -> RawRecord | None:
        """Return the next record, or ``None`` if its value is damaged."""
        start = self._at
        length = self._length()
        if length < 0:
            self._sync()
            if self._at >= self._size:
                return None
            start = self._at
            length = self._length()
        key_length = self._length()
        if not 0 <= key_length <= length or length > MAX_RECORD:
            raise Damage(f"a record cannot have {length} bytes, {key_length} of them its key")
        data = self._read(length)
        key, value = data[:key_length], data[key_length:]
        if self._decode is not None:
            try:
                value = self._decode(value, MAX_RECORD)
            except Damage as failure:  # the lengths may be right, so the next record may be, too
                self._problem(start, str(failure))
                return None
        return RawRecord(key, value, start)

    def _block(self) -> Iterator[RawRecord]:
        start = self._at
        if self._length() >= 0:
            raise Damage("a block does not begin with a sync marker")
        self._sync()
        if self._at >= self._size:
            return
        number = self._vint()
        if not 0 <= number <= _MAX_RECORDS:
            raise Damage(f"a block cannot have {number} records")
        key_lengths, keys, value_lengths, values = (self._buffer() for _ in range(4))
        # Everything is checked before the first record is returned: a block is read as a whole or not at all.
        of_keys, of_values = _lengths(key_lengths, number, len(keys)), _lengths(value_lengths, number, len(values))
        at_key = at_value = 0
        for key_length, value_length in zip(of_keys, of_values, strict=True):
            key, value = keys[at_key : at_key + key_length], values[at_value : at_value + value_length]
            at_key += key_length
            at_value += value_length
            yield RawRecord(key, value, start)

    def _buffer(self) -> bytes:
        length = self._vint()
        if not 0 <= length <= MAX_RECORD:
            raise Damage(f"a buffer cannot have {length} bytes")
        data = self._read(length)
        return data if self._decode is None else self._decode(data, MAX_RECORD)

    def _sync(self) -> None:
        """Read a sync marker after its escape. A wrong one is reported, but what follows may be intact."""
        start, found = self._at - len(_ESCAPE), self._read(_SYNC)
        if found != self._marker[4:]:
            if found == self._foreign:  # twice the same: the one in the header is damaged
                self._marker = _ESCAPE + found
                return
            self._foreign = found
            self._problem(start, "wrong sync marker")

    def _length(self) -> int:
        return int.from_bytes(self._read(4), signed=True)

    def _vint(self) -> int:
        first = self._read(1)
        size = WritableReader.vint_size(first[0])
        return WritableReader(first + self._read(size - 1)).vint()

    def _read(self, length: int) -> bytes:
        """Return bytes; raise if the file ends before them, or if a sync marker is among them."""
        if self._at + length > self._size:
            raise Damage(f"the file ends before the next {length:,} bytes")
        data = self._file.read(min(length, _CHUNK))
        if length > _SYNC:
            pieces, tail = [data], data
            rest = length - len(data)
            while self._marker not in tail:
                if not rest:
                    break
                piece = self._file.read(min(rest, _CHUNK))
                if not piece:
                    raise Damage("the file became shorter while it was read")
                rest -= len(piece)
                pieces.append(piece)
                tail = tail[-len(self._marker) :] + piece
            else:
                raise Damage(f"there is a sync marker within the next {length:,} bytes")
            data = data if len(pieces) == 1 else b"".join(pieces)
        if len(data) < length:
            raise Damage("the file became shorter while it was read")
        self._at += length
        return data

    def _resume(self, start: int) -> bool:
        """Go to the next sync marker from an offset on; return whether there is one."""
        self._file.seek(start)
        at, tail = start, b""
        while piece := self._file.read(_CHUNK):
            window = tail + piece
            found = window.find(self._marker)
            if found >= 0:
                self._at = self._file.seek(at - len(tail) + found)
                return True
            at += len(piece)
            tail = window[-(len(self._marker) - 1) :]
        self._at = self._size
        return False


def _lengths(data: bytes, number: int, total: int) -> list[int]:
    reader = WritableReader(data)
    found = [reader.vint() for _ in range(number)]
    if sum(found) != total or reader.at != len(data) or min(found, default=0) < 0:
        raise Damage("the lengths of a block's records do not fit")
    return found
