"""The bytes of each kind of WARC 1.1 record, built by hand.

Every reference in a file points backwards: request and metadata records name the response before them, a revisit the
response whose body it shares. A file truncated after any record therefore has no dangling reference.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1

from isal import igzip_lib, isal_zlib

from scoter.core.reply import Exchange, Headers
from scoter.store.warc.capture import ArchiveInfo, EarlierCapture, Facts, SharedBody

LEVEL = 1
"""Compression level: measured on HTML, isal's level 1 is as fast as its level 0 and 10 % smaller."""

CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

# Two letters per ten bits: takes a third of the time of b32encode, and there are three digests per page.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32 = tuple(first + second for first in _LETTERS for second in _LETTERS)
_FORTY_BITS = ((0, 5), (5, 10), (10, 15), (15, 20))
_SHORT = 2**11  # bytes up to which Huffman tables cost more time than the space they save is worth
_COPIED = 2**20  # bytes up to which joining the pieces for one call is faster than several calls
_GZIP = 16 + zlib.MAX_WBITS
_LINE_BREAK = re.compile(r"[\r\n]+")
_VERSION = re.compile(r"([0-9])(?:\.([0-9]))?")
_RESPONSE = "application/http; msgtype=response"


def digest(*pieces: bytes) -> str:
    """Return a digest in the format of WARC headers: SHA-1 in base 32.

    >>> digest(b"")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    found = sha1(usedforsecurity=False)
    for piece in pieces:
        found.update(piece)
    raw = found.digest()
    pairs, shown = _BASE32, "sha1:"
    for start, end in _FORTY_BITS:  # numbers that fit a machine word
        part = int.from_bytes(raw[start:end], "big")
        shown += f"{pairs[part >> 30]}{pairs[part >> 20 & 1023]}{pairs[part >> 10 & 1023]}{pairs[part & 1023]}"
    return shown


def warc_date(moment: datetime) -> str:
    """Return a WARC-Date: UTC with microseconds, which WARC 1.1 allows.

    >>> warc_date(datetime(2026, 11, 5, 7, 8, 9, tzinfo=UTC))
    '2026-11-05T07:08:09.000000Z'
    """
    moment = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def warcinfo(about: ArchiveInfo, filename: str, *, record_id: str, date: str) -> bytes:
    """Return the first record of a file."""
    fields = (
        ("software", about.software),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", CONFORMS_TO),
        ("robots", about.robots),
        ("http-header-user-agent", about.agent),
        ("operator", about.operator),
        *about.more,
    )
    block = _fields(fields)
    head = f"WARC-Filename: {filename}\r\nContent-Type: application/warc-fields\r\n"
    return _small("warcinfo", record_id, date, head, block)


def response(exchange: Exchange, head: bytes, *, record_id: str, date: str, payload: str) -> tuple[bytes, ...]:
    """Return a response record in pieces, so that a large body is not copied."""
    body = exchange.body
    kind, content_type = ("response", _RESPONSE) if head else ("resource", _one_line(exchange.header("content-type")))
    cut = f"WARC-Truncated: {exchange.truncation}\r\n" if exchange.truncation else ""
    top = (
        f"{_top(kind, record_id, date)}{_origin(exchange)}{cut}WARC-Payload-Digest: {payload}\r\n"
        f"WARC-Block-Digest: {digest(head, body) if head else payload}\r\n"
        f"Content-Type: {content_type or 'application/octet-stream'}\r\nContent-Length: {len(head) + len(body)}\r\n\r\n"
    )
    return top.encode() + head, body, b"\r\n\r\n"


def duplicate(exchange: Exchange, head: bytes, shared: SharedBody, *, record_id: str, date: str, payload: str) -> bytes:
    """Return a revisit record for a body that is already in the same file."""
    # WARC 1.1, 6.7.2: an omitted body counts as truncated by length.
    fields = (
        f"{_origin(exchange)}WARC-Profile: {SAME_PAYLOAD}\r\nWARC-Refers-To: <urn:uuid:{shared.record_id}>\r\n"
        f"WARC-Refers-To-Target-URI: {shared.url}\r\nWARC-Refers-To-Date: {shared.date}\r\n"
        f"WARC-Refers-To-File-Offset: {shared.offset}\r\nWARC-Truncated: length\r\n"
        f"WARC-Payload-Digest: {payload}\r\nContent-Type: {_RESPONSE}\r\n"
    )
    return _small("revisit", record_id, date, fields, head)


def not_modified(exchange: Exchange, earlier: EarlierCapture | None, *, record_id: str, date: str) -> bytes:
    """Return a revisit record for a 304 response; its payload is that of the earlier capture (WARC 1.1, 6.7.3).

    Its block is empty: replay tools that find the head of a 304 there respond with that, instead of the earlier head.
    """
    refers = (
        f"WARC-Refers-To-Target-URI: {_one_line(earlier.url)}\r\nWARC-Refers-To-Date: {_one_line(earlier.date)}\r\n"
        f"WARC-Payload-Digest: {_one_line(earlier.digest)}\r\n"
        if earlier
        else ""
    )
    fields = f"{_origin(exchange)}WARC-Profile: {NOT_MODIFIED}\r\n{refers}Content-Type: {_RESPONSE}\r\n"
    return _small("revisit", record_id, date, fields, b"")


def not_modified_head(exchange: Exchange, head: bytes, *, record_id: str, date: str, answer: str) -> bytes:
    """Return a metadata record with the head of a 304 response; ``answer`` is the ID of the revisit record."""
    fields = (
        f"WARC-Target-URI: {exchange.url.text}\r\nWARC-Concurrent-To: <urn:uuid:{answer}>\r\n"
        f"Content-Type: {_RESPONSE}\r\n"
    )
    return _small("metadata", record_id, date, fields, head)


def request(exchange: Exchange, head: bytes, *, record_id: str, date: str, answer: str) -> bytes:
    """Return a request record; ``answer`` is the ID of the response record."""
    fields = (
        f"{_origin(exchange)}WARC-Concurrent-To: <urn:uuid:{answer}>\r\n"
        "Content-Type: application/http; msgtype=request\r\n"
    )
    return _small("request", record_id, date, fields, head)


def metadata(exchange: Exchange, facts: Facts, *, record_id: str, date: str, answer: str) -> bytes:
    """Return a metadata record; ``answer`` is the ID of the response record."""
    fields = (
        f"WARC-Target-URI: {exchange.url.text}\r\nWARC-Concurrent-To: <urn:uuid:{answer}>\r\n"
        "Content-Type: application/warc-fields\r\n"
    )
    return _small("metadata", record_id, date, fields, _fields(facts))


def timing_facts(exchange: Exchange) -> Facts:
    """Return the timings of an exchange by phase, for its metadata record; ``fetchTimeMs`` is Heritrix's name."""
    times = exchange.timings
    phases = (
        ("fetchTimeMs", times.total),
        ("resolvedMs", times.resolved),
        ("connectedMs", times.connected),
        ("securedMs", times.secured),
        ("firstByteMs", times.first_byte),
    )
    return tuple((name, f"{seconds * 1000:.0f}") for name, seconds in phases if seconds)


