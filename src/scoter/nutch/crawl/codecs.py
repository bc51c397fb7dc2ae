"""The compression codecs of Hadoop, by class name. Every decoder has a limit for its output."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import pyarrow as pa

Decoder: TypeAlias = Callable[[bytes, int], bytes]
"""From compressed bytes and the largest allowed result to the decompressed bytes; raises ``Damage``."""

_GZIP: Final = 16 + zlib.MAX_WBITS


class Damage(Exception):
    """Bytes that are not what the format says; ``at`` is the offset in the file, if known."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


def decoder_of(codec: str) -> Decoder | None:
    """Return the decoder of a codec class, or ``None`` if it is not supported."""
    return _DECODERS.get(codec.rpartition(".")[2])


def supported_codecs() -> tuple[str, ...]:
    """Return the short class names of the supported codecs."""
    return tuple(_DECODERS)


def inflate(data: bytes, limit: int, window: int = zlib.MAX_WBITS) -> bytes:
    """Decompress a zlib stream, or with ``window`` a gzip stream."""
    try:
        engine = zlib.decompressobj(window)
        found = engine.decompress(data, limit + 1)
    except zlib.error as error:
        raise Damage(f"cannot decompress: {error}") from None
    return _checked(found, limit, engine.eof)


def gunzip(data: bytes, limit: int) -> bytes:
    """Decompress a gzip stream."""
    return inflate(data, limit, _GZIP)


def _bunzip(data: bytes, limit: int) -> bytes:
    try:
        engine = bz2.BZ2Decompressor()
        found = engine.decompress(data, limit + 1)
    except (OSError, ValueError) as error:
        raise Damage(f"cannot decompress: {error}") from None
    return _checked(found, limit, engine.eof)


def _zstd(data: bytes, limit: int) -> bytes:
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            found: bytes = stream.read(limit + 1)
    except (OSError, pa.ArrowException) as error:
        raise Damage(f"cannot decompress: {error}") from None
    return _checked(found, limit, is_whole=True)


def _framed(data: bytes, limit: int, codec: str, size_of: Callable[[bytes], int]) -> bytes:
    """Decompress Hadoop's framing of raw blocks: a length, then chunks that add up to it."""
    pieces: list[bytes] = []
    at = size = 0
    while at < len(data):
        end = size + _number(data, at)
        if end > limit:
            raise Damage(f"decompresses to more than {limit:,} bytes")
        at += 4
        while size < end:
            length = _number(data, at)
            chunk = data[at + 4 : at + 4 + length]
            at += 4 + length
            if not length or len(chunk) < length:
                raise Damage("cannot decompress: the data is truncated")
            expected = size_of(chunk)
            if not 0 < expected <= end - size:
                raise Damage("cannot decompress: wrong length")
            try:
                pieces.append(pa.decompress(chunk, decompressed_size=expected, codec=codec, asbytes=True))
            except (OSError, pa.ArrowException) as error:
                raise Damage(f"cannot decompress: {error}") from None
            size += expected
    return b"".join(pieces)


def _snappy_size(chunk: bytes) -> int:
    """Return the size of a decompressed block, which its first bytes tell, seven bits each."""
    size = shift = 0
    for byte in chunk[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return size


def _lz4_size(chunk: bytes) -> int:
    """Return the size of a decompressed block: the sum of its literals and matches."""
    at = size = 0

    def length(bits: int) -> int:
        nonlocal at
        found = bits
        while bits == 15 and at < len(chunk):
            byte = chunk[at]
            at += 1
            found += byte
            if byte < 255:
                break
        return found

    while at < len(chunk):
        token = chunk[at]
        at += 1
        literals = length(token >> 4)
        at += literals
        size += literals
        if at < len(chunk):  # the last sequence has no match
            at += 2
            size += length(token & 15) + 4
    return size


def _number(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise Damage("cannot decompress: the data is truncated")
    return int.from_bytes(data[at : at + 4])


def _checked(found: bytes, limit: int, is_whole: bool) -> bytes:
    if len(found) > limit:
        raise Damage(f"decompresses to more than {limit:,} bytes")
    if not is_whole:
        raise Damage("cannot decompress: the data is truncated")
    return found


_DECODERS: Final[dict[str, Decoder]] = {
    "DefaultCodec": inflate,
    "DeflateCodec": inflate,
    "GzipCodec": gunzip,
    "BZip2Codec": _bunzip,
    "SnappyCodec": partial(_framed, codec="snappy", size_of=_snappy_size),
    "Lz4Codec": partial(_framed, codec="lz4_raw", size_of=_lz4_size),
    "ZStandardCodec": _zstd,
}
