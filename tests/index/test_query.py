"""The query language: what is understood, what is explained, and what no query can break."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples

from scoter.errors import UsageError
from scoter.index.query import QueryFilter, QueryTerm, SearchQuery, parse_search

PIECES = st.sampled_from(
    [
        *("seals", "grey", "-", "--", '"', "“", ":", "::", "site:", "a.org", "/", "/docs/", "www.", "https://", "D"),
        *("intitle:", "titel:", "author:", "after:", "2026-01", "sort:date", "filetype:", ".", "pdf", "OR", "*", "++"),
        *("zoo", "()", " ", " ", " ", " ", "東京", "é", "\0", "\t", "lang:de"),
    ]
)
QUERIES = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("git-rebase --onto", [QueryTerm("git-rebase"), QueryTerm("--onto")]),
        ("-D", [QueryTerm("-D")]),
        ("branch -D", [QueryTerm("branch"), QueryTerm("-D")]),
        ("kill -9", [QueryTerm("kill"), QueryTerm("-9")]),
        ("seals -zoo", [QueryTerm("seals"), QueryTerm("zoo", excluded=True)]),
        ("-zoo", [QueryTerm("-zoo", phrase=True)]),
        ("seals--zoo", [QueryTerm("seals--zoo")]),
        ("seals - zoo", [QueryTerm("seals"), QueryTerm("zoo")]),
        ('"x"-zoo', [QueryTerm("x", phrase=True), QueryTerm("zoo")]),
        ('"x"--zoo', [QueryTerm("x", phrase=True), QueryTerm("zoo")]),
        ('"x"--intitle:zoo', [QueryTerm("x", phrase=True), QueryTerm("zoo", "title")]),
        ("-intitle:zoo seals", [QueryTerm("zoo", "title", excluded=True), QueryTerm("seals")]),
        ("std::vector C++", [QueryTerm("std::vector"), QueryTerm("C++")]),
        ("“grey seals”", [QueryTerm("grey seals", phrase=True)]),
        ("Title:zoo url:blog", [QueryTerm("zoo", "title"), QueryTerm("blog", "url")]),
        ("http://a.org/x 12:30", [QueryTerm("http://a.org/x"), QueryTerm("12:30")]),
    ],
)
def test_words_and_minus_signs(query: str, terms: list[QueryTerm]) -> None:
    assert list(parse_search(query).terms) == terms


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("site:Docs.Example/Python", QueryFilter("site", "docs.example/Python")),
        ("site:https://www.a.org/", QueryFilter("site", "a.org")),
        ("site:localhost:8000", QueryFilter("site", "localhost:8000")),
        ("-site:a.org seals", QueryFilter("site", "a.org", excluded=True)),
        ("ext:.PDF", QueryFilter("filetype", "pdf")),
    ],
)
def test_filters(query: str, expected: QueryFilter) -> None:
    assert parse_search(query).filters == (expected,)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("titel:seals", "did you mean 'title'"),
        ("author:smith", "author: is not a search operator"),
        ("allintitle:seals", "intitle: before each word"),
        ("site: a.org", "site: has no value"),
        ("-> seals", "-> was left out"),
    ],
)
def test_what_is_not_understood_is_explained(query: str, said: str) -> None:
    assert any(said in notice for notice in parse_search(query).notices)


@pytest.mark.parametrize("query", ["foo:bar", "seals OR zoo", "seal*", "tar -xzf"])
def test_a_possible_reason_is_kept_for_an_empty_result(query: str) -> None:
    found = parse_search(query)

    assert not found.notices
    assert found.doubts


@settings(max_examples=examples(300))
@given(QUERIES)
def test_any_query_is_parsed_or_refused_and_keeps_its_meaning(text: str) -> None:
    try:
        found = parse_search(text)
    except UsageError:
        return

    again = parse_search(str(found))
    assert meaning(again) == meaning(found)


@settings(max_examples=examples(200))
@given(st.lists(st.from_regex(r"[a-z]{2,12}", fullmatch=True), min_size=1, max_size=20))
def test_every_word_of_a_plain_query_is_searched(words: list[str]) -> None:
    found = parse_search(" ".join(words))

    assert [term.text for term in found.terms] == words
    assert not found.notices


def meaning(query: SearchQuery) -> SearchQuery:
    return replace(query, restrictions=(), notices=(), doubts=())
