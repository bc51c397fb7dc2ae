"""What a feed says, whatever its format: texts and addresses as they stand there."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

LONGEST_LINE: Final = 1_000
"""Characters of a title, a name or a keyword."""
LONGEST_ADDRESS: Final = 8_192
LONGEST_LANGUAGE: Final = 35  # RFC 5646 4.4.1
MOST_BESIDE: Final = 50
"""Authors, keywords, enclosures or links of one entry."""


class Reference(Struct, frozen=True, kw_only=True):
    """An address in a feed, and what it is."""

    href: str
    rel: str = "alternate"
    media_type: str = ""
    title: str = ""
    language: str = ""
    seconds: float | None = None


class Person(Struct, frozen=True):
    """Who wrote something."""

    name: str
    url: str = ""


class FeedEntry(Struct, frozen=True, kw_only=True):
    """One entry. ``markup`` is its content as HTML, ``summary`` what it says of itself.

    ``base`` is what addresses in the content are relative to, where the feed says so.
    """

    link: str = ""
    title: str = ""
    markup: str = ""
    base: str = ""
    summary: str = ""
    published: datetime | None = None
    modified: datetime | None = None
    authors: tuple[Person, ...] = ()
    keywords: tuple[str, ...] = ()
    language: str = ""
    image: str = ""
    enclosures: tuple[Reference, ...] = ()


class FeedFound(Struct, frozen=True, kw_only=True):
    """A whole feed. ``base`` is what its addresses are relative to, where it says so."""

    title: str = ""
    description: str = ""
    home: str = ""
    base: str = ""
    language: str = ""
    image: str = ""
    icon: str = ""
    license: str = ""
    modified: datetime | None = None
    authors: tuple[Person, ...] = ()
    keywords: tuple[str, ...] = ()
    links: tuple[Reference, ...] = ()
    entries: tuple[FeedEntry, ...] = ()
    doubt: str = ""


def address_of(text: str) -> str:
    """Return an address without the white space around it, or nothing if it is too long to be one."""
    text = text.strip()
    return text if len(text) <= LONGEST_ADDRESS else ""


def is_web_address(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))
