"""A decoder per content coding, all with the same interface: ``read`` returns a piece of about the given size.

The libraries were chosen by CPU time for pages of 25 KB and 128 KB: gzip with isal 42 and 168 µs, with zlib 103 and
486; zstd 42 and 106; br 134 and 417.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import brotli  # type: ignore[import-untyped]
import zstandard
from isal import isal_zlib
from msgspec import Struct

MEMBERS = 1_000  # per gzip body; each costs a new decoder, and an empty one has only 20 bytes
BLOCKS = 20_000  # per zstd body that are examined; an empty one has only 3 bytes
WINDOW = 8 * 2**20  # RFC 9659 3: the maximum for content codings

_SLICE = 64 * 1024
_GZIP, _ZLIB, _RAW = 31, 15, -15  # zlib's wbits
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = 0x184D2A50  # RFC 8878 3.1.2, with any last digit

LIBRARY_ERRORS: Any = (isal_zlib.error, brotli.error, zstandard.ZstdError)


class DamagedBody(Exception):
    """The body is damaged; everything before the damage has been returned."""


class TrailingData(DamagedBody):
    """The body is complete, but other data follows it."""


class Stream(Protocol):
    """A body being decoded."""

    def read(self, size: int) -> bytes:
        """Return a piece of about this size, empty at the end; raises ``DamagedBody`` or a library's error."""


class Opener(Struct, frozen=True):
    """A decoder, and the first bytes of bodies it can decode, if known."""

    open: Callable[[bytes], Stream]
    magic: bytes = b""


def openers(body: bytes, coding: str) -> Sequence[Opener]:
    """Return the decoders to try for a coding, the likeliest first; none if it is unknown."""
    if coding == "deflate" and not _is_zlib(body):
        return (_RAW_WAY,)
    return _WAYS.get(coding, ())


class _DeflateStream:
    """gzip of any number of members, zlib, or bare deflate."""

    def __init__(self, body: bytes, wbits: int) -> None:
        self._body = body
        self._wbits = wbits
        self._at = 0
        self._members = 1
        self._decoder = isal_zlib.decompressobj(wbits)

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof and not self._next_member():
                return b""
            rest = _slice(self._body, self._at, size)
            piece = self._decoder.decompress(rest, size)
            self._at += len(rest) - len(self._decoder.unconsumed_tail)
            if piece:
                return piece
            if not rest and not self._decoder.eof:
                raise DamagedBody("ends early")

    def _next_member(self) -> bool:
        self._at -= len(self._decoder.unused_data)
        if self._wbits == _GZIP and self._body.startswith(_GZIP_MAGIC, self._at):
            self._members += 1
            if self._members > MEMBERS:
                raise DamagedBody(f"more than {MEMBERS} members")
            self._decoder = isal_zlib.decompressobj(self._wbits)
            return True
        _refuse_rest(self._body, self._at)
        self._at = len(self._body)
        return False


class _BrotliStream:
    """A brotli stream."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0
        self._decoder = brotli.Decompressor()

    def read(self, size: int) -> bytes:
        rest = b""
        while not self._decoder.is_finished():
            # First without input: the decoder may still hold output of the last slice.
            piece: bytes = self._decoder.process(rest, output_buffer_limit=size)
            if piece:
                return piece
            rest = b""
            if self._decoder.can_accept_more_data() and not self._decoder.is_finished():
                rest = _slice(self._body, self._at, size)
                self._at += len(rest)
                if not rest:
                    raise DamagedBody("ends early")
        _refuse_rest(self._body, self._at)
        return b""


class _ZstdStream:
    """Any number of Zstandard frames."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        decoder = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._reader = decoder.stream_reader(body, read_across_frames=True)

    def read(self, size: int) -> bytes:
        piece = self._reader.read(size)
        if not piece and not _has_whole_frames(self._body):
            raise DamagedBody("ends early")  # which the library does not report
        return piece


def _slice(body: bytes, at: int, size: int) -> bytes:
    """Return the next part of the input: a small one, since what is not consumed is passed in again.

    Small steps take small slices, so that a decoder returns all it can before it meets damage.
    """
    return body[at : at + min(size, _SLICE)]


def _has_whole_frames(body: bytes) -> bool:
    """Tell whether the last frame of an undamaged body is complete, by walking over its blocks (RFC 8878 3.1)."""
    at, end, blocks = 0, len(body), 0
    while at < end:
        if end - at >= 8 and int.from_bytes(body[at : at + 4], "little") & ~0xF == _SKIPPABLE:
            at += 8 + int.from_bytes(body[at + 4 : at + 8], "little")
            continue
        try:
            head = zstandard.frame_header_size(body[at : at + 18])
        except zstandard.ZstdError:
            return False
        checksum = 4 if body[at + 4] & 0b100 else 0
        at += head
        last = 0
        while not last:
            block = int.from_bytes(body[at : at + 3], "little")
            last, kind, size = block & 1, block >> 1 & 3, block >> 3
            at += 3 + (1 if kind == 1 else size)  # a run-length block has one byte, whatever its size
            blocks += 1
            if at > end:
                return False
            if blocks > BLOCKS:
                return True  # good enough
        at += checksum
    return at == end


def _is_zlib(body: bytes) -> bool:
    # RFC 1950 2.2: method 8, and both bytes together a multiple of 31.
    return len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0


def _refuse_rest(body: bytes, at: int) -> None:
    if body[at:].strip(b"\0"):  # zeros are padding
        raise TrailingData("followed by other data")


_RAW_WAY = Opener(lambda body: _DeflateStream(body, _RAW))
_WAYS = {
    "gzip": (Opener(lambda body: _DeflateStream(body, _GZIP), _GZIP_MAGIC),),
    # RFC 9110 8.4.1.2: it means the zlib format, but some send bare deflate.
    "deflate": (Opener(lambda body: _DeflateStream(body, _ZLIB)), _RAW_WAY),
    "br": (Opener(_BrotliStream),),
    "zstd": (Opener(_ZstdStream, _ZSTD_MAGIC),),
}
