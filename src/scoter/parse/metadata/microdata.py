"""Microdata and RDFa Lite: properties in the attributes of visible elements."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborNode

from scoter.parse.html.elements import name_set
from scoter.parse.metadata.graph import Graph, local
from scoter.parse.metadata.main_entity import is_page
from scoter.parse.metadata.page_elements import (
    LONGEST_VALUE,
    MOST_CLIMBS,
    Attributes,
    PageElements,
    ancestors,
    visible_text,
)

MOST_PROPERTIES: Final = 1_000
"""Elements with properties read from a page."""
MOST_CHARACTERS: Final = 200_000
"""Characters of text read for them; with nested properties the total could be many times the page."""


_ADDRESSES: Final = name_set(
    "url image logo photo thumbnailUrl thumbnail contentUrl embedUrl license mainEntityOfPage sameAs",
    "primaryImageOfPage availability itemCondition",
)
_TEXTS: Final = name_set(
    "headline name title description abstract author creator byArtist publisher brand manufacturer",
    "datePublished dateCreated uploadDate datePosted dateModified dateUpdated inLanguage keywords",
    "articleSection duration encodingFormat width height caption sku mpn productID gtin gtin13 gtin14 gtin12",
    "gtin8 isbn price lowPrice highPrice minPrice priceCurrency ratingValue ratingCount reviewCount",
)
_THINGS: Final = name_set(
    "offers priceSpecification aggregateRating isPartOf mainEntity video audio associatedMedia encoding",
    "trailer hasVariant",
)
_WANTED: Final = _ADDRESSES | _TEXTS | _THINGS
# Terms of Drupal's RDFa and of Dublin Core, with their schema.org equivalents.
_OTHER_TERMS: Final = {
    "cc:license": "license",
    "dc:created": "datePublished",
    "dc:creator": "author",
    "dc:date": "datePublished",
    "dc:description": "description",
    "dc:modified": "dateModified",
    "dc:title": "name",
    "foaf:name": "name",
}
_OTHER_TYPES: Final = {"sioc:item": "WebPage", "foaf:document": "WebPage", "foaf:person": "Person"}


class ItemSyntax(Struct, frozen=True):
    """The attributes that hold items, their types and their properties."""

    scope: str
    type: str
    property: str
    prefixed: bool


MICRODATA: Final = ItemSyntax("itemscope", "itemtype", "itemprop", prefixed=False)
RDFA: Final = ItemSyntax("typeof", "typeof", "property", prefixed=True)


def graph(elements: PageElements, syntax: ItemSyntax) -> Graph:
    """Return the items of a page, nested as in its markup."""
    # Open Graph uses RDFa's property attribute too, so search for the rarer one.
    if not elements.find(f"[{syntax.scope if syntax.prefixed else syntax.property}]"):
        return Graph()
    return _ItemBuilder(elements, syntax).graph()


class _ItemBuilder:
    """Builds the items of one page."""

    def __init__(self, elements: PageElements, syntax: ItemSyntax) -> None:
        self._syntax = syntax
        self._properties = elements.find(f"[{syntax.property}]")[:MOST_PROPERTIES]
        self._items: dict[int, dict[str, Any]] = {}
        self._borrowed: dict[str, dict[str, Any]] = {}
        self._owners: dict[int, dict[str, Any] | None] = {}
        self._left = MOST_CHARACTERS
        for node in elements.find(f"[{syntax.scope}]")[:MOST_PROPERTIES]:
            self._begin(node)

    def graph(self) -> Graph:
        inner: set[int] = set()
        loose: dict[str, Any] = {"@type": "WebPage"}
        for node in self._properties:
            attributes = node.attributes
            names = self._names(attributes.get(self._syntax.property) or "")
            item = self._items.get(node.mem_id)
            owner = self._owner(node)
            if owner is None:
                # Properties outside of items, in the head, describe the page.
                if self._syntax.prefixed or node.tag not in ("meta", "link"):
                    continue
                owner = loose
            elif item is not None and not is_page(owner):
                inner.add(id(item))  # part of its owner, even if the property is not used
            for name in names:
                values = owner.setdefault(name, [])
                if isinstance(values, list) and len(values) < 50:
                    value = item if item is not None else self._value(node, attributes, name)
                    if value:
                        values.append(value)
                        inner.add(id(item))
        found = Graph([item for item in self._items.values() if id(item) not in inner])
        if len(loose) > 1:
            found.things.append(loose)
        return found

    def _begin(self, node: LexborNode) -> None:
        attributes = node.attributes
        item: dict[str, Any] = {"@type": self._types(attributes.get(self._syntax.type) or "")}
        name = attributes.get("itemid") or attributes.get("resource") or attributes.get("about")
        if name:
            item["@id"] = name
        self._items[node.mem_id] = item
        for part in (attributes.get("itemref") or "")[:500].split():
            self._borrowed.setdefault(part, item)

    def _types(self, text: str) -> list[str]:
        others = _OTHER_TYPES if self._syntax.prefixed else {}
        return [others.get(name.lower(), local(name)) for name in text[:500].split()]

    def _names(self, text: str) -> list[str]:
        names = text[:500].split()
        if self._syntax.prefixed:
            names = [_OTHER_TERMS.get(name.replace("dcterms:", "dc:"), name.removeprefix("schema:")) for name in names]
        names = [name.rpartition("schema.org/")[2] for name in names]
        return [name for name in names if name in _WANTED]

    def _owner(self, node: LexborNode) -> dict[str, Any] | None:
        """Return the item that a property belongs to: the nearest ancestor, or one that refers to it."""
        path: list[int] = []
        owner: dict[str, Any] | None = None
        for here in chain([node], ancestors(node, MOST_CLIMBS - 1)):
            number = here.mem_id
            if path and number in self._owners:
                owner = self._owners[number]
                break
            if path and number in self._items:
                owner = self._items[number]
                break
            if self._borrowed and (name := here.id) and (borrower := self._borrowed.get(name)) is not None:
                owner = borrower
                break
            path.append(number)
        # The first is the element itself, which may be an item for its descendants.
        for number in path[1:]:
            self._owners[number] = owner
        return owner

    def _value(self, node: LexborNode, attributes: Attributes, name: str) -> Any:
        content = attributes.get("content")
        if content:
            return content[:LONGEST_VALUE]
        tag = node.tag
        if name in _ADDRESSES:
            return self._address(tag or "", attributes) or self._text(node)
        if tag in ("link", "meter", "data"):
            return attributes.get("href") or attributes.get("value") or ""
        if tag == "time" and (when := attributes.get("datetime")):
            return when
        return self._text(node) if name in _TEXTS else ""

    def _address(self, tag: str, attributes: Attributes) -> Any:
        href = next(filter(None, map(attributes.get, ("href", "src", "data-src", "resource", "data"))), None)
        if tag != "img" or not href:
            return href
        sides = {name: value for name in ("width", "height") if (value := attributes.get(name))}
        return {"url": href, "caption": attributes.get("alt") or "", **sides}

    def _text(self, node: LexborNode) -> str:
        if self._left <= 0:
            return ""
        text = visible_text(node, LONGEST_VALUE)
        self._left -= len(text) + 1
        return text
