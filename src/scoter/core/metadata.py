"""What a page says about itself: one typed record, each field with the source it came from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from msgspec import Struct

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Image(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A picture that stands for the page; sizes in pixels where the page gives them."""

    url: str
    alt: str = ""
    width: int | None = None
    height: int | None = None
    media_type: str = ""


class Media(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that plays: ``video`` and ``audio`` are files, a ``player`` is a page to be framed."""

    url: str
    kind: str
    media_type: str = ""
    width: int | None = None
    height: int | None = None
    seconds: float | None = None


class Author(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who wrote the page."""

    name: str
    url: str = ""


class Embed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An oEmbed endpoint that the page names: where to ask for what may stand for it on other pages."""

    url: str
    media_type: str


class Feed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A feed of the page's site."""

    url: str
    media_type: str
    title: str = ""


class Product(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the page sells."""

    name: str = ""
    brand: str = ""
    sku: str = ""
    price: str = ""
    currency: str = ""
    availability: str = ""
    rating: float | None = None
    ratings: int | None = None


class PageMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a page says about itself. URLs are absolute and canonical; texts are one line, without markup.

    ``sources`` names for each field that is there where it came from: ``opengraph``, ``twitter``, ``jsonld``,
    ``microdata``, ``rdfa``, ``dublincore``, ``microformats``, ``link``, ``meta``, ``html``, ``feed`` or ``content``.
    """

    title: str = ""
    description: str = ""
    image: Image | None = None
    canonical: str = ""
    site_name: str = ""
    authors: tuple[Author, ...] = ()
    published: datetime | None = None
    modified: datetime | None = None
    language: str = ""
    type: str = ""
    keywords: tuple[str, ...] = ()
    icon: Image | None = None
    theme_color: str = ""
    media: tuple[Media, ...] = ()
    embeds: tuple[Embed, ...] = ()
    feeds: tuple[Feed, ...] = ()
    license: str = ""
    product: Product | None = None
    sources: Mapping[str, str] = NOTHING
