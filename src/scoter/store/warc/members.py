"""Where the records of a compressed file begin and end, and whether they are whole."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from isal import isal_zlib
from msgspec import Struct

_CHUNK = 16 * 1024  # deflate blows up by at most 1,032, so that a hostile body takes 17 MB here, not more
_GZIP = 16 + zlib.MAX_WBITS
_BEGINS = b"WARC/1."
_BROKEN = cast("type[Exception]", isal_zlib.error)  # its stub calls it an instance


class Span(Struct, frozen=True):
    """The place of a record in a file."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


def whole_records(file: BinaryIO, start: int = 0) -> Iterator[Span]:
    """Give the place of each record from a byte of a file to the first that is broken.

    A record is whole when its gzip member ends, its checksum is right, and it begins as a record does.
    """
    file.seek(start)
    data = file.read(_CHUNK)
    while data:
        engine = isal_zlib.decompressobj(_GZIP)
        begins, length = b"", 0
        while not engine.eof:
            if not data and not (data := file.read(_CHUNK)):
                return
            try:
                out = engine.decompress(data)
            except _BROKEN:
                return
            length += len(data) - len(engine.unused_data)
            data = engine.unused_data
            if len(begins) < len(_BEGINS):
                begins += out[: len(_BEGINS)]
        if not begins.startswith(_BEGINS):
            return
        yield Span(start, length)
        start += length
        data = data or file.read(_CHUNK)
