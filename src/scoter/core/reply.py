"""What is asked of the web and what it answers: one request is one hop, and every answer is a value."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from scoter.core.url import Url

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Header fields in the order and case in which they came."""


class Request(Struct, frozen=True, kw_only=True):
    """One hop to make: the URL, what is already known of it, and fields to send along."""

    url: Url
    modified_since: datetime | None = None
    etag: str = ""
    headers: Headers = ()


class Fetched(Struct, frozen=True, kw_only=True):
    """The server gave a body (cut at the content limit when ``truncated`` says why)."""

    url: Url
    status: int
    headers: Headers
    body: bytes
    truncated: str = ""


class Moved(Struct, frozen=True, kw_only=True):
    """The server pointed elsewhere; nobody has followed it yet."""

    url: Url
    status: int
    headers: Headers
    target: Url | None
    permanent: bool


class NotModified(Struct, frozen=True, kw_only=True):
    """The copy we have is still good."""

    url: Url
    headers: Headers


class Gone(Struct, frozen=True, kw_only=True):
    """There is no such page, or we may not have it (``reason`` says which)."""

    url: Url
    status: int
    reason: str


class Failed(Struct, frozen=True, kw_only=True):
    """Nothing usable came; ``transient`` says whether asking again may help."""

    url: Url
    reason: str
    transient: bool
    status: int = 0


Reply: TypeAlias = Fetched | Moved | NotModified | Gone | Failed


def header(headers: Headers, name: str) -> str:
    """Return the first value of a field, whatever its case, or nothing.

    >>> header((("content-type", "text/html"),), "Content-Type")
    'text/html'
    """
    wanted = name.lower()
    return next((value for field, value in headers if field.lower() == wanted), "")
