"""The answers of hostile servers and the expected replies, one per fault; docs/faults.md is checked against them.

``word`` is the reason of the reply, or its kind where there is none (``kind_of``); ``body`` what is kept of the page.
"""

from __future__ import annotations

import gzip
from typing import Final

from msgspec import Struct
from tests.fetch.hostile import HANG, KEEP, RESET, Pause, Script, ok

from scoter.core.datum import FetchStatus
from scoter.core.reply import Truncation

HEAD: Final = b"HTTP/1.1 200 OK\r\n"
LENGTH: Final = b"Content-Length: 5\r\n"
CHUNKED: Final = b"Transfer-Encoding: chunked\r\n\r\n"
PACKED: Final = gzip.compress(b"hello world " * 50, mtime=0)
LIMIT: Final = 64 * 1024

#: The status under which each reply enters a crawl.
STATUS: Final = {
    "fetched": FetchStatus.SUCCESS,
    "not_modified": FetchStatus.NOTMODIFIED,
    "unauthorized": FetchStatus.GONE,
    "payment_required": FetchStatus.GONE,
    "legal_reasons": FetchStatus.GONE,
    "not_found": FetchStatus.GONE,
    "removed": FetchStatus.GONE,
    "robots_denied": FetchStatus.GONE,
    "crawl_delay": FetchStatus.GONE,
    "busy": FetchStatus.RETRY,
    "forbidden": FetchStatus.RETRY,
    "server_error": FetchStatus.RETRY,
    "other_status": FetchStatus.RETRY,
    "malformed": FetchStatus.RETRY,
    "reset": FetchStatus.RETRY,
    "timeout": FetchStatus.RETRY,
    "tls": FetchStatus.RETRY,
    "refused_address": FetchStatus.RETRY,
    "refused_scheme": FetchStatus.RETRY,
    "robots_unreachable": FetchStatus.RETRY,
}


class Case(Struct, frozen=True):
    """A fault: what the server does, and what comes of it."""

    does: str
    script: Script
    word: str
    body: bytes = b"hello"
    truncation: Truncation = Truncation.NOT


def _with(fields: bytes, body: bytes = b"hello") -> Script:
    return (HEAD + fields + b"\r\n" + body,)


def _chunks(text: bytes) -> Script:
    return (HEAD + CHUNKED + text,)


def _headers(count: int) -> bytes:
    return b"".join(b"X-%d: y\r\n" % number for number in range(count))


_FLOOD = (HEAD, *[b"X-Flood: %s\r\n" % (b"z" * 1_000) * 60] * 40)
_DRIPPED = tuple(step for byte in HEAD + b"X: " + b"y" * 200 for step in (bytes([byte]), Pause(0.1)))