def member(pieces: tuple[bytes, ...] | bytes) -> bytes:
    """Return a record as one gzip member; a short one, such as a request, is compressed at the fastest level."""
    if isinstance(pieces, bytes) or sum(map(len, pieces)) <= _COPIED:
        whole = pieces if isinstance(pieces, bytes) else b"".join(pieces)
        return igzip_lib.compress(whole, 0 if len(whole) <= _SHORT else LEVEL, igzip_lib.COMP_GZIP)
    engine = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, _GZIP)
    return b"".join([*(engine.compress(piece) for piece in pieces), engine.flush()])


def _top(kind: str, record_id: str, date: str) -> str:
    return f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{record_id}>\r\nWARC-Date: {date}\r\n"


def _small(kind: str, record_id: str, date: str, fields: str, block: bytes) -> bytes:
    top = f"WARC-Block-Digest: {digest(block)}\r\nContent-Length: {len(block)}\r\n\r\n"
    return b"%b%b\r\n\r\n" % (f"{_top(kind, record_id, date)}{fields}{top}".encode(), block)


def _origin(exchange: Exchange) -> str:
    """Return the fields for the URL, IP address and protocols of an exchange."""
    address = f"WARC-IP-Address: {exchange.peer}\r\n" if exchange.peer else ""
    protocols = _protocols(exchange.http_version, exchange.tls_version) if exchange.response_head else ""
    return f"WARC-Target-URI: {exchange.url.text}\r\n{address}{protocols}"


