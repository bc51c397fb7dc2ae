"""What is asked of the web and what it answers: one request is one hop, and every answer is a value.

Reply = Fetched       a body came
      | Moved         the server pointed elsewhere; nobody has followed
      | NotModified   the copy we have is still good
      | Gone          there is no such page, or we may not have it
      | Failed        nothing usable came; ``transient`` says whether asking again may help
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from scoter.core.url import Url

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


class Cut(StrEnum):
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
    cut: Cut = Cut.NOT
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
