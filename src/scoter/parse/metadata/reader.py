"""One record of what a page says about itself: every source is asked, and the first that is believed is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import replace
from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser

from scoter.core.metadata import Image, PageMetadata
from scoter.core.url import Url
from scoter.parse.metadata import (
    body,
    bylines,
    dublincore,
    items,
    ldjson,
    linkrels,
    meta,
    microformats,
    opengraph,
    pictures,
    twitter,
)
from scoter.parse.metadata.graph import Graph
from scoter.parse.metadata.options import MetadataOptions
from scoter.parse.metadata.schema import SchemaClaims
from scoter.parse.metadata.seen import Seen

_NOTHING: Final = PageMetadata()
_Claims: TypeAlias = PageMetadata | SchemaClaims

_CLAIMS: Final[Mapping[str, Callable[[Seen], _Claims]]] = {
    "opengraph": opengraph.claims,
    "twitter": twitter.claims,
    "jsonld": lambda seen: _described(ldjson.graph(seen), seen, first_of_many=True),
    "microdata": lambda seen: _described(items.graph(seen, items.MICRODATA), seen, first_of_many=False),
    "rdfa": lambda seen: _described(items.graph(seen, items.RDFA), seen, first_of_many=False),
    "dublincore": dublincore.claims,
    "microformats": microformats.claims,
    "link": linkrels.claims,
    "meta": meta.claims,
}
# What has to be looked for in the body is looked for a field at a time, and only when nobody else has it.
_LOOKS: Final[Mapping[tuple[str, str], Callable[[Seen], object]]] = {
    ("html", "title"): body.title,
    ("html", "language"): body.declared_language,
    ("html", "authors"): body.people,
    ("html", "published"): body.published,
    ("html", "modified"): body.modified,
    ("html", "keywords"): body.tags,
    ("html", "media"): body.media,
    ("html", "license"): body.licence,
    ("content", "authors"): bylines.byline,
    ("content", "published"): bylines.dateline,
    ("content", "description"): body.opening,
    ("content", "image"): pictures.picture,
}


class MetadataReader:
    """Reads what pages say about themselves, one after another; not to be shared among threads.

    >>> from scoter.core.url import canonical
    >>> url = canonical("http://a.example/")
    >>> tree = LexborHTMLParser('<title>Seals</title><meta name="description" content="All of them">')
    >>> found = MetadataReader().read(tree, url, url)
    >>> found.title, found.description, dict(found.sources)
    ('Seals', 'All of them', {'title': 'html', 'description': 'meta'})
    """

    def __init__(self, options: MetadataOptions = MetadataOptions()) -> None:  # noqa: B008 - frozen
        self._order = tuple(options.order.items())
        self._selector = LexborCSSSelector()  # type: ignore[no-untyped-call]

    def read(
        self, tree: LexborHTMLParser, url: Url, base: Url, *, header_language: str = "", encoding: str = "utf-8"
    ) -> PageMetadata:
        """Return what a page says about itself; its tree is left as it is."""
        seen = Seen(tree, self._selector, url, base, header_language, encoding)
        claims: dict[str, _Claims] = {}
        found: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for field, order in self._order:
            for source in order:
                value = _said(source, field, seen, claims)
                if value:
                    found[field] = value
                    sources[field] = source
                    break
        if "image" in found:
            found["image"] = _completed(found["image"], claims)
        return PageMetadata(**found, sources=sources)


def _described(graph: Graph, seen: Seen, *, first_of_many: bool) -> _Claims:
    return SchemaClaims(graph, seen, first_of_many=first_of_many) if graph.things else _NOTHING


def _said(source: str, field: str, seen: Seen, claims: dict[str, _Claims]) -> Any:
    claim = claims.get(source)
    if claim is None:
        ask = _CLAIMS.get(source)
        if ask is None:
            look = _LOOKS.get((source, field))
            return None if look is None else look(seen)
        claim = claims[source] = ask(seen)
    return getattr(claim, field, None)


def _completed(image: Image, claims: Mapping[str, _Claims]) -> Image:
    """Return a picture with the words and sizes that other sources have for the same one."""
    for claim in claims.values():
        if image.alt and image.width and image.height:
            break
        other = claim.image
        if other is None or other.url != image.url:
            continue
        if other.width and other.height and not (image.width and image.height):
            image = replace(image, width=other.width, height=other.height)
        image = replace(image, alt=image.alt or other.alt, media_type=image.media_type or other.media_type)
    return image
