"""How the index in files cuts text into words, and how words are stemmed.

``search-box.js`` cuts queries and texts in the same way, so both must change together; a test compares them. Stems are
only computed here, by the analysers of the embedded index: the files tell the script which words have which stems.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import regex  # type: ignore[import-untyped]

from scoter.index.languages import PLAIN, analyzer, code_of, is_unspaced, unspaced_runs

LONGEST_WORD: Final = 40
# C++ and C# are words; other signs separate.
_TOKEN: Final = regex.compile(r"[\p{Alphabetic}\p{M}\p{N}]+(?:\+\+|#)?", regex.V1)
_ACCENTS: Final = regex.compile("[\u0300-\u036f]+")
_LETTERS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "þ": "th", "ð": "d"}
)


def fold(text: str) -> str:
    """Return a word without case and accents.

    >>> fold("Été"), fold("STRASSE"), fold("straße"), fold("が")
    ('ete', 'strasse', 'strasse', 'が')
    """
    text = text.lower()
    if text.isascii():
        return text
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", plain).translate(_LETTERS)


def tokens(text: str) -> Iterator[str]:
    """Yield the words of a text as they are written; letters that are written without spaces in overlapping pairs.

    >>> list(tokens("C++ for naïve readers, 東京タ")), list(tokens("塔"))
    (['C++', 'for', 'naïve', 'readers', '東京', '京タ'], ['塔'])
    """
    for token in _TOKEN.findall(text):
        if is_unspaced(token):
            for run in unspaced_runs(token):
                yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif len(token) <= LONGEST_WORD:
            yield token


class WordCounts:
    """How often each stem occurs in a text, and which words have which stems."""

    def __init__(self, text: str, language: str) -> None:
        self.stems: Counter[str] = Counter()
        self.stems_of: dict[str, str] = {}
        self.length = 0
        code = code_of(language)
        for token, count in Counter(tokens(text)).items():
            word, stem = _word_and_stem(token, code)
            self.stems[stem] += count
            self.stems_of[word] = stem
            self.length += count


@lru_cache(maxsize=200_000)
def _word_and_stem(token: str, code: str) -> tuple[str, str]:
    word = fold(token)
    if code == PLAIN or not token.isalpha() or is_unspaced(token):
        return word, word
    found = analyzer(code).analyze(token)
    return word, fold(found[0]) if len(found) == 1 else word


def saturated(counts: Mapping[str, int], length: int, average: float) -> Iterator[tuple[str, float]]:
    """Yield each stem with the part of BM25 that depends on the page alone (k1 = 1.2, b = 0.75)."""
    base = 1.2 * (0.25 + 0.75 * length / max(average, 1.0))
    return ((stem, 2.2 * count / (count + base)) for stem, count in counts.items())
