"""What a page says: the record that parsers make, parse filters widen and indexing filters read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from scoter.core.url import Url

EMPTY: Mapping[str, Any] = MappingProxyType({})

SOON = 5.0
"""Seconds under which a refresh counts as a redirect; a page that is shown for longer is a page of its own."""


class Content(Struct, frozen=True, kw_only=True):
    """Bytes as they came, with the media type that was found for them.

    ``encoding`` is the charset that the server named, ``robots`` what its ``X-Robots-Tag`` fields say, one a line;
    ``truncated`` tells that there was more of it.
    """

    url: Url
    media_type: str
    body: bytes
    encoding: str = ""
    metadata: Mapping[str, str] = EMPTY
    robots: str = ""
    truncated: bool = False


class Outlink(Struct, frozen=True, kw_only=True):
    """A link on a page: where it leads, what it says, and what it carries along to its target."""

    target: Url
    anchor: str = ""
    rel: str = ""
    score: float = 0.0
    extra: Mapping[str, Any] = EMPTY


class Refresh(Struct, frozen=True):
    """A page's wish that its reader go elsewhere after a while.

    >>> from scoter.core.url import canonical
    >>> Refresh(canonical("http://example.org/"), 0.0).is_redirect
    True
    """

    target: Url
    seconds: float

    @property
    def is_redirect(self) -> bool:
        return self.seconds < SOON


class Page(Struct, frozen=True, kw_only=True):
    """A parsed page.

    ``base`` is what its links are relative to, when it is not the page's own URL; ``encoding`` the one it was read in.
    """

    url: Url
    title: str = ""
    text: str = ""
    outlinks: tuple[Outlink, ...] = ()
    metadata: Mapping[str, str] = EMPTY
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    canonical: Url | None = None
    refresh: Refresh | None = None
    base: Url | None = None
    encoding: str = ""


class Document(Struct, frozen=True, kw_only=True):
    """What goes to a search index: an id and fields with one or more values each."""

    id: str
    fields: Mapping[str, tuple[Any, ...]]
    boost: float = 1.0
