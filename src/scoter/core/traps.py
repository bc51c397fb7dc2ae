"""Signs of a crawler trap: pages without end that say nothing new.

Two signs are checked. A calendar's URLs lead into a future about which nobody has written yet. And URLs of one pattern
(``/list?page&sort``), or of all patterns of a host, have texts that differ only in numbers and dates.

The pages of a calendar are tried a few at a time until their texts are known: one month links to thirty days.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import xxhash
from msgspec import Struct

from scoter.core.url import Url

YEARS_AHEAD: Final = 1
"""How many years after the current one a date in a URL may be: people plan events, but not long before."""
SAMPLE: Final = 32
"""How many texts of a pattern are compared, the last ones."""
MOST_PATTERNS: Final = 5_000
"""How many patterns are observed at once."""
PROBES: Final = 8
"""How many pages of a calendar are fetched at once while its texts are not known, three times at most."""
MOST_PROBES: Final = 3 * PROBES
_ENOUGH: Final = 12
_ENOUGH_OF_CALENDAR: Final = 6
# Twelve months in a language whose names are not known below are 12 of 32.
_PATTERN_SHARE: Final = 0.4
_HOST_SHARE: Final = 0.1

_LONGEST_PATTERN: Final = 200
_LONGEST_TEXT: Final = 20_000
# Characters by which near-duplicates may differ in length: names of months, numbers of days.
_LENGTHS: Final = 32
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
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
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


def text_fingerprint(text: str) -> int:
    """Return a number that texts share if they have the same words, apart from numbers and dates.

    >>> text_fingerprint("Monday, 3 March 2031: no events") == text_fingerprint("Friday, 1 May 2048: no events")
    True
    """
    words = {word for word in _WORD.findall(text[:_LONGEST_TEXT].lower()) if word[:3] not in _DATE_WORDS}
    return xxhash.xxh3_64_intdigest("\n".join(sorted(words)).encode(errors="replace"))


class PatternSample(Struct):
    """The fingerprints of the last texts of a pattern or host, and the length of the last one."""

    texts: list[int] = []
    length: int = -_LENGTHS
    is_calendar: bool = False


class TextVariety:
    """Observes how different the texts of each URL pattern and of each host are, in bounded memory."""

    def __init__(self, samples: dict[str, PatternSample] | None = None) -> None:
        self.samples = samples or {}
        self._unlike = -len(self.samples) * SAMPLE

    def add(self, url: Url, text: str) -> None:
        """Observe a page."""
        if not text:
            return
        fingerprint: int | None = None
        pattern = url_pattern(url)
        # One text of each pattern speaks for its host: many pages of one calendar say nothing about the rest of a site.
        for name in (pattern,) if pattern in self.samples else (pattern, url.host):
            sample = self._sample(name)
            if not sample.texts and name is pattern:
                sample.is_calendar = is_calendar_page(url)
            if abs(len(text) - sample.length) < _LENGTHS:
                fingerprint = text_fingerprint(text) if fingerprint is None else fingerprint
                sample.texts.append(fingerprint)
            else:  # texts of other lengths differ: there is no need to read their words
                self._unlike -= 1
                sample.texts.append(self._unlike)
            sample.length = len(text)
            del sample.texts[:-SAMPLE]

    def monotonous(self) -> Iterator[str]:
        """Yield the patterns, and the hosts, whose pages hardly differ from each other."""
        for name, sample in self.samples.items():
            share = _PATTERN_SHARE if "/" in name else _HOST_SHARE
            number, different = len(sample.texts), len(set(sample.texts))
            enough = _ENOUGH_OF_CALENDAR if sample.is_calendar else _ENOUGH
            if number >= enough and different <= share * number:
                yield name

    def tried(self) -> Iterator[str]:
        """Yield the patterns of calendars of which enough texts are known to tell whether they differ."""
        for name, sample in self.samples.items():
            if sample.is_calendar and len(sample.texts) >= _ENOUGH_OF_CALENDAR:
                yield name

    def _sample(self, name: str) -> PatternSample:
        found = self.samples.get(name)
        if found is None:
            if len(self.samples) >= MOST_PATTERNS:  # forget the rare ones, and if need be the oldest
                kept = [(each, sample) for each, sample in self.samples.items() if len(sample.texts) > 1]
                self.samples = dict(kept[-MOST_PATTERNS // 2 :])
            found = self.samples[name] = PatternSample()
        return found