@lru_cache(maxsize=64)
def _protocols(http: str, tls: str) -> str:
    """Return the proposed WARC-Protocol fields, such as ``h2`` and ``tls/1.3``."""
    names = {"2": "h2" if tls else "h2c", "3": "h3"}
    spoken = [names.get(http, f"http/{http}")]
    if found := _VERSION.search(tls):
        spoken.append(f"{'ssl' if tls.lower().startswith('ssl') else 'tls'}/{found[1]}.{found[2] or 0}")
    return "".join(f"WARC-Protocol: {each}\r\n" for each in spoken)


def _fields(fields: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {_one_line(value)}\r\n" for name, value in fields if value).encode("utf-8", "replace")


def _one_line(text: str) -> str:
    """Return text without line breaks, so that it cannot inject a header."""
    return _LINE_BREAK.sub(" ", text)


_END = b"\r\n\r\n"
_FRAMING = re.compile(rb"(?im)^(transfer-encoding|content-length)([ \t]*:[ \t]*)([^\r\n]*)")
_SECRET = re.compile(
    rb"(?im)^([\w-]*(?:authorization|cookie|token|secret|passw|api-?key|access-?key|credential)[\w-]*)"
    rb"[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*"
)
_SECRET_WORDS = (b"authorization", b"cookie", b"token", b"secret", b"passw", b"key", b"credential")
_LINE_END = re.compile(rb"\r?\n")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"\S+[ \t]+([0-9]{3})(?![0-9])")


def archived_response(head: bytes, length: int | None) -> bytes:
    """Return the archived form of a response head for a body of ``length`` bytes; ``None`` keeps Content-Length.

    >>> archived_response(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n", 5)
    b'HTTP/1.1 200 OK\\r\\nX-Crawler-Transfer-Encoding: chunked\\r\\n\\r\\n'
    """
    whole = _whole(head)
    plain = whole.lower()  # searching for a word is several times faster than for a pattern
    lengths = plain.count(b"\ncontent-length")
    is_right = lengths == 1 and length is not None and b"\ncontent-length: %d\r\n" % length in plain
    if b"\ntransfer-encoding" not in plain and (is_right or not lengths):
        return whole
    fitting = None if length is None else b"%d" % length

    def rename(field: re.Match[bytes]) -> bytes:
        is_length = len(field[1]) == len(b"content-length")
        if is_length and (fitting is None or field[3].rstrip() == fitting):
            return field[0]
        return b"X-Crawler-" + field[0]

    return _FRAMING.sub(rename, whole)


def archived_request(head: bytes) -> bytes:
    """Return the archived form of a request head: without credentials.

    >>> archived_request(b"GET / HTTP/1.1\\r\\nCookie: id=1\\r\\n\\r\\n")
    b'GET / HTTP/1.1\\r\\nCookie: removed\\r\\n\\r\\n'
    """
    whole = _whole(head)
    plain = whole.lower()
    if not any(word in plain for word in _SECRET_WORDS):
        return whole
    return _SECRET.sub(rb"\1: removed\r", whole)


def split_message(block: bytes) -> tuple[bytes, bytes]:
    """Return the head, with its empty line, and the body of an HTTP message."""
    end = _BLANK_LINE.search(block)
    return (block[: end.end()], block[end.end() :]) if end else (block, b"")


def parse_head(head: bytes) -> tuple[int, Headers]:
    """Return the status of a response, or 0, and its headers.

    Folded headers are joined; lines that are not headers are ignored.

    >>> parse_head(b"HTTP/1.1 200\\r\\nA: b\\r\\n  c\\r\\n\\r\\n")
    (200, (('A', 'b c'),))
    """
    first, *lines = head.decode("latin-1").split("\n")
    status = _STATUS.match(first.encode("latin-1"))
    fields: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.removesuffix("\r").partition(":")
        if line[:1] in (" ", "\t"):
            if fields and (more := line.strip(" \t\r")):
                fields[-1] = (fields[-1][0], f"{fields[-1][1]} {more}".strip())
        elif colon:
            fields.append((name.rstrip(" \t"), value.strip(" \t")))
    return (int(status[1]) if status else 0), tuple(fields)


def _whole(head: bytes) -> bytes:
    """Return the head with CR LF line ends and a single empty line, at its end."""
    if head.endswith(_END) and head.find(_END) == len(head) - len(_END) and head.count(b"\n") == head.count(b"\r\n"):
        return head
    tidy = _LINE_END.sub(b"\r\n", head).strip(b"\r\n")
    # Interim responses may come first; the body belongs to the last head.
    return tidy.rpartition(_END)[2].lstrip(b"\r\n") + _END
