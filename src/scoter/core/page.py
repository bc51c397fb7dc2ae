"""What a page says: the record that parsers make, parse filters widen and indexing filters read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from scoter.core.metadata import PageMetadata
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


class Outlink(Struct, frozen=True, kw_only=True, gc=False):
    """A link on a page: where it leads, what it says, and what it carries along to its target.

    ``kind`` tells what it was found in: an element's name (``a``, ``area``, ``link``, ``img``, ``iframe``, ``form``,
    ``script`` ...), ``media`` (video, audio and their sources), ``refresh``, ``text`` (an address in a text or script),
    ``feed`` or ``sitemap``.
    """

    target: Url
    anchor: str = ""
    rel: str = ""
    kind: str = "a"
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


class Heading(Struct, frozen=True):
    """A heading: 1 to 6, and what it says."""

    level: int
    text: str


class Alternate(Struct, frozen=True, kw_only=True):
    """Another form of the page: in another ``language`` (hreflang), another ``media_type`` (a feed, an AMP page)."""

    url: Url
    language: str = ""
    media_type: str = ""
    title: str = ""
    rel: str = "alternate"


class Page(Struct, frozen=True, kw_only=True):
    """A parsed page.

    ``base`` is what its links are relative to, when it is not the page's own URL; ``encoding`` the one it was read in;
    ``language`` the one it declares, or that was detected. ``main_text`` and ``markdown`` hold its main content and
    ``about`` what it says about itself, each when it was asked for; ``metas`` the values of its ``meta`` elements by
    their names in lower case; ``metadata`` what parse filters add. ``doubt`` tells what is wrong with a page that could
    be read in part only.
    """

    url: Url
    title: str = ""
    text: str = ""
    outlinks: tuple[Outlink, ...] = ()
    metadata: Mapping[str, str] = EMPTY
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    unavailable_after: datetime | None = None
    canonical: Url | None = None
    refresh: Refresh | None = None
    base: Url | None = None
    encoding: str = ""
    language: str = ""
    media_type: str = ""
    main_text: str = ""
    markdown: str = ""
    headings: tuple[Heading, ...] = ()
    alternates: tuple[Alternate, ...] = ()
    metas: Mapping[str, tuple[str, ...]] = EMPTY
    about: PageMetadata | None = None
    doubt: str = ""


class Document(Struct, frozen=True, kw_only=True):
    """What goes to a search index: an id and fields with one or more values each."""

    id: str
    fields: Mapping[str, tuple[Any, ...]]
    boost: float = 1.0
