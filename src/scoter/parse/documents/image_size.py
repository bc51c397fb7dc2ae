"""The type and size of an image, from its first bytes.

Unlike ``image`` this needs no library and no parser process: it only unpacks a few bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

Sides: TypeAlias = tuple[int, int]

_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # ITU-T T.81, table B.1
_JPEG_BARE: Final = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a segment
_ISPE: Final = b"\0\0\0\x14ispe"  # ISO/IEC 23008-12 6.5.3, with its length
_MOST_PARTS: Final = 16  # of an AVIF image that are compared


def image_size(data: bytes) -> tuple[str, int, int] | None:
    """Return the media type, width and height of an image; ``None`` if its first bytes do not tell them.

    >>> image_size(b"GIF89a" + bytes([3, 0, 4, 0]))
    ('image/gif', 3, 4)
    """
    for place, mark, media_type, read in _FORMATS:
        if data.startswith(mark, place):
            try:
                width, height = read(data)
            except struct.error:
                return None
            return (media_type, width, height) if width > 0 and height > 0 else None
    return None


def _png(data: bytes) -> Sides:
    return struct.unpack_from(">II", data, 16) if data[12:16] == b"IHDR" else (0, 0)


def _gif(data: bytes) -> Sides:
    return struct.unpack_from("<HH", data, 6)


def _bmp(data: bytes) -> Sides:
    if struct.unpack_from("<I", data, 14)[0] == 12:  # the header of OS/2
        return struct.unpack_from("<HH", data, 18)
    width, height = struct.unpack_from("<ii", data, 18)
    return width, abs(height)  # negative: the rows are stored top-down


def _webp(data: bytes) -> Sides:
    match data[8:16]:
        case b"WEBPVP8X":
            sides = struct.unpack_from("<HBHB", data, 24)  # 24 bits each
            return 1 + sides[0] + (sides[1] << 16), 1 + sides[2] + (sides[3] << 16)
        case b"WEBPVP8L":
            bits = struct.unpack_from("<I", data, 21)[0]
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"WEBPVP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return 0, 0


def _jpeg(data: bytes) -> Sides:
    at = 2
    while data[at : at + 1] == b"\xff":
        marker = data[at + 1] if at + 1 < len(data) else 0
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            at += 2 + max(struct.unpack_from(">H", data, at + 2)[0], 2)
    return 0, 0


def _avif(data: bytes) -> Sides:
    """Return the largest size of its parts: tiles and thumbnails are smaller than the image."""
    best, at = (0, 0), 0
    for _ in range(_MOST_PARTS):
        at = data.find(_ISPE, at)
        if at < 0:
            break
        at += len(_ISPE)
        width, height = struct.unpack_from(">II", data, at + 4)
        best = max(best, (width, height), key=lambda sides: sides[0] * sides[1])
    return best


_FORMATS: Final[Sequence[tuple[int, bytes, str, Callable[[bytes], Sides]]]] = (
    (0, b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (0, b"\x89PNG\r\n\x1a\n", "image/png", _png),
    (8, b"WEBP", "image/webp", _webp),
    (0, b"GIF8", "image/gif", _gif),
    (0, b"BM", "image/bmp", _bmp),
    (4, b"ftypavif", "image/avif", _avif),
    (4, b"ftypavis", "image/avif", _avif),
)
