"""Queries in tantivy's form: which terms must occur in which fields, and how much each field counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from scoter.core.domain import registered_domain
from scoter.index.languages import PLAIN, analyzer, is_unspaced, spaced, spread
from scoter.index.query import QueryFilter, QueryTerm, SearchQuery

_WEIGHTS: Final = {"title": 2.5, "anchor": 1.5, "content": 1.0}
_MOST_OPTIONAL: Final = 32
_DISPENSABLE: Final = 0.4  # of the words, if no page has all of them
_META: Final = frozenset("\\.+*?()|[]{}^$#&-~")


class FieldClause(NamedTuple):
    """What a word or phrase is in a field of a language: its terms, how much they count, and the query for them."""

    field: str
    code: str
    terms: tuple[str, ...]
    weight: float
    query: Any


class BuiltQuery(NamedTuple):
    """A query in tantivy's form, and the words and phrases that scores come from."""

    query: Any
    scored: tuple[QueryTerm, ...]


class QueryClauses:
    """Builds queries for an index with a schema and the codes of its languages."""

    def __init__(self, schema: Any, codes: Sequence[str]) -> None:
        self._schema = schema
        self._codes = codes

    def all_words(self, wanted: SearchQuery) -> BuiltQuery:
        """Return the query for pages with all of the words."""
        import tantivy

        clauses = self._restrictions(wanted)
        for term in wanted.terms:
            occur = tantivy.Occur.MustNot if term.excluded else tantivy.Occur.Must
            clauses.append((occur, self._term(term)))
        if all(occur == tantivy.Occur.MustNot for occur, _ in clauses):
            clauses.append((tantivy.Occur.Must, tantivy.Query.all_query()))
        return BuiltQuery(tantivy.Query.boolean_query(clauses), wanted.words)

    def most_words(self, wanted: SearchQuery) -> BuiltQuery | None:
        """Return the query for pages with most of the words, or ``None`` if there is only one.

        Phrases, fields and exclusions stay as they are. Of a text without spaces, most of the pairs must occur.
        """
        import tantivy

        clauses = self._restrictions(wanted)
        optional: list[QueryTerm] = []
        for term in wanted.terms:
            if term.excluded or term.phrase or term.place != "any":
                occur = tantivy.Occur.MustNot if term.excluded else tantivy.Occur.Must
                clauses.append((occur, self._term(term)))
            else:
                parts = spaced(term.text).split() if is_unspaced(term.text) else [term.text]
                optional += [QueryTerm(part) for part in parts[:_MOST_OPTIONAL]]
        if len(optional) < 2:
            return None
        fewest = len(optional) - max(1, round(_DISPENSABLE * len(optional)))
        clauses += [(tantivy.Occur.Should, self._term(each)) for each in optional]
        kept = [term for term in wanted.words if term.phrase or term.place != "any"]
        query = tantivy.Query.boolean_query(clauses, minimum_number_should_match=fewest)
        return BuiltQuery(query, (*kept, *optional))

    def fields(self, term: QueryTerm) -> Iterator[FieldClause]:
        """Yield the fields that a word or phrase may be in, one language after the other."""
        if term.place == "url":
            terms = analyzer(PLAIN).analyze(spaced(term.text))
            yield FieldClause("url", PLAIN, tuple(terms), 1.0, self._matches("url", terms))
            return
        for code in self._codes:
            pairs = analyzer(code).analyze(spaced(term.text))
            letters = analyzer(code).analyze(spread(term.text)) if is_unspaced(term.text) else pairs
            for name in ("title",) if term.place == "title" else tuple(_WEIGHTS):
                terms = letters if name == "content" else pairs
                query = self._matches(f"{name}_{code}", terms)
                yield FieldClause(name, code, tuple(terms), _WEIGHTS[name], query)

    def _term(self, term: QueryTerm) -> Any:
        """Return the query for a word or phrase: the best language, in which the fields add up."""
        import tantivy

        by_language = []
        for _, found in groupby(self.fields(term), key=lambda each: each.code):
            boosted = [(tantivy.Occur.Should, tantivy.Query.boost_query(each.query, each.weight)) for each in found]
            by_language.append(tantivy.Query.boolean_query(boosted))
        return by_language[0] if len(by_language) == 1 else tantivy.Query.disjunction_max_query(by_language)

    def _matches(self, field: str, terms: Sequence[str]) -> Any:
        import tantivy

        if not terms:
            return tantivy.Query.empty_query()
        if len(terms) > 1:
            return tantivy.Query.phrase_query(self._schema, field, list(terms))
        if not field.startswith("content") and len(terms[0]) == 1 and is_unspaced(terms[0]):
            # Titles and anchor texts are indexed in pairs: any pair that starts with the letter.
            return tantivy.Query.regex_query(self._schema, field, f"{terms[0]}.?")
        return tantivy.Query.term_query(self._schema, field, terms[0])

    def _restrictions(self, wanted: SearchQuery) -> list[tuple[Any, Any]]:
        """Return the clauses for filters and dates, which do not change scores."""
        import tantivy

        clauses: list[tuple[Any, Any]] = []
        for each in wanted.filters:
            occur = tantivy.Occur.MustNot if each.excluded else tantivy.Occur.Must
            clauses.append((occur, tantivy.Query.const_score_query(self._filter(each), 0.0)))
        if wanted.after is not None or wanted.before is not None:
            between = tantivy.Query.range_query(
                self._schema,
                "date",
                tantivy.FieldType.Date,
                wanted.after,
                wanted.before,
                include_upper=wanted.before is None,
            )
            clauses.append((tantivy.Occur.Must, tantivy.Query.const_score_query(between, 0.0)))
        return clauses

    def _filter(self, each: QueryFilter) -> Any:
        import tantivy

        query = tantivy.Query
        match each.field:
            case "site":
                value = each.value.removeprefix("www.")
                options = [query.term_query(self._schema, name, value) for name in ("host", "domain")]
                if registered_domain(value) != value:
                    options.append(query.regex_query(self._schema, "host", rf".*\.{_escaped(value)}"))
                return query.boolean_query([(tantivy.Occur.Should, option) for option in options])
            case "lang":
                return query.term_query(self._schema, "lang", each.value.partition("-")[0])
            case name:
                return query.term_query(self._schema, name, each.value)


def _escaped(text: str) -> str:
    """Return a pattern for a text; tantivy rejects escapes of characters that need none."""
    return "".join(f"\\{letter}" if letter in _META else letter for letter in text)
