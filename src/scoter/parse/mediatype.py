"""What the bytes are: by what the server says and, where that is missing, vague or wrong, by how they begin.

The sniffing is the part of the WHATWG MIME Sniffing standard that a crawler needs: markup is told from plain text and
both from what is binary. A server that names a type of its own (``application/pdf``) is believed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from scoter.core.page import Content
from scoter.core.reply import Headers, header
from scoter.core.url import Url

HTML = "text/html"
XHTML = "application/xhtml+xml"
TEXT = "text/plain"
BINARY = "application/octet-stream"

_SNIFFED = 1_445  # bytes; what the standard calls a resource header
# What servers send when they do not know; the odd spellings are those of old Apache versions (the standard, 5.1).
_VAGUE = frozenset({"", "unknown/unknown", "application/unknown", "*/*", "text/plain", "application/octet-stream"})
_TYPE = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+", re.ASCII)
_CHARSET = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_MARKUP = re.compile(
    rb"[\t\n\f\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ \t\n\f\r/>]"
    rb"|[\t\n\f\r ]*<!--",
    re.IGNORECASE,
)
_XML = re.compile(rb"[\t\n\f\r ]*<\?xml")
_SIGNS = (
    (b"%PDF-", "application/pdf"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
)
_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
# Bytes that no text has (the standard, 7.1).
_BINARY = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])


def received(url: Url, headers: Headers, body: bytes, *, truncated: bool = False, sniff: bool = True) -> Content:
    """Return a body, free of its content coding, as the content that parsers take."""
    said, charset = declared(header(headers, "content-type"))
    return Content(
        url=url,
        media_type=media_type(said, body) if sniff else said or BINARY,
        body=body,
        encoding=charset,
        robots="\n".join([value for name, value in headers if name.lower() == "x-robots-tag"]),
        truncated=truncated,
    )


@lru_cache(maxsize=1_024)
def declared(field: str) -> tuple[str, str]:
    """Return the media type and the charset that a Content-Type field names, each empty if it does not.

    >>> declared('Text/HTML; charset="UTF-8"')
    ('text/html', 'UTF-8')
    """
    kind = _TYPE.match(field.strip())
    charset = _CHARSET.search(field)
    return kind[0].lower() if kind else "", next(filter(None, charset.groups()), "") if charset else ""


def media_type(said: str, body: bytes) -> str:
    """Return what the bytes are, given what the server said.

    >>> media_type("", b"<!DOCTYPE html><p>"), media_type("text/plain", b"plain"), media_type("text/html", b"%PDF-1.7")
    ('text/html', 'text/plain', 'application/pdf')
    """
    if said == HTML:
        # The commonest lie is a file served as a page; it needs a look at the first bytes only.
        return said if body[:1] in b"<\n \r\t" else _sign(body) or said
    if said not in _VAGUE:
        return said
    found = sniffed(body)
    if said == TEXT and found == HTML:
        return TEXT  # somebody shows markup on purpose, and browsers take the server's word for it too
    return found


def sniffed(body: bytes) -> str:
    """Return what the first bytes look like.

    >>> sniffed(b"  <HTML>"), sniffed(b"words"), sniffed(bytes(20))
    ('text/html', 'text/plain', 'application/octet-stream')
    """
    head = body[:_SNIFFED]
    if _MARKUP.match(head[3:] if head.startswith(_MARKS[0]) else head):
        return HTML
    if _XML.match(head):
        return XHTML if b"http://www.w3.org/1999/xhtml" in head else "application/xml"
    if head.startswith(_MARKS):
        return TEXT
    return _sign(head) or (TEXT if len(head.translate(None, _BINARY)) == len(head) else BINARY)


def _sign(body: bytes) -> str:
    return next((kind for sign, kind in _SIGNS if body.startswith(sign)), "")
