"""Requests and replies: one request is one hop, every reply is a value, and two total functions interpret it.

Reply = Fetched       a response with a body
      | Moved         a redirect, not followed
      | NotModified   our copy is still current
      | Gone          the page does not exist, or must not be fetched
      | Failed        no usable response; ``transient`` says whether a retry may help
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
"""Header fields in their original order and case; non-ASCII bytes are decoded as Latin-1."""


class Request(Struct, frozen=True, kw_only=True):
    """One hop to make: the URL, its validators, and further header fields.

    The validators are the server's ``Last-Modified`` and ``ETag`` of our copy, verbatim: many servers compare dates for
    equality. ``context`` is opaque data that lets the caller match the reply to the request. ``first_bytes`` asks only
    for the beginning of the body, if not 0, and ``head`` for no body at all (over HTTP).
    """

    url: Url
    last_modified: str = ""
    etag: str = ""
    headers: Headers = ()
    context: bytes = b""
    first_bytes: int = 0
    head: bool = False


class Truncation(StrEnum):
    """Why a body is truncated; the values are those of WARC-Truncated."""

    NOT = ""
    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"
    UNSPECIFIED = "unspecified"  # its content coding is damaged, or the server sent only a part


class Timings(Struct, frozen=True, kw_only=True):
    """Seconds from the start of a request to the end of each of its phases; 0 for a phase that did not happen."""

    resolved: float = 0.0
    connected: float = 0.0
    secured: float = 0.0
    first_byte: float = 0.0
    total: float = 0.0


class Exchange(Struct, frozen=True, kw_only=True):
    """One request and its response, as they went over the wire.

    ``body`` has no transfer coding but still its content coding. The heads end with an empty line. An HTTP/2 head is
    written in the form of HTTP/1.1; ``http_version`` is the actual version.
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
        """Return the first value of a field, case-insensitively, or an empty string."""
        return header(self.headers, name)


class Reason(StrEnum):
    """Why there is no page."""

    # Gone: no use retrying for a long time.
    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    PAYMENT_REQUIRED = "payment_required"
    NOT_FOUND = "not_found"
    REMOVED = "removed"
    LEGAL_REASONS = "legal_reasons"  # 451
    ROBOTS_DENIED = "robots_denied"
    CRAWL_DELAY = "crawl_delay"  # robots.txt has a longer Crawl-delay than we respect
    # Failed: an error response.
    FORBIDDEN = "forbidden"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    OTHER_STATUS = "other_status"
    # Failed: something else than the page.
    CHALLENGE = "challenge"  # a product that protects the site checks for crawlers, or refuses us
    WALL = "wall"  # the page is only for people who log in, or consent
    # Failed: no usable response.
    UNRESOLVED = "unresolved"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    RESET = "reset"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    # Failed: no request was made.
    REFUSED_ADDRESS = "refused_address"
    REFUSED_PORT = "refused_port"
    REFUSED_SCHEME = "refused_scheme"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    BROKEN_PLUGIN = "broken_plugin"
    PURGED = "purged"
    DEFERRED = "deferred"  # its host is on hold for longer than a fetch waits
    STOPPED = "stopped"


class _Answered(Struct, frozen=True):
    """A reply that always has an exchange."""

    exchange: Exchange

    @property
    def url(self) -> Url:
        return self.exchange.url


class Fetched(_Answered, frozen=True):
    """A response with a body."""


class Moved(_Answered, frozen=True):
    """A redirect; ``target`` is ``None`` if it is missing or not a URL."""

    target: Url | None
    permanent: bool


class NotModified(_Answered, frozen=True):
    """Our copy is still current."""


class Gone(Struct, frozen=True):
    """The page does not exist, or must not be fetched."""

    url: Url
    reason: Reason
    detail: str = ""
    exchange: Exchange | None = None


