"""Plain ``meta`` elements: the names of the HTML standard, and those that many sites agree on."""

from __future__ import annotations

from typing import Final

from scoter.core.metadata import Image, PageMetadata
from scoter.parse.metadata.cleaning import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TITLE,
    clean,
    colour,
    language,
    named,
    plausible_date,
    unmarked,
    words,
)
from scoter.parse.metadata.seen import Seen

_PUBLISHED: Final = (
    *("citation_publication_date", "citation_date", "citation_online_date", "parsely-pub-date", "sailthru.date"),
    *("datepublished", "publish-date", "publish_date", "pubdate", "date", "article.published", "publication_date"),
)
_MODIFIED: Final = ("last-modified", "datemodified", "article.updated", "revised", "updated", "modified")


def claims(seen: Seen) -> PageMetadata:
    """Return what the page's plain meta elements say, and the header field that one of them stands for."""
    first, every = seen.first, seen.every
    image = seen.address(first("thumbnail", "image"))
    icon = seen.address(first("msapplication-tileimage"))
    return PageMetadata(
        title=clean(first("citation_title", "title", "parsely-title", "sailthru.title"), LONGEST_TITLE),
        description=unmarked(first("description"), LONGEST_DESCRIPTION),
        image=Image(url=image) if image else None,
        site_name=clean(first("application-name", "apple-mobile-web-app-title"), LONGEST_NAME),
        authors=named(
            every("citation_author") or every("author") or every("parsely-author") or every("sailthru.author")
        ),
        published=next(filter(None, (plausible_date(first(name)) for name in _PUBLISHED)), None),
        modified=next(filter(None, (plausible_date(first(name)) for name in _MODIFIED)), None),
        language=language(
            (first("content-language", "language", "citation_language") or seen.header_language).partition(",")[0]
        ),
        keywords=words(every("keywords", "news_keywords", "citation_keywords")),
        icon=Image(url=icon) if icon else None,
        theme_color=_colour(seen),
    )


def _colour(seen: Seen) -> str:
    """Return the theme's colour: the one for all screens, else the first."""
    for _, text in sorted(seen.colours, key=lambda found: found[0]):
        if found := colour(text):
            return found
    return colour(seen.first("msapplication-tilecolor"))
