from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from scoter.core.signature import NEAR, distance, md5, profile_lines, simhash, text_md5, text_profile

PAGE = " ".join(f"the harbour had {count} boats and {count * 7} gulls that morning" for count in range(80))


def test_md5_signs_the_body_or_the_url_of_an_empty_page() -> None:
    assert md5(b"abc", "http://a/") == hashlib.md5(b"abc").digest()
    assert md5(b"", "http://a/") == hashlib.md5(b"http://a/").digest()


def test_text_md5_ignores_markup_and_falls_back_to_the_body() -> None:
    assert text_md5("same", b"<b>same</b>", "") == text_md5("same", b"<i>same</i>", "")
    assert text_md5("", b"abc", "http://a/") == md5(b"abc", "http://a/")


def test_profile_counts_words_of_more_than_two_letters_in_steps() -> None:
    # given a word 5 times, one 4 times, one 3 times, one once, and a short one
    text = "gull gull gull gull GULL, boat boat boat boat; rope rope rope. once at at at at at"

    # then counts are floored to the quantum of 2, and lower counts are dropped
    assert profile_lines(text) == ["boat 4", "gull 4", "rope 2"]


def test_quantum_grows_with_the_most_frequent_word() -> None:
    text = "gull " * 450 + "boat " * 7 + "rope " * 3

    assert profile_lines(text) == ["gull 450", "boat 5"]  # 1 % of 450 is 4.5, rounded up to 5


def test_words_that_occur_once_each_are_kept() -> None:
    assert profile_lines("one two three") == ["one 1", "three 1", "two 1"]


def test_profile_without_words_falls_back_to_the_text() -> None:
    assert text_profile("a b c", b"body", "u") == text_md5("a b c", b"body", "u")
    assert text_profile("", b"body", "u") == md5(b"body", "u")


def test_profile_ignores_case_punctuation_and_order() -> None:
    assert text_profile("Gull boat. Boat gull", b"", "") == text_profile("boat boat gull gull", b"", "")


def test_only_near_duplicates_have_similar_simhashes() -> None:
    stranger = " ".join(f"chapter {count} deals with question number {count * 3}" for count in range(80))

    assert distance(simhash(PAGE), simhash(PAGE + " today")) <= NEAR
    assert distance(simhash(PAGE), simhash(PAGE.replace("harbour", "HARBOUR"))) == 0
    assert distance(simhash(PAGE), simhash(stranger)) > 10


def test_simhash_depends_on_word_order() -> None:
    assert simhash("one two three four five six") != simhash("six five four three two one")


@given(st.text(max_size=300))
def test_any_text_has_a_stable_simhash_of_64_bits(text: str) -> None:
    assert len(simhash(text)) == 8
    assert simhash(text) == simhash(text)


@given(st.text(max_size=300))
def test_any_text_has_a_profile(text: str) -> None:
    assert len(text_profile(text, text.encode(errors="replace"), "u")) == 16
