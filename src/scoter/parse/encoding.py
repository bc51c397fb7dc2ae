"""In which characters a page is written.

The order is the HTML standard's: a byte order mark, the server's word, a ``<meta>`` near the top; then, where a browser
would guess, whether the bytes are valid UTF-8, and at last a detector. A declaration that the bytes belie does not
count, which is more than a browser does: valid UTF-8 is UTF-8, and what is mostly invalid is not. What comes out is
UTF-8, since that is what the HTML parser reads; a page that is written in it (nearly all are) passes through as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import webencodings  # type: ignore[import-untyped]
from msgspec import Struct

PRESCAN: Final = 1_024
"""Bytes in which a page may name its encoding (HTML standard, 13.2.3.2)."""

SAMPLE: Final = 16_384
"""Bytes that the detector sees: more made it slower and no surer."""

Source: TypeAlias = Literal["bom", "http", "meta", "valid", "detected", "default"]

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_HIGH: Final = bytes(range(0x80, 0x100))
_PROOF: Final = 6  # bytes beyond ASCII; two characters of GBK may happen to be valid UTF-8, many do not
_TAG_START = re.compile(rb"<(?:!--|[mM][eE][tT][aA][\t\n\f\r /]|/?[a-zA-Z]|[!/?])")
# An attribute as the standard's prescan reads it: a name, and perhaps a value in quotes or without.
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)(\"?)|'([^']*+)('?)|([^\t\n\f\r >]*+)))?+"
)
_TAG_END = re.compile(rb"[\t\n\f\r >]")
_CHARSET = re.compile(
    rb"[cC][hH][aA][rR][sS][eE][tT][\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;][^\t\n\f\r ;]*))"
)


class Decoded(Struct, frozen=True):
    """A page as UTF-8, with the name of the encoding it came in and how that was found out."""

    utf8: bytes
    encoding: str
    source: Source


def decoded(body: bytes, http: str = "", default: str = "windows-1252", *, markup: bool = True) -> Decoded:
    """Return a page as UTF-8; what is invalid in its encoding becomes U+FFFD.

    ``markup`` is off for plain text, in which a ``<meta>`` means nothing.

    >>> decoded("naïve".encode("latin-1"), http="ISO-8859-1")
    Decoded(utf8=b'na\\xc3\\xafve', encoding='windows-1252', source='http')
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _as_utf8(body[len(mark) :], name, "bom")
    if http and (name := encoding_name(http)) and (found := _as_declared(body, name, "http")):
        return found
    if markup and (name := prescan(body[:PRESCAN])) and (found := _as_declared(body, name, "meta")):
        return found
    if name := _looks_like_utf16(body[:PRESCAN]):  # which may be valid UTF-8, too
        return _as_utf8(body, name, "detected")
    if is_utf8(body):
        return _as_utf8(body, "utf-8", "valid")
    if name := _detected(body[:SAMPLE]):
        return _as_utf8(body, name, "detected")
    return _as_utf8(body, encoding_name(default) or "windows-1252", "default")


@lru_cache(maxsize=256)
def encoding_name(label: str) -> str:
    """Return the standard's name of the encoding that a label means, or nothing.

    >>> encoding_name("Latin1"), encoding_name("utf8"), encoding_name("klingon")
    ('windows-1252', 'utf-8', '')
    """
    found = webencodings.lookup(label) if label.isascii() else None
    return str(found.name) if found is not None else ""


def is_utf8(body: bytes) -> bool:
    """Tell whether bytes are UTF-8; a page that was cut inside a character still is."""
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def prescan(head: bytes) -> str:
    """Return the encoding that the first bytes of a page declare, by the algorithm of the HTML standard, 13.2.3.2.

    >>> prescan(b'<!-- <meta charset=gbk> --><meta http-equiv=content-type content="text/html; charset=euc-jp">')
    'euc-jp'
    """
    place = 0
    while found := _TAG_START.search(head, place):
        place = found.end()
        match found[0][:2].lower():
            case b"<!" if found[0] == b"<!--":
                place = head.find(b"-->", found.start() + 2) + 3
                if place < 3:
                    return ""
            case b"<m" if found.end() - found.start() == 6:
                name, place = _declared(head, place - 1)
                if name:
                    return name
            case b"<!" | b"<?":
                place = _past(head, place)
            case b"</" if found.end() - found.start() == 2:
                place = _past(head, place)
            case _:
                end = _TAG_END.search(head, place)
                place = len(head) if end is None else end.start()
                while attribute := _ATTRIBUTE.match(head, place):
                    place = attribute.end()
        if place >= len(head):
            break
    return ""


