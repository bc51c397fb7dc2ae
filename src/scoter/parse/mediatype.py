"""Determine the media type of a body.

The declared type is used unless it is missing, vague or one of the known mistakes of servers: a file, feed or sitemap
served as HTML, an office document served as zip, one image format served as another. Otherwise the first bytes decide
as in the WHATWG MIME Sniffing standard, then the extension in the URL, then puremagic's table of signatures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from scoter.core.page import EMPTY, Content
from scoter.core.reply import Headers, as_url, header
from scoter.core.url import Url
from scoter.parse.encoding import looks_like_utf16
from scoter.parse.filetypes import (
    ATOM,
    BINARY,
    KNOWN,
    OLD_OFFICE,
    OLE,
    RDF,
    RSS,
    TYPE,
    XHTML,
    XML,
    ZIP,
    type_by_extension,
    type_by_magic,
    type_by_signature,
    zip_type,
)

LANGUAGE: Final = "content-language"
"""Key of the Content-Language header in the metadata of a content."""
_LANGUAGE_LENGTH: Final = len(LANGUAGE)
_ROBOTS_LENGTH: Final = len("x-robots-tag")
_REFRESH_LENGTH: Final = len("refresh")
HTML: Final = "text/html"
TEXT: Final = "text/plain"
JSON_FEED: Final = "application/feed+json"

TypeEvidence: TypeAlias = Literal["header", "bytes", "extension", "magic", "default"]

SNIFFED: Final = 1_445
"""Bytes that tell text from binary data (the standard, 5.2)."""
# Types that servers send for unknown files: the standard's 5.1, and those of Amazon S3 and download scripts.
_VAGUE: Final = frozenset(
    {
        *("", "unknown/unknown", "application/unknown", "content/unknown", "*/*", TEXT, BINARY, "binary/octet-stream"),
        *("application/x-octet-stream", "application/binary", "application/force-download", "application/download"),
        *("application/x-download", "application/x-force-download", "application/x-unknown-content-type"),
    }
)
_OTHER_NAMES: Final = {
    "image/jpeg": "image/jpg image/pjpeg image/x-citrix-jpeg",
    "image/png": "image/x-png image/x-citrix-png",
    "image/x-icon": "image/vnd.microsoft.icon image/ico",
    "application/gzip": "application/x-gzip application/gzip-compressed application/x-gunzip",
    ZIP: "application/x-zip application/x-zip-compressed",
    "application/pdf": "application/x-pdf text/pdf application/acrobat",
    "text/javascript": "application/javascript application/x-javascript text/x-javascript text/ecmascript"
    " application/ecmascript application/x-ecmascript text/jscript text/livescript",
    RSS: "application/rss text/rss+xml text/rss application/x-rss+xml",
    ATOM: "application/atom text/atom+xml text/atom",
    XML: "text/xml",  # RFC 7303 9.1
    "application/rtf": "text/rtf application/x-rtf",
}
_USUAL: Final = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}

# No label contains quotes, so a quote that is not closed does no harm.
_CHARSET = re.compile(r";\s*charset\s*=[\s\"']*([^\s,;\"']+)", re.IGNORECASE)
_MARKUP = re.compile(
    rb"[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ \t\n\f\r/>]"
    rb"|[\t\n\f\r ]*<!--",
    re.IGNORECASE,
)
# The prolog of an XML document and the name of its root element.
_ROOT = re.compile(
    rb"(?:[\t\n\f\r ]++|<!--(?:(?!-->).)*+-->|<\?(?:(?!\?>).)*+\?>|<![dD][^>\[]*+(?:\[[^\]]*+\][^>]*+)?>)*+"
    rb"<(?:[\w.-]+:)?([\w.-]+)[\t\n\f\r />]",
    re.DOTALL,
)
_ROOTS: Final = {b"rss": RSS, b"feed": ATOM, b"urlset": XML, b"sitemapindex": XML}
_RSS_1: Final = (b"http://purl.org/rss/1.0/", b"http://my.netscape.com/rdf/simple/0.9/")
_OFFICE: Final = ("application/msword", "application/vnd.ms-", "application/vnd.o")
_LEAST_WIDE: Final = 16  # bytes; fewer prove nothing
_SPACE: Final = b"\t\n\f\r "
_MARKS: Final = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
CONTROLS: Final = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that do not occur in text (the standard, 7.1)."""


