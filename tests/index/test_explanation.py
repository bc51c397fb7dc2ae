"""Explanations of results: which fields match, where the score comes from, and what is not shown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.index.indexes import document, search, write

from scoter.index.explanation import ScoreExplanation
from scoter.index.search import SearchHit

_LONG = "Grey seals rest on the beach. Young seals are white in winter. They are fed for three weeks."


def explained(folder: Path, query: str) -> list[tuple[SearchHit, ScoreExplanation]]:
    found = []
    for hit in search(folder, query, explain=True).hits:
        assert hit.explanation is not None
        found.append((hit, hit.explanation))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crawl")
    write(
        found,
        document("http://a.org/seals", "Grey seals", _LONG, boost=4.0, date=datetime(2026, 3, 1, tzinfo=UTC)),
        document("http://mirror.net/seals", "Grey seals", f"{_LONG} A copy.", boost=0.01),
        document("http://b.de/robben", "Kegelrobben", "Die Häuser am Strand.", lang="de", anchor=["seals in German"]),
        document("http://d.jp/", "東京タワー", "東京タワーは東京にあります。", lang="ja"),
        *(document(f"http://w.org/{n}", f"Whales {n}", f"Whale number {n}.") for n in range(4)),
        document("http://x.org/", "Whales", "More of them."),
    )
    return found


def test_parts_say_which_field_has_which_term(folder: Path) -> None:
    ((_, why), *_) = explained(folder, "seals winter")

    assert [(part.word, part.field, part.terms, part.frequency) for part in why.parts] == [
        ("seals", "title", "seal", 1),
        ("seals", "content", "seal", 2),
        ("winter", "content", "winter", 1),
        ("seals winter", "content", "seal winter", 1),
    ]
    assert all(part.idf > 0 and part.length > 0 and part.average_length > 0 for part in why.parts)


@pytest.mark.parametrize(
    "query", ["seals", "grey seals", '"grey seals" winter', "intitle:seals", "strand", "東京 タワー"]
)
def test_the_parts_and_the_link_score_make_up_the_score(folder: Path, query: str) -> None:
    for hit, why in explained(folder, query):
        assert why.parts
        assert sum(part.score for part in why.parts) == pytest.approx(why.text_score, abs=0.001)
        assert why.text_score * why.link_factor == pytest.approx(hit.score, abs=0.001)
        assert all(part.bm25 * part.weight == pytest.approx(part.score, abs=0.001) for part in why.parts)


def test_a_link_score_changes_a_score_by_a_quarter_at_most(tmp_path: Path) -> None:
    boosts = (1e-9, 1.0, 1e9)
    write(tmp_path, *(document(f"http://a{boost}.org/", "Seals", "x", boost=boost) for boost in boosts))

    assert [why.link_factor for _, why in explained(tmp_path, "seals")] == [1.25, 1.0, 0.75]


def test_copies_and_pages_of_the_same_host_that_are_not_shown_are_counted(folder: Path) -> None:
    ((first, why),) = [each for each in explained(folder, "grey seals") if each[0].url == "http://a.org/seals"]
    assert (why.copies, why.hidden_copies) == (("http://mirror.net/seals",), 1)
    assert first.more_from_host == 0

    assert sorted(hit.more_from_host for hit, _ in explained(folder, "whales")) == [0, 0, 2]


def test_filters_and_order_are_named(folder: Path) -> None:
    ((hit, why),) = explained(folder, "seals site:a.org after:2026-01 sort:date")

    assert (why.filters, why.order) == (("site:a.org", "after:2026-01"), "date")
    assert hit.score == 0


def test_results_have_no_explanation_unless_asked_for(folder: Path) -> None:
    assert all(hit.explanation is None for hit in search(folder, "seals").hits)
