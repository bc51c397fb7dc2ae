"""Read page metadata from schema.org things.

The values come from the thing that the page is about (``main_entity``) and, where that has none, from the thing of
type ``WebPage``.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from scoter.core.dates import parse_duration
from scoter.core.metadata import Author, Image, Media, Product
from scoter.parse.metadata.field_values import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TITLE,
    LONGEST_WORD,
    MOST_MEDIA,
    authors,
    image,
    language,
    media_type,
    number,
    plausible_date,
    side,
    words,
)
from scoter.parse.metadata.graph import Graph, Thing, address_of, local, text_of, types_of
from scoter.parse.metadata.main_entity import is_customer_review, is_page, main_entity
from scoter.parse.metadata.page_elements import PageElements

LONGEST_PRICE: Final = 32
_PRODUCT_TYPES: Final = frozenset(
    ("product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle", "car", "motorcycle")
)
_PRODUCT_NUMBERS: Final = ("sku", "mpn", "productID", "gtin", "gtin13", "gtin14", "gtin12", "gtin8", "isbn")
_THOUSANDS: Final = re.compile(r"(?<=[0-9])[.\s](?=[0-9]{3}(?![0-9]))")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_AUDIO_TYPES: Final = frozenset({"audioobject", "musicrecording", "podcastepisode", "audiobook", "radioepisode"})
_VIDEO_TYPES: Final = frozenset({"videoobject", "movie", "tvepisode", "episode", "clip", "musicvideoobject"})
_MEDIA_PROPERTIES: Final = ("video", "audio", "associatedMedia", "encoding", "trailer", "subjectOf", "sharedContent")


class SchemaClaims:
    """The metadata of schema.org things, one property per field, computed on access.

    Of several things of the same type the first is used with ``first_of_many``. Otherwise none is: in markup around
    visible text they are a list.
    """

    def __init__(self, graph: Graph, elements: PageElements, *, first_of_many: bool) -> None:
        self._graph = graph
        self._elements = elements
        self._thing, self.type = main_entity(graph, elements, first_of_many=first_of_many)
        if is_customer_review(self.type, elements.kind):
            self._thing, self.type = {}, ""
        elements.kind = elements.kind or self.type
        page = next((other for other in graph.things if is_page(other)), self._thing)
        self._things = [self._thing] if page is self._thing else [self._thing, page]

    @property
    def title(self) -> str:
        return self._text(LONGEST_TITLE, "headline", "name", "title")

    @property
    def description(self) -> str:
        return self._text(LONGEST_DESCRIPTION, "description", "abstract")

    @property
    def image(self) -> Image | None:
        for thing in self._things:
            for name in ("image", "primaryImageOfPage", "thumbnailUrl", "thumbnail", "photo"):
                for value in self._graph.each(thing, name):
                    if found := image_of(self._graph, self._elements, value):
                        return found
        return None

    @property
    def canonical(self) -> str:
        """The URL of the thing; one with a ``#`` is only an identifier within the page."""
        for thing in self._things:
            for value in (*self._graph.each(thing, "url"), *self._graph.each(thing, "mainEntityOfPage")):
                href = address_of(value)
                if "#" not in href and (url := self._elements.address(href)):
                    return url
        return ""

    @property
    def site_name(self) -> str:
        graph = self._graph
        for thing in graph.things:
            if "WebSite" in types_of(thing) and (name := graph.text(thing, LONGEST_NAME, "name")):
                return name
        for thing in self._things:
            for part in graph.things_of(thing, "isPartOf"):
                if "WebSite" in types_of(part) and (name := graph.text(part, LONGEST_NAME, "name")):
                    return name
            if (name := graph.text(thing, LONGEST_NAME, "publisher")) and "://" not in name:
                return name
        return ""

    @property
    def authors(self) -> tuple[Author, ...]:
        for thing in self._things:
            for name in ("author", "creator", "byArtist"):
                found = authors(self._person(value) for value in self._graph.each(thing, name))
                if found:
                    return found
        return ()

    @property
    def published(self) -> datetime | None:
        return plausible_date(self._text(100, "datePublished", "uploadDate", "datePosted", "dateCreated"))

    @property
    def modified(self) -> datetime | None:
        return plausible_date(self._text(100, "dateModified", "dateUpdated"))

    @property
    def language(self) -> str:
        for thing in self._things:
            for value in self._graph.each(thing, "inLanguage"):
                said = [value.get("alternateName"), value.get("name")] if isinstance(value, dict) else [value]
                for text in said:
                    if found := language(text_of(text, 40)):
                        return found
        return ""

    @property
    def keywords(self) -> tuple[str, ...]:
        values = self._graph.each(self._thing, "keywords", "articleSection")
        return words(text_of(value, LONGEST_DESCRIPTION) for value in values)

    @property
    def media(self) -> tuple[Media, ...]:
        return media(self._graph, self._elements, self._thing)

    @property
    def license(self) -> str:
        for thing in self._things:
            for value in self._graph.each(thing, "license"):
                href = address_of(value)
                # A name such as "CC BY 4.0" would be taken for a relative URL.
                if href.lstrip()[:8].lower().startswith(("http", "//", "/")) and (url := self._elements.address(href)):
                    return url
        return ""

    @property
    def product(self) -> Product | None:
        return product(self._graph, self._thing)

    def _text(self, longest: int, *names: str) -> str:
        for thing in self._things:
            if found := self._graph.text(thing, longest, *names):
                return found
        return ""

    def _person(self, value: object) -> Author:
        name = text_of(value, LONGEST_NAME)
        url = ""
        if isinstance(value, dict):
            for place in ("url", "sameAs", "@id"):
                href = next((address_of(inner) for inner in self._graph.each(value, place)), "")
                if "#" not in href and (url := self._elements.address(href)):
                    break
        return Author(name=name, url=url)


