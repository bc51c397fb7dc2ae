"""A parsed page: the record that parsers create and parse filters change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from scoter.core.metadata import PageMetadata
from scoter.core.url import Url

EMPTY: Mapping[str, Any] = MappingProxyType({})

VALUE_SEPARATOR = "\t"
"""Separates the values of one metadata key; no value contains it."""

SOON = 5.0
"""Seconds below which a refresh counts as a redirect."""


class Content(Struct, frozen=True, kw_only=True):
    """The bytes of a response with their detected media type.

    ``encoding`` is the charset in the header, ``robots`` the ``X-Robots-Tag`` fields, one per line, ``refresh`` the
    ``Refresh`` field.
    """

    url: Url
    media_type: str
    body: bytes
    encoding: str = ""
    metadata: Mapping[str, str] = EMPTY
    robots: str = ""
    refresh: str = ""
    truncated: bool = False


ADJUSTMENT = "adjustment"
"""The kind of a link of a page to itself by which a scoring filter adjusts the page's own record; no page has it."""


class Outlink(Struct, frozen=True, kw_only=True, gc=False):
    """A link on a page: its target, its anchor text, and what it passes on to the target.

    ``kind`` is where it was found: an element's name (``a``, ``area``, ``link``, ``img``, ``iframe``, ``form``,
    ``script`` ...), ``media`` (video, audio and their sources), ``refresh``, ``text`` (an address in a text or script),
    ``feed`` or ``sitemap``. ``extra`` and ``metadata`` are what the target's record gets if the link adds it to the
    crawldb. ``count`` says how many links of the page lead to the target.
    """

    target: Url
    anchor: str = ""
    rel: str = ""
    kind: str = "a"
    score: float = 0.0
    extra: Mapping[str, Any] = EMPTY
    metadata: Mapping[str, str] = EMPTY
    count: int = 1


class Refresh(Struct, frozen=True):
    """A refresh: the page redirects after some seconds.

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
    """A heading of level 1 to 6."""

    level: int
    text: str


TERM_LEVEL: Final = 7


class PageSection(Struct, frozen=True):
    """A part of a page that links can lead to: its heading, and the fragment of its URL.

    The level is that of the heading, 1 to 6, or 7 for a defined term (``dt``).
    """

    level: int
    text: str
    anchor: str


class Alternate(Struct, frozen=True, kw_only=True):
    """Another version of the page, by ``language`` (hreflang) or ``media_type`` (a feed, an AMP page)."""

    url: Url
    language: str = ""
    media_type: str = ""
    title: str = ""
    rel: str = "alternate"


class Page(Struct, frozen=True, kw_only=True):
    """A parsed page.

    ``base`` is the base URL of its links if it is not the page's own URL, ``encoding`` the one used for decoding,
    ``language`` the declared or detected one. ``main_text``, ``markdown`` and ``about`` (its metadata) are set if they
    were requested; then ``main_text_kept`` is the share of the page's text that the main text has, and
    ``main_text_doubtful`` tells whether it seemed too little, so that it may lack text, or have more than its content.
    ``metas`` has the values of ``meta`` elements by lower-case name, ``metadata`` what parse filters add.
    ``doubt`` says what is wrong with a page that could be parsed only in part.
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
    main_text_kept: float | None = None
    main_text_doubtful: bool | None = None
    headings: tuple[Heading, ...] = ()
    sections: tuple[PageSection, ...] = ()
    alternates: tuple[Alternate, ...] = ()
    metas: Mapping[str, tuple[str, ...]] = EMPTY
    about: PageMetadata | None = None
    doubt: str = ""


def split_values(text: str) -> tuple[str, ...]:
    """Return the values of a metadata key.

    >>> split_values("Grey seals\\tWalrus"), split_values("")
    (('Grey seals', 'Walrus'), ())
    """
    return tuple(text.split(VALUE_SEPARATOR)) if text else ()
