"""Read page metadata from schema.org things.

The values come from the thing that the page is about (``main_entity``) and, where that has none, from the thing of
type ``WebPage``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from scoter.core.dates import parse_duration
from scoter.core.metadata import Author, Image, Media, Product
from scoter.parse.metadata import field_values as fields
from scoter.parse.metadata.graph import Graph, Thing, address_of, local, text_of, types_of
from scoter.parse.metadata.main_entity import is_customer_review, is_page, main_entity
from scoter.parse.metadata.page_elements import PageElements

LONGEST_PRICE: Final = 32
_LONGEST_VALUE: Final = 40  # of a language tag, a width or a height
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
        self._is_hidden = first_of_many  # JSON-LD is not part of the visible text
        self._thing, self.type = main_entity(graph, elements, first_of_many=first_of_many)
        if is_customer_review(self.type, elements.kind):
            self._thing, self.type = {}, ""
        elements.kind = elements.kind or self.type
        page = next((other for other in graph.things if is_page(other)), self._thing)
        self._things = [self._thing] if page is self._thing else [self._thing, page]

    @property
    def title(self) -> str:
        """The headline if readers see it; one that is written for search engines only comes last."""
        headline = self._text(fields.LONGEST_TITLE, "headline")
        if headline and (not self._is_hidden or self._elements.shows(headline)):
            return headline
        if name := self._graph.text(self._thing, fields.LONGEST_TITLE, "name", "title"):
            return name
        return (
            "" if headline and self._elements.title else self._text(fields.LONGEST_TITLE, "headline", "name", "title")
        )

    @property
    def description(self) -> str:
        return self._text(fields.LONGEST_DESCRIPTION, "description", "abstract")

    @property
    def image(self) -> Image | None:
        values = self._values("image", "primaryImageOfPage", "thumbnailUrl", "thumbnail", "photo")
        return next(filter(None, (image_of(self._graph, self._elements, value) for value in values)), None)

    @property
    def canonical(self) -> str:
        """The URL of the thing; one with a ``#`` is only an identifier within the page."""
        hrefs = map(address_of, self._values("url", "mainEntityOfPage"))
        return next(filter(None, (self._elements.address(href) for href in hrefs if "#" not in href)), "")

    @property
    def site_name(self) -> str:
        graph = self._graph
        for thing in graph.things:
            if "WebSite" in types_of(thing) and (name := graph.text(thing, fields.LONGEST_NAME, "name")):
                return name
        for thing in self._things:
            for part in graph.things_of(thing, "isPartOf"):
                if "WebSite" in types_of(part) and (name := graph.text(part, fields.LONGEST_NAME, "name")):
                    return name
            if (name := graph.text(thing, fields.LONGEST_NAME, "publisher")) and "://" not in name:
                return name
        return ""

    @property
    def authors(self) -> tuple[Author, ...]:
        for thing in self._things:
            for name in ("author", "creator", "byArtist"):
                if found := fields.authors(map(self._person, self._graph.each(thing, name))):
                    return found
        return ()

    @property
    def published(self) -> datetime | None:
        return fields.plausible_date(self._text(100, "datePublished", "uploadDate", "datePosted", "dateCreated"))

    @property
    def modified(self) -> datetime | None:
        return fields.plausible_date(self._text(100, "dateModified", "dateUpdated"))

    @property
    def language(self) -> str:
        names = ("alternateName", "name")
        said = (map(value.get, names) if isinstance(value, dict) else (value,) for value in self._values("inLanguage"))
        texts = (text_of(value, _LONGEST_VALUE) for values in said for value in values)
        return next(filter(None, map(fields.language, texts)), "")

    @property
    def keywords(self) -> tuple[str, ...]:
        values = self._graph.each(self._thing, "keywords", "articleSection")
        return fields.words(text_of(value, fields.LONGEST_DESCRIPTION) for value in values)

    @property
    def media(self) -> tuple[Media, ...]:
        return fields.distinct(media(self._graph, self._elements, self._thing))

    @property
    def license(self) -> str:
        hrefs = map(address_of, self._values("license"))
        # A name such as "CC BY 4.0" would be taken for a relative URL.
        places = (href for href in hrefs if href.lstrip()[:4].lower().startswith(("http", "/")))
        return next(filter(None, map(self._elements.address, places)), "")

    @property
    def product(self) -> Product | None:
        return product(self._graph, self._thing)

    def _values(self, *names: str) -> Iterator[object]:
        """Yield the values of these properties, first those of the main thing."""
        return (value for thing in self._things for name in names for value in self._graph.each(thing, name))

    def _text(self, longest: int, *names: str) -> str:
        return next(filter(None, (self._graph.text(thing, longest, *names) for thing in self._things)), "")

    def _person(self, value: object) -> Author:
        name = text_of(value, fields.LONGEST_NAME)
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
        url = elements.picture(value)
        return Image(url=url) if url else None
    if not isinstance(value, dict):
        return None
    hrefs = (
        href
        for name in ("contentUrl", "url", "@id")
        for inner in graph.each(value, name)
        if (href := address_of(inner)) and not (name == "@id" and "#" in href)
    )
    url = next(filter(None, map(elements.picture, hrefs)), "")
    alt = graph.text(value, fields.LONGEST_TITLE, "caption", "alternateName", "description")
    width, height = (graph.text(value, _LONGEST_VALUE, name) for name in ("width", "height"))
    return fields.image(url, alt, width, height)


