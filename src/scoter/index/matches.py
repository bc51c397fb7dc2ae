"""Where the words of a query are in a text, in any of their forms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from scoter.index.languages import PLAIN, analyzer, is_unspaced, unspaced_runs
from scoter.index.query import QueryTerm
from scoter.index.symbols import SYMBOL, symbols_of

_MOST: Final = 500  # matches of a word in a text
_WORD: Final = re.compile(r"[^\W_]+")
_GAP: Final = re.compile(r"[\W_]{1,5}")


class TextMatch(NamedTuple):
    """A match of the word or phrase with number ``term``."""

    start: int
    end: int
    term: int


class _Folding(dict[int, str]):
    """Lower-case letters without accents, one for each character."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        lower = unicodedata.normalize("NFKD", letter.lower())
        base = lower[0] if len(lower) == 1 or all(map(unicodedata.combining, lower[1:])) else letter
        self[code] = base
        return base


_FOLDING: Final = _Folding()


def folded(text: str) -> str:
    """Return a text in lower case and without accents, of the same length.

    >>> folded("Été à Ürümqi")
    'ete a urumqi'
    """
    if text.isascii():
        return text.lower()
    if len(_FOLDING) > 10_000:
        _FOLDING.clear()
    return text.translate(_FOLDING)


class QueryMatches:
    """Finds the words of a query in texts of one language."""

    def __init__(self, terms: Sequence[QueryTerm], code: str) -> None:
        self._terms = [_WantedTerm(term, code) for term in terms]
        self.indexed = [term.indexed for term in self._terms]
        """The fields and terms that each word is indexed as."""

    def of(self, text: str) -> list[TextMatch]:
        """Return the matches in a text, in their order."""
        plain = folded(text)
        found = [
            TextMatch(start, end, number)
            for number, term in enumerate(self._terms)
            for start, end in islice(term.spans(text, plain), _MOST)
        ]
        return sorted(found)


class _WantedTerm:
    """A word or phrase: how it is written, and the forms of its words."""

    def __init__(self, term: QueryTerm, code: str) -> None:
        self._code = PLAIN if term.phrase else code
        self.indexed: list[tuple[str, str]] = []
        self._literals: list[str] = []
        self._words: list[tuple[str, str]] = []
        if is_unspaced(term.text):
            self._literals = unspaced_runs(term.text)
            return
        self.indexed = [(SYMBOL, symbol) for symbol in symbols_of(term.text)]
        if self.indexed:
            self._literals = [folded(term.text).rstrip(")")]
        plain, stems = (analyzer(each).analyze(term.text) for each in (PLAIN, self._code))
        if len(plain) == len(stems) and (len(plain) > 1 or not self._literals or len(plain[0]) > 1):
            self.indexed += [(f"content_{code}", stem) for stem in analyzer(code).analyze(term.text)]
            self._words = [(_common(word, stem), stem) for word, stem in zip(plain, stems, strict=True)]

    def spans(self, text: str, plain: str) -> Iterator[tuple[int, int]]:
        """Yield the matches, as it is written if there are any."""
        found = [span for literal in self._literals for span in _literals(plain, literal)]
        if found:
            yield from found
        elif self._words:
            yield from self._sequences(text, plain)
        else:
            pairs = {run[at : at + 2] for run in self._literals for at in range(len(run) - 1)}
            yield from (span for pair in sorted(pairs) for span in _literals(plain, pair))

    def _sequences(self, text: str, plain: str) -> Iterator[tuple[int, int]]:
        """Yield where all words are, one after the other."""
        prefix, stem = self._words[0]
        at = plain.find(prefix) if prefix else -1
        while at >= 0:
            start = at
            end = 0 if at and plain[at - 1].isalnum() else self._end(text, plain, at, stem)
            for _, later in self._words[1:]:
                gap = _GAP.match(plain, end) if end else None
                end = 0 if gap is None else self._end(text, plain, gap.end(), later)
            if end:
                yield start, end
            at = plain.find(prefix, max(end, at + 1))

    def _end(self, text: str, plain: str, at: int, stem: str) -> int:
        """Return where the word at a place ends, or 0 if it is another one."""
        word = _WORD.match(plain, at)
        if word is None:
            return 0
        end = word.end()
        if self._code == PLAIN:
            return end if word[0] == stem else 0
        return end if _stem(text[at:end], self._code) == stem else 0


def _common(one: str, two: str) -> str:
    """Return what two words begin with."""
    length = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return one[:length]


@lru_cache(maxsize=4_096)
def _stem(word: str, code: str) -> str:
    found = analyzer(code).analyze(word)
    return found[0] if len(found) == 1 else ""


def _literals(plain: str, literal: str) -> Iterator[tuple[int, int]]:
    """Yield where a text is written, but not inside a longer word."""
    is_spaced = not is_unspaced(literal)
    at = plain.find(literal)
    while at >= 0:
        end = at + len(literal)
        before, after = plain[at - 1 : at] if at else "", plain[end : end + 1]
        begins = not (before.isalnum() or (before in "-_" and before))
        ends = not (after.isalnum() and literal[-1].isalnum())
        if not is_spaced or (begins and ends):
            yield at, end
        at = plain.find(literal, end)
