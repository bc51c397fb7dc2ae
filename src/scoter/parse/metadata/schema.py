"""From the things that a page describes in schema.org's words to what it says about itself.

``chosen`` finds the thing that the page is about. What that thing does not say may be said of the page, the thing of
kind ``WebPage``.
"""

from __future__ import annotations

from datetime import datetime

from scoter.core.metadata import Author, Image, Media, Product
from scoter.parse.metadata.chosen import chosen, is_customers, is_page
from scoter.parse.metadata.cleaning import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TITLE,
    authors,
    language,
    plausible_date,
    side,
    words,
)
from scoter.parse.metadata.commerce import product
from scoter.parse.metadata.graph import Graph, address_of, text_of, types_of
from scoter.parse.metadata.playing import media
from scoter.parse.metadata.seen import Seen


class SchemaClaims:
    """What the things of a page say about it: a property for each field, found when it is asked for.

    Of several things of the same kind the first is meant when ``first_of_many``, else none: in markup around what is
    shown, they are a list.
    """

    def __init__(self, graph: Graph, seen: Seen, *, first_of_many: bool) -> None:
        self._graph = graph
        self._seen = seen
        self._thing, self.type = chosen(graph, seen, first_of_many=first_of_many)
        if is_customers(self.type, seen.kind):
            self._thing, self.type = {}, ""
        seen.kind = seen.kind or self.type
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
                    if found := image_of(self._graph, self._seen, value):
                        return found
        return None

    @property
    def canonical(self) -> str:
        """The page's address as its thing has it; one with a ``#`` is a name within the page."""
        for thing in self._things:
            for value in (*self._graph.each(thing, "url"), *self._graph.each(thing, "mainEntityOfPage")):
                href = address_of(value)
                if "#" not in href and (url := self._seen.address(href)):
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
        return media(self._graph, self._seen, self._thing)

    @property
    def license(self) -> str:
        for thing in self._things:
            for value in self._graph.each(thing, "license"):
                href = address_of(value)
                # A name, such as "CC BY 4.0", would be taken for a relative address.
                if href.lstrip()[:8].lower().startswith(("http", "//", "/")) and (url := self._seen.address(href)):
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
                if "#" not in href and (url := self._seen.address(href)):
                    break
        return Author(name=name, url=url)


def image_of(graph: Graph, seen: Seen, value: object) -> Image | None:
    """Return a picture that is given by its address or as a thing."""
    if isinstance(value, str):
        url = seen.address(value)
        return Image(url=url) if url else None
    if not isinstance(value, dict):
        return None
    url = next(
        filter(
            None,
            (
                seen.address(address_of(inner))
                for name in ("contentUrl", "url", "@id")
                for inner in graph.each(value, name)
                if not (name == "@id" and "#" in address_of(inner))
            ),
        ),
        "",
    )
    if not url:
        return None
    return Image(
        url=url,
        alt=graph.text(value, LONGEST_TITLE, "caption", "alternateName", "description"),
        width=side(graph.text(value, 40, "width")),
        height=side(graph.text(value, 40, "height")),
    )
