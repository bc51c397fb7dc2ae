"""Page metadata: one typed record, with the source of each field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct


class Image(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image that represents the page; its size is in pixels, if the page states it."""

    url: str
    alt: str = ""
    width: int | None = None
    height: int | None = None
    media_type: str = ""


class Media(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Video or audio: kind ``video`` and ``audio`` are files, ``player`` is a page to embed in a frame."""

    url: str
    kind: str
    media_type: str = ""
    width: int | None = None
    height: int | None = None
    seconds: float | None = None


class Author(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An author of the page."""

    name: str
    url: str = ""


class Embed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An oEmbed endpoint that the page declares; it returns a representation for embedding in other pages."""

    url: str
    media_type: str


class Feed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A feed of the page's site."""

    url: str
    media_type: str
    title: str = ""


class Product(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The product that the page offers."""

    name: str = ""
    brand: str = ""
    sku: str = ""
    price: str = ""
    currency: str = ""
    availability: str = ""
    rating: float | None = None
    ratings: int | None = None


class PageMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The metadata that a page declares. URLs are absolute and canonical; texts are one line, without markup.

    ``sources`` maps each field that is set to its source: ``opengraph``, ``twitter``, ``jsonld``,
    ``microdata``, ``rdfa``, ``dublincore``, ``microformats``, ``link``, ``meta``, ``html``, ``feed``,
    ``content`` or, for the icon of a page that declares none, ``guess`` (``/favicon.ico``, not fetched).
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
    sources: Mapping[str, str] = {}
