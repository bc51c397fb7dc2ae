"""Signs of a crawler trap: pages without end that say nothing new.

Two signs are checked. A calendar's URLs lead into a future about which nobody has written yet. And pages of one kind
say the same, apart from numbers and dates, but link to ever more of their kind. Pages are of one kind if their URLs
have one pattern (``/list?page&sort``), or are in one branch of a site (``/loop/*``, ``/search?*``). Both are needed:
the pages of an application that a script fills say the same as well, but they lead nowhere.

The pages of a calendar are tried a few at a time until their texts are known: one month links to thirty days.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

import ada_url
import xxhash
from msgspec import Struct

from scoter.core.url import Url
from scoter.native import native_module

split_words: Callable[[str, str, bytes], tuple[bytes, int, list[str]] | None] | None = getattr(
    native_module("scoter.core._words"), "split", None
)
"""The same as ``_split_in_python``, in C, if Scoter was built with a compiler; it takes a tenth of the time."""

YEARS_AHEAD: Final = 1
"""How many years after the current one a date in a URL may be: people plan events, but not long before."""
SAMPLE: Final = 32
"""How many pages of a kind are compared, the last ones."""
MOST_KINDS: Final = 5_000
"""How many kinds of pages are observed at once."""
PROBES: Final = 8
"""How many pages of a calendar are fetched at once while its texts are not known, three times at most."""
MOST_PROBES: Final = 3 * PROBES
_FEW: Final = 3
_ENOUGH: Final = 12
_ENOUGH_OF_CALENDAR: Final = 6
# Twelve months in a language whose names are not known below are 12 of 32.
_PATTERN_SHARE: Final = 0.4
_BRANCH_SHARE: Final = 0.1
_BRANCH: Final = "/*"
_COMBINED: Final = "?*"
# So many times a page said what another had said, but led elsewhere.
_LEADS_ON: Final = 2

_LONGEST_PATTERN: Final = 200
_LONGEST_TEXT: Final = 20_000
_LONGEST_KNOWN: Final = 256  # characters of a path that is masked once
# Also digests and session identifiers.
_NUMBER: Final = re.compile("[0-9a-f]{16,}|[0-9]+", re.IGNORECASE)
_YEAR: Final = re.compile("[0-9]{4}")
# A year with a month, a year after a word for dates, and a parameter for dates.
_DATE: Final = re.compile(
    "(?<![0-9])([0-9]{4})[-/_.](?:0[1-9]|1[0-2])(?![0-9])"
    "|(?:calendar|kalender|calendrier|calendario|agenda|events?|veranstaltungen|archives?|schedule)/(?:[a-z]+/)?"
    "([0-9]{4})(?![0-9])"
    "|[?&;](?:[a-z_]*(?:year|date|month|week|day)|yr|y|jahr|annee|anno)=([0-9]{4})(?![0-9])",
    re.IGNORECASE,
)
# Nothing follows the date in the path, or it is the value of a parameter: a list of what happened then, not an article.
_DAY: Final = "(?:19|20)[0-9]{2}[-/_.](?:0?[1-9]|1[0-2])(?:[-/_.][0-3]?[0-9])?"
_CALENDAR: Final = re.compile(f"^[^?]*[/_.-](?:{_DAY})/?(?:$|[?])|[?&;][^=&]*=(?:{_DAY})(?:$|[&;T])")
_LATEST: Final = 200  # years from now; numbers beyond are rather identifiers
_NUMBER_WORD: Final = re.compile(r"([0-9][\w.,:/-]*)")
_MARKS: Final = string.punctuation + "„“”‘’«»…–—·•×"
# Numbers that come with dates and times: 17, 2031, 3rd, 10am, 17.05.2031, 2031-05-17, 10:30.
_DATE_NUMBER: Final = re.compile(
    "(?:[0-5]?[0-9]|60|(?:19|20)[0-9]{2})(?:st|nd|rd|th|am|pm|h)?"
    "|(?:(?:19|20)[0-9]{2}[./-])?[0-3]?[0-9][./-](?:0?[1-9]|1[0-2])(?:[./-](?:(?:19|20)[0-9]{2})?)?"
    "|(?:19|20)[0-9]{2}[./-](?:0?[1-9]|1[0-2])(?:[./-][0-3]?[0-9](?:t[0-9:.z+-]*)?)?|[0-2]?[0-9](?::[0-5][0-9])+(?:am|pm)?"
)
# A page with fewer numbers of its own says how long it took, or how many visitors there were.
_NUMBERS: Final = 3
_WORDS_PER_NUMBER: Final = 16
# How months and days of the week begin in English, German, French, Spanish and Italian. Other words that begin so are
# ignored as well, which does no harm: the rest of a text still tells pages apart.
_DATE_WORDS: Final = frozenset(
    {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
    | {"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
    | {"mär", "mai", "okt", "dez", "die", "mit", "don", "fre", "sam", "son"}
    | {"fév", "avr", "aoû", "déc", "lun", "jeu", "ven", "dim"}
    | {"ene", "abr", "ago", "dic", "mié", "jue", "vie", "sáb", "dom"}
    | {"gen", "mag", "giu", "lug", "set", "ott", "gio"}
)
_DATE_FIELDS: Final = b"".join(word.encode().ljust(8, b"\0") for word in _DATE_WORDS)


def url_pattern(url: Url) -> str:
    """Return what a URL has in common with others of its kind: numbers are 0, query parameters have no values.

    >>> from scoter.core.url import canonical
    >>> url_pattern(canonical("http://a.example/shop/12/item-7.html?sort=up&id=3"))
    'a.example/shop/0/item-0.html?id&sort'
    """
    path, _, query = url.target.partition("?")
    found = f"{url.host}{_NUMBER.sub('0', path)}"
    if query:
        found += "?" + "&".join(sorted({_NUMBER.sub("0", each.partition("=")[0]) for each in query.split("&")}))
    return found[:_LONGEST_PATTERN]


def is_far_ahead(url: Url, year: int) -> bool:
    """Return whether a URL has a date that lies too far ahead of the current year.

    >>> from scoter.core.url import canonical
    >>> [is_far_ahead(canonical(f"http://a.example/calendar/{year}/05/"), 2026) for year in (2025, 2027, 2028)]
    [False, False, True]
    """
    target, ahead = url.target, range(year + YEARS_AHEAD + 1, year + _LATEST)
    if not any(int(each) in ahead for each in _YEAR.findall(target)):  # quick, and true for most
        return False
    return any(int(found[1] or found[2] or found[3]) in ahead for found in _DATE.finditer(target))


def is_calendar_page(url: Url) -> bool:
    """Return whether a URL stands for a day or a month.

    >>> from scoter.core.url import canonical
    >>> targets = ("/2026/05/", "/?day=2026-05-17", "/2026/05/tea")
    >>> [is_calendar_page(canonical(f"http://a.example{target}")) for target in targets]
    [True, True, False]
    """
    target = url.target
    return _YEAR.search(target) is not None and _CALENDAR.search(target) is not None


def branch_of(url: Url) -> str:
    """Return the branch of a site that a URL is in, by the first segment of a path that has several.

    Those with several query parameters are in the branch of their path, because parameters can be combined.

    >>> from scoter.core.url import canonical
    >>> [branch_of(canonical(f"http://a.example{target}")) for target in ("/loop/a/b?c=/", "/about", "/list?a=1&b=2")]
    ['a.example/loop/*', 'a.example/*', 'a.example/list?*']
    """
    path, _, query = url.target.partition("?")
    if "&" in query:
        return f"{url.host}{_NUMBER.sub('0', path)}"[:_LONGEST_PATTERN] + _COMBINED
    segments = path.split("/", 2)
    return f"{url.host}/{segments[1]}"[:_LONGEST_PATTERN] + _BRANCH if len(segments) > 2 else url.host + _BRANCH


def words_hash(url: Url, title: str, text: str) -> int:
    """Return a number that pages share if they say the same, apart from numbers and dates.

    Numbers count if a page has many that are neither dates nor in its URL, like a table of prices. If its URL has
    several query parameters, their values and the order of words do not count: a search repeats what it was asked, and
    sorts in many ways.

    >>> from scoter.core.url import canonical
    >>> one, two = canonical("http://a.example/day/3"), canonical("http://a.example/day/1")
    >>> words_hash(one, "", "Monday, 3 March 2031: none") == words_hash(two, "", "Friday, 1 May 2048: none")
    True
    """
    joined, count, found = _split(title, text[:_LONGEST_TEXT])
    target = url.target
    if len(found) >= _NUMBERS:
        numbers = {each.rstrip(".,") for each in found}
        numbers = {each for each in numbers if not _is_date_number(each) and each not in target}
        if len(numbers) >= max(_NUMBERS, count // _WORDS_PER_NUMBER):
            joined = b" ".join([*[joined] * bool(joined), *(each.encode(errors="replace") for each in sorted(numbers))])
    query = target.partition("?")[2]
    if "&" in query:
        asked = " ".join(ada_url.URLSearchParams(query).values()).lower()
        words = joined.decode().split(" ")
        return _signed(" ".join(sorted({bare for word in words if (bare := word.strip(_MARKS)) and bare not in asked})))
    return xxhash.xxh3_64_intdigest(joined) - 2**63


@lru_cache(maxsize=8_192)
def _is_date_number(number: str) -> bool:
    return _DATE_NUMBER.fullmatch(number) is not None


def _split(title: str, text: str) -> tuple[bytes, int, list[str]]:
    """Return the words of a page that have nothing to do with dates, joined by spaces, their count, and its numbers."""
    found = split_words(title, text, _DATE_FIELDS) if split_words else None
    return found or _split_in_python(title, text)


def _split_in_python(title: str, text: str) -> tuple[bytes, int, list[str]]:
    said = _NUMBER_WORD.split(f"{title}\n{text}".lower().replace("(", " "))  # every second piece is a number
    words = [word for word in " ".join(said[::2]).split() if word[:3] not in _DATE_WORDS]
    return " ".join(words).encode(errors="replace"), len(words), said[1::2]


def links_hash(url: Url, targets: Iterable[str]) -> int | None:
    """Return a number that pages share if they link to the same URLs of their kind, or ``None`` if to none.

    >>> from scoter.core.url import canonical
    >>> links_hash(canonical("http://a.example/day/3"), ["http://a.example/", "http://a.example/about"])
    """
    text = url.text
    path, has_query, _ = text.partition("?")
    first = _NUMBER.search(path, len(text) - len(url.target))
    if first is None and not has_query:  # links that lead further down, like those of paths that grow
        folder, depth = path[: path.rindex("/") + 1], path.count("/")
        found = {each for each in targets if each.startswith(folder) and each.partition("?")[0].count("/") > depth}
    else:
        prefix = path if first is None else path[: first.start()]
        masked = _masked(path)
        near = [each for each in targets if each.startswith(prefix)]
        if has_query:
            found = {each for each in near if "?" in each and _masked(each.partition("?")[0]) == masked}
        else:  # a mask keeps question marks
            mask = _known_mask if max(map(len, near), default=0) <= _LONGEST_KNOWN else _masked
            found = {each for each, known in zip(near, map(mask, near), strict=True) if known == masked}
        found.discard(text)
    if not found:
        return None
    found.add(text)  # pages that all link to each other link to the same
    return _signed("\n".join(sorted(found)))


def _masked(path: str) -> str:
    return _known_mask(path) if len(path) <= _LONGEST_KNOWN else _NUMBER.sub("0", path)


@lru_cache(maxsize=8_192)
def _known_mask(path: str) -> str:
    return _NUMBER.sub("0", path)


def _signed(text: str) -> int:
    """Return a hash that fits into a column of signed integers."""
    return xxhash.xxh3_64_intdigest(text.encode(errors="replace")) - 2**63


class KindSample(Struct):
    """The last pages of a kind: the hashes of their words and of their links to pages of the same kind."""

    pages: list[tuple[int, int | None]] = []
    is_calendar: bool = False

    def says_the_same(self, share: float) -> bool:
        """Return whether there are enough pages, and only few of them differ in their words."""
        enough = _ENOUGH_OF_CALENDAR if self.is_calendar else _ENOUGH
        return len(self.pages) >= enough and len({words for words, _ in self.pages}) <= share * len(self.pages)

    def is_varied(self) -> bool:
        """Return whether most pages differ in their words."""
        return len(self.pages) >= _FEW and 2 * len({words for words, _ in self.pages}) > len(self.pages)

    def leads_on(self) -> bool:
        """Return whether pages that say the same link to different pages of their kind."""
        linking = [page for page in self.pages if page[1] is not None]
        if 2 * len(linking) < len(self.pages):
            return False
        # The days of a month may all link to each other.
        return self.is_calendar or len(set(linking)) >= len({words for words, _ in linking}) + _LEADS_ON


class PageVariety:
    """Observes how much the pages of each kind differ, in bounded memory."""

    def __init__(self, samples: dict[str, KindSample] | None = None) -> None:
        self.samples = samples or {}

    def add(self, url: Url, words: int, links: int | None) -> None:
        """Observe a page by its hashes."""
        pattern, branch = url_pattern(url), branch_of(url)
        # One page of each pattern speaks for its branch: many pages of one calendar say nothing about the others.
        is_known = pattern in self.samples and branch.endswith(_BRANCH)
        for name in (pattern,) if is_known else (pattern, branch):
            sample = self._sample(name)
            if not sample.pages and name is pattern:
                sample.is_calendar = is_calendar_page(url)
            sample.pages.append((words, links))
            del sample.pages[:-SAMPLE]

    def monotonous(self) -> Iterator[str]:
        """Yield the patterns and branches whose pages say the same and lead on."""
        for name, sample in self.samples.items():
            share = _BRANCH_SHARE if name.endswith(_BRANCH) else _PATTERN_SHARE
            if sample.says_the_same(share) and sample.leads_on():
                yield name

    def tried(self) -> Iterator[str]:
        """Yield the patterns of calendars of which enough texts are known to tell whether they differ."""
        for name, sample in self.samples.items():
            if sample.is_calendar and len(sample.pages) >= _ENOUGH_OF_CALENDAR:
                yield name

    def _sample(self, name: str) -> KindSample:
        found = self.samples.get(name)
        if found is None:
            if len(self.samples) >= MOST_KINDS:  # forget the rare ones, and if need be the oldest
                kept = [(each, sample) for each, sample in self.samples.items() if len(sample.pages) > 1]
                self.samples = dict(kept[-MOST_KINDS // 2 :])
            found = self.samples[name] = KindSample()
        return found
