"""Metadata in ``meta`` elements: Open Graph, Twitter cards, Dublin Core and plain names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from scoter.core.dates import parse_duration
from scoter.core.metadata import Image, Media, PageMetadata, Product
from scoter.parse.metadata import field_values as fields
from scoter.parse.metadata.page_elements import PageElements

_PRICES: Final = ("product:price:amount", "og:price:amount", "product:sale_price:amount")
_CURRENCIES: Final = ("product:price:currency", "og:price:currency", "product:sale_price:currency")
_FRAMED: Final = frozenset({"text/html", "application/xhtml+xml", "application/x-shockwave-flash"})
_DC_TERM: Final = re.compile(r"dc(?:terms)?[.:](.+)")
_DC_PUBLISHED: Final = ("issued", "date.issued", "date.published", "date.created", "created", "date", "available")
_DC_MODIFIED: Final = ("modified", "date.modified", "date.updated")
_NOTHING: Final = PageMetadata()
_PLAIN_PUBLISHED: Final = (
    *("citation_publication_date", "citation_date", "citation_online_date", "parsely-pub-date", "sailthru.date"),
    *("datepublished", "publish-date", "publish_date", "pubdate", "date", "article.published", "publication_date"),
)
_PLAIN_MODIFIED: Final = ("last-modified", "datemodified", "article.updated", "revised", "updated", "modified")


class OpenGraphMedia(Struct):
    """The tags of one image, video or audio file."""

    kind: str
    url: str = ""
    secure_url: str = ""
    type: str = ""
    width: str = ""
    height: str = ""
    alt: str = ""
    duration: str = ""


def opengraph_claims(elements: PageElements) -> PageMetadata:
    """Return the Open Graph metadata, also of its article, book, music, video and product types."""
    first, every = elements.first, elements.every
    groups = _media_groups(elements.groups) if elements.groups else []
    return PageMetadata(
        title=fields.title(first("og:title")),
        description=fields.description(first("og:description")),
        image=_opengraph_image(elements, groups),
        canonical=elements.address(first("og:url")),
        site_name=fields.name(first("og:site_name", "og:site-name")),
        authors=fields.split_authors(every("article:author", "og:article:author", "book:author", "music:musician")),
        published=fields.plausible_date(
            first("article:published_time", "og:article:published_time", "article:published", "og:published_time")
        )
        or fields.plausible_date(first("book:release_date", "music:release_date", "video:release_date")),
        modified=fields.plausible_date(first("article:modified_time", "og:article:modified_time", "og:updated_time")),
        language=fields.language(first("og:locale")),
        type=fields.word(first("og:type")).lower(),
        keywords=fields.words(every("article:tag", "og:article:tag", "video:tag", "book:tag")),
        media=fields.distinct(_opengraph_media(elements, groups)),
        product=_opengraph_product(elements),
    )


def _media_groups(tags: list[tuple[str, str]]) -> list[OpenGraphMedia]:
    """Group the tags of media: ``og:image`` begins an image, and the tags that follow belong to it."""
    found: list[OpenGraphMedia] = []
    for name, value in tags:
        kind, _, part = name.removeprefix("og:").partition(":")
        part = part or "url"
        group = found[-1] if found else None
        if group is None or group.kind != kind or (part == "url" and group.url and value != group.url):
            found.append(group := OpenGraphMedia(kind))
        if part in OpenGraphMedia.__struct_fields__ and part != "kind" and not getattr(group, part):
            setattr(group, part, value)
    return found


def _media_address(elements: PageElements, group: OpenGraphMedia) -> str:
    return elements.address(group.secure_url) or elements.address(group.url)


def _opengraph_image(elements: PageElements, groups: list[OpenGraphMedia]) -> Image | None:
    for group in groups:
        if group.kind == "image" and (url := elements.picture(group.secure_url) or elements.picture(group.url)):
            return fields.image(url, group.alt, group.width, group.height, group.type)
    return None


def _opengraph_media(elements: PageElements, groups: list[OpenGraphMedia]) -> Iterator[Media]:
    for group in groups:
        if group.kind != "image" and (url := _media_address(elements, group)):
            kind = fields.media_type(group.type)
            yield Media(
                url=url,
                kind="player" if kind in _FRAMED else group.kind,
                media_type=kind,
                width=fields.side(group.width),
                height=fields.side(group.height),
                # These two are outside the group and describe the subject of the page.
                seconds=parse_duration(group.duration or elements.first("video:duration", "music:duration")),
            )


def _opengraph_product(elements: PageElements) -> Product | None:
    first = elements.first
    price = fields.clean(first(*_PRICES), 32)
    if not price and not first("og:type").lower().startswith(("product", "og:product")):
        return None
    return Product(
        name=fields.title(first("og:title")),
        brand=fields.name(first("product:brand", "og:brand")),
        sku=fields.word(first("product:retailer_item_id", "product:sku", "product:mfr_part_no")),
        price=price,
        currency=fields.clean(first(*_CURRENCIES), 8).upper(),
        availability=fields.word(first("product:availability", "og:availability")),
    )


def twitter_claims(elements: PageElements) -> PageMetadata:
    """Return the metadata of the Twitter card, whose names may be in ``name`` or ``property``."""
    first = elements.first
    if not any(name.startswith("twitter:") for name in elements.metas):
        return _NOTHING
    creator = fields.name(first("twitter:creator"))
    return PageMetadata(
        title=fields.title(first("twitter:title")),
        description=fields.description(first("twitter:description")),
        image=_twitter_image(elements),
        canonical=elements.address(first("twitter:url")),
        authors=fields.split_authors([creator]) if len(creator) > 1 else (),
        media=tuple(_twitter_media(elements)),
    )


def _twitter_image(elements: PageElements) -> Image | None:
    for name in ("twitter:image", "twitter:image:src", "twitter:image0", "twitter:image0:src"):
        if url := elements.picture(elements.first(name)):
            alt, width, height = (elements.first(f"twitter:image:{part}") for part in ("alt", "width", "height"))
            return fields.image(url, alt, width, height)
    return None


def _twitter_media(elements: PageElements) -> Iterator[Media]:
    width, height = (fields.side(elements.first(f"twitter:player:{name}")) for name in ("width", "height"))
    if url := elements.address(elements.first("twitter:player")):
        yield Media(url=url, kind="player", width=width, height=height)
    if url := elements.address(elements.first("twitter:player:stream")):
        said = fields.media_type(elements.first("twitter:player:stream:content_type"))
        kind = "audio" if said.startswith("audio/") else "video"
        yield Media(url=url, kind=kind, media_type=said, width=width, height=height)


def dublincore_claims(elements: PageElements) -> PageMetadata:
    """Return the Dublin Core metadata: ``DC.title``, ``dcterms.created`` and their qualified forms."""
    terms: dict[str, list[str]] = {}
    for name, values in elements.metas.items():
        if name[:2] == "dc" and (term := _DC_TERM.fullmatch(name)) is not None:
            terms.setdefault(term[1], []).extend(values)
    if not terms:
        return _NOTHING

    def first(*names: str) -> str:
        return next((terms[name][0] for name in names if name in terms), "")

    return PageMetadata(
        title=fields.title(first("title", "title.main")),
        description=fields.description(first("description", "description.abstract", "abstract")),
        canonical=_web_address(elements, first("identifier", "identifier.uri", "identifier.url")),
        site_name=fields.name(first("publisher")),
        authors=fields.split_authors([*terms.get("creator", ()), *terms.get("creator.personalname", ())]),
        published=fields.first_date(map(first, _DC_PUBLISHED)),
        modified=fields.first_date(map(first, _DC_MODIFIED)),
        language=fields.language(first("language", "language.iso")),
        type=fields.word(first("type")),
        keywords=fields.words([*terms.get("subject", ()), *terms.get("subject.keywords", ())]),
        license=_web_address(elements, first("license", "rights.license", "rights.uri", "rights")),
    )


def _web_address(elements: PageElements, text: str) -> str:
    """Return a text if it is a web URL; identifiers and rights are often other texts."""
    return elements.address(text) if text.lstrip()[:8].lower().startswith(("http://", "https://")) else ""


def plain_claims(elements: PageElements) -> PageMetadata:
    """Return the metadata of names in the HTML standard or in common use, and of the Content-Language header."""
    first, every = elements.first, elements.every
    picture = elements.picture(first("thumbnail", "image"))
    icon = elements.address(first("msapplication-tileimage"))
    return PageMetadata(
        title=fields.title(first("citation_title", "title", "parsely-title", "sailthru.title")),
        description=fields.description(first("description")),
        image=Image(url=picture) if picture else None,
        site_name=fields.name(first("application-name", "apple-mobile-web-app-title", "publisher")),
        authors=fields.split_authors(
            every("citation_author") or every("author") or every("parsely-author") or every("sailthru.author")
        ),
        published=fields.first_date(map(first, _PLAIN_PUBLISHED)),
        modified=fields.first_date(map(first, _PLAIN_MODIFIED)),
        language=fields.language(
            (first("content-language", "language", "citation_language") or elements.header_language).partition(",")[0]
        ),
        keywords=fields.words(every("keywords", "news_keywords", "citation_keywords")),
        icon=Image(url=icon) if icon else None,
        theme_color=_theme_colour(elements),
    )


def _theme_colour(elements: PageElements) -> str:
    """Return the theme colour without a media query, or else the first one."""
    texts = [text for _, text in sorted(elements.colours, key=lambda found: found[0])]
    return next(filter(None, map(fields.colour, (*texts, elements.first("msapplication-tilecolor")))), "")
