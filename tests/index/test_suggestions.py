"""Spelling suggestions: what is corrected, what is only suggested, and what is left as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.index.indexes import document, search, write

from scoter.index.suggestions import edit_distance


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crawl")
    write(
        found,
        document("http://a.org/zoo", "Walrus pool", "A walrus lives in the zoo."),
        document("http://b.org/linked", "Untitled", "Nothing here.", anchor=["narwhal pictures"]),
        document("http://c.org/plants", "Sunflower", "It turns to the light."),
        document("http://d.fr/", "Éléphants", "Les éléphants de mer.", lang="fr"),
        document("http://e.org/blog", "Notes", "We saw a graey seal today."),
        *(document(f"http://s{n}.org/", f"Grey seals {n}", "Resting.") for n in range(12)),
    )
    return found


CORRECTED = [
    ("waltrus", "walrus"),
    ("aalrus", "walrus"),
    ("narwal", "narwhal"),
    ("Walrsu pool", "walrus pool"),
    ("intitle:waltrus", "intitle:walrus"),
    ('"waltrus pool"', '"walrus pool"'),
    ("waltrus, -cat site:a.org", "walrus, -cat site:a.org"),
    ("greyseals", "grey seals"),
    ("sun flower", "sunflower"),
    ("elephents", "elephants"),
]


@pytest.mark.parametrize(("query", "better"), CORRECTED)
def test_a_misspelt_word_is_corrected(folder: Path, query: str, better: str) -> None:
    found = search(folder, query)

    assert (found.suggestion, found.corrected) == (better, True)
    assert found.hits


@pytest.mark.parametrize("query", ["walrus", "xyzzyq", "waltrus site:b.org", "se", "東京"])
def test_nothing_is_suggested(folder: Path, query: str) -> None:
    assert search(folder, query).suggestion == ""


def test_a_much_more_frequent_spelling_is_suggested_beside_the_results(folder: Path) -> None:
    found = search(folder, "graey")

    assert [hit.url for hit in found.hits] == ["http://e.org/blog"]
    assert (found.suggestion, found.corrected) == ("grey", False)


def test_pages_with_most_of_the_words_are_marked_as_such(folder: Path) -> None:
    found = search(folder, "walrus pool narwhal")

    assert (found.partial, found.corrected) == (True, False)
    assert [hit.url for hit in found.hits] == ["http://a.org/zoo"]


@pytest.mark.parametrize(
    ("one", "two", "distance"), [("seal", "seal", 0), ("saels", "seals", 1), ("seal", "sea", 1), ("abc", "xyz", 3)]
)
def test_edit_distance(one: str, two: str, distance: int) -> None:
    assert edit_distance(one, two, 2) == distance