def product(graph: Graph, thing: Thing) -> Product | None:
    """Return what the page sells: a product, or another thing with a price."""
    offer = _offer(graph, thing)
    price = graph.text(offer, LONGEST_PRICE, "price", "lowPrice", "highPrice")
    if not price and not any(kind.lower() in _PRODUCT_TYPES for kind in types_of(thing)):
        return None
    rating = next(iter(graph.things_of(thing, "aggregateRating")), {})
    # Many countries write 4,7 and 1.204: a rating has no thousands separator, and a count no fraction.
    value = graph.text(rating, fields.LONGEST_WORD, "ratingValue").replace(",", ".")
    counted = graph.text(rating, fields.LONGEST_WORD, "ratingCount", "reviewCount")
    count = fields.number(_THOUSANDS.sub("", counted), 1e12)
    found = Product(
        name=graph.text(thing, fields.LONGEST_TITLE, "name"),
        brand=graph.text(thing, fields.LONGEST_NAME, "brand", "manufacturer"),
        sku=graph.text(thing, fields.LONGEST_WORD, *_PRODUCT_NUMBERS),
        price=price,
        currency=_currency(graph.text(offer, LONGEST_PRICE, "priceCurrency")),
        availability=local(graph.text(offer, fields.LONGEST_WORD, "availability")),
        rating=fields.number(value, 1_000_000),
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


def media(graph: Graph, elements: PageElements, thing: Thing) -> Iterator[Media]:
    """Yield media files and players of the thing itself, of its parts, and of other things on the page."""
    held = [inner for name in _MEDIA_PROPERTIES for inner in graph.things_of(thing, name)]
    beside = [other for other in graph.things if other is not thing]
    own = _kind(graph, thing)
    for position, one in enumerate([thing, *held, *beside][:100]):
        # An unspecified file of an episode or film is its media; other things may have files of any sort.
        if kind := _kind(graph, one, own if position <= len(held) else ""):
            yield from _media_of(graph, elements, one, kind)


def _kind(graph: Graph, thing: Thing, otherwise: str = "") -> str:
    """Return ``audio`` or ``video`` for a media thing, or ``otherwise`` for a file of unknown type."""
    kinds = {kind.lower() for kind in types_of(thing)}
    if kinds & _AUDIO_TYPES:
        return "audio"
    if kinds & _VIDEO_TYPES:
        return "video"
    if "mediaobject" not in kinds:
        return ""
    said = fields.media_type(graph.text(thing, 100, "encodingFormat", "fileFormat"))
    return said.partition("/")[0] if said.startswith(("audio/", "video/")) else "" if said else otherwise


def _media_of(graph: Graph, elements: PageElements, thing: Thing, kind: str) -> Iterator[Media]:
    width, height = (fields.side(graph.text(thing, _LONGEST_VALUE, name)) for name in ("width", "height"))
    length = parse_duration(graph.text(thing, 60, "duration"))
    said = fields.media_type(graph.text(thing, 100, "encodingFormat", "fileFormat"))
    for name, role, media_type in (("contentUrl", kind, said), ("embedUrl", "player", "")):
        for value in graph.each(thing, name):
            if url := elements.address(address_of(value)):
                yield Media(url=url, kind=role, media_type=media_type, width=width, height=height, seconds=length)
