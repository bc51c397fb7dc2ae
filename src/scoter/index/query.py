"""The query language of ``scoter search``.

grey seals              pages with both words, in any form
"grey seals"            the phrase, exactly
git branch -D --onto    options, and other words with symbols: C++, .NET, open(), ~/.bashrc
seals -zoo              without a word; also -"a phrase" and -site:example.org
intitle:seals           in the title; also intitle:"grey seals"
inurl:blog              in the address
site:example.org        on a domain or host, and the hosts below it
site:example.org/blog   below a path
host:www.example.org    on exactly this host
lang:de                 in a language
filetype:pdf            of a type of file; also ext:pdf, and type: for a content type or a part of one
after:2026-01-01 before:2026-03    by date
sort:date               newest first
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, Literal

import regex  # type: ignore[import-untyped]
from msgspec import Struct, field

from scoter.core.dates import parse_date
from scoter.errors import UsageError, did_you_mean

LONGEST_QUERY: Final = 1_000
MOST_TERMS: Final = 32

_FIELDS: Final = ("intitle", "inurl", "site", "host", "lang", "type", "filetype", "after", "before", "sort")
_OTHER_NAMES: Final = {"ext": "filetype", "title": "intitle", "url": "inurl", "language": "lang"}
_ELSEWHERE: Final = {
    "allintitle": "write intitle: before each word",
    "allinurl": "write inurl: before each word",
    "allintext": "words are searched in texts anyway",
    "intext": "words are searched in texts anyway",
    "daterange": "use after: and before:",
    "date": "use after: and before:",
    "author": "",
    "cache": "",
    "define": "",
    "inanchor": "",
    "info": "",
    "link": "",
    "related": "",
}
"""Operators of other search engines, and what to write instead."""
# Minus signs directly behind a quotation mark mean nothing.
_TOKEN: Final = regex.compile(
    r'(?:(?<=\S)-++)?+((?<!\S)-)?(?:([A-Za-z]+):(?![:/]))?(?:"([^"]*)"?|([^\s"]+)|(?<=:))', regex.V1
)
_QUOTES: Final = str.maketrans("“”„‟«»\0", '"""""" ')
_MONTH: Final = regex.compile(r"(\d{4})(?:-(\d{2}))?", regex.V1)
_WORD: Final = regex.compile(r"\w\w", regex.V1)
_SITE: Final = regex.compile(r"(?:https?://)?(?:www\.)*([\w.-]*\w(?::\d+)?)\.?(/.*)?", regex.V1 | regex.I)
_BOOLEAN: Final = frozenset(("AND", "OR", "NOT", "|", "||", "&&"))

Place = Literal["any", "title", "url", "heading", "near"]
_PLACES: Final[dict[str, Place]] = {"intitle": "title", "inurl": "url"}
_PREFIXES: Final = {place: f"{name}:" for name, place in _PLACES.items()} | {"any": "", "heading": "", "near": ""}


class QueryTerm(Struct, frozen=True):
    """A word or phrase, and where it must occur: ``any``, ``title`` or ``url``.

    ``heading`` is for whole queries, which may be a title or heading; ``near`` for two words that should be near each
    other.
    """

    text: str
    place: Place = "any"
    phrase: bool = False
    excluded: bool = False

    def __str__(self) -> str:
        text = f'"{self.text}"' if self.phrase else self.text
        return f"{'-' * self.excluded}{_PREFIXES[self.place]}{text}"


class QueryFilter(Struct, frozen=True):
    """A restriction by ``site``, ``host``, ``lang``, ``type`` or ``filetype``."""

    field: str
    value: str
    excluded: bool = False

    def __str__(self) -> str:
        return f'{"-" * self.excluded}{self.field}:"{self.value}"'


class SearchQuery(Struct, frozen=True, kw_only=True):
    """A query, parsed. ``str`` returns a query with the same meaning.

    ``restrictions`` are the filters and dates, as they were typed. ``notices`` say what was not understood as a person
    may have meant it, and ``doubts`` what may be the reason if nothing is found.
    """

    terms: tuple[QueryTerm, ...] = ()
    filters: tuple[QueryFilter, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    by_date: bool = False
    restrictions: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[QueryTerm, ...]:
        """The terms that a page must have."""
        return tuple(term for term in self.terms if not term.excluded)

    def __str__(self) -> str:
        dates = [f"{name}:{when.isoformat()}" for name in ("after", "before") if (when := getattr(self, name))]
        return " ".join([*map(str, self.filters), *dates, *["sort:date"] * self.by_date, *map(str, self.terms)])


class _Token(Struct):
    """A part of a query. ``field`` is empty for a word, ``quoted`` says whether its value was in quotation marks."""

    typed: str
    field: str
    value: str
    quoted: bool
    excluded: bool


class _Reading(Struct):
    """What has been read of a query."""

    terms: list[QueryTerm] = field(default_factory=list)
    filters: list[QueryFilter] = field(default_factory=list)
    after: datetime | None = None
    before: datetime | None = None
    by_date: bool = False
    typed: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.terms or self.filters or self.after or self.before or self.by_date)

    def add(self, token: _Token) -> None:
        value = token.value
        if token.field and token.field not in _PLACES and token.field != "sort":
            self.typed.append(token.typed)
        match token.field:
            case "" | "intitle" | "inurl":
                place = _PLACES.get(token.field, "any")
                self.terms.append(QueryTerm(value, place, token.quoted, token.excluded))
            case "after":
                self.after = _moment(value, token.field)
            case "before":
                self.before = _moment(value, token.field)
            case "sort":
                if value not in ("date", "score"):
                    raise UsageError(f"cannot sort by {value!r}", hint="Use sort:date or sort:score.")
                self.by_date = value == "date"
            case "site":
                self.filters.append(QueryFilter("site", _site(value), token.excluded))
            case name:
                self.filters.append(QueryFilter(name, value.lower().lstrip("."), token.excluded))


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
    text = text.encode("utf-8", "replace").decode().translate(_QUOTES)  # arguments may have lone surrogates
    reading = _Reading()
    for token in _tokens(text, reading):
        reading.add(token)
    terms, filters = reading.terms, reading.filters
    if len(terms) + len(filters) > MOST_TERMS:
        raise UsageError(f"the query has more than {MOST_TERMS} terms", hint="Search for a few words of the page.")
    is_positive = any(not each.excluded for each in terms) or any(not each.excluded for each in filters)
    if not is_positive and reading.after is None and reading.before is None:
        why = f" ({'; '.join(reading.notices)})" if reading.notices else ""
        hint = "Give at least one word, or a field such as site:"
        raise UsageError(f"the query has nothing to search for{why}", hint=hint)
    return SearchQuery(
        terms=tuple(terms),
        filters=tuple(filters),
        after=reading.after,
        before=reading.before,
        by_date=reading.by_date,
        restrictions=tuple(reading.typed),
        notices=tuple(dict.fromkeys(reading.notices)),
        doubts=tuple(dict.fromkeys(reading.doubts)),
    )


def _tokens(text: str, reading: _Reading) -> Iterator[_Token]:
    """Yield the parts of a query that mean something, and note what does not mean what it seems to."""
    for found in _TOKEN.finditer(text):
        minus, name, quoted, bare = found.groups()
        field = _OTHER_NAMES.get((name or "").lower(), (name or "").lower())
        value = (quoted or bare or "").strip()
        if field and field not in _FIELDS:
            field, value = _unknown(name, field, value, quoted is not None, reading)
        is_quoted = quoted is not None
        is_excluded = bool(minus)
        if is_excluded and not field and not is_quoted:
            # Before one letter or another minus sign, it belongs to an option.
            is_word = _WORD.match(value) is not None
            is_excluded = is_word and not reading.is_empty
            if is_excluded:
                reading.doubts.append(f'-{value} leaves out pages with this word; to find it, write "-{value}"')
            else:
                value, is_quoted = f"-{value}", is_word
        if not value and field:
            reading.notices.append(f"{field}: has no value; write it without a space: {field}:{_EXAMPLES[field]}")
            continue
        if not any(map(str.isalnum, value)):
            if value and value not in ("-", *_BOOLEAN):
                reading.notices.append(
                    f"{value} was left out: symbols can only be found together with letters or digits"
                )
            continue
        if value in _BOOLEAN and not field and not reading.is_empty:
            reading.doubts.append(f"{value} is searched as a word: pages must have all words; -word leaves out pages")
        if "*" in value:
            reading.doubts.append("* has no meaning: words are found in all their forms")
        yield _Token(found[0], field, value, is_quoted, is_excluded)


_EXAMPLES: Final = {
    **dict.fromkeys(("intitle", "inurl"), "word"),
    **dict.fromkeys(("site", "host"), "example.org"),
    "lang": "en",
    "type": "pdf",
    "filetype": "pdf",
    "after": "2026-01",
    "before": "2026-03",
    "sort": "date",
}


def _unknown(name: str, field: str, value: str, is_quoted: bool, reading: _Reading) -> tuple[str, str]:
    """Return no field, and the text to search for instead of an operator that does not exist."""
    nearest = did_you_mean(field, (*_FIELDS, *_OTHER_NAMES))
    value = value.lstrip("-")
    if value and ":" not in value and (nearest or is_quoted or field in _ELSEWHERE):
        instead = f"; {_ELSEWHERE[field]}" if _ELSEWHERE.get(field) else nearest
        reading.notices.append(f"searched for {value!r}: {field}: is not a search operator{instead}")
        return "", value
    # Such as a time, or an address.
    reading.doubts.append(f"{field}: is not a search operator; there are {', '.join(f'{each}:' for each in _FIELDS)}")
    return "", f"{name}:{value}"


def _site(value: str) -> str:
    """Return a host in lower case, and its path if there is one.

    >>> _site("https://Docs.Example/Python/"), _site("www.example.org/")
    ('docs.example/Python/', 'example.org')
    """
    found = _SITE.fullmatch(value)
    if found is None:
        raise UsageError(f"{value!r} is not a site", where="site:", hint="Write it as site:example.org/path.")
    host, path = found.groups()
    return f"{host.lower()}{path}" if path and path != "/" else host.lower()


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
