"""Read the metadata of a page: for each field, take the value of the first source that has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser

from scoter.core.metadata import Image, PageMetadata
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.parse.metadata import body, bylines, ldjson, linkrels, microdata, microformats
from scoter.parse.metadata.graph import Graph
from scoter.parse.metadata.meta_tags import dublincore_claims, opengraph_claims, plain_claims, twitter_claims
from scoter.parse.metadata.page_elements import PageElements
from scoter.parse.metadata.schema import SchemaClaims

SOURCES: Final = (
    *("opengraph", "twitter", "jsonld", "microdata", "rdfa", "dublincore", "microformats"),
    *("link", "meta", "html", "content"),
)

# Values meant for previews come before those meant for machines, and those before values found in the content. Dates
# and authors are most reliable in schema.org, the language in the page's own markup. A byline says more than the
# author's handle on Twitter.
_DEFAULT: Final = {
    "title": "opengraph twitter jsonld microdata rdfa microformats dublincore html meta",
    "description": "opengraph twitter meta jsonld microdata rdfa dublincore microformats content",
    "image": "opengraph twitter jsonld microdata rdfa link microformats meta content",
    "canonical": "link opengraph twitter jsonld microdata rdfa microformats dublincore",
    "site_name": "opengraph jsonld microdata rdfa meta dublincore",
    "authors": "jsonld microdata rdfa meta opengraph dublincore microformats html link content twitter",
    "published": "jsonld opengraph microdata rdfa meta dublincore microformats html content",
    "modified": "jsonld opengraph microdata rdfa meta dublincore microformats html",
    "language": "html jsonld opengraph microdata rdfa dublincore meta",
    "type": "opengraph jsonld microdata rdfa microformats dublincore",
    "keywords": "meta jsonld opengraph microdata rdfa dublincore microformats html",
    "icon": "link meta",
    "theme_color": "meta",
    "media": "opengraph twitter jsonld microdata rdfa html",
    "embeds": "link",
    "feeds": "link",
    "license": "link jsonld microdata rdfa dublincore html",
    "product": "jsonld microdata rdfa opengraph microformats",
}
DEFAULT_ORDER: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {name: tuple(sources.split()) for name, sources in _DEFAULT.items()}
)
FIELDS: Final = tuple(DEFAULT_ORDER)


class MetadataOptions(Struct, frozen=True):
    """For each field, the sources in order of precedence; sources not listed are ignored.

    >>> MetadataOptions.of_lines(["title=html,opengraph"]).order["title"]
    ('html', 'opengraph')
    """

    order: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=lambda: dict(DEFAULT_ORDER))

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> MetadataOptions:
        """Return the default order, changed by lines such as ``title=jsonld,html``."""
        changed: dict[str, tuple[str, ...]] = {}
        for line in lines:
            name, sign, rest = line.partition("=")
            name = name.strip()
            sources = tuple(source.strip() for source in rest.split(",") if source.strip())
            if not sign or name not in DEFAULT_ORDER:
                raise _error(f"{line!r} does not name a metadata field")
            if name in changed:
                raise _error(f"{name} is listed twice")
            for source in sources:
                if source not in SOURCES:
                    raise _error(f"{line!r}: {source!r} is not a metadata source")
            changed[name] = sources
        return cls({**DEFAULT_ORDER, **changed})


def _error(what: str) -> ConfigError:
    return ConfigError(
        what,
        where="parse.metadata_order",
        hint=f"Write field=source,source. Fields: {', '.join(FIELDS)}. Sources: {', '.join(SOURCES)}.",
    )


_NOTHING: Final = PageMetadata()
_Claims: TypeAlias = PageMetadata | SchemaClaims

_CLAIMS: Final[Mapping[str, Callable[[PageElements], _Claims]]] = {
    "opengraph": opengraph_claims,
    "twitter": twitter_claims,
    "jsonld": lambda elements: _schema_claims(ldjson.graph(elements), elements, first_of_many=True),
    "microdata": lambda elements: _schema_claims(
        microdata.graph(elements, microdata.MICRODATA), elements, first_of_many=False
    ),
    "rdfa": lambda elements: _schema_claims(microdata.graph(elements, microdata.RDFA), elements, first_of_many=False),
    "dublincore": dublincore_claims,
    "microformats": microformats.claims,
    "link": linkrels.claims,
    "meta": plain_claims,
}
# Searching the body is expensive: it is done for single fields, and only if no other source has a value.
_SEARCHES: Final[Mapping[tuple[str, str], Callable[[PageElements], object]]] = {
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
    ("content", "image"): body.picture,
}


class PageMetadataReader:
    """Reads the metadata of pages, one after another. Not thread-safe.

    >>> from scoter.core.url import canonical
    >>> url = canonical("http://a.example/")
    >>> tree = LexborHTMLParser('<title>Seals</title><meta name="description" content="All of them">')
    >>> found = PageMetadataReader().read(tree, url, url)
    >>> found.title, found.description, dict(found.sources)
    ('Seals', 'All of them', {'title': 'html', 'description': 'meta'})
    """

    def __init__(self, options: MetadataOptions = MetadataOptions()) -> None:  # noqa: B008 - frozen
        self._order = tuple(options.order.items())
        self._selector = LexborCSSSelector()  # type: ignore[no-untyped-call]

    def read(
        self, tree: LexborHTMLParser, url: Url, base: Url, *, header_language: str = "", encoding: str = "utf-8"
    ) -> PageMetadata:
        """Return the metadata of a page; the tree is not changed."""
        elements = PageElements(tree, self._selector, url, base, header_language, encoding)
        claims: dict[str, _Claims] = {}
        found: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for field, order in self._order:
            for source in order:
                value = _value(source, field, elements, claims)
                if value:
                    found[field] = value
                    sources[field] = source
                    break
        if "image" in found:
            found["image"] = _complete(found["image"], claims, elements)
        return PageMetadata(**found, sources=sources)


def _schema_claims(graph: Graph, elements: PageElements, *, first_of_many: bool) -> _Claims:
    return SchemaClaims(graph, elements, first_of_many=first_of_many) if graph.things else _NOTHING


def _value(source: str, field: str, elements: PageElements, claims: dict[str, _Claims]) -> Any:
    if source not in _CLAIMS:
        search = _SEARCHES.get((source, field))
        return None if search is None else search(elements)
    if source not in claims:
        claims[source] = _CLAIMS[source](elements)
    return getattr(claims[source], field, None)


def _complete(image: Image, claims: Mapping[str, _Claims], elements: PageElements) -> Image:
    """Add the alt text, size and type that other sources have for the same image."""
    for claim in claims.values():
        if image.alt and image.width and image.height:
            break
        other = claim.image
        if other is None or other.url != image.url:
            continue
        if other.width and other.height and not (image.width and image.height):
            image = replace(image, width=other.width, height=other.height)
        image = replace(image, alt=image.alt or other.alt, media_type=image.media_type or other.media_type)
    if not (image.width and image.height) and (sides := body.shown_size(elements, image.url)) is not None:
        image = replace(image, width=sides[0], height=sides[1])
    return image
