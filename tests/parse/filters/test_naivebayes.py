from __future__ import annotations

from math import isclose, log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parse.filters.pages import content, link, page, setup, written

from scoter.errors import RuleError, UsageError
from scoter.parse.filters.naivebayes import (
    MOST_LISTED_WORDS,
    NaiveBayesFilter,
    NaiveBayesSettings,
    classifier,
    train,
    word_set,
    words_of,
)

TRAINING = """# about seals
1\tGrey seals give birth on the sandbanks in winter
1\tSeals and walruses rest on the ice
0\tGet your casino bonus today

0\tPlay poker and win the bonus
"""
LINKS = (
    link("http://b.example/Seals/"),
    link("http://b.example/walross/%E6%B5%B7%E8%B1%B9"),
    link("http://b.example/poker"),
)
EXAMPLES = st.lists(st.tuples(st.booleans(), st.text("ab é海\t", max_size=12)), min_size=2).filter(
    lambda examples: len({relevant for relevant, _ in examples}) == 2
)


def _filter(tmp_path: Path, words: str | None = "seal\n# comment\n\n海豹\n") -> NaiveBayesFilter:
    train_file = written(tmp_path / "train.txt", TRAINING)
    word_file = None if words is None else written(tmp_path / "words.txt", words)
    return NaiveBayesFilter(setup(settings=NaiveBayesSettings(train_file, word_file)))


def test_a_relevant_page_keeps_its_links(tmp_path: Path) -> None:
    found = _filter(tmp_path).refine(content(), page(title="Seals", text="in winter on the ice", outlinks=LINKS))

    assert (found.outlinks, found.metadata) == (LINKS, {"relevant": "true"})


def test_an_irrelevant_page_keeps_the_links_whose_urls_have_a_listed_word(tmp_path: Path) -> None:
    casino = page(title="Casino", text="Poker and a bonus", outlinks=LINKS)

    found = _filter(tmp_path).refine(content(), casino)

    assert (found.outlinks, found.metadata) == (LINKS[:2], {"relevant": "false"})
    assert _filter(tmp_path, None).refine(content(), casino).outlinks == ()


def test_score_matches_the_textbook_formula() -> None:
    # Manning, Raghavan, Schütze, Introduction to Information Retrieval, example 13.1
    model = train(
        [
            (True, "Chinese Beijing Chinese"),
            (True, "Chinese Chinese Shanghai"),
            (True, "Chinese Macao"),
            (False, "Tokyo Japan Chinese"),
        ]
    )

    score = model.score("Chinese Chinese Chinese Tokyo Japan")

    china = 3 / 4 * (3 / 7) ** 3 * 1 / 14 * 1 / 14
    other = 1 / 4 * (2 / 9) ** 3 * 2 / 9 * 2 / 9
    assert isclose(score, log(china / other))


@given(EXAMPLES, st.text("ab é海", max_size=12))
def test_the_order_of_examples_does_not_matter_and_the_two_kinds_are_each_others_mirror(
    examples: list[tuple[bool, str]], text: str
) -> None:
    score = train(examples).score(text)

    assert train(examples[::-1]).score(text) == score
    assert isclose(train([(not relevant, each) for relevant, each in examples]).score(text), -score, abs_tol=1e-9)


@given(EXAMPLES)
def test_more_of_a_word_seen_only_in_relevant_texts_makes_a_text_no_less_relevant(
    examples: list[tuple[bool, str]],
) -> None:
    evened = [*examples, *((not relevant, text) for relevant, text in examples)]  # else sizes alone tell
    model = train([*evened, (True, "zz zz zz"), (False, "yy yy yy")])

    assert model.score("zz zz") > model.score("zz") > model.score("")


def test_a_model_is_bounded_and_keeps_the_commonest_words() -> None:
    model = train([(True, "a a a b b c"), (False, "b d")], most_words=2)

    assert set(model.weights) == {"a", "b"}


def test_words_are_taken_whatever_their_script() -> None:
    assert words_of("Größe: 12 STRASSE straße") == ["grösse", "strasse", "strasse"]
    assert words_of("हिन्दी में") == ["हिन्दी", "में"]
    assert words_of("灰海豹 x 豹") == ["灰海", "海豹", "x", "豹"]


@given(st.text("aZ 1_-\n"))
def test_ascii_is_taken_apart_like_everything_else(text: str) -> None:
    assert words_of(text) == [word for word in words_of(text + " é") if word != "é"]


@pytest.mark.parametrize("line", ["2\ttext", "1 text", "relevant\ttext", "1"])
def test_invalid_training_line_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(RuleError, match=r"^train\.txt:2: .* is not a training text"):
        classifier(["1\tseals", line, "0\tpoker"], "train.txt")


def test_training_file_needs_both_kinds() -> None:
    with pytest.raises(UsageError, match=r"train_file: train\.txt has no irrelevant text"):
        classifier(["1\tseals"], "train.txt")
    with pytest.raises(UsageError, match=r"train_file: train\.txt has no relevant text"):
        classifier([], "train.txt")


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), st.text("ab/?", max_size=5))
def test_a_listed_word_is_found_in_every_text_that_has_it(word: str, around: str) -> None:
    words = word_set([word], "words.txt")
    listed = word.strip()

    hit = words.first(f"{around}{listed}{around}".casefold())

    assert (hit is not None) == bool(listed and not listed.startswith("#"))


def test_a_word_list_is_bounded() -> None:
    with pytest.raises(RuleError, match=r"^words\.txt:1001: "):
        word_set([f"word{number}" for number in range(MOST_LISTED_WORDS + 1)], "words.txt")
    with pytest.raises(RuleError, match=r"^words\.txt:1: .* is longer than 100"):
        word_set(["x" * 101], "words.txt")
