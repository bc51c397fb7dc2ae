"""FIFO queues on disk, one per host, with a few bytes of memory per host.

Records are appended to temporary files of up to ``SEGMENT`` bytes. The files have no name, so they vanish with the
process, however it ends. A record consists of the address of its host's next record (8 bytes, little-endian: file
number in the upper half, offset in the lower; 0 for none), the payload's length (4 bytes) and the payload. Appending
writes a record, and its address into the host's previous record. The end of the newest file stays in memory until it is
worth a write. A file is deleted as soon as all its records have been read; as each host is read in the order of
writing, old files go first.
"""

from __future__ import annotations

import errno
import os
import struct
import tempfile
from pathlib import Path
from typing import IO, Final

from scoter.errors import Defect

SEGMENT: Final = 16 * 2**20
LARGEST_RECORD: Final = 2**20
TAIL: Final = 64 * 2**10
"""Bytes kept in memory before they are written."""

_HEAD: Final = struct.Struct("<QI")
_ADDRESS: Final = struct.Struct("<Q")
_READ: Final = 1_024  # bytes; most records fit into one read


class _SpillFile:
    __slots__ = ("_file", "_tail", "_written", "live", "number", "size")

    def __init__(self, number: int, folder: Path) -> None:
        self.number = number
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, prefix="scoter-queue-", buffering=0)  # noqa: SIM115
        self._tail = bytearray()
        self._written = 0  # bytes on disk; the tail begins there
        self.live = 0
        self.size = 0

    def append(self, record: bytes) -> None:
        self._tail += record
        self.size += len(record)

    def link(self, offset: int, address: int) -> None:
        """Set the address of the record that follows the one at an offset."""
        if offset >= self._written:
            start = offset - self._written
            self._tail[start : start + _ADDRESS.size] = _ADDRESS.pack(address)
        else:
            _write(self._file, _ADDRESS.pack(address), offset)

    def read(self, offset: int) -> tuple[int, bytes]:
        """Return the address of the next record, and the payload of the record at an offset."""
        if offset >= self._written:
            start = offset - self._written
            following, length = _HEAD.unpack_from(self._tail, start)
            start += _HEAD.size
            return following, bytes(self._tail[start : start + length])
        return _read(self._file, offset)

    def flush(self, most: int) -> None:
        """Write the tail to disk if it is larger than ``most``; raises ``OSError`` if the disk is full."""
        if len(self._tail) > most:
            _write(self._file, self._tail, self._written)
            self._written += len(self._tail)
            self._tail.clear()

    def restart(self) -> None:
        self._file.truncate(0)
        self._tail.clear()
        self._written = self.size = 0

    def close(self) -> None:
        self._file.close()
        self._tail.clear()


class _Chain:
    __slots__ = ("count", "first", "last")

    def __init__(self, address: int) -> None:
        self.first = self.last = address
        self.count = 1


class Spill:
    """Queues of byte strings: ``push`` appends to a host's queue, ``pop`` removes its oldest."""

    def __init__(self, folder: Path, segment: int = SEGMENT, tail: int = TAIL) -> None:
        self._folder = folder
        self._segment = segment
        self._tail = tail
        self._segments: dict[int, _SpillFile] = {}
        self._newest: _SpillFile | None = None
        self._numbers = 0
        self._chains: dict[str, _Chain] = {}
        self.records = 0
        self.bytes = 0  # on disk or in the tail, including records already read from files that remain

    def __repr__(self) -> str:
        return f"Spill({self.records} records of {len(self._chains)} hosts, {self.bytes} bytes)"

    def __contains__(self, key: str) -> bool:
        return key in self._chains

    def push(self, key: str, payload: bytes) -> None:
        """Append a record. If the disk is full this raises ``OSError`` and changes nothing."""
        if len(payload) > LARGEST_RECORD:
            raise Defect(f"an item of {key} has {len(payload)} bytes; the queues hold at most {LARGEST_RECORD}")
        segment = self._writable()
        address = segment.number << 32 | segment.size
        chain = self._chains.get(key)
        if chain is None:
            self._chains[key] = _Chain(address)
        else:
            self._segments[chain.last >> 32].link(chain.last & 0xFFFFFFFF, address)
            chain.last = address
            chain.count += 1
        record = _HEAD.pack(0, len(payload)) + payload
        segment.append(record)
        segment.live += 1
        self.bytes += len(record)
        self.records += 1

    def pop(self, key: str) -> bytes | None:
        """Remove and return a host's oldest record."""
        chain = self._chains.get(key)
        if chain is None:
            return None
        segment = self._segments[chain.first >> 32]
        following, payload = segment.read(chain.first & 0xFFFFFFFF)
        chain.first = following
        chain.count -= 1
        if not chain.count:
            del self._chains[key]
        segment.live -= 1
        self.records -= 1
        if not segment.live:
            self._retire(segment)
        return payload

    def pop_any(self) -> bytes | None:
        """Remove and return a record of any host."""
        key = next(iter(self._chains), None)
        return None if key is None else self.pop(key)

    def close(self) -> None:
        """Delete all files and the records in them."""
        for segment in list(self._segments.values()):
            self._drop(segment)
        self._chains.clear()
        self.records = 0

    def _writable(self) -> _SpillFile:
        newest = self._newest
        if newest is not None:
            is_done = newest.size >= self._segment
            newest.flush(0 if is_done else self._tail)
            if not is_done:
                return newest
        self._newest = newest = _SpillFile(self._numbers + 1, self._folder)  # from 1: no address may be 0
        self._numbers += 1
        self._segments[newest.number] = newest
        return newest

    def _retire(self, segment: _SpillFile) -> None:
        if segment is not self._newest:
            self._drop(segment)
            return
        # Reuse the newest file, so that a host just beyond its share does not create file after file.
        self.bytes -= segment.size
        segment.restart()

    def _drop(self, segment: _SpillFile) -> None:
        segment.close()
        del self._segments[segment.number]
        self.bytes -= segment.size
        if self._newest is segment:
            self._newest = None


def _write(file: IO[bytes], data: bytes | bytearray, offset: int) -> None:
    if os.pwrite(file.fileno(), data, offset) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read(file: IO[bytes], offset: int) -> tuple[int, bytes]:
    data = os.pread(file.fileno(), _READ, offset)
    following, length = _HEAD.unpack_from(data)
    end = _HEAD.size + length
    if len(data) < end:
        data = os.pread(file.fileno(), end, offset)
    if len(data) < end:
        raise Defect(f"a spilled record has {len(data)} of its {end} bytes")
    return following, data[_HEAD.size : end]
