"""The Open Graph protocol: ``og:``, and the words it has for articles, books, music, videos and products."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from scoter.core.dates import parse_duration
from scoter.core.metadata import Image, Media, PageMetadata, Product
from scoter.parse.metadata.cleaning import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TITLE,
    LONGEST_WORD,
    clean,
    language,
    media_type,
    named,
    plausible_date,
    side,
    unmarked,
    words,
)
from scoter.parse.metadata.seen import Seen

MOST_MEDIA: Final = 10
_PRICES: Final = ("product:price:amount", "og:price:amount", "product:sale_price:amount")
_CURRENCIES: Final = ("product:price:currency", "og:price:currency", "product:sale_price:currency")
_FRAMED: Final = frozenset({"text/html", "application/xhtml+xml", "application/x-shockwave-flash"})


class _Group(Struct):
    """Tags that describe one picture, video or sound."""

    kind: str
    url: str = ""
    secure_url: str = ""
    type: str = ""
    width: str = ""
    height: str = ""
    alt: str = ""
    duration: str = ""


def claims(seen: Seen) -> PageMetadata:
    """Return what the page's OpenGraph tags say."""
    first, every = seen.first, seen.every
    groups = _groups(seen.groups) if seen.groups else []
    return PageMetadata(
        title=clean(first("og:title"), LONGEST_TITLE),
        description=unmarked(first("og:description"), LONGEST_DESCRIPTION),
        image=_image(seen, groups),
        canonical=seen.address(first("og:url")),
        site_name=clean(first("og:site_name", "og:site-name"), LONGEST_NAME),
        authors=named(every("article:author", "og:article:author", "book:author", "music:musician")),
        published=plausible_date(
            first("article:published_time", "og:article:published_time", "article:published", "og:published_time")
        )
        or plausible_date(first("book:release_date", "music:release_date", "video:release_date")),
        modified=plausible_date(first("article:modified_time", "og:article:modified_time", "og:updated_time")),
        language=language(first("og:locale")),
        type=clean(first("og:type"), LONGEST_WORD).lower(),
        keywords=words(every("article:tag", "og:article:tag", "video:tag", "book:tag")),
        media=_media(seen, groups),
        product=_product(seen),
    )


def _groups(tags: list[tuple[str, str]]) -> list[_Group]:
    """Part the tags of media: ``og:image`` begins a picture, and what follows belongs to it."""
    found: list[_Group] = []
    for name, value in tags:
        kind, _, part = name.removeprefix("og:").partition(":")
        part = part or "url"
        group = found[-1] if found else None
        if group is None or group.kind != kind or (part == "url" and group.url and value != group.url):
            found.append(group := _Group(kind))
        if part in _Group.__struct_fields__ and part != "kind" and not getattr(group, part):
            setattr(group, part, value)
    return found


def _where(seen: Seen, group: _Group) -> str:
    return seen.address(group.secure_url) or seen.address(group.url)


def _image(seen: Seen, groups: list[_Group]) -> Image | None:
    for group in groups:
        if group.kind == "image" and (url := _where(seen, group)):
            return Image(
                url=url,
                alt=clean(group.alt, LONGEST_TITLE),
                width=side(group.width),
                height=side(group.height),
                media_type=media_type(group.type),
            )
    return None


def _media(seen: Seen, groups: list[_Group]) -> tuple[Media, ...]:
    found: dict[str, Media] = {}
    for group in groups:
        if group.kind == "image" or not (url := _where(seen, group)) or len(found) >= MOST_MEDIA:
            continue
        kind = media_type(group.type)
        found.setdefault(
            url,
            Media(
                url=url,
                kind="player" if kind in _FRAMED else group.kind,
                media_type=kind,
                width=side(group.width),
                height=side(group.height),
                # These two stand beside the group, and speak of the one thing that the page is about.
                seconds=parse_duration(group.duration or seen.first("video:duration", "music:duration")),
            ),
        )
    return tuple(found.values())


def _product(seen: Seen) -> Product | None:
    first = seen.first
    price = clean(first(*_PRICES), 32)
    if not price and not first("og:type").lower().startswith(("product", "og:product")):
        return None
    return Product(
        name=clean(first("og:title"), LONGEST_TITLE),
        brand=clean(first("product:brand", "og:brand"), LONGEST_NAME),
        sku=clean(first("product:retailer_item_id", "product:sku", "product:mfr_part_no"), LONGEST_WORD),
        price=price,
        currency=clean(first(*_CURRENCIES), 8).upper(),
        availability=clean(first("product:availability", "og:availability"), LONGEST_WORD),
    )
