"""What a thing of schema.org is sold for."""

from __future__ import annotations

import re
from typing import Final

from scoter.core.metadata import Product
from scoter.parse.metadata.cleaning import LONGEST_NAME, LONGEST_TITLE, LONGEST_WORD, number
from scoter.parse.metadata.graph import Graph, Thing, local, types_of

LONGEST_PRICE: Final = 32
_PRODUCTS: Final = frozenset(
    ("product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle", "car", "motorcycle")
)
_NUMBERS: Final = ("sku", "mpn", "productID", "gtin", "gtin13", "gtin14", "gtin12", "gtin8", "isbn")
_THOUSANDS: Final = re.compile(r"(?<=[0-9])[.\s](?=[0-9]{3}(?![0-9]))")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def product(graph: Graph, thing: Thing) -> Product | None:
    """Return what the page sells: a product, or another thing for which a price is asked."""
    offer = _offer(graph, thing)
    price = graph.text(offer, LONGEST_PRICE, "price", "lowPrice", "highPrice")
    if not price and not any(kind.lower() in _PRODUCTS for kind in types_of(thing)):
        return None
    rating = next(iter(graph.things_of(thing, "aggregateRating")), {})
    # Much of the world writes 4,7 of 1.204: a rating has no thousands, and a count no fractions.
    value = graph.text(rating, LONGEST_WORD, "ratingValue").replace(",", ".")
    count = number(_THOUSANDS.sub("", graph.text(rating, LONGEST_WORD, "ratingCount", "reviewCount")), 1e12)
    found = Product(
        name=graph.text(thing, LONGEST_TITLE, "name"),
        brand=graph.text(thing, LONGEST_NAME, "brand", "manufacturer"),
        sku=graph.text(thing, LONGEST_WORD, *_NUMBERS),
        price=price,
        currency=_currency(graph.text(offer, LONGEST_PRICE, "priceCurrency")),
        availability=local(graph.text(offer, LONGEST_WORD, "availability")),
        rating=number(value, 1_000_000),
        ratings=None if count is None else int(count),
    )
    return None if found == Product() else found


def _offer(graph: Graph, thing: Thing) -> Thing:
    """Return the first offer with a price; a price may stand one step further, in a specification or a variant."""
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
