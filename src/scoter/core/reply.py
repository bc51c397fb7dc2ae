"""What is asked of the web and what it answers: one request is one hop, and every answer is a value.

Reply = Fetched       a body came
      | Moved         the server pointed elsewhere; nobody has followed
      | NotModified   the copy we have is still good
      | Gone          there is no such page, or we may not have it
      | Failed        nothing usable came; ``transient`` says whether asking again may help
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct

from scoter.core.dates import parse_date
from scoter.core.datum import FetchStatus
from scoter.core.url import Url, join

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Header fields in the order and case in which they came; bytes that are not ASCII stand as Latin-1."""


class Request(Struct, frozen=True, kw_only=True):
    """One hop to make: the URL, what is already known of it, and fields to send along.

    ``context`` is carried along untouched, so that whoever asked can tell what the answer is for.
    """

    url: Url
    modified_since: datetime | None = None
    etag: str = ""
    headers: Headers = ()
    context: bytes = b""


class Truncation(StrEnum):
    """Why a body is shorter than what the server had to say; the words are those of WARC-Truncated."""

    NOT = ""
    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"


class Timings(Struct, frozen=True, kw_only=True):
    """Seconds from the start of a request to the end of each of its phases; 0 for a phase that did not happen."""

    resolved: float = 0.0
    connected: float = 0.0
    secured: float = 0.0
    first_byte: float = 0.0
    total: float = 0.0


class Exchange(Struct, frozen=True, kw_only=True):
    """One request and its response, as they went over the wire.

    ``body`` is free of transfer coding and still in its content coding. The heads end with an empty line. A head of
    HTTP/2 is written as one of HTTP/1.1; ``http_version`` tells what it was.
    """

    url: Url
    started: datetime
    request_head: bytes
    response_head: bytes
    status: int
    headers: Headers
    body: bytes
    truncation: Truncation = Truncation.NOT
    peer: str = ""
    http_version: str = "1.1"
    tls_version: str = ""
    tls_problem: str = ""
    timings: Timings = Timings()

    def header(self, name: str) -> str:
        """Return the first value of a field, whatever its case, or nothing."""
        return header(self.headers, name)


class Reason(StrEnum):
    """Why there is no page."""

    # Gone: asking again is of no use for a long while.
    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    REMOVED = "removed"
    ROBOTS_DENIED = "robots_denied"
    CRAWL_DELAY = "crawl_delay"  # robots.txt asks for a longer delay than we are willing to keep
    # Failed: the server spoke, and did not serve.
    FORBIDDEN = "forbidden"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    OTHER_STATUS = "other_status"
    # Failed: no usable answer came.
    UNRESOLVED = "unresolved"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    RESET = "reset"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    # Failed: we did not ask.
    REFUSED_ADDRESS = "refused_address"
    REFUSED_PORT = "refused_port"
    REFUSED_SCHEME = "refused_scheme"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    BROKEN_PLUGIN = "broken_plugin"
    PURGED = "purged"
    STOPPED = "stopped"


class Fetched(Struct, frozen=True):
    """The server gave a body."""

    exchange: Exchange

    @property
    def url(self) -> Url:
        return self.exchange.url


class Moved(Struct, frozen=True):
    """The server pointed elsewhere; ``target`` is none when it did not say where, or where nobody can go."""

    exchange: Exchange
    target: Url | None
    permanent: bool

    @property
    def url(self) -> Url:
        return self.exchange.url


class NotModified(Struct, frozen=True):
    """The copy we have is still good."""

    exchange: Exchange

    @property
    def url(self) -> Url:
        return self.exchange.url


class Gone(Struct, frozen=True):
    """There is no such page, or we may not have it."""

    url: Url
    reason: Reason
    detail: str = ""
    exchange: Exchange | None = None


class Failed(Struct, frozen=True):
    """Nothing usable came.

    ``transient`` says whether asking again may help; ``blames_host`` whether the host has one more failure to its name;
    ``retry_after`` is how long the server asked to be left alone.
    """

    url: Url
    reason: Reason
    detail: str = ""
    transient: bool = True
    blames_host: bool = True
    retry_after: timedelta | None = None
    exchange: Exchange | None = None


