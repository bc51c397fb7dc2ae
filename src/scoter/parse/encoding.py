"""Determine the character encoding of a page and convert the page to UTF-8.

The order is that of the HTML standard: a byte order mark, the HTTP header, a ``<meta>`` near the top, an XML
declaration; then whether the bytes are valid UTF-8; and at last a detector. Unlike browsers, we ignore a declaration
that contradicts the bytes: valid UTF-8 is UTF-8, and mostly invalid UTF-8 is not. Many servers declare ISO-8859-1 by
default; the page's own declaration overrides that if the bytes confirm it. Labels that the Encoding standard refuses,
such as ISO-2022-KR and UTF-7, are ignored: the markup and links of such pages are ASCII. The result is UTF-8, which the
HTML parser reads; a page in UTF-8, as nearly all are, passes through unchanged.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote_from_bytes

import webencodings  # type: ignore[import-untyped]

from scoter.parse import byte_search
from scoter.parse.legacy_encodings import WEB_CODECS
from scoter.parse.records import DecodedPage, EncodingEvidence

PRESCAN: Final = 1_024
"""Bytes in which a page may declare its encoding (HTML standard, 13.2.3.2)."""

SAMPLE: Final = 16_384
"""Bytes passed to the detector: more made it slower but no more accurate."""

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_HIGH: Final = bytes(range(0x80, 0x100))
_PROOF: Final = 6  # non-ASCII bytes; two characters of GBK may be valid UTF-8 by chance, more are not
# How most pages begin; the search below would find the same declaration.
_USUAL_START: Final = re.compile(
    rb"[\t\n\f\r ]*+<![dD][oO][cC][tT][yY][pP][eE] [^<>]*+>[\t\n\f\r ]*+"
    rb"(?:<html(?:[\t\n\f\r ]++[a-z:-]++=\"[^\"<>]*+\")*+>[\t\n\f\r ]*+)?+(?:<head>[\t\n\f\r ]*+)?+"
    rb"<meta charset=\"(?:utf-8|UTF-8)\"[\t\n\f\r ]*+/?>"
)
_TAG_START: Final = re.compile(rb"<(?:!--|[mM][eE][tT][aA][\t\n\f\r /]|/?[a-zA-Z]|[!/?])")
# An attribute as the standard's prescan reads it: a name and an optional value with or without quotes.
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)(\"?)|'([^']*+)('?)|([^\t\n\f\r >]*+)))?+"
)
_XML_ENCODING: Final = re.compile(rb"encoding[\x00- ]*=[\x00- ]*([\"'])([^\x00- \"']+)\1")
_FIRST_HIGH: Final = re.compile(rb"[\x80-\xff]")
_BEFORE: Final = 256  # bytes of the sample before the first non-ASCII character
_MULTIBYTE: Final = frozenset({"big5", "euc-jp", "euc-kr", "gbk", "gb18030", "shift_jis", "iso-2022-jp"})
_REFERENCES: Final = "scoter.references"
_TAG_END: Final = re.compile(rb"[\t\n\f\r >]")
_CHARSET: Final = re.compile(
    rb"[cC][hH][aA][rR][sS][eE][tT][\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;][^\t\n\f\r ;]*))"
)
_QUERY_AS_UTF8: Final = frozenset({"utf-8", "utf-16be", "utf-16le"})
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_QUERY_SAFE: Final = "!$%&()*+,-./:;=?@[\\]^_`{|}~"  # ASCII that is not percent-encoded in a query (URL standard, 1.3)


def decode_page(body: bytes, http: str = "", default: str = "windows-1252", *, markup: bool = True) -> DecodedPage:
    """Return a page as UTF-8; invalid characters become U+FFFD.

    Pass ``markup=False`` for plain text, in which a ``<meta>`` has no meaning.

    >>> decode_page("naïve".encode("latin-1"), http="ISO-8859-1")
    DecodedPage(utf8=b'na\\xc3\\xafve', encoding='windows-1252', why='http', replaced=0)
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _as_utf8(body[len(mark) :], name, "bom")
    head = body[:PRESCAN]
    if http and (name := encoding_name(http)) and (found := _as_declared(body, name, "http")):
        better = _own_declaration(body, head) if name == "windows-1252" and markup else None
        return found if better is None else better
    if markup:
        if (name := prescan(head)) and (found := _as_declared(body, name, "meta")):
            return found
        if (name := xml_encoding(head)) and (found := _as_declared(body, name, "xml")):
            return found
    if name := looks_like_utf16(head) or _looks_like_iso_2022(body):  # before UTF-8, which these may be as well
        return _as_utf8(body, name, "detector")
    if body.isascii():
        return DecodedPage(body, "utf-8", "utf-8")
    if is_utf8(body):
        return _as_utf8(body, "utf-8", "utf-8")
    if name := _detected(body):
        return _as_utf8(body, name, "detector")
    return _as_utf8(body, encoding_name(default) or "windows-1252", "default")