class Failed(Struct, frozen=True):
    """No usable response.

    ``transient`` says whether a retry may help, ``blames_host`` whether it counts as a failure of the host.
    ``retry_after`` is how long the server asked us to wait. ``is_repeatable`` asks for one more request soon.
    """

    url: Url
    reason: Reason
    detail: str = ""
    transient: bool = True
    blames_host: bool = True
    retry_after: timedelta | None = None
    exchange: Exchange | None = None
    is_repeatable: bool = False


Reply: TypeAlias = Fetched | Moved | NotModified | Gone | Failed


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return the first value of a field, case-insensitively, or an empty string.

    >>> header((("content-type", "text/html"),), "Content-Type")
    'text/html'
    """
    wanted, length = name.lower(), len(name)
    for field, value in headers:
        if len(field) == length and field.lower() == wanted:
            return value
    return ""


def sets_cookie_for_itself(reply: Moved, url: Url) -> bool:
    """Tell whether a redirect leads to the requested URL itself, but sets a cookie that may change the answer."""
    return reply.target == url and reply.exchange.header("Set-Cookie") != ""


LONGEST_RETRY_AFTER = timedelta(days=1)

_TEMPORARY = frozenset({302, 303, 307})
_GONE = {
    400: Reason.BAD_REQUEST,
    401: Reason.UNAUTHORIZED,
    402: Reason.PAYMENT_REQUIRED,
    404: Reason.NOT_FOUND,
    410: Reason.REMOVED,
    451: Reason.LEGAL_REASONS,
}
_LONGEST_PRICE = 100
_BUSY = frozenset({429, 503})
_DIGITS = re.compile("[0-9]+")
_CONDITION = re.compile(rb"^if-(?:modified-since|none-match):", re.IGNORECASE | re.MULTILINE)


def reply_to(exchange: Exchange, now: datetime) -> Reply:
    """Interpret a response.

    As in Nutch, except: 402 and 451 are gone, 403 is retried, 204 and 206 are successes, 429 and 503 slow the host
    down. Of all answers, only 429 and 5xx are blamed on the host.
    """
    status = exchange.status
    match status // 100:
        case 2 if exchange.truncation is Truncation.DISCONNECT:  # others need only their head
            return Failed(exchange.url, Reason.RESET, "the body ended before its length", exchange=exchange)
        case 2:
            return Fetched(exchange)
        case 3 if status == 304 and _CONDITION.search(exchange.request_head):
            return NotModified(exchange)
        case 3 if status == 304:
            detail = "HTTP 304 to an unconditional request"
            return Failed(exchange.url, Reason.OTHER_STATUS, detail, blames_host=False, exchange=exchange)
        case 3:
            location = exchange.header("Location")
            target = join(exchange.url, as_url(location)) if location else None
            return Moved(exchange, target, status not in _TEMPORARY)
        case 4 if status in _GONE:
            # What a site that sells access to crawlers asks for, such as "USD 0.01".
            price = exchange.header("crawler-price")[:_LONGEST_PRICE].strip() if status == 402 else ""
            detail = f"crawler-price: {price}" if price else ""
            return Gone(exchange.url, _GONE[status], detail, exchange=exchange)
        case 4 if status == 403:
            return Failed(exchange.url, Reason.FORBIDDEN, blames_host=False, exchange=exchange)
        case _ if status in _BUSY:
            # Relative to the server's clock, since ours may differ.
            wait = retry_after(exchange.header("Retry-After"), parse_date(exchange.header("Date")) or now)
            return Failed(exchange.url, Reason.BUSY, f"HTTP {status}", retry_after=wait, exchange=exchange)
        case 5:
            return Failed(exchange.url, Reason.SERVER_ERROR, f"HTTP {status}", exchange=exchange)
        case _:
            return Failed(exchange.url, Reason.OTHER_STATUS, f"HTTP {status}", blames_host=False, exchange=exchange)


def fetch_status(reply: Reply) -> FetchStatus:
    """Return the fetch status of a reply."""
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
    """Decode a URL in a header: many servers send unescaped UTF-8, some other bytes.

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
    """Read a Retry-After field (RFC 9110 10.2.3): seconds or a date, at most a day.

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
