"""Queries in tantivy's form: which terms must occur in which fields, and how much each field counts."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from scoter.core.domain import registered_domain
from scoter.index.heading_keys import HEADING, key_of
from scoter.index.languages import PLAIN, analyzer, is_unspaced, spaced, spread
from scoter.index.query import QueryFilter, QueryTerm, SearchQuery
from scoter.index.symbols import SYMBOL, symbols_of

_WEIGHTS: Final = {"title": 2.5, "anchor": 1.5, "content": 1.0, "rest": 0.1}
_SPREAD: Final = ("content", "rest")
_WHOLE: Final = 6.0  # for a title or heading that is the query
_NEAR: Final = 0.75  # for two neighbouring words of the query that are near each other in the content
_BETWEEN: Final = 3  # other words
_MOST_PAIRS: Final = 8
_MOST_OPTIONAL: Final = 32
_DISPENSABLE: Final = 0.4  # of the words, if no page has all of them
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_MEDIA_TYPES: Final = {
    **mimetypes.MimeTypes().types_map[True],
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".epub": "application/epub+zip",
    **{
        f".od{kind[0]}": f"application/vnd.oasis.opendocument.{kind}"
        for kind in ("text", "spreadsheet", "presentation")
    },
    ".md": "text/markdown",
    ".rtf": "application/rtf",
}
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
            if not term.excluded or not is_exact(term):
                occur = tantivy.Occur.MustNot if term.excluded else tantivy.Occur.Must
                clauses.append((occur, self._term(term)))
        if all(occur == tantivy.Occur.MustNot for occur, _ in clauses):
            clauses.append((tantivy.Occur.Must, tantivy.Query.all_query()))
        heading = _whole(wanted)
        if heading is not None:
            keys = [each.query for each in self.fields(heading)]
            clauses.append((tantivy.Occur.Should, tantivy.Query.disjunction_max_query(keys)))
        pairs = _pairs(wanted)
        for pair in pairs:
            near = [tantivy.Query.boost_query(each.query, each.weight) for each in self.fields(pair)]
            clauses.append((tantivy.Occur.Should, tantivy.Query.disjunction_max_query(near)))
        scored = (*wanted.words, *(() if heading is None else (heading,)), *pairs)
        return BuiltQuery(tantivy.Query.boolean_query(clauses), scored)

    def most_words(self, wanted: SearchQuery) -> BuiltQuery | None:
        """Return the query for pages with most of the words, or ``None`` if there is only one.

        Phrases, fields and exclusions stay as they are. Of a text without spaces, most of the pairs must occur.
        """
        import tantivy

        clauses = self._restrictions(wanted)
        optional: list[QueryTerm] = []
        for term in wanted.terms:
            if term.excluded and is_exact(term):
                continue
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
        if term.place == "heading":
            yield from self._headings(term)
            return
        if term.place == "near":
            yield from self._near(term)
            return
        if term.place == "url":
            terms = analyzer(PLAIN).analyze(spaced(term.text))
            yield FieldClause("url", PLAIN, tuple(terms), 1.0, self.all_of("url", terms))
            return
        if term.place == "any":
            for symbol in dict.fromkeys(symbols_of(term.text)):
                yield FieldClause(SYMBOL, PLAIN, (symbol,), 1.0, self.all_of(SYMBOL, (symbol,)))
        for code in self._codes:
            pairs = analyzer(code).analyze(spaced(term.text))
            letters = analyzer(code).analyze(spread(term.text)) if is_unspaced(term.text) else pairs
            for name in ("title",) if term.place == "title" else tuple(_WEIGHTS):
                if name == "rest" and term.excluded:
                    continue  # a word in the menu does not make a page one about it
                terms = letters if name in _SPREAD else pairs
                query = self._matches(f"{name}_{code}", terms)
                yield FieldClause(name, code, tuple(terms), _WEIGHTS[name], query)

    def _headings(self, term: QueryTerm) -> Iterator[FieldClause]:
        import tantivy

        for code in self._codes:
            if key := key_of(term.text, code):
                found = tantivy.Query.const_score_query(self.all_of(HEADING, (key,)), _WHOLE)
                yield FieldClause(HEADING, code, tuple(analyzer(code).analyze(term.text)), 1.0, found)

    def _near(self, term: QueryTerm) -> Iterator[FieldClause]:
        import tantivy

        for code in self._codes:
            terms = analyzer(code).analyze(term.text)
            if len(set(terms)) > 1:
                found = tantivy.Query.phrase_query(self._schema, f"content_{code}", terms, slop=_BETWEEN)
                yield FieldClause("content", code, tuple(terms), _NEAR, found)

    def _term(self, term: QueryTerm) -> Any:
        """Return the query for a word or phrase: the best language, in which the fields add up."""
        import tantivy

        symbols, by_language = [], []
        for _, found in groupby(self.fields(term), key=lambda each: (each.field == SYMBOL, each.code)):
            clauses = list(found)
            boosted = [(tantivy.Occur.Should, tantivy.Query.boost_query(each.query, each.weight)) for each in clauses]
            if clauses[0].field == SYMBOL:
                symbols = [(tantivy.Occur.Must, query) for _, query in boosted]
            else:
                by_language.append(tantivy.Query.boolean_query(boosted))
        words = by_language[0] if len(by_language) == 1 else tantivy.Query.disjunction_max_query(by_language)
        return tantivy.Query.boolean_query([*symbols, (tantivy.Occur.Should, words)]) if symbols else words

    def all_of(self, field: str, terms: Sequence[str]) -> Any:
        """Return the query for a field without positions."""
        import tantivy

        found = [(tantivy.Occur.Must, tantivy.Query.term_query(self._schema, field, term)) for term in terms]
        return tantivy.Query.boolean_query(found) if found else tantivy.Query.empty_query()

    def _matches(self, field: str, terms: Sequence[str]) -> Any:
        import tantivy

        if not terms:
            return tantivy.Query.empty_query()
        if len(terms) > 1:
            return tantivy.Query.phrase_query(self._schema, field, list(terms))
        if not field.startswith(_SPREAD) and len(terms[0]) == 1 and is_unspaced(terms[0]):
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
                host, slash, path = each.value.partition("/")
                host, _, port = host.partition(":")
                options = [query.term_query(self._schema, name, host) for name in ("host", "domain")]
                if slash or port:
                    rest = ".*" if path.endswith("/") else "([/?.;].*)?"
                    pattern = rf"https?://(www\.)?{_escaped(each.value)}{rest}"
                    return query.regex_query(self._schema, "id", pattern)
                if registered_domain(host) != host:
                    options.append(query.regex_query(self._schema, "host", rf".*\.{_escaped(host)}"))
                return query.boolean_query([(tantivy.Occur.Should, option) for option in options])
            case "filetype":
                media_type = _MEDIA_TYPES.get(f".{each.value}", each.value)
                options = [query.term_query(self._schema, "type", media_type)]
                if media_type == each.value:  # unknown: the end of the address
                    options.append(self.all_of("url", analyzer(PLAIN).analyze(each.value)))
                return query.boolean_query([(tantivy.Occur.Should, option) for option in options])
            case "lang":
                return query.term_query(self._schema, "lang", each.value.partition("-")[0])
            case name:
                return query.term_query(self._schema, name, each.value)


def _whole(wanted: SearchQuery) -> QueryTerm | None:
    """Return the words of a query as one text, which may be a title or a heading."""
    words = [term.text for term in wanted.words if term.place == "any"]
    return QueryTerm(" ".join(words), "heading") if words and not is_unspaced("".join(words)) else None


def _pairs(wanted: SearchQuery) -> list[QueryTerm]:
    """Return neighbouring words of a query; words of scripts without spaces are phrases anyway."""
    words = [term.text for term in wanted.words if term.place == "any" and not term.phrase]
    pairs = [" ".join(pair) for pair in pairwise(words[: _MOST_PAIRS + 1])]
    return [QueryTerm(pair, "near") for pair in pairs if not is_unspaced(pair)]


def is_exact(term: QueryTerm) -> bool:
    """Return whether a term's words must be as they are written; fields only have their stems."""
    return term.phrase and term.place != "url" and not is_unspaced(term.text)


def _escaped(text: str) -> str:
    """Return a pattern for a text; tantivy rejects escapes of characters that need none."""
    return "".join(f"\\{letter}" if letter in _META else letter for letter in text)
