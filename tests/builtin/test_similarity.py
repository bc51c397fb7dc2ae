"""The scoring filter similarity: pages that resemble a model text pass on high scores."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from scoter.builtin.similarity import SimilarityScoring
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import canonical
from scoter.errors import UserError
from scoter.plugins import Setup, chain

URL = canonical("http://a.example/")
CONTENT = Content(url=URL, media_type="text/html", body=b"")
DATUM = CrawlDatum(status=DbStatus.FETCHED, score=0.5)
TARGETS = [Outlink(target=canonical("http://a.example/b"), score=9.0)]


def scoring(tmp_path: Path, model: str, *overrides: str) -> SimilarityScoring:
    file = tmp_path / "model.txt"
    file.write_text(model)
    return SimilarityScoring(Setup(load(overrides=[f"scoring.cosine_goldstandard_file={file}", *overrides])))


def score_of(similarity: SimilarityScoring, text: str, **columns: tuple[str, ...]) -> float:
    page = similarity.after_parsing(URL, CONTENT, Page(url=URL, text=text, metas=columns))
    (link,) = similarity.distribute(URL, DATUM, page, TARGETS, 1)
    assert float(page.metadata["similarity"]) == link.score
    return link.score


def test_links_get_the_cosine_of_the_pages_term_frequencies(tmp_path: Path) -> None:
    similarity = scoring(tmp_path, "Seals swim. The seal is swimming to a cod.")  # seal 2, swim 2, cod 1

    assert score_of(similarity, "SEALS") == pytest.approx(2 / 3)
    assert score_of(similarity, "a cod and the herring") == pytest.approx(1 / (3 * math.sqrt(2)))
    assert score_of(similarity, "swims, seal; cod swim seals") == pytest.approx(1.0)
    assert score_of(similarity, "casino") == score_of(similarity, "") == score_of(similarity, "the of and") == 0.0


def test_description_and_keywords_count(tmp_path: Path) -> None:
    similarity = scoring(tmp_path, "grey seals")

    assert score_of(similarity, "", description=("Grey",), keywords=("seal",)) == pytest.approx(1.0)


def test_stop_words_of_the_file_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Grey\n\n")
    similarity = scoring(tmp_path, "grey seals", f"scoring.similarity_stopword_file={tmp_path / 'stop.txt'}")

    assert score_of(similarity, "grey") == 0.0
    assert score_of(similarity, "seal") == pytest.approx(1.0)


def test_ngrams_compare_runs_of_words(tmp_path: Path) -> None:
    similarity = scoring(tmp_path, "grey seals swim", "scoring.similarity_ngrams=[2, 2]")

    assert score_of(similarity, "swim seals grey") == 0.0
    assert score_of(similarity, "grey seals") == pytest.approx(1 / math.sqrt(2))


def test_urls_with_similar_inlinks_are_fetched_first(tmp_path: Path) -> None:
    similarity = scoring(tmp_path, "grey seals")

    assert similarity.sort_value(URL, DATUM, 2.0) == 1.0


@pytest.mark.parametrize(
    ("model", "overrides", "told"),
    [
        ("", [], "has no words to compare"),
        ("the of", [], "has no words to compare"),
        ("seals", ["scoring.similarity_ngrams=[2, 1]"], "is not a minimum and a maximum"),
        ("seals", ["scoring.similarity_ngrams=[1, 2, 3]"], "is not a minimum and a maximum"),
        ("seals", ["scoring.similarity_stopword_file=/nowhere/stop.txt"], "cannot be read"),
    ],
)
def test_unusable_settings_are_rejected(tmp_path: Path, model: str, overrides: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        scoring(tmp_path, model, *overrides)


def test_model_text_is_required() -> None:
    with pytest.raises(UserError, match="is empty, but the scoring filter similarity"):
        chain("scoring", load(overrides=["scoring.filters=similarity"]))
