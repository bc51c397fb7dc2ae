"""Why a result has its score: the fields that matched, BM25's parts, and the factor of its link score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.index.clauses import QueryClauses
from scoter.index.query import QueryTerm
from scoter.index.symbols import SYMBOL

# How tantivy's explanations begin.
_IDF: Final = "idf"
_FREQUENCY: Final = "freq, "
_LENGTH: Final = "dl, "
_AVERAGE: Final = "avgdl, "


class ScorePart(Struct, frozen=True, kw_only=True):
    """What one word or phrase in one field adds to a score: ``score`` is BM25 times the ``weight`` of the field.

    ``terms`` is the word as the field has it, for example its stem. ``idf`` is high for rare terms; ``frequency`` says
    how often the term occurs in the field, which has ``length`` terms (on average, ``average_length``).
    """

    word: str
    field: str
    terms: str
    frequency: int
    idf: float
    length: int
    average_length: float
    bm25: float
    weight: float
    score: float


class ScoreExplanation(Struct, frozen=True, kw_only=True):
    """Why a result has its score, which is ``text_score`` times ``link_factor``.

    ``text_score`` is the sum of the parts. ``link_score`` is the page's score in the crawl. ``filters`` restrict the
    results, but do not change scores. ``order`` is ``score`` or ``date``. ``copies`` are pages that are not shown
    because they are nearly the same, ten at most; ``hidden_copies`` is the number of all.
    """

    text_score: float
    link_score: float
    link_factor: float
    parts: tuple[ScorePart, ...] = ()
    filters: tuple[str, ...] = ()
    order: str = "score"
    copies: tuple[str, ...] = ()
    hidden_copies: int = 0


class _Node(Struct, frozen=True):
    """A part of tantivy's explanation."""

    value: float
    description: str = ""
    details: tuple[_Node, ...] = ()


_decode = msgspec.json.Decoder(_Node).decode


def score_parts(
    clauses: QueryClauses, terms: Iterable[QueryTerm], searcher: Any, address: Any, code: str
) -> Iterator[ScorePart]:
    """Yield the parts of a document's score; ``code`` is that of its language."""
    for term in terms:
        for clause in clauses.fields(term):
            if clause.field not in ("url", SYMBOL) and clause.code != code:
                continue
            try:
                found = _decode(clause.query.explain(searcher, address).to_json())
            except ValueError:  # the document does not match
                continue
            facts = dict(_facts(found))
            yield ScorePart(
                word=term.text,
                field=clause.field,
                terms=" ".join(clause.terms),
                frequency=round(facts.get(_FREQUENCY, 1)),
                idf=round(facts.get(_IDF, 0.0), 4),
                length=round(facts.get(_LENGTH, 0)),
                average_length=round(facts.get(_AVERAGE, 0.0), 1),
                bm25=round(found.value, 4),
                weight=clause.weight,
                score=round(found.value * clause.weight, 4),
            )


def _facts(node: _Node) -> Iterator[tuple[str, float]]:
    for name in (_IDF, _FREQUENCY, _LENGTH, _AVERAGE):
        if node.description.startswith(name):
            yield name, node.value
    for each in node.details:
        yield from _facts(each)