def _past(head: bytes, place: int) -> int:
    end = head.find(b">", place)
    return len(head) if end < 0 else end + 1


def _declared(head: bytes, place: int) -> tuple[str, int]:
    """Read the attributes of a meta element: its encoding, if it declares one, and where it ends."""
    got_pragma = False
    needs_pragma: bool | None = None
    charset = ""
    seen: set[bytes] = set()
    while attribute := _ATTRIBUTE.match(head, place):
        place = attribute.end()
        if place >= len(head):  # the value may go on beyond what is looked at
            return "", place
        name = attribute[1].lower()
        if name in seen:
            continue
        seen.add(name)
        value = (attribute[2] or attribute[4] or attribute[6] or b"").lower()
        if name == b"http-equiv":
            got_pragma = got_pragma or value == b"content-type"
        elif name == b"content" and not charset:
            found = _CHARSET.search(value)
            label = next(filter(None, found.groups()), b"") if found else b""
            if label and (known := encoding_name(label.decode("latin-1"))):
                charset, needs_pragma = known, True
        elif name == b"charset":
            charset, needs_pragma = encoding_name(value.decode("latin-1")), False
    if needs_pragma is None or (needs_pragma and not got_pragma):
        return "", place
    # What was read so far is ASCII, so the page cannot be UTF-16 whatever it says.
    return {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": "windows-1252"}.get(charset, charset), place


def _looks_like_utf16(head: bytes) -> str:
    """Return UTF-16 without its mark by the zeros that every second byte of markup is then."""
    if not head.count(0) or head.count(0) * 4 < len(head):
        return ""
    even, odd = head[::2].count(0), head[1::2].count(0)
    return "utf-16be" if even > 4 * odd else "utf-16le" if odd > 4 * even else ""


def _detected(sample: bytes) -> str:
    import chardet  # 40 ms to import, which one page in a hundred needs

    guess: Any = chardet.detect(sample, max_bytes=SAMPLE)
    name = guess["encoding"] if guess["encoding"] and guess["confidence"] >= 0.3 else ""
    return encoding_name(_NAMES.get(name.lower(), name))


# What Python calls an encoding and the standard does not.
_NAMES: Final = {"cp949": "euc-kr", "johab": "euc-kr", "cp932": "shift_jis", "cp950": "big5", "mac-roman": "macintosh"}


def _as_declared(body: bytes, name: str, source: Source) -> Decoded | None:
    """Return a page by its declaration, or nothing if that is plainly wrong."""
    if name == "utf-8":
        found = _as_utf8(body, name, source)
        return found if found.utf8 is body or not _mostly_broken(found.utf8.decode()) else None
    if not body.isascii() and is_utf8(body) and len(body) - len(body.translate(None, _HIGH)) >= _PROOF:
        return None
    return _as_utf8(body, name, source)


def _mostly_broken(text: str) -> bool:
    broken = text.count("\ufffd")
    return 2 * broken > len(text) - len(text.encode("ascii", "ignore"))


def _as_utf8(body: bytes, name: str, source: Source) -> Decoded:
    if name == "utf-8":
        return Decoded(body if body.isascii() else _mended(body), name, source)
    if name == "windows-1252" and body.isascii():
        return Decoded(body, name, source)
    codec: Any = webencodings.lookup(name).codec_info
    text: str = codec.decode(body, "replace")[0]
    return Decoded(text.encode("utf-8", "replace"), name, source)


def _mended(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").encode()
    return body
