"""The query language of ``scoter search``.

grey seals              pages with both words, in any form
"grey seals"            the phrase
seals -zoo              without a word; also -"a phrase" and -site:example.org
intitle:seals           in the title; also intitle:"grey seals"
inurl:blog              in the address
site:example.org        on a domain or host, and the hosts below it
host:www.example.org    on exactly this host
lang:de                 in a language
type:pdf                of a content type, or a part of one
after:2026-01-01 before:2026-03    by date
sort:date               newest first
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

import regex  # type: ignore[import-untyped]
from msgspec import Struct

from scoter.core.dates import parse_date
from scoter.errors import UsageError, did_you_mean

LONGEST_QUERY: Final = 1_000
MOST_TERMS: Final = 32

_FIELDS: Final = ("intitle", "inurl", "site", "host", "lang", "type", "after", "before", "sort")
_TOKEN: Final = regex.compile(r'(-)?(?:([a-z]+):)?(?:"([^"]*)"?|([^\s"]+)|(?<=:))', regex.V1)
_MONTH: Final = regex.compile(r"(\d{4})(?:-(\d{2}))?", regex.V1)


class QueryTerm(Struct, frozen=True):
    """A word or phrase, and where it must occur: ``any``, ``title`` or ``url``."""

    text: str
    place: Literal["any", "title", "url"] = "any"
    phrase: bool = False
    excluded: bool = False


class QueryFilter(Struct, frozen=True):
    """A restriction by ``site``, ``host``, ``lang`` or ``type``."""

    field: str
    value: str
    excluded: bool = False


class SearchQuery(Struct, frozen=True, kw_only=True):
    """A query, parsed."""

    terms: tuple[QueryTerm, ...] = ()
    filters: tuple[QueryFilter, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    by_date: bool = False
    restrictions: tuple[str, ...] = ()
    """The filters and dates, as they were typed."""

    @property
    def words(self) -> tuple[QueryTerm, ...]:
        """The terms that a page must have."""
        return tuple(term for term in self.terms if not term.excluded)


def parse_search(text: str) -> SearchQuery:
    """Parse a query.

    >>> [term.text for term in parse_search('"grey seals" lang:en').terms]
    ['grey seals']
    """
    if len(text) > LONGEST_QUERY:
        raise UsageError(
            f"the query has {len(text):,} characters; at most {LONGEST_QUERY:,} are allowed",
            hint="Search for a few words of the page.",
        )
    text = text.encode("utf-8", "replace").decode().replace("\0", " ")  # arguments may have lone surrogates
    terms: list[QueryTerm] = []
    typed: list[str] = []
    filters: list[QueryFilter] = []
    after = before = None
    by_date = False
    for found in _TOKEN.finditer(text):
        minus, field, quoted, bare = found.groups()
        value = (quoted or bare or "").strip()
        if field and field not in _FIELDS:
            if quoted is None and not did_you_mean(field, _FIELDS):
                value, field = f"{field}:{value}", None  # such as a time or an address
            else:
                raise UsageError(
                    f"{field}: is not a search field{did_you_mean(field, _FIELDS)}",
                    hint=f"Fields: {', '.join(_FIELDS)}",
                )
        if not value:
            continue
        if field and field not in ("intitle", "inurl", "sort"):
            typed.append(found[0])
        match field:
            case None | "intitle" | "inurl":
                place: Literal["any", "title", "url"] = (
                    "any" if field is None else "title" if field == "intitle" else "url"
                )
                terms.append(QueryTerm(value, place, quoted is not None, bool(minus)))
            case "after":
                after = _moment(value, field)
            case "before":
                before = _moment(value, field)
            case "sort":
                if value not in ("date", "score"):
                    raise UsageError(f"cannot sort by {value!r}", hint="Use sort:date or sort:score.")
                by_date = value == "date"
            case _:
                filters.append(QueryFilter(field, value.lower(), bool(minus)))
    if len(terms) + len(filters) > MOST_TERMS:
        raise UsageError(f"the query has more than {MOST_TERMS} terms", hint="Search for a few words of the page.")
    is_positive = any(not term.excluded for term in terms) or any(not each.excluded for each in filters)
    if not is_positive and after is None and before is None:
        raise UsageError("the query has nothing to search for", hint="Give at least one word, or a field such as site:")
    return SearchQuery(
        terms=tuple(terms),
        filters=tuple(filters),
        after=after,
        before=before,
        by_date=by_date,
        restrictions=tuple(typed),
    )


def _moment(text: str, field: str) -> datetime:
    """Return a date; a year or a month stands for its beginning."""
    short = _MONTH.fullmatch(text)
    found = None
    if short:
        month = int(short[2] or 1)
        found = datetime(int(short[1]), month, 1, tzinfo=UTC) if 1 <= month <= 12 and int(short[1]) else None
    else:
        found = parse_date(text)
    if found is None:
        raise UsageError(f"{text!r} is not a date", where=f"{field}:", hint="Write it as 2026-11-15, 2026-11 or 2026.")
    return found
