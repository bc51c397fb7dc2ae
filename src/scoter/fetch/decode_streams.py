"""One reader for each content coding, all with the same face: a piece at a time, of a size that the caller names.

The libraries were chosen by CPU time for a page of 25 KB and one of 128 KB: gzip with isal 42 and 168 µs, with zlib 103
and 486; zstd 42 and 106; br 134 and 417.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import brotli  # type: ignore[import-untyped]
import zstandard
from isal import isal_zlib
from msgspec import Struct

MEMBERS = 1_000  # of one gzip body; each costs a new decoder, and empty ones are only 20 bytes long
BLOCKS = 20_000  # of one zstd body that are walked over; empty ones are only 3 bytes long
WINDOW = 8 * 2**20  # RFC 9659 3: a zstd content coding needs no larger one

_SLICE = 64 * 1024
_GZIP, _ZLIB, _RAW = 31, 15, -15  # wbits, as zlib counts them
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = 0x184D2A50  # RFC 8878 3.1.2, with any last digit

LIBRARY_ERRORS: Any = (isal_zlib.error, brotli.error, zstandard.ZstdError)


class Unsound(Exception):
    """The body is not as it should be, and all that could be decoded was given before."""


class NotAlone(Unsound):
    """The body is whole, and something else follows it."""


class Stream(Protocol):
    """A body being decoded."""

    def read(self, size: int) -> bytes:
        """Return a piece of about this size, or nothing at the end; ``Unsound`` or a library's error otherwise."""


class Opener(Struct, frozen=True):
    """A way to read a body, and how such a body starts if that can be told."""

    open: Callable[[bytes], Stream]
    magic: bytes = b""


def openers(body: bytes, coding: str) -> Sequence[Opener] | None:
    """Return the ways to read a body in a coding, the likeliest first, or none for a coding that is unknown."""
    match coding:
        case "gzip":
            return (_GZIP_WAY,)
        case "deflate":
            # RFC 9110 8.4.1.2 means the zlib format, and says itself that some send it bare.
            return (_ZLIB_WAY, _RAW_WAY) if _is_zlib(body) else (_RAW_WAY,)
        case "br":
            return (_BROTLI_WAY,)
        case "zstd":
            return (_ZSTD_WAY,)
        case _:
            return None


class _Inflated:
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
                raise Unsound("ends early")

    def _next_member(self) -> bool:
        self._at -= len(self._decoder.unused_data)
        if self._wbits == _GZIP and self._body.startswith(_GZIP_MAGIC, self._at):
            self._members += 1
            if self._members > MEMBERS:
                raise Unsound(f"more than {MEMBERS} members")
            self._decoder = isal_zlib.decompressobj(self._wbits)
            return True
        _refuse_rest(self._body, self._at)
        self._at = len(self._body)
        return False


class _Unbrotlied:
    """One stream of brotli."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0
        self._decoder = brotli.Decompressor()

    def read(self, size: int) -> bytes:
        rest = b""
        while not self._decoder.is_finished():
            # First without input: what the decoder still holds of the last slice is not given of itself.
            piece: bytes = self._decoder.process(rest, output_buffer_limit=size)
            if piece:
                return piece
            rest = b""
            if self._decoder.can_accept_more_data() and not self._decoder.is_finished():
                rest = _slice(self._body, self._at, size)
                self._at += len(rest)
                if not rest:
                    raise Unsound("ends early")
        _refuse_rest(self._body, self._at)
        return b""


class _Unzstded:
    """Any number of frames of Zstandard."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        decoder = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._reader = decoder.stream_reader(body, read_across_frames=True)

    def read(self, size: int) -> bytes:
        piece = self._reader.read(size)
        if not piece and not _has_whole_frames(self._body):
            raise Unsound("ends early")  # which the library does not tell
        return piece


def _slice(body: bytes, at: int, size: int) -> bytes:
    """Return the next part of the input: not much, since what is left of it has to be taken again.

    Small steps take small slices, so that a decoder gives all it can before it meets what is wrong.
    """
    return body[at : at + min(size, _SLICE)]


def _has_whole_frames(body: bytes) -> bool:
    """Tell whether the last frame of a sound body is all there, by walking over its blocks (RFC 8878 3.1)."""
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
            at += 3 + (1 if kind == 1 else size)  # a run is one byte, whatever its length
            blocks += 1
            if at > end:
                return False
            if blocks > BLOCKS:
                return True  # as far as anybody cares
        at += checksum
    return at == end


def _is_zlib(body: bytes) -> bool:
    # RFC 1950 2.2: method 8, and both bytes together a multiple of 31.
    return len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0


def _refuse_rest(body: bytes, at: int) -> None:
    if body[at:].strip(b"\0"):  # zeros are padding
        raise NotAlone("followed by other data")


_GZIP_WAY = Opener(lambda body: _Inflated(body, _GZIP), _GZIP_MAGIC)
_ZLIB_WAY = Opener(lambda body: _Inflated(body, _ZLIB))
_RAW_WAY = Opener(lambda body: _Inflated(body, _RAW))
_BROTLI_WAY = Opener(_Unbrotlied)
_ZSTD_WAY = Opener(_Unzstded, _ZSTD_MAGIC)
