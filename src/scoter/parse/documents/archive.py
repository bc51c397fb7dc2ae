"""Read zip files safely, including hostile ones.

Members are never unpacked to disk, and their names never used as paths. Decompression is limited per member and in
total, whatever sizes the archive declares, so overlapping members and nested bombs hit the limit. Only stored and
deflated members are read: Python's readers of the other methods do not bound their output.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from scoter.parse.encoding import codec_of, decode_page, is_utf8

MOST_BYTES: Final = 128 * 1024 * 1024
"""Total bytes decompressed from one archive, including nested ones."""
MOST_OF_MEMBER: Final = 64 * 1024 * 1024
MOST_MEMBERS: Final = 10_000
LONGEST_NAME: Final = 1_024
_MOST_RATIO: Final = 250
_RATIO_FROM: Final = 8 * 1024 * 1024  # bytes; small members may legitimately be all zeros
_PIECE: Final = 64 * 1024
_ENTRY: Final = b"PK\x01\x02"
_MEMBER: Final = b"PK\x03\x04"
_END: Final = b"PK\x05\x06"
_FROM_END: Final = 66_000  # bytes; a comment may follow the end record (APPNOTE 4.3.16)
_MOST_FOREIGN: Final = 200  # names used to detect their character encoding
_EAST_ASIAN: Final = frozenset({"shift_jis", "gbk", "gb18030", "big5", "euc-jp", "euc-kr"})
_ALONE: Final = re.compile(r"(?<![^\x00-\x7f])[^\x00-\x7f](?![^\x00-\x7f])")
_ENCRYPTED: Final = 1  # APPNOTE 4.4.4, bit 0
_UTF8: Final = 1 << 11
_FOREIGN: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, IndexError, OverflowError),
    *(RuntimeError, NotImplementedError, UnicodeError),
)


class UnreadableArchive(Exception):
    """Why an archive or one of its members cannot be read; never leaves this package."""


class ByteBudget:
    """Bytes that may still be decompressed."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.left = most

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UnreadableArchive("bomb: it decompresses to more than is read")


class ZipArchive:
    """A zip file in memory."""

    def __init__(self, body: bytes, budget: ByteBudget | None = None) -> None:
        # zipfile creates an object per entry before the number of entries can be checked.
        if body.count(_ENTRY) > 2 * MOST_MEMBERS:
            raise UnreadableArchive("bomb: too many members")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except _FOREIGN as error:
            # The list of members is at the end of the file.
            is_cut = body.startswith(_MEMBER) and _END not in body[-_FROM_END:]
            raise UnreadableArchive(
                "damaged: the end of the file is missing" if is_cut else f"damaged: {_words(error)}"
            ) from None
        self._budget = budget or ByteBudget()
        self.members: tuple[zipfile.ZipInfo, ...] = tuple(self._zip.infolist()[:MOST_MEMBERS])
        self.names = _names(self.members)
        self._by_name = {member.filename: member for member in reversed(self.members)}
        # Names of parts are compared without case (ISO 29500-2, 6.2.2.3), and some writers use backslashes.
        self._by_folded = {name.replace("\\", "/").lower(): member for name, member in self._by_name.items()}

    def __contains__(self, name: str) -> bool:
        return self.member(name) is not None

    def member(self, name: str) -> zipfile.ZipInfo | None:
        return self._by_name.get(name) or self._by_folded.get(name.lower())

    def pieces(self, member: zipfile.ZipInfo, most: int = MOST_OF_MEMBER) -> Iterator[bytes]:
        """Yield the content of a member; may raise UnreadableArchive after some of it."""
        if member.flag_bits & _ENCRYPTED:
            raise UnreadableArchive("encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableArchive("compressed by an unsupported method")
        count = 0
        try:
            with self._zip.open(member) as source:
                while piece := source.read(_PIECE):
                    count += len(piece)
                    if count > most or (count > _RATIO_FROM and count > _MOST_RATIO * member.compress_size):
                        raise UnreadableArchive("bomb: a member is too large")
                    self._budget.take(len(piece))
                    yield piece
        except _FOREIGN as error:
            raise UnreadableArchive(f"damaged: {_words(error)}") from None

    def read(self, member: zipfile.ZipInfo, most: int = MOST_OF_MEMBER) -> bytes:
        """Return the whole content of a member."""
        return b"".join(self.pieces(member, most))


def _names(members: Sequence[zipfile.ZipInfo]) -> tuple[str, ...]:
    """Return the members' names; without the UTF-8 flag they may still be UTF-8 (macOS) or East Asian (Windows)."""
    raw = [_raw(member) for member in members]
    foreign = b"\n".join([name for name in raw if not name.isascii() and not is_utf8(name)][:_MOST_FOREIGN])
    codec = _codec(foreign) if foreign else None
    return tuple(
        _read(name, member.filename, codec) if name else member.filename
        for name, member in zip(raw, members, strict=True)
    )


def _raw(member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a name that zipfile decoded as cp437, or nothing if the name is correct."""
    if member.filename.isascii() or member.flag_bits & _UTF8:
        return b""
    try:
        return member.filename.encode("cp437")
    except UnicodeError:
        return b""


def _read(raw: bytes, otherwise: str, codec: Any) -> str:
    try:
        return raw.decode() if is_utf8(raw) or codec is None else str(codec.decode(raw)[0])
    except UnicodeError:
        return otherwise


def _codec(names: bytes) -> Any:
    """Return the codec of an East Asian encoding if the names are clearly in one: few wide characters stand alone."""
    found = decode_page(names, markup=False)
    if found.encoding not in _EAST_ASIAN or found.replaced:
        return None
    text = found.utf8.decode()
    wide = sum(not sign.isascii() for sign in text)
    return codec_of(found.encoding) if 4 * len(_ALONE.findall(text)) <= wide else None


def _words(error: BaseException) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__)[:80]