#: By the path under which it is served.
CASES: Final[dict[str, Case]] = {
    # The status line
    "no-status-line": Case("sends a page without a head (HTTP/0.9)", (b"<html>hello</html>",), "malformed"),
    "other-protocol": Case("speaks another protocol", (b"SSH-2.0-OpenSSH_9.0\r\n", HANG), "malformed"),
    "status-word": Case("sends a status that is not a number", (b"HTTP/1.1 abc OK\r\n\r\n",), "malformed"),
    "status-short": Case("sends a status of two digits", (b"HTTP/1.1 20 OK\r\n\r\n",), "malformed"),
    "status-zero": Case("sends status 000", (b"HTTP/1.1 000 No\r\n" + LENGTH + b"\r\nhello",), "malformed"),
    "status-negative": Case("sends a negative status", (b"HTTP/1.1 -200 No\r\n\r\n",), "malformed"),
    "status-999": Case("sends status 999", (b"HTTP/1.1 999 No\r\n" + LENGTH + b"\r\nhello",), "other_status"),
    "version-7": Case("claims to be HTTP/7.3", (b"HTTP/7.3 200 OK\r\n" + LENGTH + b"\r\nhello",), "malformed"),
    "version-2": Case("claims HTTP/2 in plain text", (b"HTTP/2 200 OK\r\n" + LENGTH + b"\r\nhello",), "malformed"),
    "leading-lines": Case("sends empty lines before the status line", (b"\r\n\r\n" + ok(),), "malformed"),
    "no-reason": Case("sends no reason phrase", (b"HTTP/1.1 200\r\n" + LENGTH + b"\r\nhello",), "fetched"),
    "bare-lf": Case("ends lines without CR", (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",), "fetched"),
    "endless-status": Case("never ends its status line", (b"HTTP/1.1 200 ", *[b"y" * 65_536] * 40), "malformed"),
    # Content-Length and Transfer-Encoding
    "length-twice": Case("sends Content-Length twice, the same", _with(LENGTH * 2), "fetched"),
    "length-two": Case("sends two different Content-Lengths", _with(LENGTH + b"Content-Length: 3\r\n"), "malformed"),
    "length-negative": Case("sends a negative Content-Length", _with(b"Content-Length: -5\r\n"), "malformed"),
    "length-word": Case("sends a Content-Length that is not a number", _with(b"Content-Length: five\r\n"), "malformed"),
    "length-hex": Case("sends a hexadecimal Content-Length", _with(b"Content-Length: 0x5\r\n"), "malformed"),
    "length-empty": Case("sends an empty Content-Length", _with(b"Content-Length: \r\n"), "malformed"),
    "length-huge": Case("promises 2⁶³ bytes and closes", _with(b"Content-Length: 9223372036854775807\r\n"), "reset"),
    "length-beyond": Case(
        "promises more bytes than any integer type holds", _with(b"Content-Length: %s\r\n" % (b"9" * 30)), "fetched"
    ),
    "length-short": Case("sends more than its Content-Length", _with(b"Content-Length: 3\r\n"), "fetched", b"hel"),
    "length-long": Case("sends less than its Content-Length", _with(b"Content-Length: 50\r\n"), "reset"),
    "both": Case(
        "sends Content-Length and chunks",
        (HEAD + b"Content-Length: 3\r\n" + CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",),
        "fetched",
    ),
    "coding-unknown": Case("sends an unknown Transfer-Encoding", _with(b"Transfer-Encoding: banana\r\n"), "malformed"),
    "coding-unasked": Case(
        "sends gzip as Transfer-Encoding", _with(b"Transfer-Encoding: gzip, chunked\r\n", PACKED), "malformed"
    ),
    # Header fields
    "folded": Case("folds a header", _with(b"X-Long: one\r\n two\r\n\tthree\r\n" + LENGTH), "fetched"),
    "folded-first": Case("folds the first header", _with(b" folded: nothing\r\n" + LENGTH), "fetched"),
    "nul-value": Case("sends NUL in a value", _with(b"X-Nul: a\0b\r\n" + LENGTH), "malformed"),
    "nul-name": Case("sends NUL in a name", _with(b"X\0Nul: a\r\n" + LENGTH), "malformed"),
    "nul-end": Case(
        "ends a 1xx head with NUL",
        (b"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\0\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",),
        "malformed",
    ),
    "no-colon": Case("sends a header without colon", _with(b"This is no header\r\n" + LENGTH), "malformed"),
    "empty-name": Case("sends a header without name", _with(b": nothing\r\n" + LENGTH), "fetched"),
    "not-ascii": Case("sends headers that are not ASCII", _with(b"X-Caf\xe9: \xff\xfe\r\n" + LENGTH), "fetched"),
    "headers-500": Case("sends 500 headers", _with(_headers(500) + LENGTH), "fetched"),
    "headers-6000": Case("sends 6,000 headers", _with(_headers(6_000) + LENGTH), "malformed"),
    "long-line": Case("sends a header of 60 KB", _with(b"X: " + b"y" * 60_000 + b"\r\n" + LENGTH), "fetched"),
    "longer-line": Case("sends a header of 150 KB", _with(b"X: " + b"y" * 150_000 + b"\r\n" + LENGTH), "malformed"),
    "header-flood": Case("sends 2.4 MB of headers", _FLOOD, "malformed"),
    "endless-header": Case("never ends a header", (HEAD + b"X: ", *[b"y" * 65_536] * 40), "malformed"),
    # Provisional responses
    "continue": Case("sends 100 first", (b"HTTP/1.1 100 Continue\r\n\r\n" + ok(),), "fetched"),
    "hints": Case("sends 103 with links first", (b"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" + ok(),), "fetched"),
    "provisional-50": Case("sends 102 fifty times first", (b"HTTP/1.1 102 Wait\r\n\r\n" * 50 + ok(),), "fetched"),
    "provisional-flood": Case("floods with 102", (*[b"HTTP/1.1 102 Wait\r\n\r\n" * 1_000] * 60,), "malformed"),
    "provisional-only": Case("sends 103 and nothing else", (b"HTTP/1.1 103 Hints\r\n\r\n",), "reset"),
    "switching": Case("switches protocols", (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nhello",), "other_status"),
    # Chunks
    "chunk-word": Case("sends a chunk size that is not a number", _chunks(b"ZZ\r\nhello\r\n0\r\n\r\n"), "malformed"),
    "chunk-negative": Case("sends a negative chunk size", _chunks(b"-5\r\nhello\r\n0\r\n\r\n"), "malformed"),
    "chunk-beyond": Case("sends a chunk size beyond 2⁶⁴", _chunks(b"f" * 20 + b"\r\nhello"), "malformed"),
    "chunk-huge": Case("promises a chunk of 2⁶³ bytes and closes", _chunks(b"7fffffffffffffff\r\nhello"), "reset"),
    "chunk-longer": Case("sends a chunk longer than its size", _chunks(b"5\r\nhelloXX0\r\n\r\n"), "malformed"),
    "chunk-empty": Case("sends an empty chunk size", _chunks(b"\r\nhello\r\n0\r\n\r\n"), "malformed"),
    "chunk-extension": Case("sends chunk extensions", _chunks(b"5;a=b\r\nhello\r\n0;c\r\n\r\n"), "fetched"),
    "chunk-extended": Case(
        "sends a chunk extension of 200 KB", _chunks(b"5;" + b"a" * 200_000 + b"\r\nhello\r\n0\r\n\r\n"), "fetched"
    ),
    "trailers": Case("sends trailers", _chunks(b"5\r\nhello\r\n0\r\nX-After: 1\r\n\r\n"), "fetched"),
    "trailer-flood": Case(
        "floods with trailers", (HEAD + CHUNKED + b"5\r\nhello\r\n0\r\n", *[b"X: 1\r\n" * 5_000] * 40), "malformed"
    ),
    "chunk-endless": Case("closes before the last chunk", _chunks(b"5\r\nhello\r\n"), "reset"),
    # Codings: the body is kept as it came
    "gzip-short": Case("truncates gzip data", (ok(PACKED[:-20], b"Content-Encoding: gzip"),), "fetched", PACKED[:-20]),
    "gzip-not": Case("labels plain text as gzip", (ok(b"hello", b"Content-Encoding: gzip"),), "fetched"),
    "encoding-unknown": Case(
        "names an unknown content coding", (ok(b"hello", b"Content-Encoding: banana"),), "fetched"
    ),
    # The connection
    "close-at-once": Case("closes without an answer", (Pause(0),), "reset"),
    "reset-at-once": Case("resets without an answer", (RESET,), "reset"),
    "close-in-status": Case("closes within the status line", (b"HTTP/1.",), "reset"),
    "close-in-head": Case("closes within a header", (HEAD + b"Content-Le",), "reset"),
    "no-final-line": Case("closes before the empty line", (HEAD + LENGTH,), "reset"),
    "reset-in-head": Case("resets within the head", (HEAD + b"Content-Le", Pause(0.05), RESET), "reset"),
    "close-after-head": Case("closes after the head", (HEAD + LENGTH + b"\r\n",), "reset"),
    "close-in-body": Case("closes within the body", (HEAD + LENGTH + b"\r\nhel",), "reset"),
    "reset-in-body": Case("resets within the body", (HEAD + LENGTH + b"\r\nhel", Pause(0.05), RESET), "reset"),
    "until-close": Case("ends the body by closing", _with(b""), "fetched"),
    "until-reset": Case("ends a body of unknown length with a reset", (*_with(b""), Pause(0.05), RESET), "reset"),
    "no-content": Case(
        "sends a body after 204", (b"HTTP/1.1 204 No\r\n" + LENGTH + b"\r\nhello", KEEP), "fetched", b""
    ),
    "unchanged": Case(
        "answers an unconditional request with 304",
        (b"HTTP/1.1 304 No\r\n" + LENGTH + b"\r\nhello", KEEP),
        "other_status",
    ),
    "junk": Case("sends junk after the response", (ok() + b"nobody asked\r\n\r\n", KEEP), "fetched"),
    "second": Case("sends an unrequested second response", (ok() + ok(b"evil!"), KEEP), "fetched"),
    # Time and size
    "silent": Case("never answers", (HANG,), "timeout"),
    "silent-head": Case("falls silent before the empty line", (HEAD + LENGTH, HANG), "timeout"),
    "silent-body": Case("falls silent within the body", (HEAD + LENGTH + b"\r\nhel", HANG), "timeout"),
    "drip-head": Case("sends its head byte by byte", _DRIPPED, "timeout"),
    "drip-body": Case(
        "sends its body byte by byte, past http.time_limit",
        (HEAD + b"Content-Length: 99999\r\n\r\n", *(b"y", Pause(0.2)) * 100),
        "fetched",
        b"yyyyy",
        Truncation.TIME,
    ),
    "overlong": Case(
        "sends more than fetch.content_limit", (ok(b"x" * 100_000),), "fetched", b"x" * LIMIT, Truncation.LENGTH
    ),
    # Statuses with something odd about them
    "challenge": Case(
        "asks for a password",
        (b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\n" + LENGTH + b"\r\nhello",),
        "unauthorized",
    ),
    "payment": Case(
        "asks for a payment",
        (b"HTTP/1.1 402 No\r\nCrawler-Price: USD 0.01\r\n" + LENGTH + b"\r\nhello",),
        "payment_required",
    ),
    "legal": Case("refuses for legal reasons", (b"HTTP/1.1 451 No\r\n" + LENGTH + b"\r\nhello",), "legal_reasons"),
    "proxy-challenge": Case(
        "asks for proxy authentication", (b"HTTP/1.1 407 No\r\n" + LENGTH + b"\r\nhello",), "other_status"
    ),
    "busy-garbage": Case(
        "sends 503 with an invalid Retry-After",
        (b"HTTP/1.1 503 No\r\nRetry-After: \xff soon\r\n" + LENGTH + b"\r\nhello",),
        "busy",
    ),
    "cookie-flood": Case(
        "sets a hundred large cookies",
        (ok(b"hello", *[b"Set-Cookie: a%d=%s" % (number, b"v" * 1_000) for number in range(100)]),),
        "fetched",
    ),
}
