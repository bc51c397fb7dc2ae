"""What is measured of a text, and which rules it breaks."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa
import pytest

from scoter.config import load
from scoter.export.corpus.minhash import DuplicateGroups, MinHasher
from scoter.export.corpus.quality import QualitySignals, TextMeter, rules_of

WORDS = ("harbour", "seal", "tide", "lantern", "boat", "north", "grey", "sand", "rope", "gull", "storm", "pier")


def signals(text: str, language: str = "en") -> QualitySignals:
    return TextMeter().measure(text, language).signals


def broken(text: str, language: str = "en", *overrides: str) -> set[str]:
    found = signals(text, language)
    return {rule.name for rule in rules_of(load(None, {}, list(overrides)).corpus) if rule.is_broken(found)}


def prose(words: int, seed: int = 1) -> str:
    """Return sentences that no rule is against."""
    rng = random.Random(seed)
    made = [
        rng.choice(("the", "and", "that", "with")) if at % 4 == 0 else f"{rng.choice(WORDS)}{rng.randrange(1000)}"
        for at in range(words)
    ]
    return "\n".join(" ".join(made[at : at + 12]) + "." for at in range(0, words, 12))


def test_good_prose_breaks_no_rule() -> None:
    assert broken(prose(200)) == set()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Only a few words and the end.", "min_words"),
        (f"{prose(90)} " + "# " * 60, "max_symbol_ratio"),
        ("\n".join(f"- {line}" for line in prose(200).splitlines()), "max_bullet_lines"),
        ("\n".join(f"{line}..." for line in prose(200).splitlines()), "max_ellipsis_lines"),
        (" ".join(f"{number} " for number in range(200)), "min_alphabetic_words"),
        ("a b c d e " * 60, "min_word_length"),
        ("Donaudampfschifffahrtsgesellschaft " * 60, "max_word_length"),
        (re.sub("the|and|that|with", "wave", prose(200)), "min_stop_words"),
        ("\n".join([prose(60)] * 4), "max_duplicate_lines"),
        ("the seal and " * 100, "max_top_2gram"),
        ("\n".join([prose(60)] * 3), "max_duplicate_10grams"),
        (prose(100) + "\nLorem ipsum dolor sit amet.", "max_placeholders"),
        ("\n".join(f"{word} index" for word in prose(200).split()), "min_prose"),
    ],
)
def test_poor_text_breaks_its_rule(text: str, rule: str) -> None:
    assert rule in broken(text)
    assert rule not in broken(text, "en", f"corpus.{rule}=off")


@pytest.mark.parametrize(
    ("rule", "published"), [("min_punctuated_lines", 0.12), ("max_short_lines", 0.67), ("max_duplicate_5grams", 0.15)]
)
def test_published_thresholds_can_be_set(rule: str, published: float) -> None:
    text = "\n".join(prose(200).replace(".", "").split()) + prose(30).replace(".", "") * 2

    assert rule not in broken(text)
    assert rule in broken(text, "en", f"corpus.{rule}={published}")


MANUAL = """\
Synopsis

#include <stdio.h>
#define SIZE 64

int seal_open(const char *path, int flags);
int seal_close(int handle);

Return value

The function returns a handle that is used by the other functions, or -1 if the seal is asleep.

flags

SEAL_READ    0x01
SEAL_WRITE   0x02

Return value

The function returns a handle that is used by the other functions, or -1 if there is no seal.

See also

seal_wait
seal_feed
"""


def test_reference_documentation_breaks_no_rule() -> None:
    assert broken(MANUAL) == set()
    assert broken(MANUAL, "") == set()


def test_share_of_prose_counts_words_of_lines_like_sentences() -> None:
    text = "Home\nProducts and prices\nThe seal of the north is on the sand."

    assert signals(text).prose == pytest.approx(9 / 13)
    assert signals("Hier ist das Meer, und dort ist der Hund.", "de").prose == 1.0
    assert signals("nav " * 9).prose == 0.0


def test_rules_about_words_do_not_apply_to_scripts_without_spaces() -> None:
    sentence = "港の評議会は閲覧室で七種類のこけを隠すと言われている。"
    text = "\n".join(f"{sentence}{number}番目の話はここで終わる。" for number in range(30))
    found = signals(text, "ja")

    assert found.words > 300
    assert (found.word_length, found.stop_words, found.top_2gram) == (None, None, None)
    assert "min_words" not in broken(text, "ja")


def test_stop_words_are_counted_by_language() -> None:
    assert signals("der Hund und die Katze", "de-AT").stop_words == 3
    assert signals("der Hund und die Katze", "en").stop_words == 0
    assert signals("der Hund und die Katze", "xx").stop_words is None


@pytest.mark.parametrize("text", ["", " \n ", "a", "\0", "\ud800 lone", "x" * 100_000])
def test_any_text_can_be_measured(text: str) -> None:
    found = signals(text)

    assert found.characters == len(text)
    assert MinHasher(14, 8, 5).bands(TextMeter().measure(text).tokens) == []


def shared_bands(one: str, other: str) -> int:
    meter, hasher = TextMeter(), MinHasher(14, 8, 5)
    bands = [hasher.bands(meter.measure(text).tokens) for text in (one, other)]
    return sum(left == right for left, right in zip(*bands, strict=True))


def test_texts_that_differ_in_little_share_bands() -> None:
    text = prose(600)
    words = text.split(" ")
    words[100] = "changed"

    assert shared_bands(text, " ".join(words)) > 0
    assert shared_bands(text, text.upper().replace(".", "!")) == 14
    assert shared_bands(text, prose(600, seed=2)) == 0


def test_long_text_has_the_same_bands_however_it_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = TextMeter().measure(prose(3_000)).tokens
    before = MinHasher(14, 8, 5).bands(tokens)

    monkeypatch.setattr("scoter.export.corpus.minhash._CHUNK", 100)

    assert MinHasher(14, 8, 5).bands(tokens) == before


def test_best_row_of_linked_ones_is_the_one_with_the_highest_rank() -> None:
    groups = DuplicateGroups(np.array([1.0, 5.0, 1.0, 1.0, 2.0, 2.0]))

    groups.link([pa.record_batch({"one": [0, 1, 3, 4], "other": [2, 2, 4, 5]})])

    assert groups.best().tolist() == [1, 1, 1, 4, 4, 4]
