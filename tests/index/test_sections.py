"""Results lead to sections of pages, and their snippets are whole words."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.index.indexes import document, search, write

from scoter.core.page import PageSection
from scoter.index.matches import QueryMatches, folded
from scoter.index.query import QueryTerm
from scoter.index.search import SearchHit
from scoter.index.sections import located
from scoter.index.snippets import LENGTH, passage

CONTENTS = "Seal watching\nFood\nHerring\nTravel"
TEXT = f"""{CONTENTS}
Seal watching
How to see seals on the coast.
Food
What seals eat in the wild.
Herring ¶
Seals hunt herring at night, mostly in autumn.
Travel
Take the ferry. Boats leave in the morning.
Food
Travel"""
SECTIONS = (
    PageSection(1, "Seal watching", "top"),
    PageSection(2, "Food", "food"),
    PageSection(3, "Herring", "food-herring"),
    PageSection(2, "Travel", "getting there"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crawl")
    heading = [section.text for section in SECTIONS]
    page = document("http://a.org/seals", "Seal watching – Wildlife", TEXT, heading=heading)
    write(found, replace(page, sections=SECTIONS), document("http://a.org/plain", "Plain", "Nothing but otters."))
    return found


def best(folder: Path, query: str) -> SearchHit:
    return search(folder, query).hits[0]


@pytest.mark.parametrize(
    ("query", "link", "section"),
    [
        ("herring", "http://a.org/seals#food-herring", ("Food", "Herring")),
        ("seal hunting herring", "http://a.org/seals#food-herring", ("Food", "Herring")),
        ("seals ferry", "http://a.org/seals#getting%20there", ("Travel",)),
        ("seal food", "http://a.org/seals#food", ("Food",)),
        ("seal watching", "http://a.org/seals", ()),
        ("seals coast", "http://a.org/seals", ()),
        ("otters", "http://a.org/plain", ()),
        ("site:a.org/seals", "http://a.org/seals", ()),
    ],
)
def test_a_result_leads_to_its_best_section(folder: Path, query: str, link: str, section: tuple[str, ...]) -> None:
    hit = best(folder, query)

    assert (hit.link, hit.section) == (link, section)


def test_the_snippet_is_from_the_section(folder: Path) -> None:
    assert best(folder, "seals herring").snippet.startswith("<b>Herring</b> ¶ <b>Seals</b> hunt <b>herring</b>")


@pytest.mark.parametrize(
    "heading", ["13.3.4. Deadlocks", "class Deadlock(owner, waiter)", "Chapter 2. Deadlock", "Deadlock"]
)
def test_a_page_with_the_query_as_a_heading_ranks_first(tmp_path: Path, heading: str) -> None:
    text = "A deadlock ends when a lock is released. " * 20
    write(
        tmp_path,
        document("http://a.org/much", "Deadlock timeouts and other settings", text),
        document("http://a.org/right", "Explicit locking", f"Locks.\n{heading}\nRare.", heading=[heading]),
    )

    assert [hit.url for hit in search(tmp_path, "deadlock").hits] == ["http://a.org/right", "http://a.org/much"]


def test_a_table_of_contents_is_not_where_sections_begin() -> None:
    starts = [TEXT[section.start :].split("\n")[1] for section in located(SECTIONS, TEXT)[1:]]

    assert starts == [
        "What seals eat in the wild.",
        "Seals hunt herring at night, mostly in autumn.",
        "Take the ferry. Boats leave in the morning.",
    ]


def test_sections_that_the_text_does_not_have_are_left_out() -> None:
    found = located((PageSection(1, "Gulls", "gulls"), *SECTIONS), "Gull\nFood\nTravel")

    assert [section.anchor for section in found] == ["food", "getting there"]


def test_a_page_without_snippet_shows_no_section(tmp_path: Path) -> None:
    page = document("http://a.org/", "Seals", TEXT, nosnippet=True)
    write(tmp_path, replace(page, sections=SECTIONS))

    (hit,) = search(tmp_path, "herring").hits

    assert (hit.snippet, hit.link, hit.section) == ("", "http://a.org/", ())


PIECES = st.sampled_from(["seal", "Seals", "Été", "the", "herring,", "x" * 30, "a", "end.", "\n"])


@settings(max_examples=examples(150))
@given(st.lists(PIECES, max_size=120), st.sampled_from(["seals", "ete", "herring", "walrus", "seal herring"]))
def test_snippets_begin_and_end_at_words(words: list[str], query: str) -> None:
    text = " ".join(words)
    terms = [QueryTerm(word) for word in query.split()]
    matches = QueryMatches(terms, "en").of(text)

    found = passage(text, matches, [1.0] * len(terms), 0, len(text))

    plain = html.unescape(re.sub("</?b>", "", found))
    assert f" {plain} " in f" {' '.join(text.split())} "
    assert len(plain) <= LENGTH
    assert not matches or "<b>" in found


@settings(max_examples=examples(100))
@given(st.text(max_size=40))
def test_folding_keeps_the_length(text: str) -> None:
    assert len(folded(text)) == len(text)
