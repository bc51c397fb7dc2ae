"""Recognise files by their first bytes, by the member names of a zip, and by the extension in a URL."""

from __future__ import annotations

import re
import struct
import zlib
from functools import lru_cache
from typing import Final

from scoter.core.url import Url

XML: Final = "application/xml"
XHTML: Final = "application/xhtml+xml"
RSS: Final = "application/rss+xml"
ATOM: Final = "application/atom+xml"
RDF: Final = "application/rdf+xml"
ZIP: Final = "application/zip"
OLE: Final = "application/x-ole-storage"
BINARY: Final = "application/octet-stream"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

TYPE = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+", re.ASCII)
_ZIPPED: Final = 65_536  # bytes at either end of a zip searched for member names
_NAMED: Final = 100  # bytes of a zip's member ``mimetype``
_DEFLATED: Final = 8
_MAGIC: Final = 4_096  # bytes passed to puremagic
_SURE: Final = 0.4  # puremagic's confidence in a match of four bytes; shorter ones match by chance

# Signatures at an offset: those of the MIME Sniffing standard (6.1 to 6.4) and of other common files.
_SIGNS: Final = (
    *((0, b"%PDF-", "application/pdf"), (0, b"%!PS-Adobe-", "application/postscript")),
    *((0, b"GIF87a", "image/gif"), (0, b"GIF89a", "image/gif"), (0, b"\x89PNG\r\n\x1a\n", "image/png")),
    *((0, b"\xff\xd8\xff", "image/jpeg"), (8, b"WEBPVP", "image/webp")),
    *((0, b"PK\x03\x04", ZIP), (0, b"PK\x05\x06", ZIP), (0, b"\x1f\x8b\x08", "application/gzip")),
    *((0, b"Rar!\x1a\x07", "application/vnd.rar"), (0, b"7z\xbc\xaf'\x1c", "application/x-7z-compressed")),
    *((0, b"{\\rtf", "application/rtf"), (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE)),
)
# Signatures that words may begin with ("BMW", "OTTO"); they count only in binary data.
_BINARY_SIGNS: Final = (
    *((0, b"\x00\x00\x01\x00", "image/x-icon"), (0, b"\x00\x00\x02\x00", "image/x-icon"), (0, b"BM", "image/bmp")),
    *((0, b"II*\x00", "image/tiff"), (0, b"MM\x00*", "image/tiff"), (0, b"\x00\x00\x00\x0cjP  ", "image/jp2")),
    *((0, b"\x00\x00\x00\x0cJXL ", "image/jxl"), (0, b"\xff\x0a", "image/jxl")),
    *((8, b"WAVE", "audio/wave"), (8, b"AVI ", "video/avi"), (8, b"AIFF", "audio/aiff"), (0, b".snd", "audio/basic")),
    *((0, b"ID3", "audio/mpeg"), (0, b"OggS\x00", "application/ogg"), (0, b"MThd\x00\x00\x00\x06", "audio/midi")),
    *((0, b"fLaC", "audio/flac"), (0, b"FLV\x01", "video/x-flv"), (0, b"\x00\x00\x01\xba", "video/mpeg")),
    *((0, b"\x00\x01\x00\x00", "font/ttf"), (0, b"OTTO", "font/otf"), (0, b"ttcf", "font/collection")),
    *((0, b"wOFF", "font/woff"), (0, b"wOF2", "font/woff2"), (34, b"LP", "application/vnd.ms-fontobject")),
    *((0, b"\xfd7zXZ\x00", "application/x-xz"), (0, b"BZh", "application/x-bzip2")),
    *((0, b"(\xb5/\xfd", "application/zstd"), (257, b"ustar", "application/x-tar")),
    *((0, b"\x00asm", "application/wasm"), (0, b"\x7fELF", "application/x-elf")),
)
_BRANDS: Final = {
    **dict.fromkeys((b"avif", b"avis"), "image/avif"),
    **dict.fromkeys((b"heic", b"heix", b"hevc", b"mif1", b"msf1"), "image/heic"),
    **dict.fromkeys((b"M4A ", b"M4B "), "audio/mp4"),
    b"qt  ": "video/quicktime",
}
_MPEG_AUDIO: Final = frozenset({b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa"})
_MEMBERS: Final = (
    (b"word/", DOCX),
    (b"xl/", XLSX),
    (b"ppt/", PPTX),
    (b"META-INF/MANIFEST.MF", "application/java-archive"),
)
KNOWN: Final = frozenset({kind for _, _, kind in (*_SIGNS, *_BINARY_SIGNS)} | set(_BRANDS.values()))
# What the standard library does not know, or knows by a name that is no longer used.
_EXTENSIONS: Final = dict(
    line.split()
    for line in f"""
        .md text/markdown
        .js text/javascript
        .mjs text/javascript
        .xml {XML}
        .xhtml {XHTML}
        .rss {RSS}
        .atom {ATOM}
        .docx {DOCX}
        .xlsx {XLSX}
        .pptx {PPTX}
        .odt application/vnd.oasis.opendocument.text
        .ods application/vnd.oasis.opendocument.spreadsheet
        .odp application/vnd.oasis.opendocument.presentation
        .rtf application/rtf
        .epub application/epub+zip
        .djvu image/vnd.djvu
        .woff font/woff
        .woff2 font/woff2
        .apk application/vnd.android.package-archive
    """.strip().splitlines()
)
_TEXTUAL: Final = frozenset({"application/json", "application/ld+json", XML, "text/javascript", RSS, ATOM, XHTML, RDF})
OLD_OFFICE: Final = frozenset({"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"})


def type_by_signature(body: bytes, *, binary: bool = False) -> str:
    """Return the type for the signature of a body; ``binary`` adds signatures that words may begin with."""
    for place, start, kind in _SIGNS:
        if body.startswith(start, place):
            return zip_type(body) if kind == ZIP else kind
    if not binary:
        return ""
    if body[4:8] == b"ftyp":
        return _BRANDS.get(body[8:12], "video/mp4")
    if body.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in body[:64] else "video/x-matroska"
    found = next((kind for place, start, kind in _BINARY_SIGNS if body.startswith(start, place)), "")
    if not found and body[:2] in _MPEG_AUDIO:
        return "audio/mpeg"
    # Acrobat accepts the header anywhere in the first kilobyte (ISO 32000-1, annex H, 3.4.1).
    return found or ("application/pdf" if b"%PDF-" in body[:1_024] else "")


def zip_type(body: bytes) -> str:
    """Return the type of a zip by its member names, both the first ones and those in the directory."""
    for part, mark, offset in ((body[:_ZIPPED], b"PK\x03\x04", 30), (body[-_ZIPPED:], b"PK\x01\x02", 46)):
        place = part.find(mark)
        while place >= 0:
            # OpenDocument and EPUB require it first; after repacking it may be anywhere.
            if part.startswith(b"mimetype", place + offset) and (named := _named(body, part, place, offset)):
                return named
            for start, kind in _MEMBERS:
                if part.startswith(start, place + offset):
                    return kind
            place = part.find(mark, place + offset)
    return ZIP


def _named(body: bytes, part: bytes, place: int, offset: int) -> str:
    """Return the type in the member ``mimetype``, whose local or central header is at ``place``."""
    try:
        if struct.unpack_from("<H", part, place + offset - (4 if offset == 30 else 18))[0] != len("mimetype"):
            return ""
        at = place if offset == 30 else struct.unpack_from("<I", part, place + 42)[0]
        method, size, extra = struct.unpack_from("<H16xHH", body, at + 8)
        start = at + 30 + size + extra
        data = body[start : start + _NAMED]
        if method == _DEFLATED:
            unpacked = zlib.decompressobj(-zlib.MAX_WBITS)
            data = unpacked.decompress(data, _NAMED)
            if not unpacked.eof:
                return ""
    except (struct.error, zlib.error):
        return ""
    named = TYPE.match(data.partition(b"PK")[0].decode("latin-1"))
    return named[0].lower() if named and named[0].startswith("application/") else ""


def type_by_extension(url: Url, *, textual: bool) -> str:
    """Return the type for the extension of a URL if it is, or is not, a text type."""
    _, dot, ending = url.path.rpartition("/")[2].rpartition(".")
    found = _extensions().get(f".{ending.lower()}", "") if dot else ""
    is_textual = found.startswith("text/") or found in _TEXTUAL
    return found if found and found != BINARY and is_textual == textual else ""


@lru_cache(maxsize=1)
def _extensions() -> dict[str, str]:
    import mimetypes  # its system files, which differ between machines, are not used here

    return {**mimetypes.MimeTypes().types_map[True], **_EXTENSIONS}


def type_by_magic(body: bytes) -> str:
    """Return the type from puremagic's table of signatures, or an empty string."""
    import puremagic  # the import takes 40 ms, and one content in thousands needs it

    try:
        found = puremagic.magic_string(body[:_MAGIC])
    except (puremagic.PureError, ValueError):
        return ""
    for each in found:
        kind = str(each.mime_type).lower()
        if each.offset >= 0 and each.confidence >= _SURE and TYPE.fullmatch(kind) and not kind.startswith("text/"):
            return kind
    return ""
