"""Zip files that mean harm are read here without coming to any.

A member is never unpacked to disk, and its name never used as a path. What is decompressed is bounded for each member
and for all together, whatever the sizes in the archive say, so that overlapping members and bombs within bombs come to
their end. Only stored and deflated members are read: Python's readers of the other methods do not bound their output.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from scoter.parse.encoding import codec_of, decoded, is_utf8

MOST_BYTES: Final = 128 * 1024 * 1024
"""Bytes that are decompressed of one archive, archives inside it included."""
MOST_OF_MEMBER: Final = 64 * 1024 * 1024
MOST_MEMBERS: Final = 10_000
LONGEST_NAME: Final = 1_024
_MOST_RATIO: Final = 250
_RATIO_FROM: Final = 8 * 1024 * 1024  # bytes; small members may well be all zeros
_PIECE: Final = 64 * 1024
_ENTRY: Final = b"PK\x01\x02"
_MEMBER: Final = b"PK\x03\x04"
_END: Final = b"PK\x05\x06"
_FROM_END: Final = 66_000  # bytes; a comment may stand behind it (APPNOTE 4.3.16)
_MOST_FOREIGN: Final = 200  # names by which their encoding is told
_EAST_ASIAN: Final = frozenset({"shift_jis", "gbk", "gb18030", "big5", "euc-jp", "euc-kr"})
_ALONE: Final = re.compile(r"(?<![^\x00-\x7f])[^\x00-\x7f](?![^\x00-\x7f])")
_ENCRYPTED: Final = 1  # APPNOTE 4.4.4, bit 0
_UTF8: Final = 1 << 11
_FOREIGN: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, IndexError, OverflowError),
    *(RuntimeError, NotImplementedError, UnicodeError),
)


class UnreadableArchive(Exception):
    """Why an archive or a member of it cannot be read, in a few words; it never leaves this package."""


class ByteBudget:
    """Bytes that may still be decompressed."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.left = most

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UnreadableArchive("bomb: more is packed into it than is read")


class ZipArchive:
    """A zip file in memory."""

    def __init__(self, body: bytes, allowance: ByteBudget | None = None) -> None:
        # Python makes an object of each entry before anybody can ask how many there are.
        if body.count(_ENTRY) > 2 * MOST_MEMBERS:
            raise UnreadableArchive("bomb: too many members")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except _FOREIGN as error:
            # What is missing is the list of the members, which stands at the end.
            is_cut = body.startswith(_MEMBER) and _END not in body[-_FROM_END:]
            raise UnreadableArchive("damaged: its end is missing" if is_cut else f"damaged: {_words(error)}") from None
        self._allowance = allowance or ByteBudget()
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
        """Yield what is in a member; UnreadableArchive may come after some of it."""
        if member.flag_bits & _ENCRYPTED:
            raise UnreadableArchive("encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableArchive("packed by a method that is not read")
        count = 0
        try:
            with self._zip.open(member) as source:
                while piece := source.read(_PIECE):
                    count += len(piece)
                    if count > most or (count > _RATIO_FROM and count > _MOST_RATIO * member.compress_size):
                        raise UnreadableArchive("bomb: a member is too large")
                    self._allowance.take(len(piece))
                    yield piece
        except _FOREIGN as error:
            raise UnreadableArchive(f"damaged: {_words(error)}") from None

    def read(self, member: zipfile.ZipInfo, most: int = MOST_OF_MEMBER) -> bytes:
        """Return all of a member."""
        return b"".join(self.pieces(member, most))


def _names(members: Sequence[zipfile.ZipInfo]) -> tuple[str, ...]:
    """Return the names of members; what has no flag may be UTF-8 (macOS), or as Windows writes it in East Asia."""
    raw = [_raw(member) for member in members]
    foreign = b"\n".join([name for name in raw if not name.isascii() and not is_utf8(name)][:_MOST_FOREIGN])
    codec = _codec(foreign) if foreign else None
    return tuple(
        _read(name, member.filename, codec) if name else member.filename
        for name, member in zip(raw, members, strict=True)
    )


def _raw(member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a name that Python took for the characters of the first PCs; nothing if it is right."""
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
    """Return the codec of an East Asian encoding that names are in beyond doubt: of their letters few stand alone."""
    found = decoded(names, markup=False)
    if found.encoding not in _EAST_ASIAN or found.replaced:
        return None
    text = found.utf8.decode()
    wide = sum(not sign.isascii() for sign in text)
    return codec_of(found.encoding) if 4 * len(_ALONE.findall(text)) <= wide else None


def _words(error: BaseException) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__)[:80]
