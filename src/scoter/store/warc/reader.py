"""Reads archives: a capture at an offset, or all captures in order."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, cast

from isal import isal_zlib
from msgspec import Struct
from msgspec.structs import replace

from scoter.core.reply import Headers, Truncation, header
from scoter.errors import UserError
from scoter.store.disk import Closing, disk_errors
from scoter.store.warc.record import NOT_MODIFIED, SAME_PAYLOAD, parse_head, split_message

with warnings.catch_warnings():
    # The library warns about its own deprecated names on import.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator, WarcRecord

BODY_LIMIT = 64 * 2**20
"""Default limit of a body; a longer one is truncated."""

_HEAD = 2**20  # longest head of a record or of HTTP; the fetch core stops at a quarter of it
_GZIP_MAGIC = b"\x1f\x8b"
_TRUNCATIONS = {"": Truncation.NOT, **{each.value: each for each in Truncation}}


def records(file: BinaryIO) -> Iterator[WarcRecord]:
    """Yield the records from the current position of a file; read each before the next."""
    # URLs may be of any length; by default the library gives up at 32 KiB of headers.
    return iter(ArchiveIterator(file, parse_http=False, max_header_len=_HEAD))


class CaptureKind(StrEnum):
    """The record type of a capture."""

    RESPONSE = "response"
    REVISIT = "revisit"
    RESOURCE = "resource"


CAPTURE_KINDS = frozenset(str(each) for each in CaptureKind)


class ArchivedResponse(Struct, frozen=True, kw_only=True):
    """A capture as it was archived.

    The body is still in its content coding; that of a duplicate comes from the record it refers to. ``status`` is 0
    without HTTP. A duplicate whose first copy is in another file has no body and counts as truncated.
    """

    url: str
    date: datetime
    kind: CaptureKind
    status: int
    headers: Headers
    body: bytes
    truncation: Truncation
    digest: str
    offset: int

    def header(self, name: str) -> str:
        """Return the first value of a header, ignoring case, or ""."""
        return header(self.headers, name)


class WarcReader(Closing):
    """An archive open for reading. Not thread-safe."""

    def __init__(self, path: Path, limit: int = BODY_LIMIT) -> None:
        self.path = path
        self._limit = limit
        self._file = self._open()

    def __repr__(self) -> str:
        return f"WarcReader({self.path})"

    def close(self) -> None:
        self._file.close()

    def at(self, offset: int) -> ArchivedResponse:
        """Return the capture at an offset of the file."""
        with self._damage_errors(offset):
            self._file.seek(offset)
            record = next(records(self._file), None)
            if record is None:
                raise UserError("there is no record at this offset", where=self._where(offset))
            if str(record.record_type) not in CAPTURE_KINDS:
                message = f"the record at this offset is a {record.record_type}, not a response"
                raise UserError(message, where=self._where(offset))
            return self._resolved(captured(record, offset, self._limit), record)

    def __iter__(self) -> Iterator[ArchivedResponse]:
        """Yield every capture in the order of the file; raise at a damaged record."""
        with self._open() as file, self._damage_errors(0):
            last = 0
            for record in records(file):
                last = record.stream_pos
                if str(record.record_type) in CAPTURE_KINDS:
                    yield self._resolved(captured(record, last, self._limit), record)
            self._check_end(last)

    def _check_end(self, last: int) -> None:
        """Raise if the last record is broken; the library mistakes that for the end of the file."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(last)
        if (
            self._file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            and max((s.end for s in whole_records(self._file, last)), default=0) < size
        ):
            raise UserError("the archive is damaged: its last record is broken", where=self._where(last))

    def _resolved(self, found: ArchivedResponse, record: WarcRecord) -> ArchivedResponse:
        """Return a duplicate with the body it refers to."""
        if found.kind is not CaptureKind.REVISIT or record.headers.get("WARC-Profile") != SAME_PAYLOAD:
            return found
        place = record.headers.get("WARC-Refers-To-File-Offset") or ""
        # Other crawlers may refer to another file.
        if not place.isdecimal() or record.headers.get("WARC-Refers-To-Filename", self.path.name) != self.path.name:
            return replace(found, truncation=Truncation.LENGTH)
        first = self.at(int(place)) if int(place) < found.offset else found
        if first.kind is not CaptureKind.RESPONSE or first.digest != found.digest:
            raise UserError("a duplicate refers to a record with a different body", where=self._where(found.offset))
        return replace(found, body=first.body, truncation=first.truncation)

    @contextmanager
    def _damage_errors(self, offset: int) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as failure:
            raise UserError(f"the archive is damaged: {failure}", where=self._where(offset)) from failure

    def _where(self, offset: int) -> str:
        return f"{self.path} byte {offset}" if offset else str(self.path)

    def _open(self) -> BinaryIO:
        with disk_errors("read the archive", self.path):
            return self.path.open("rb")


