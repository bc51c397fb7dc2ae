"""Copy captures from WARC files to new ones, byte by byte.

Each record is a gzip member, and the records of a capture (response, request, metadata) are adjacent. So a capture is
copied as it is, up to the next capture in the index. Only a revisit record, which refers to a response by its offset,
is rewritten; the response is copied before it, whether or not it was requested.
"""

from __future__ import annotations

import os
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

import msgspec
from isal import isal_zlib
from msgspec import Struct
from msgspec.structs import replace

from scoter.errors import UserError
from scoter.store.disk import disk_errors, make_folder, sync_folder
from scoter.store.warc import ArchiveInfo, Location
from scoter.store.warc.cdxj import CdxEntry, CdxIndex
from scoter.store.warc.part import SUFFIX, new_id
from scoter.store.warc.reader import whole_records
from scoter.store.warc.record import member, warc_date, warcinfo

MAX_FILE_SIZE = 2**30
"""Size in bytes after which a new file is started; the captures of one source archive stay in one file."""

_REVISIT = "warc/revisit"
_PLACE = re.compile(rb"(?<=\r\nWARC-Refers-To-File-Offset: )\d+(?=\r\n)")
_HEAD_END = b"\r\n\r\n"
_GZIP = 16 + zlib.MAX_WBITS
_CHUNK = 2**20

OnDamage: TypeAlias = Callable[[int, UserError], None]
"""Called with the offset of a capture that is damaged, and how."""


class CaptureIndex(Struct, frozen=True):
    """The index of an archive: the offset of every capture, and the entries of the wanted ones."""

    archive: Path
    size: int
    places: list[int]
    wanted: dict[int, tuple[bytes, CdxEntry]]

    @classmethod
    def read(cls, archive: Path, wanted: Iterable[int]) -> Self:
        index = archive.with_name(f"{archive.name.removesuffix(SUFFIX)}.cdxj")
        chosen, places, found = set(wanted), [], {}
        with disk_errors("read the index of the archive", index), index.open("rb") as file:
            for number, line in enumerate(file, 1):
                key, date, text = [*line.split(b" ", 2), b"", b""][:3]
                try:
                    entry = msgspec.json.decode(text, type=CdxEntry)
                    place = int(entry.offset)
                except ValueError as failure:
                    raise UserError(f"damaged line: {failure}", where=f"{index}:{number}") from failure
                places.append(place)
                if place in chosen:
                    found[place] = (b"%b %b " % (key, date), entry)
        for place in chosen - found.keys():
            raise UserError(f"the index has no capture at byte {place} of its archive", where=str(index))
        with disk_errors("read the archive", archive):
            size = archive.stat().st_size
        return cls(archive, size, sorted(places), found)

    def end_of(self, place: int) -> int:
        """Return the offset of the next capture."""
        after = bisect_right(self.places, place)
        return self.places[after] if after < len(self.places) else self.size

    def check(self, source: BinaryIO, place: int) -> None:
        """Raise if a record of a capture is damaged."""
        at, end = place, self.end_of(place)
        for span in whole_records(source, place):
            at = span.end
            if at >= end:
                break
        if at != end:
            raise UserError(f"the record at byte {at} is damaged", where=str(self.archive))