class Decision(Struct, frozen=True):
    """A media type and what it is based on: ``header``, ``bytes``, URL ``extension``, puremagic, or the default."""

    media_type: str
    why: TypeEvidence


def make_content(url: Url, headers: Headers, body: bytes, *, truncated: bool = False, sniff: bool = True) -> Content:
    """Make the content for the parsers from a body whose content coding has been removed."""
    said, charset = parse_content_type(header(headers, "content-type"))
    if not (sniff and said == HTML and body[:2] in _PLAINLY_HTML):
        said = decide_type(said, url, body).media_type if sniff else said or BINARY
    robots: list[str] = []
    refresh = ""
    metadata: Mapping[str, str] = EMPTY
    for name, value in headers:
        if len(name) == _ROBOTS_LENGTH and name.lower() == "x-robots-tag":
            robots.append(value)
        elif len(name) == _LANGUAGE_LENGTH and name.lower() == LANGUAGE:
            metadata = {LANGUAGE: value}
        elif len(name) == _REFRESH_LENGTH and name.lower() == "refresh":
            refresh = refresh or as_url(value)
    return Content(
        url=url,
        media_type=said,
        body=body,
        encoding=charset,
        metadata=metadata,
        robots="\n".join(robots),
        refresh=refresh,
        truncated=truncated,
    )


@lru_cache(maxsize=1_024)
def parse_content_type(field: str) -> tuple[str, str]:
    """Return the media type and the charset of a Content-Type field, each empty if missing.

    >>> parse_content_type('Text/HTML; charset="UTF-8"')
    ('text/html', 'UTF-8')
    """
    kind = TYPE.match(field.strip())
    charset = _CHARSET.search(field)
    return kind[0].lower() if kind else "", charset[1] if charset else ""


def usual_type(name: str) -> str:
    """Return the usual name of a media type with several names.

    >>> usual_type("image/jpg"), usual_type("text/html")
    ('image/jpeg', 'text/html')
    """
    return _USUAL.get(name, name)


# The usual first bytes of HTML, with which no feed, sitemap or other file begins.
_PLAINLY_HTML: Final = frozenset({b"<!", b"<h", b"<H"})


def decide_type(said: str, url: Url, body: bytes) -> Decision:
    """Return the media type, given the declared type, and what it is based on.

    >>> from scoter.core.url import canonical
    >>> decide_type("text/html", canonical("http://a.example/x"), b"%PDF-1.7")
    Decision(media_type='application/pdf', why='bytes')
    """
    said = usual_type(said)
    if said not in _VAGUE:
        found = _corrected(said, body)
        return Decision(found, "bytes") if found and found != said else Decision(said, "header")
    head = _readable(body[:SNIFFED])
    found = (_feed(head) if said == TEXT else _markup(head)) or type_by_signature(body)
    if found and found not in (OLE, ZIP):
        return Decision(found, "bytes")
    if not found and _is_text(head, body):
        if said == TEXT:
            return Decision(TEXT, "header")  # may be markup shown as text; browsers believe the server, too
        named = type_by_extension(url, textual=True)
        return Decision(named, "extension") if named else Decision(TEXT, "bytes")
    return _binary(url, body)


def sniff_type(body: bytes) -> str:
    """Return the media type judged by the bytes alone.

    >>> sniff_type(b"  <HTML>"), sniff_type(b"words"), sniff_type(bytes(20))
    ('text/html', 'text/plain', 'application/octet-stream')
    """
    head = _readable(body[:SNIFFED])
    if found := _markup(head) or type_by_signature(body):
        return found
    return TEXT if _is_text(head, body) else type_by_signature(body, binary=True) or BINARY


