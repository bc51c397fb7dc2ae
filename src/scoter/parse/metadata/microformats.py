"""Microformats: ``h-entry``, ``h-product`` and ``h-card``, and the older hAtom that many blog themes still use."""

from __future__ import annotations

from typing import Final

from selectolax.lexbor import LexborNode

from scoter.core.metadata import Author, Image, PageMetadata, Product
from scoter.parse.metadata import field_values as fields
from scoter.parse.metadata.page_elements import MOST_CLIMBS, PageElements, ancestors, visible_text

_NOTHING: Final = PageMetadata()
MOST_NODES: Final = 200

_ROOTS: Final = {"h-entry": "h-entry", "hentry": "h-entry", "h-product": "h-product"}
_CLASSES: Final = {
    "name": "p-name entry-title fn",
    "summary": "p-summary entry-summary p-description e-description",
    "published": "dt-published published",
    "updated": "dt-updated updated",
    "author": "p-author author",
    "category": "p-category",
    "photo": "u-photo u-featured",
    "url": "u-url",
    "brand": "p-brand",
    "price": "p-price",
    "sku": "u-identifier",
}
_PROPERTIES: Final = {name: meaning for meaning, names in _CLASSES.items() for name in names.split()}
_CARDS: Final = frozenset({"h-card", "vcard"})
_QUERY: Final = ",".join(f".{name}" for name in _PROPERTIES)
_ROOT_QUERY: Final = ",".join(f".{name}" for name in _ROOTS)


def claims(elements: PageElements) -> PageMetadata:
    """Return the metadata of the only entry or product; several of them are a list of other pages."""
    roots = [node for node in elements.some(_ROOT_QUERY, MOST_NODES) if not _inside(node, frozenset(_ROOTS), None)]
    if not roots:
        return _NOTHING
    found = [(root, _properties(elements, root)) for root in roots[:20]]
    if len(roots) > 1:
        found = [
            (root, said) for root, said in found if any(elements.is_here(_href(node)) for node in said.get("url", ()))
        ]
    if len(found) != 1:
        return _NOTHING
    root, said = found[0]
    kind = next(_ROOTS[name] for name in _classes(root) if name in _ROOTS)
    title = _text(said, "name", fields.LONGEST_TITLE)
    photo = next(filter(None, (_image(elements, node) for node in said.get("photo", ()))), None)
    return PageMetadata(
        title=title,
        description=_text(said, "summary", fields.LONGEST_DESCRIPTION),
        image=photo,
        canonical=next(filter(None, (elements.address(_href(node)) for node in said.get("url", ()))), ""),
        authors=fields.authors(_person(elements, node) for node in said.get("author", ())) or _only_card(elements),
        published=fields.plausible_date(_when(said, "published")),
        modified=fields.plausible_date(_when(said, "updated")),
        type=kind,
        keywords=fields.words(visible_text(node, 1_000) for node in said.get("category", ())),
        product=_product(said, title) if kind == "h-product" else None,
    )


def _properties(elements: PageElements, root: LexborNode) -> dict[str, list[LexborNode]]:
    """Return the elements of an entry by property, without those of cards and entries inside it."""
    found: dict[str, list[LexborNode]] = {}
    for node in elements.some(_QUERY, MOST_NODES, root):
        if node.mem_id == root.mem_id or _inside(node, _CARDS | frozenset(_ROOTS), root):
            continue
        for name in _classes(node):
            if name in _PROPERTIES:
                found.setdefault(_PROPERTIES[name], []).append(node)
    return found


def _inside(node: LexborNode, classes: frozenset[str], end: LexborNode | None) -> bool:
    """Tell whether an element is inside one with these classes, looking no further than ``end``."""
    for depth, parent in enumerate(ancestors(node), start=1):
        if end is not None and parent.mem_id == end.mem_id:
            return False
        if depth == MOST_CLIMBS or not classes.isdisjoint(_classes(parent)):
            return True
    return False


def _classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "")[:2_000].split()


def _text(said: dict[str, list[LexborNode]], name: str, longest: int) -> str:
    nodes = said.get(name, ())
    texts = (_shown(node, 4 * longest, "value", "title", "alt")[: 4 * longest] for node in nodes)
    return next(filter(None, (fields.clean(text, longest) for text in texts)), "")


def _when(said: dict[str, list[LexborNode]], name: str) -> str:
    texts = (_shown(node, 200, "datetime", "title", "value") for node in said.get(name, ()))
    return next(filter(None, texts), "")


def _shown(node: LexborNode, longest: int, *names: str) -> str:
    """Return the first of these attributes that has a value, or else the text."""
    attributes = node.attributes
    return next(filter(None, map(attributes.get, names)), None) or visible_text(node, longest)


def _href(node: LexborNode) -> str:
    attributes = node.attributes
    return attributes.get("href") or attributes.get("src") or ""


def _image(elements: PageElements, node: LexborNode) -> Image | None:
    attributes = node.attributes
    url = elements.picture(_href(node) or attributes.get("data-src"))
    return fields.image(url, attributes.get("alt"), attributes.get("width"), attributes.get("height"))


def _person(elements: PageElements, node: LexborNode) -> Author:
    """Return an author from a card or a plain name."""
    name = next(iter(elements.find(".p-name,.fn", node)), node)
    links = [node, *elements.some(".u-url,.url,a[href]", 3, node)]
    url = next(filter(None, (elements.address(_href(link)) for link in links)), "")
    return Author(name=fields.name(visible_text(name, 4 * fields.LONGEST_NAME)), url=url)


def _only_card(elements: PageElements) -> tuple[Author, ...]:
    cards = elements.find(".h-card")
    return fields.authors([_person(elements, cards[0])]) if len(cards) == 1 else ()


def _product(said: dict[str, list[LexborNode]], title: str) -> Product | None:
    price = _text(said, "price", 32)
    return Product(
        name=title,
        brand=_text(said, "brand", fields.LONGEST_NAME),
        sku=_text(said, "sku", fields.LONGEST_WORD),
        price="" if fields.number(price, 1e12) is None else price,
    )
