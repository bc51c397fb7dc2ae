"""Phrases in quotation marks: fields hold stems, so the texts of pages tell which of them have the exact words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scoter.index.clauses import QueryClauses, is_exact
from scoter.index.languages import PLAIN, analyzer
from scoter.index.matches import QueryMatches
from scoter.index.query import QueryTerm, SearchQuery
from scoter.index.text_index import WORDS, TextIndex

MOST_CHECKED: Final = 300
"""Pages whose texts are read for one query."""


class ExactPhrases:
    """Tells which pages have the phrases of a query as they are written, and none of those that it excludes."""

    def __init__(self, index: TextIndex, searcher: Any, clauses: QueryClauses, wanted: SearchQuery) -> None:
        self._index = index
        self._searcher = searcher
        self._clauses = clauses
        self._phrases = [(term, QueryMatches([term], PLAIN)) for term in wanted.terms if is_exact(term)]

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def kept(self, hits: Sequence[tuple[Any, Any]], count: int) -> tuple[list[tuple[Any, Any]], int]:
        """Return the hits that have the phrases, and how many of all pages do: an estimate if not all were checked."""
        kept = [hit for hit in hits[:MOST_CHECKED] if self._has(hit[1])]
        checked = min(len(hits), MOST_CHECKED)
        return kept, round(count * len(kept) / checked) if checked else 0

    def _has(self, address: Any) -> bool:
        stored = self._searcher.doc(address)
        title = self._index.shown_of(stored).title
        text = self._index.text_of(stored)
        for term, matches in self._phrases:
            found = bool(matches.of(title)) or (term.place == "any" and bool(matches.of(text)))
            if found != (not term.excluded) and not (not found and self._links_have(term, address)):
                return False
        return True

    def _links_have(self, term: QueryTerm, address: Any) -> bool:
        """Return whether the links to a page have a phrase; their texts are not stored, only the words of all."""
        import tantivy

        if term.excluded or term.place != "any":
            return False
        words = self._clauses.all_of(WORDS, analyzer(PLAIN).analyze(term.text))
        anchors = [clause.query for clause in self._clauses.fields(term) if clause.field == "anchor"]
        in_anchors = tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in anchors])
        both = tantivy.Query.boolean_query([(tantivy.Occur.Must, words), (tantivy.Occur.Must, in_anchors)])
        try:
            both.explain(self._searcher, address)
        except ValueError:  # the document does not match
            return False
        return True
