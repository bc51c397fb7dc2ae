"""The content of a feed in any format, with texts and addresses as written."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from scoter.core.metadata import Author

LONGEST_LINE: Final = 1_000
"""Maximum characters of a title, name or keyword."""
LONGEST_ADDRESS: Final = 8_192
LONGEST_LANGUAGE: Final = 35  # RFC 5646 4.4.1
MOST_PER_ENTRY: Final = 50
"""Maximum number of authors, keywords, enclosures or links per entry."""


class Reference(Struct, frozen=True, kw_only=True):
    """An address in a feed and its role."""

    href: str
    rel: str = "alternate"
    media_type: str = ""
    title: str = ""
    language: str = ""
    seconds: float | None = None


class FeedEntry(Struct, frozen=True, kw_only=True):
    """One entry. ``markup`` is its content as HTML; ``base`` is the base of addresses in it, if declared."""

    link: str = ""
    title: str = ""
    markup: str = ""
    base: str = ""
    summary: str = ""
    published: datetime | None = None
    modified: datetime | None = None
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()
    language: str = ""
    image: str = ""
    enclosures: tuple[Reference, ...] = ()


class FeedFound(Struct, frozen=True, kw_only=True):
    """A feed. ``base`` is the base of its addresses, if declared."""

    title: str = ""
    description: str = ""
    home: str = ""
    base: str = ""
    language: str = ""
    image: str = ""
    icon: str = ""
    license: str = ""
    modified: datetime | None = None
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()
    links: tuple[Reference, ...] = ()
    entries: tuple[FeedEntry, ...] = ()
    doubt: str = ""


def address_of(text: str) -> str:
    """Strip an address; return an empty string if it is too long."""
    text = text.strip()
    return text if len(text) <= LONGEST_ADDRESS else ""


def is_web_address(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))
