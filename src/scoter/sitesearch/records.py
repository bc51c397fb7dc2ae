"""The records of the public search."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

LONGEST_QUERY: Final = 200
MOST_HITS: Final = 20


class SiteSearchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to search for, in the language of `scoter search`."""

    q: Annotated[str, Meta(min_length=1, max_length=LONGEST_QUERY)]
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] = 8
    offset: Annotated[int, Meta(ge=0, le=100)] = 0


class SiteHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page that matches. ``excerpt`` has parts of its text: every second one matches.

    ``url`` leads to the best section of the page, if it has an anchor; ``path`` are the headings down to it.
    """

    url: str
    title: str
    path: tuple[str, ...] = ()
    excerpt: tuple[str, ...] = ()


class SiteResults(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The best pages. ``total`` counts all pages that match.

    ``suggestion`` is a better spelling. If ``corrected``, nothing matched the query and the hits are those of the
    suggestion; if ``partial``, no page has all of the words. ``notices`` say what of the query did not mean what
    it seemed to.
    """

    query: str
    total: int
    hits: tuple[SiteHit, ...] = ()
    suggestion: str = ""
    corrected: bool = False
    partial: bool = False
    notices: tuple[str, ...] = ()