class ArchiveFolder(Closing):
    """Reads captures from the archives in a folder; the archive used last stays open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader: WarcReader | None = None

    def at(self, name: str, offset: int) -> ArchivedResponse:
        """Return the capture at an offset of an archive."""
        path = self._folder / Path(name).name  # names come from tables: they must not lead out of the folder
        if self._reader is None or self._reader.path != path:
            self.close()
            self._reader = WarcReader(path)
        return self._reader.at(offset)

    def close(self) -> None:
        """Close the open archive."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def captured(record: WarcRecord, offset: int, limit: int) -> ArchivedResponse:
    """Return the capture of a record, with at most ``limit`` bytes of its body."""
    kind = CaptureKind(str(record.record_type))
    wanted = min(record.content_length, limit + _HEAD)
    block = _read(record, wanted)
    if len(block) < wanted or record.headers.get("Content-Length") != str(record.content_length):
        # The library mistakes the end of the file for the end of the record or its headers.
        raise OSError(f"the record at byte {offset} is shorter than its declared length")
    fields = record.headers
    if kind is CaptureKind.RESOURCE:
        status, body = 0, block
        headers: Headers = (("Content-Type", fields.get("Content-Type") or ""),)
    else:
        head, body = split_message(block)
        status, headers = parse_head(head)
        if not block and fields.get("WARC-Profile") == NOT_MODIFIED:
            status = 304  # its head is in a metadata record
    truncation = (
        Truncation.NOT
        if kind is CaptureKind.REVISIT
        else _TRUNCATIONS.get(fields.get("WARC-Truncated") or "", Truncation.LENGTH)
    )
    return ArchivedResponse(
        url=fields.get("WARC-Target-URI") or "",
        date=record.record_date,
        kind=kind,
        status=status,
        headers=headers,
        body=body[:limit] if len(body) > limit else body,
        truncation=Truncation.LENGTH if len(body) > limit else truncation,
        digest=fields.get("WARC-Payload-Digest") or "-",
        offset=offset,
    )


def _read(record: WarcRecord, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := record.reader.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_CHUNK = 16 * 1024  # deflate expands by at most 1,032, so a hostile body takes 17 MB at most
_GZIP = 16 + zlib.MAX_WBITS
_RECORD_START = b"WARC/1."
_BROKEN = cast("type[Exception]", isal_zlib.error)  # the type stub declares an instance


class Span(Struct, frozen=True):
    """The position of a record in a file."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


def whole_records(file: BinaryIO, start: int = 0) -> Iterator[Span]:
    """Yield the position of each record from an offset to the first broken one.

    A record is complete if its gzip member ends, its checksum is correct, and it starts like a record.
    """
    file.seek(start)
    data = file.read(_CHUNK)
    while data:
        engine = isal_zlib.decompressobj(_GZIP)
        start_bytes, length = b"", 0
        while not engine.eof:
            if not data and not (data := file.read(_CHUNK)):
                return
            try:
                out = engine.decompress(data)
            except _BROKEN:
                return
            length += len(data) - len(engine.unused_data)
            data = engine.unused_data
            if len(start_bytes) < len(_RECORD_START):
                start_bytes += out[: len(_RECORD_START)]
        if not start_bytes.startswith(_RECORD_START):
            return
        yield Span(start, length)
        start += length
        data = data or file.read(_CHUNK)
