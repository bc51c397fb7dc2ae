"""One record of what a page says about itself: every source is asked, and the first that is believed is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser

from scoter.config import Config
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

# What is written to be shown elsewhere comes before what is written for machines, and that before what is found on the
# page. Of times and authors, schema.org's are the ones that publishers keep right; of language, the page's own.
_DEFAULT: Final = {
    "title": "opengraph twitter jsonld microdata rdfa microformats dublincore html meta",
    "description": "opengraph twitter meta jsonld microdata rdfa dublincore microformats content",
    "image": "opengraph twitter jsonld microdata rdfa link microformats meta content",
    "canonical": "link opengraph twitter jsonld microdata rdfa microformats dublincore",
    "site_name": "opengraph jsonld microdata rdfa meta dublincore",
    "authors": "jsonld microdata rdfa meta opengraph dublincore microformats html link twitter content",
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
    """For each field of the record, the sources in the order they are believed; one that is not named is not heard.

    >>> MetadataOptions.of_lines(["title=html,opengraph"]).order["title"]
    ('html', 'opengraph')
    """

    order: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=lambda: dict(DEFAULT_ORDER))

    @classmethod
    def of(cls, config: Config) -> MetadataOptions:
        """Return what the configuration says."""
        return cls.of_lines(config.parse.metadata_order)

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> MetadataOptions:
        """Return the built-in order, changed by lines such as ``title=jsonld,html``."""
        changed: dict[str, tuple[str, ...]] = {}
        for line in lines:
            name, sign, rest = line.partition("=")
            name = name.strip()
            sources = tuple(source.strip() for source in rest.split(",") if source.strip())
            if not sign or name not in DEFAULT_ORDER:
                raise _mistake(f"{line!r} names no field")
            if name in changed:
                raise _mistake(f"{name} has two orders")
            for source in sources:
                if source not in SOURCES:
                    raise _mistake(f"{line!r} names the source {source!r}, which there is not")
            changed[name] = sources
        return cls({**DEFAULT_ORDER, **changed})


def _mistake(what: str) -> ConfigError:
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
    "jsonld": lambda elements: _described(ldjson.graph(elements), elements, first_of_many=True),
    "microdata": lambda elements: _described(
        microdata.graph(elements, microdata.MICRODATA), elements, first_of_many=False
    ),
    "rdfa": lambda elements: _described(microdata.graph(elements, microdata.RDFA), elements, first_of_many=False),
    "dublincore": dublincore_claims,
    "microformats": microformats.claims,
    "link": linkrels.claims,
    "meta": plain_claims,
}
# What has to be looked for in the body is looked for a field at a time, and only when nobody else has it.
_LOOKS: Final[Mapping[tuple[str, str], Callable[[PageElements], object]]] = {
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
    """Reads what pages say about themselves, one after another; not to be shared among threads.

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
        """Return what a page says about itself; its tree is left as it is."""
        elements = PageElements(tree, self._selector, url, base, header_language, encoding)
        claims: dict[str, _Claims] = {}
        found: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for field, order in self._order:
            for source in order:
                value = _said(source, field, elements, claims)
                if value:
                    found[field] = value
                    sources[field] = source
                    break
        if "image" in found:
            found["image"] = _completed(found["image"], claims)
        return PageMetadata(**found, sources=sources)


def _described(graph: Graph, elements: PageElements, *, first_of_many: bool) -> _Claims:
    return SchemaClaims(graph, elements, first_of_many=first_of_many) if graph.things else _NOTHING


def _said(source: str, field: str, elements: PageElements, claims: dict[str, _Claims]) -> Any:
    claim = claims.get(source)
    if claim is None:
        ask = _CLAIMS.get(source)
        if ask is None:
            look = _LOOKS.get((source, field))
            return None if look is None else look(elements)
        claim = claims[source] = ask(elements)
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