@lru_cache(maxsize=256)
def encoding_name(label: str) -> str:
    """Return the standard name for an encoding label; empty if unknown or refused by the Encoding standard.

    >>> encoding_name("Latin1"), encoding_name("utf8"), encoding_name("klingon"), encoding_name("iso-2022-kr")
    ('windows-1252', 'utf-8', '', '')
    """
    found = webencodings.lookup(label) if label.isascii() else None
    return str(found.name) if found is not None and found.name != "replacement" else ""


def codec_of(name: str) -> Any:
    """Return the codec for the standard name of an encoding."""
    if name == "gbk":
        return codecs.lookup("gb18030")  # the standard's decoder; webencodings has another
    return WEB_CODECS[name] if name in WEB_CODECS else webencodings.lookup(name).codec_info


def is_utf8(body: bytes) -> bool:
    """Tell whether bytes are UTF-8, even if truncated within a character."""
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # A single byte after ASCII may be the last letter of "café" in another encoding.
        return error.reason == "unexpected end of data" and not body[: error.start].isascii()
    return True


def prescan(head: bytes) -> str:
    """Return the encoding declared in the first bytes of a page (HTML standard, 13.2.3.2).

    >>> prescan(b'<!-- <meta charset=gbk> --><meta http-equiv=content-type content="text/html; charset=euc-jp">')
    'euc-jp'
    """
    if _USUAL_START.match(head):
        return "utf-8"
    if b"charset" not in head.lower():  # every declaration contains this word
        return ""
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
            case b"<!" | b"<?" | b"</" if found.end() - found.start() == 2:
                place = _past(head, place)
            case _:
                end = _TAG_END.search(head, place)
                place = len(head) if end is None else end.start()
                while attribute := _ATTRIBUTE.match(head, place):
                    place = attribute.end()
        if place >= len(head):
            break
    return ""


def xml_encoding(head: bytes) -> str:
    """Return the encoding in an XML declaration (HTML standard, 13.2.3.2).

    >>> xml_encoding(b'<?xml version="1.0" encoding="EUC-JP"?>')
    'euc-jp'
    """
    if not head.startswith(b"<?xml"):
        return ""
    found = _XML_ENCODING.search(head, 5, max(head.find(b">"), 0))
    return _ascii_based(encoding_name(found[2].decode("latin-1"))) if found else ""


