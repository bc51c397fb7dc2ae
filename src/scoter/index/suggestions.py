"""Better spellings of queries, from the words of titles, anchor texts and headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from scoter.index.languages import PLAIN, analyzer, is_unspaced, spaced
from scoter.index.query import SearchQuery
from scoter.index.text_index import WORDS, TextIndex

_MOST_COMPARED: Final = 2_000
_SHORTEST: Final = 3
_PAGES: Final = 10  # with similar words, of which the titles and texts are read
_MOST_TEXT: Final = 2_000
_MUCH_MORE: Final = 10  # pages with a similar word, for one that no title has
_WORD: Final = re.compile(r"[^\W_]+(?!\w*:)")


class SpellingSuggestions:
    """Suggests spellings of queries with words that the index does not have, or hardly has."""

    def __init__(self, index: TextIndex, searcher: Any, codes: Sequence[str]) -> None:
        """``codes`` are those of the languages in the index."""
        self._index = index
        self._searcher = searcher
        self._codes = codes

    def suggestion(self, wanted: SearchQuery, query: str, *, of_rare: bool = False) -> str:
        """Return the query with each unknown word replaced by the most frequent similar one, or nothing.

        Words can also be split or joined. ``of_rare``: replace words of texts that no title, anchor text or heading
        has, if a similar one is much more frequent there.
        """
        better = query
        words = [word for term in wanted.words for word in analyzer(PLAIN).analyze(term.text)]
        for one, two in () if of_rare else pairwise(words):
            if self._frequency(one + two) and not (self._frequency(one) and self._frequency(two)):
                return _joined(query, one, two)
        for word in words:
            if len(word) < _SHORTEST or is_unspaced(word) or self._frequency(word):
                continue
            if of_rare:
                found = self._closest(word, self._beginning(word[:2]), 1)
                better = _replaced(better, word, found) if self._frequency(found) >= _MUCH_MORE else better
                continue
            if self._is_known(word):
                continue
            found = self._similar(word) or self._split(word)
            if not found:
                return ""
            better = _replaced(better, word, found)
        return better if better.lower() != query.lower() else ""

    def completion(self, query: str) -> str:
        """Return the query with an unknown last word replaced by the most frequent one that begins so, or nothing."""
        last = next(reversed(list(_WORD.finditer(query))), None)
        words = [] if last is None or last.end() < len(query) else analyzer(PLAIN).analyze(last[0])
        if last is None or len(words) != 1 or len(words[0]) < 2 or is_unspaced(words[0]):
            return ""
        if self._frequency(words[0]) or self._is_known(words[0]):
            return ""
        begun = self._searcher.terms_with_prefix(WORDS, words[0], limit=1)
        return query[: last.start()] + begun[0][0] if begun else ""

    def _frequency(self, word: str) -> int:
        found: int = self._searcher.doc_freq(WORDS, word) if word else 0
        return found

    def _is_known(self, word: str) -> bool:
        forms = ((code, analyzer(code).analyze(word)) for code in self._codes)
        return any(self._searcher.doc_freq(f"content_{code}", form) for code, found in forms for form in found)

    def _similar(self, word: str) -> str:
        """Return the most frequent of the most similar words."""
        most = _most_edits(word)
        return (
            self._closest(word, self._beginning(word[:2]), most)
            or self._closest(word, self._on_pages(word, most), most)
            or self._closest(word, self._beginning(word[:1]), most)
        )

    def _beginning(self, prefix: str) -> Iterable[tuple[str, int]]:
        found: Iterable[tuple[str, int]] = self._searcher.terms_with_prefix(WORDS, prefix, limit=_MOST_COMPARED)
        return found

    def _on_pages(self, word: str, most: int) -> Iterable[tuple[str, int]]:
        """Return words of pages whose titles, anchor texts or headings have a similar word, however it begins."""
        import tantivy

        schema = self._index.index.schema
        query = tantivy.Query.fuzzy_term_query(schema, WORDS, word, distance=most)
        words: set[str] = set()
        for _, address in self._searcher.search(query, limit=_PAGES).hits:
            stored = self._searcher.doc(address)
            text = f"{self._index.shown_of(stored).title}\n{self._index.text_of(stored)[:_MOST_TEXT]}"
            words.update(analyzer(PLAIN).analyze(spaced(text)))
        return ((each, self._frequency(each)) for each in words)

    def _closest(self, word: str, candidates: Iterable[tuple[str, int]], most: int) -> str:
        """Return the most frequent of the words with the fewest edits; empty if each needs more than ``most``."""
        letters = frozenset(word)
        best: tuple[int, int, str] | None = None
        for known, documents in candidates:
            # An edit changes at most two of the letters that occur, which is faster to check.
            if abs(len(known) - len(word)) > most or len(letters.symmetric_difference(known)) > 2 * most:
                continue
            distance = edit_distance(word, known, most)
            if 0 < distance <= most and documents and (best is None or (distance, -documents, known) < best):
                best = (distance, -documents, known)
        return best[2] if best is not None else ""

    def _split(self, word: str) -> str:
        """Return the two words that a word consists of, if both are known."""
        halves = ((word[:at], word[at:]) for at in range(_SHORTEST, len(word) - _SHORTEST + 1))
        found = [(min(map(self._frequency, pair)), " ".join(pair)) for pair in halves]
        documents, text = max(found, default=(0, ""))
        return text if documents else ""


def _most_edits(word: str) -> int:
    return 1 if len(word) < 6 else 2


def edit_distance(one: str, two: str, most: int) -> int:
    """Return the number of edits between words, where swapping neighbours is one edit; ``most`` + 1 if there are more.

    >>> edit_distance("saels", "seals", 2), edit_distance("seal", "walrus", 2)
    (1, 3)
    """
    earlier: list[int] = []
    before = list(range(len(two) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, other in enumerate(two, 1):
            cost = min(before[column] + 1, current[-1] + 1, before[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == two[column - 2] and one[row - 2] == other:
                cost = min(cost, earlier[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        earlier, before = before, current
    return min(before[-1], most + 1)


def _replaced(query: str, word: str, by: str) -> str:
    """Return a query with a word replaced, whatever its case and accents."""
    return _WORD.sub(lambda found: by if analyzer(PLAIN).analyze(found[0]) == [word] else found[0], query)


def _joined(query: str, first: str, second: str) -> str:
    """Return a query with two words written as one."""
    found = list(_WORD.finditer(query))
    for one, two in pairwise(found):
        if [analyzer(PLAIN).analyze(each[0]) for each in (one, two)] == [[first], [second]]:
            return query[: one.end()] + query[two.start() :]
    return ""