class ArchiveFile:
    """A new archive of copied captures."""

    def __init__(self, path: Path, about: ArchiveInfo, now: datetime, record_id: str = "") -> None:
        self.path = path
        self.size = 0
        self._index = CdxIndex(path.parent)
        self._file = path.open("xb")
        self._write(member(warcinfo(about, path.name, record_id=record_id or new_id(), date=warc_date(now))))

    def take(self, captures: CaptureIndex, damaged: OnDamage | None = None) -> Iterator[tuple[int, Location]]:
        """Copy the wanted captures; yield the old offset and the new location of each.

        ``damaged``: check every record, leave out captures with damaged ones, and call this function for each.
        """
        copied: dict[int, int] = {}
        with captures.archive.open("rb") as source:
            for place, (start, entry) in sorted(captures.wanted.items()):
                length = int(entry.length)
                if damaged is not None:
                    try:
                        captures.check(source, place)
                        self._check_shared(source, captures, place, entry, copied)
                    except UserError as failure:
                        damaged(place, failure)
                        continue
                if entry.mime == _REVISIT:
                    record = self._revisit(source, captures, place, length, copied)
                    offset, length = self.size, len(record)
                    self._write(record)
                    self._copy(source, place + int(entry.length), captures.end_of(place))
                else:
                    offset = copied[place] = self.size
                    self._copy(source, place, captures.end_of(place))
                if self._index.is_full:
                    self._index.spill()
                entry = replace(entry, offset=str(offset), length=str(length), filename=self.path.name)
                self._index.add(b"%b%b\n" % (start, msgspec.json.encode(entry)))
                yield place, Location(self.path.name, offset, length)

    def finish(self) -> None:
        """Write the archive and its index to disk durably."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._index.write(self.path.with_name(f"{self.path.name.removesuffix(SUFFIX)}.cdxj"))
        self._index.close()

    def close(self) -> None:
        """Close the archive without finishing it."""
        self._file.close()
        self._index.close()

    def _revisit(
        self, source: BinaryIO, captures: CaptureIndex, place: int, length: int, copied: dict[int, int]
    ) -> bytes:
        """Return a revisit record with the offset of its response in this archive."""
        packed, record = _record_at(source, captures, place, length)
        head, end, block = record.partition(_HEAD_END)
        refers = _PLACE.search(head)
        if refers is None:
            return packed
        first = int(refers[0])
        if first not in copied:
            copied[first] = self.size
            self._copy(source, first, captures.end_of(first))
        return member(_PLACE.sub(b"%d" % copied[first], head) + end + block)

    def _check_shared(
        self, source: BinaryIO, captures: CaptureIndex, place: int, entry: CdxEntry, copied: dict[int, int]
    ) -> None:
        """Check the response that a revisit refers to, unless it has been copied."""
        if entry.mime != _REVISIT:
            return
        head = _record_at(source, captures, place, int(entry.length))[1].partition(_HEAD_END)[0]
        refers = _PLACE.search(head)
        if refers is not None and int(refers[0]) not in copied:
            captures.check(source, int(refers[0]))

    def _copy(self, source: BinaryIO, start: int, end: int) -> None:
        source.seek(start)
        while start < end:
            piece = source.read(min(_CHUNK, end - start))
            if not piece:
                return
            self._write(piece)
            start += len(piece)

    def _write(self, piece: bytes) -> None:
        self._file.write(piece)
        self.size += len(piece)


def _record_at(source: BinaryIO, captures: CaptureIndex, place: int, length: int) -> tuple[bytes, bytes]:
    """Return a record as it is stored, and decompressed."""
    source.seek(place)
    packed = source.read(length)
    try:
        return packed, isal_zlib.decompress(packed, _GZIP)
    except Exception as failure:  # the stubs do not declare the library's error as an exception
        raise UserError(f"the record at byte {place} is damaged", where=str(captures.archive)) from failure


class ArchiveCopier:
    """Copies captures into archives in a folder, starting a new one when one is full."""

    def __init__(self, folder: Path, prefix: str, about: ArchiveInfo, now: datetime) -> None:
        self._folder = folder
        self._prefix = prefix
        self._about = about
        self._now = now
        self._number = 0
        self._open: ArchiveFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: object) -> None:
        with disk_errors("write the archive", self._folder):
            if self._open is not None:
                self._open.finish() if kind is None else self._open.close()
            if kind is None and self._number:
                sync_folder(self._folder)

    def take(self, archive: Path, places: Iterable[int]) -> Iterator[tuple[int, Location]]:
        """Copy the captures at these offsets of an archive; yield the old offset and the new location of each."""
        with disk_errors("copy the archive", archive):
            captures = CaptureIndex.read(archive, places)
            yield from self._archive().take(captures)

    def _archive(self) -> ArchiveFile:
        if self._open is not None and self._open.size >= MAX_FILE_SIZE:
            self._open.finish()
            self._open = None
        if self._open is None:
            self._number += 1
            make_folder(self._folder)
            name = f"{self._prefix}-{self._number:05d}{SUFFIX}"
            self._open = ArchiveFile(self._folder / name, self._about, self._now)
        return self._open
