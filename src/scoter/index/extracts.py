"""What results show of a page: the section that answers the query, and a passage of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from scoter.index.languages import code_of
from scoter.index.matches import QueryMatches
from scoter.index.query import QueryTerm
from scoter.index.sections import TextSection, best_section
from scoter.index.snippets import passage
from scoter.index.text_index import ShownFields


class PageExtract(Struct, frozen=True):
    """A passage, and the section that it is from: the fragment of its URL, and the headings that lead to it."""

    snippet: str
    anchor: str = ""
    path: tuple[str, ...] = ()


class PageExtracts:
    """Finds what to show of the pages that match a query."""

    def __init__(self, searcher: Any, terms: Sequence[QueryTerm]) -> None:
        self._searcher = searcher
        self._terms = terms
        self._matches: dict[str, QueryMatches] = {}
        self._weights: dict[str, list[float]] = {}

    def of(self, fields: ShownFields, text: str, sections: Sequence[TextSection]) -> PageExtract:
        code = code_of(fields.lang)
        if code not in self._matches:
            self._matches[code] = QueryMatches(self._terms, code)
            self._weights[code] = [self._weight(terms) for terms in self._matches[code].indexed]
        wanted, weights = self._matches[code], self._weights[code]
        matches = wanted.of(text)
        in_title = {match.term for match in wanted.of(fields.title)}
        rest = [0.0 if term in in_title else weight for term, weight in enumerate(weights)]
        section = best_section(sections, text, fields.title, matches, rest)
        if section is None:
            return PageExtract(passage(text, matches, weights, 0, len(text)))
        snippet = passage(text, matches, weights, section.start, section.end)
        return PageExtract(snippet, section.anchor, section.path)

    def _weight(self, indexed: Sequence[tuple[str, str]]) -> float:
        """Return how rare the rarest of some terms is."""
        fewest = min((self._searcher.doc_freq(field, term) for field, term in indexed), default=0)
        return math.log(2 + self._searcher.num_docs / (1 + fewest))