def _is_text(head: bytes, body: bytes) -> bool:
    """Tell text from binary data by the first bytes (the standard, 7.1)."""
    if body.startswith(_MARKS) or len(head.translate(None, CONTROLS)) == len(head):
        return True
    return 0 in head and _is_wide_text(body[: SNIFFED & ~1])


def _is_wide_text(head: bytes) -> bool:
    """Tell whether bytes are printable text in UTF-16 without a byte order mark."""
    name = looks_like_utf16(head)
    if not name or len(head) < _LEAST_WIDE:
        return False
    try:
        text = head[: len(head) & ~1].decode(name)
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
        text = head[: error.start].decode(name)
    return "".join(text.split()).isprintable()


def _corrected(said: str, body: bytes) -> str:
    """Return the true type where servers are known to declare a wrong one; otherwise an empty string."""
    if said == HTML:
        if body[:2] in _PLAINLY_HTML:
            return ""
        return _feed(_readable(body[:SNIFFED])) or type_by_signature(body)
    if said == XML:
        head = _readable(body[:SNIFFED])
        return _feed(head, among_xml=True) or (HTML if _MARKUP.match(head) else type_by_signature(body))
    if said == "application/json":
        return _feed(_readable(body[:SNIFFED]))
    if said.startswith("image/"):
        found = type_by_signature(body, binary=True)
        return found if found.startswith("image/") else ""
    if body.startswith(b"PK\x03\x04") and (said == ZIP or said.startswith(_OFFICE)):
        found = zip_type(body)
        return "" if found == ZIP else found
    return ""


def _binary(url: Url, body: bytes) -> Decision:
    found = type_by_signature(body, binary=True)
    named = type_by_extension(url, textual=False)
    if found == OLE and named in OLD_OFFICE:
        return Decision(named, "extension")
    if found == ZIP and named.startswith("application/") and named not in KNOWN:
        return Decision(named, "extension")  # an archive whose members do not show its kind
    if found:
        return Decision(found, "bytes")
    if named and named not in KNOWN:  # a type with a known signature, which these bytes lack
        return Decision(named, "extension")
    found = usual_type(type_by_magic(body))
    return Decision(found, "magic") if found else Decision(BINARY, "default")


def _readable(head: bytes) -> bytes:
    """Remove a byte order mark and the zeros of UTF-16, so that ASCII markup can be recognised."""
    if head[:3] == _MARKS[0]:
        return head[3:]
    if head[:2] in _MARKS[1:]:
        return head[2:].replace(b"\0", b"")
    return head.replace(b"\0", b"") if head[:2] in (b"<\0", b"\0<") else head


def _markup(head: bytes) -> str:
    if _MARKUP.match(head):
        is_comment = head.lstrip(_SPACE).startswith(b"<!--")  # anything may follow
        return (_feed(head) if is_comment else "") or HTML
    return _feed(head, among_xml=True) or (XML if head.lstrip(_SPACE).startswith(b"<?xml") else "")


def _feed(head: bytes, *, among_xml: bool = False) -> str:
    """Return the type of a feed or sitemap, with ``among_xml`` also of XHTML and SVG; otherwise an empty string."""
    start = head.lstrip(_SPACE)
    if start.startswith(b"{"):
        return JSON_FEED if b"://jsonfeed.org/version/" in head.replace(b"\\/", b"/") else ""
    root = _ROOT.match(head)
    if root is None:
        return ""
    name = root[1]
    if name == b"RDF":
        return RDF if any(space in head for space in _RSS_1) else ""
    if among_xml and name == b"html":
        return XHTML if b"http://www.w3.org/1999/xhtml" in head else HTML
    if among_xml and name == b"svg":
        return "image/svg+xml"
    return _ROOTS.get(name, "")