Reply: TypeAlias = Fetched | Moved | NotModified | Gone | Failed


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return the first value of a field, whatever its case, or nothing.

    >>> header((("content-type", "text/html"),), "Content-Type")
    'text/html'
    """
    wanted, length = name.lower(), len(name)
    for field, value in headers:
        if len(field) == length and field.lower() == wanted:
            return value
    return ""


LONGEST_RETRY_AFTER = timedelta(days=1)

_TEMPORARY = frozenset({302, 303, 307})
_GONE = {400: Reason.BAD_REQUEST, 401: Reason.UNAUTHORIZED, 404: Reason.NOT_FOUND, 410: Reason.REMOVED}
_BUSY = frozenset({429, 503})
_DIGITS = re.compile("[0-9]+")


def reply_to(exchange: Exchange, now: datetime) -> Reply:
    """Return what a response means.

    As in Nutch, but: 403 is tried again and does not count against the host, 204 and 206 are success with what there
    is, 429 and 503 slow the host down.
    """
    status = exchange.status
    match status // 100:
        case 2 if exchange.truncation is Truncation.DISCONNECT:  # what the others have to say is in their heads
            return Failed(exchange.url, Reason.RESET, "the body ended before its length", exchange=exchange)
        case 2:
            return Fetched(exchange)
        case 3 if status == 304:
            return NotModified(exchange)
        case 3:
            location = exchange.header("Location")
            target = join(exchange.url, as_url(location)) if location else None
            return Moved(exchange, target, status not in _TEMPORARY)
        case 4 if status in _GONE:
            return Gone(exchange.url, _GONE[status], exchange=exchange)
        case 4 if status == 403:
            return Failed(exchange.url, Reason.FORBIDDEN, blames_host=False, exchange=exchange)
        case _ if status in _BUSY:
            # A date is one of the server's clock; ours may be wrong.
            wait = retry_after(exchange.header("Retry-After"), parse_date(exchange.header("Date")) or now)
            return Failed(exchange.url, Reason.BUSY, f"HTTP {status}", retry_after=wait, exchange=exchange)
        case 5:
            return Failed(exchange.url, Reason.SERVER_ERROR, f"HTTP {status}", exchange=exchange)
        case _:
            return Failed(exchange.url, Reason.OTHER_STATUS, f"HTTP {status}", exchange=exchange)


def fetch_status(reply: Reply) -> FetchStatus:
    """Return the status under which a reply enters the crawl."""
    match reply:
        case Fetched():
            return FetchStatus.SUCCESS
        case Moved(permanent=permanent):
            return FetchStatus.REDIR_PERM if permanent else FetchStatus.REDIR_TEMP
        case NotModified():
            return FetchStatus.NOTMODIFIED
        case Gone():
            return FetchStatus.GONE
        case Failed(transient=transient):
            return FetchStatus.RETRY if transient else FetchStatus.GONE
        case _:
            assert_never(reply)


def as_url(value: str) -> str:
    """Return a header's value as the URL it means: many servers send UTF-8 unescaped, some send other bytes.

    >>> as_url("/caf\xc3\xa9"), as_url("/caf\xe9")
    ('/caf\xe9', '/caf%E9')
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return "".join(letter if letter.isascii() else f"%{ord(letter):02X}" for letter in value)


def retry_after(value: str, now: datetime) -> timedelta | None:
    """Read a Retry-After field (RFC 9110 10.2.3): seconds or a date; at most a day is believed.

    >>> from datetime import UTC
    >>> retry_after("120", datetime(2026, 1, 1, tzinfo=UTC))
    datetime.timedelta(seconds=120)
    """
    text = value.strip()
    if _DIGITS.fullmatch(text):
        wait = LONGEST_RETRY_AFTER if len(text) > 9 else timedelta(seconds=int(text))
    else:
        date = parse_date(text)
        if date is None:
            return None
        wait = date - now
    return min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)