def _ascii_based(name: str) -> str:
    """Correct a declared UTF-16: the declaration itself was readable as ASCII."""
    return {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": "windows-1252"}.get(name, name)


def _past(head: bytes, place: int) -> int:
    end = head.find(b">", place)
    return len(head) if end < 0 else end + 1


def _declared(head: bytes, place: int) -> tuple[str, int]:
    """Return the encoding that a meta element declares, if any, and where the element ends."""
    got_pragma = False
    needs_pragma: bool | None = None
    charset: str | None = None
    seen: set[bytes] = set()
    while attribute := _ATTRIBUTE.match(head, place):
        place = attribute.end()
        if place >= len(head):  # the value may continue after the prescanned bytes
            return "", place
        name = attribute[1].lower()
        if name in seen:
            continue
        seen.add(name)
        value = (attribute[2] or attribute[4] or attribute[6] or b"").lower()
        if name == b"http-equiv":
            got_pragma = got_pragma or value == b"content-type"
        elif name == b"content" and charset is None:
            found = _CHARSET.search(value)
            label = next(filter(None, found.groups()), b"") if found else b""
            if label and (known := encoding_name(label.decode("latin-1"))):
                charset, needs_pragma = known, True
        elif name == b"charset":
            charset, needs_pragma = encoding_name(value.decode("latin-1")), False
    if not charset or (needs_pragma and not got_pragma):
        return "", place
    return _ascii_based(charset), place


def looks_like_utf16(head: bytes) -> str:
    """Recognise UTF-16 without a byte order mark: every second byte of its markup is zero."""
    if not head.count(0) or head.count(0) * 4 < len(head):
        return ""
    even, odd = head[::2].count(0), head[1::2].count(0)
    return "utf-16be" if even > 4 * odd else "utf-16le" if odd > 4 * even else ""


def _looks_like_iso_2022(body: bytes) -> str:
    """Recognise ISO-2022-JP, which is all ASCII, by its escape sequences."""
    return "iso-2022-jp" if b"\x1b" in body and (b"\x1b$B" in body or b"\x1b$@" in body) else ""


def _detected(body: bytes) -> str:
    import chardet  # the import takes 40 ms, and one page in a hundred needs it

    high = _FIRST_HIGH.search(body)  # skip a long head of scripts and styles
    start = max(high.start() - _BEFORE, 0) if high else 0
    guess: Any = chardet.detect(body[start : start + SAMPLE], max_bytes=SAMPLE, encoding_era=chardet.EncodingEra(_ERA))
    name = guess["encoding"] if guess["encoding"] and guess["confidence"] >= _LEAST else ""
    return encoding_name(_NAMES.get(name.lower(), name))


# chardet's MODERN_WEB and LEGACY_ISO. With DOS and mainframe code pages it is slower and less accurate.
_ERA: Final = 1 | 2
# chardet is right about a sentence at 0.05. About a single accented letter it is less confident, and wrong.
_LEAST: Final = 0.02
# Python's names of encodings and those of the standard.
_NAMES: Final = {
    **dict.fromkeys(("cp949", "johab"), "euc-kr"),
    **dict.fromkeys(("cp950", "big5hkscs", "big5-hkscs"), "big5"),
    "cp932": "shift_jis",
    "cp874": "windows-874",
    "mac-roman": "macintosh",
}


def _as_declared(body: bytes, name: str, why: EncodingEvidence) -> DecodedPage | None:
    """Decode a page as declared; ``None`` if the declaration is plainly wrong."""
    if name == "utf-8":
        if 0 in body[:PRESCAN] and looks_like_utf16(body[:PRESCAN]):
            return None
        found = _as_utf8(body, name, why)
        return found if not found.replaced or not _mostly_broken(found) else None
    if name.startswith("utf-16"):
        return _as_utf8(body, name, why) if looks_like_utf16(body[:PRESCAN]) or not _is_ascii_markup(body) else None
    if not body.isascii() and is_utf8(body) and len(body) - len(body.translate(None, _HIGH)) >= _PROOF:
        return None
    found = _as_utf8(body, name, why)
    return found if name not in _MULTIBYTE or not found.replaced or not _mostly_broken(found) else None


def _own_declaration(body: bytes, head: bytes) -> DecodedPage | None:
    """Decode a page as it declares itself, if the bytes prove that declaration against the server's ISO-8859-1.

    Unconfigured servers declare ISO-8859-1 for everything, and every byte is valid in it. But text in it is hardly ever
    valid as a whole in a multi-byte encoding.
    """
    if body.isascii() or (name := prescan(head)) not in _MULTIBYTE:
        return None
    found = _as_utf8(body, name, "meta")
    return None if found.replaced or len(body) - len(body.translate(None, _HIGH)) < _PROOF else found


def _is_ascii_markup(body: bytes) -> bool:
    """Tell an ASCII-based page from one in UTF-16, half of whose bytes may look like ASCII."""
    head = body[:PRESCAN]
    if 0 in head or b"<" not in head:
        return False
    return is_utf8(body) or 5 * len(head.translate(None, _HIGH)) > 4 * len(head)


def _mostly_broken(found: DecodedPage) -> bool:
    text = found.utf8.decode()
    return 2 * found.replaced > len(text) - len(text.encode("ascii", "ignore"))


def _as_utf8(body: bytes, name: str, why: EncodingEvidence) -> DecodedPage:
    if name == "utf-8":
        return DecodedPage(body, name, why) if body.isascii() else _repaired(body, why)
    if name == "windows-1252" and body.isascii():
        return DecodedPage(body, name, why)
    text: str = codec_of(name).decode(body, "replace")[0]
    return DecodedPage(text.encode("utf-8", "replace"), name, why, text.count("\ufffd"))


def _repaired(body: bytes, why: EncodingEvidence) -> DecodedPage:
    if byte_search.is_whole_utf8(body):
        return DecodedPage(body, "utf-8", why)
    text = body.decode("utf-8", "replace")
    return DecodedPage(text.encode(), "utf-8", why, text.count("\ufffd"))


def _as_references(error: UnicodeError) -> tuple[str, int]:
    """Write characters that an encoding lacks like a form (URL standard, 1.3)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(f"%26%23{ord(sign)}%3B" for sign in error.object[error.start : error.end]), error.end


codecs.register_error(_REFERENCES, _as_references)


def encode_query(href: str, encoding: str) -> str:
    """Percent-encode the query of a link in the encoding of its page, as browsers do (HTML standard, 2.4.2).

    >>> encode_query("/caf\\xe9?q=caf\\xe9#caf\\xe9", "windows-1252")
    '/caf\\xe9?q=caf%E9#caf\\xe9'
    """
    if href.isascii() or encoding in _QUERY_AS_UTF8:
        return href
    start, hash_, fragment = href.partition("#")
    path, mark, query = start.partition("?")
    if query.isascii():
        return href
    encode: Any = webencodings.lookup(encoding).codec_info.encode

    def escaped(found: re.Match[str]) -> str:
        return quote_from_bytes(encode(found[0], _REFERENCES)[0], _QUERY_SAFE)

    return f"{path}{mark}{_NON_ASCII.sub(escaped, query)}{hash_}{fragment}"
