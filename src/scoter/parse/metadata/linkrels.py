"""Metadata in ``link`` elements: canonical URL, icons, feeds, oEmbed, licence, authors and image."""

from __future__ import annotations

import re
from typing import Final

from scoter.core.metadata import Author, Embed, Feed, Image, PageMetadata
from scoter.parse.html.elements import name_set
from scoter.parse.metadata.field_values import LONGEST_NAME, authors, clean, media_type
from scoter.parse.metadata.page_elements import Attributes, PageElements

MOST_FEEDS: Final = 20
MOST_EMBEDS: Final = 10
# Not application/json, which sites use for the raw form of the page itself.
FEED_TYPES: Final = name_set("application/rss+xml application/atom+xml application/feed+json application/rdf+xml")
EMBED_TYPES: Final = name_set("application/json+oembed text/xml+oembed application/xml+oembed")
_APPLE: Final = frozenset({"apple-touch-icon", "apple-touch-icon-precomposed"})
_ICONS: Final = _APPLE | {"icon", "mask-icon", "fluid-icon"}
_SIZE: Final = re.compile(r"\b([1-9][0-9]{0,4})[xX×]([1-9][0-9]{0,4})\b")
# Assumed sides of icons without sizes: Apple's, scalable ones, and favicons.
_TOUCH, _SCALES, _PLAIN, _MASK = 180, 256, 16, 1


def claims(elements: PageElements) -> PageMetadata:
    """Return the metadata of the page's ``link`` elements."""
    canonical = licence = picture = ""
    icon: Image | None = None
    largest = (False, 0)
    feeds: dict[str, Feed] = {}
    embeds: dict[str, Embed] = {}
    people: list[Author] = []
    for rels, link in elements.links:
        if not canonical and "canonical" in rels:
            canonical = elements.address(link.get("href"))
        elif "alternate" in rels or "alternative" in rels or "feed" in rels:
            _alternate(elements, rels, link, feeds, embeds)
        elif not rels.isdisjoint(_ICONS):
            sides = _sides(link.get("sizes"))
            size = _size(rels, link, sides)
            if size > largest and (found := _icon(elements, link, sides)):
                icon, largest = found, size
        elif "license" in rels:
            licence = licence or elements.address(link.get("href"))
        elif "image_src" in rels:
            picture = picture or elements.picture(link.get("href"))
        elif "author" in rels:
            people.append(
                Author(name=clean(link.get("title") or "", LONGEST_NAME), url=elements.address(link.get("href")))
            )
    return PageMetadata(
        canonical=canonical,
        icon=icon,
        feeds=tuple(feeds.values()),
        embeds=tuple(embeds.values()),
        license=licence,
        image=Image(url=picture) if picture else None,
        authors=authors(people),
    )


def _alternate(
    elements: PageElements, rels: frozenset[str], link: Attributes, feeds: dict[str, Feed], embeds: dict[str, Embed]
) -> None:
    kind = media_type(link.get("type"))
    if kind in EMBED_TYPES:
        url = elements.address(link.get("href"))
        if url and len(embeds) < MOST_EMBEDS:
            embeds.setdefault(url, Embed(url=url, media_type=kind))
    elif kind in FEED_TYPES or ("feed" in rels and kind):
        url = elements.address(link.get("href"))
        if url and len(feeds) < MOST_FEEDS:
            title = clean(link.get("title") or "", LONGEST_NAME)
            feeds.setdefault(url, Feed(url=url, media_type=kind, title=title))


def _sides(sizes: str | None) -> tuple[int, int] | None:
    """Return the largest of the declared sizes of an icon."""
    declared = ((int(width), int(height)) for width, height in _SIZE.findall((sizes or "")[:500]))
    return max(declared, key=lambda sides: sides[0] * sides[1], default=None)


def _size(rels: frozenset[str], link: Attributes, sides: tuple[int, int] | None) -> tuple[bool, int]:
    """Return whether an icon declares its size, and its declared or usual size."""
    if "mask-icon" in rels:
        return False, _MASK  # monochrome: only if there is no other icon
    if sides is not None:
        return True, max(min(sides), _MASK + 1)
    if "any" in (link.get("sizes") or "").lower().split():
        return True, _SCALES
    if media_type(link.get("type")) == "image/svg+xml":
        return False, _SCALES
    return False, _PLAIN if rels.isdisjoint(_APPLE) else _TOUCH


def _icon(elements: PageElements, link: Attributes, sides: tuple[int, int] | None) -> Image | None:
    width, height = sides or (None, None)
    url = elements.address(link.get("href"))
    return Image(url=url, width=width, height=height, media_type=media_type(link.get("type"))) if url else None