def image_of(graph: Graph, elements: PageElements, value: object) -> Image | None:
    """Return an image given by its URL or as a thing."""
    if isinstance(value, str):
        url = elements.address(value)
        return Image(url=url) if url else None
    if not isinstance(value, dict):
        return None
    url = next(
        filter(
            None,
            (
                elements.address(address_of(inner))
                for name in ("contentUrl", "url", "@id")
                for inner in graph.each(value, name)
                if not (name == "@id" and "#" in address_of(inner))
            ),
        ),
        "",
    )
    alt = graph.text(value, LONGEST_TITLE, "caption", "alternateName", "description")
    return image(url, alt, graph.text(value, 40, "width"), graph.text(value, 40, "height"))


def product(graph: Graph, thing: Thing) -> Product | None:
    """Return what the page sells: a product, or another thing with a price."""
    offer = _offer(graph, thing)
    price = graph.text(offer, LONGEST_PRICE, "price", "lowPrice", "highPrice")
    if not price and not any(kind.lower() in _PRODUCT_TYPES for kind in types_of(thing)):
        return None
    rating = next(iter(graph.things_of(thing, "aggregateRating")), {})
    # Many countries write 4,7 and 1.204: a rating has no thousands separator, and a count no fraction.
    value = graph.text(rating, LONGEST_WORD, "ratingValue").replace(",", ".")
    count = number(_THOUSANDS.sub("", graph.text(rating, LONGEST_WORD, "ratingCount", "reviewCount")), 1e12)
    found = Product(
        name=graph.text(thing, LONGEST_TITLE, "name"),
        brand=graph.text(thing, LONGEST_NAME, "brand", "manufacturer"),
        sku=graph.text(thing, LONGEST_WORD, *_PRODUCT_NUMBERS),
        price=price,
        currency=_currency(graph.text(offer, LONGEST_PRICE, "priceCurrency")),
        availability=local(graph.text(offer, LONGEST_WORD, "availability")),
        rating=number(value, 1_000_000),
        ratings=None if count is None else int(count),
    )
    return None if found == Product() else found


def _offer(graph: Graph, thing: Thing) -> Thing:
    """Return the first offer with a price, which may also be in a price specification or a variant."""
    things = [thing, *graph.things_of(thing, "hasVariant", "model")[:5]]
    offers = [offer for one in things for offer in graph.things_of(one, "offers")]
    for offer in offers:
        if graph.text(offer, LONGEST_PRICE, "price", "lowPrice"):
            return offer
    for offer in offers:
        for inner in graph.things_of(offer, "priceSpecification", "offers"):
            if graph.text(inner, LONGEST_PRICE, "price", "minPrice"):
                return {**offer, **inner}
    if graph.text(thing, LONGEST_PRICE, "price"):
        return thing
    return offers[0] if offers else {}


def _currency(text: str) -> str:
    text = text.upper()
    return text if _CURRENCY.fullmatch(text) else ""


def media(graph: Graph, elements: PageElements, thing: Thing) -> tuple[Media, ...]:
    """Return media files and players of the thing itself, of its parts, and of other things on the page."""
    found: dict[str, Media] = {}
    held = [inner for name in _MEDIA_PROPERTIES for inner in graph.things_of(thing, name)]
    beside = [other for other in graph.things if other is not thing]
    own = _kind(graph, thing)
    for position, one in enumerate([thing, *held, *beside][:100]):
        # An unspecified file of an episode or film is its media; other things may have files of any sort.
        if kind := _kind(graph, one, own if position <= len(held) else ""):
            for part in _media_of(graph, elements, one, kind):
                if len(found) < MOST_MEDIA:
                    found.setdefault(part.url, part)
    return tuple(found.values())


def _kind(graph: Graph, thing: Thing, otherwise: str = "") -> str:
    """Return ``audio`` or ``video`` for a media thing, or ``otherwise`` for a file of unknown type."""
    kinds = {kind.lower() for kind in types_of(thing)}
    if kinds & _AUDIO_TYPES:
        return "audio"
    if kinds & _VIDEO_TYPES:
        return "video"
    if "mediaobject" not in kinds:
        return ""
    said = media_type(graph.text(thing, 100, "encodingFormat", "fileFormat"))
    return said.partition("/")[0] if said.startswith(("audio/", "video/")) else "" if said else otherwise


def _media_of(graph: Graph, elements: PageElements, thing: Thing, kind: str) -> list[Media]:
    width, height = side(graph.text(thing, 40, "width")), side(graph.text(thing, 40, "height"))
    length = parse_duration(graph.text(thing, 60, "duration"))
    found = []
    for name, role in (("contentUrl", kind), ("embedUrl", "player")):
        for value in graph.each(thing, name):
            if url := elements.address(address_of(value)):
                said = media_type(graph.text(thing, 100, "encodingFormat", "fileFormat")) if role == kind else ""
                part = Media(url=url, kind=role, media_type=said, width=width, height=height, seconds=length)
                found.append(part)
    return found
