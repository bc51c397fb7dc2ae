"""Twitter cards, whether their names stand in ``name`` or, as often, in ``property``."""

from __future__ import annotations

from scoter.core.metadata import Image, Media, PageMetadata
from scoter.parse.metadata.cleaning import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TITLE,
    clean,
    media_type,
    named,
    side,
    unmarked,
)
from scoter.parse.metadata.seen import Seen

NOTHING = PageMetadata()


def claims(seen: Seen) -> PageMetadata:
    """Return what the page's Twitter card says."""
    first = seen.first
    if not any(name.startswith("twitter:") for name in seen.metas):
        return NOTHING
    creator = clean(first("twitter:creator"), LONGEST_NAME)
    return PageMetadata(
        title=clean(first("twitter:title"), LONGEST_TITLE),
        description=unmarked(first("twitter:description"), LONGEST_DESCRIPTION),
        image=_image(seen),
        canonical=seen.address(first("twitter:url")),
        authors=named([creator]) if len(creator) > 1 else (),
        media=_media(seen),
    )


def _image(seen: Seen) -> Image | None:
    for name in ("twitter:image", "twitter:image:src", "twitter:image0", "twitter:image0:src"):
        url = seen.address(seen.first(name))
        if url:
            return Image(
                url=url,
                alt=clean(seen.first("twitter:image:alt"), LONGEST_TITLE),
                width=side(seen.first("twitter:image:width")),
                height=side(seen.first("twitter:image:height")),
            )
    return None


def _media(seen: Seen) -> tuple[Media, ...]:
    width, height = side(seen.first("twitter:player:width")), side(seen.first("twitter:player:height"))
    found = []
    if url := seen.address(seen.first("twitter:player")):
        found.append(Media(url=url, kind="player", width=width, height=height))
    if url := seen.address(seen.first("twitter:player:stream")):
        kind = media_type(seen.first("twitter:player:stream:content_type"))
        found.append(
            Media(
                url=url,
                kind="audio" if kind.startswith("audio/") else "video",
                media_type=kind,
                width=width,
                height=height,
            )
        )
    return tuple(found)
