"""Patterns and sets of patterns: correct results in bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import examples, seconds_of

from scoter.core.pattern import (
    LONGEST_TEXT,
    SHORTEST_LIMIT,
    Bundle,
    Hit,
    PatternSet,
    compile_pattern,
    compile_replacement,
)

_LONG = "http://a.example/" + "a" * 30_000 + "!"


def _set(patterns: list[str], memory: int = 2**26) -> PatternSet:
    return PatternSet(((number, compile_pattern(each)) for number, each in enumerate(patterns)), memory)


def _by_re(patterns: list[str], text: str) -> Hit | None:
    return next((Hit(number) for number, each in enumerate(patterns) if re.search(each, text)), None)


_atoms = st.sampled_from(["a", "b", "/", r"\.", ".", "[ab]", "[^a]", "[a-c/]", "ab", r"\d", r"\w", "^", "$", r"\b"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{0,3}?"])
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("(?:{}){}".format, inner, repeats),
        st.builds("(?i:{})".format, inner),
        st.builds("(?={}){}".format, inner, inner),
        st.builds("(?<!a){}".format, inner),
    )


_inner = st.recursive(_atoms, _larger, max_leaves=6)
_patterns = st.one_of(_inner, st.builds("([ab]+)\\1{}".format, _inner))
_texts = st.text(alphabet="abcAB/.1", max_size=12)


@settings(max_examples=examples(200))
@given(st.lists(_patterns, max_size=8), _texts)
def test_set_matches_like_its_patterns_one_by_one(patterns: list[str], text: str) -> None:
    together = _set(patterns)

    assert together.first(text) == _by_re(patterns, text)


@settings(max_examples=examples(100))
@given(st.lists(_patterns, max_size=8), _texts)
def test_set_without_memory_budget_finds_the_same(patterns: list[str], text: str) -> None:
    together = _set(patterns, memory=1)

    assert together.first(text) == _by_re(patterns, text)


@pytest.mark.parametrize("memory", [2**18, 2**20, 2**26])
def test_hundreds_of_patterns_with_many_states_match_correctly(memory: int) -> None:
    patterns = [rf"[{chr(97 + number % 26)}-z][a-z0-9/]{{{20 + number % 7}}}{number}$" for number in range(300)]
    ends = [0, 7, 99, 150, 299]
    texts = ["http://h.example/" + "z" * 40 + str(end) for end in ends]

    together = _set(patterns, memory)

    assert [together.first(text) for text in texts] == [_by_re(patterns, text) for text in texts]
    assert together.first("http://h.example/!") is None


def test_engine_out_of_memory_does_not_count_as_no_match() -> None:
    patterns = [(4, compile_pattern("b")), (9, compile_pattern("a"))]
    no_answer = Bundle(patterns, lambda text: None)

    assert no_answer.first("xa") == Hit(9)
    assert no_answer.first("xab") == Hit(4)
    assert no_answer.first("x") is None


def test_slow_pattern_after_the_first_match_is_not_tried() -> None:
    patterns = ["^http:", r"(a+)+\1$!", "example"]

    assert _set(patterns).first(_LONG) == Hit(0)


def test_timeout_of_a_pattern_respects_the_order() -> None:
    patterns = ["^ftp:", r"(a+)+\1$", "example"]

    assert _set(patterns).first(_LONG) == Hit(1, gave_up=True)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a*)*b",
        r"(a|aa)+$",
        r"(x+x+)+y",
        r"((a?){100}){10}b",
        r"(.*)(.*)(.*)(.*)(.*)(.*)[0-9]$",
        r"(a+)+\1$",
        r"(?=(a+)+$)!",
        r"(?:(a|aa)+)\1!$",
        r"(a++)++b",
        r"(?<!(?:a|aa)+)b",
        r"(.+)+\1\1\1\1z|(a|a?)+$\1",
    ],
)
def test_catastrophic_pattern_ends_quickly_on_a_long_url(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    shortest = compile_replacement("", compiled)

    def ask() -> None:
        compiled.found(_LONG)
        compiled.replaced(_LONG[:3_000], shortest)
        _set([pattern, "x"]).first(_LONG)

    assert seconds_of(ask) < 5  # each of the three may take a second; a hang takes years


def test_too_long_text_is_not_matched() -> None:
    together = _set(["nothing", "example"])

    assert together.first("example" + "x" * (LONGEST_TEXT - 7)) == Hit(1)
    assert together.first("example" + "x" * LONGEST_TEXT) == Hit(0, gave_up=True)
    assert compile_pattern("x").found("x" * (LONGEST_TEXT + 1)) is None
    assert PatternSet([]).first("x") is None


def test_large_sets_limit_text_length_but_accept_ordinary_urls() -> None:
    large = _set([f"{'[a-z]?' * 100}{number}!" for number in range(300)])

    assert large.first("/" * (LONGEST_TEXT - 1)) == Hit(0, gave_up=True)
    assert large.first("/" * (SHORTEST_LIMIT - 2) + "7!") == Hit(7)


@given(st.text())
def test_any_text_is_matched_without_an_error(text: str) -> None:
    linear, slow = compile_pattern("[^a]b?$"), compile_pattern(r"(.)\1")

    for pattern in (linear, slow):
        assert pattern.found(text) in {True, False}
        pattern.replaced(text, compile_replacement("$0", pattern))
    _set([linear.text, slow.text]).first(text)


def test_lone_surrogate_in_text_is_no_error() -> None:
    pattern = compile_pattern("a")

    assert pattern.found("\ud800a") is True
    assert pattern.replaced("\ud800a", compile_replacement("b", pattern)) is None
    assert _set(["b", "a"]).first("\ud800a") == Hit(1)


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "expected"),
    [
        ("(a)(b)?", "$2$1", "abxa", "baxa"),
        ("a", r"\$1", "aa", "$1$1"),
        ("(?<n>a.)", "<${n}>", "axay", "<ax><ay>"),
        ("(a)", "$10", "a", "a0"),
        ("x*", "-", "axxb", "-a--b-"),
        (r"\b", "|", "  ab ", "  |ab| "),
        (r"(?<=a)b", "c", "abb", "acb"),
        ("é", "e", "caféé", "cafee"),
        ("^a", "", "aaa", "aa"),
        ("z", "y", "abc", "abc"),
    ],
)
def test_replacement_follows_java(pattern: str, replacement: str, text: str, expected: str) -> None:
    compiled = compile_pattern(pattern)

    assert compiled.replaced(text, compile_replacement(replacement, compiled)) == expected


@pytest.mark.parametrize("replacement", ["$", "$x", "$2", "${n}", "${", "\\"])
def test_replacement_with_unknown_group_is_rejected(replacement: str) -> None:
    with pytest.raises(ValueError):
        compile_replacement(replacement, compile_pattern("(a)"))


def test_replacements_are_limited_in_number_and_length() -> None:
    one = compile_pattern("a")
    whole = compile_pattern("^(a+)$")
    slow = compile_pattern(r"(a+)+\1!$")

    assert one.replaced("a" * 2_000, compile_replacement("b", one)) is None
    assert whole.replaced("a" * 40_000, compile_replacement("$1$1", whole)) is None
    assert slow.replaced("a" * 4_000, compile_replacement("", slow)) is None


@settings(max_examples=examples(200))
@given(_patterns, _texts)
def test_replacement_equals_python_where_the_dialects_agree(pattern: str, text: str) -> None:
    assume(
        all(found[0] for found in re.finditer(pattern, text))
    )  # after an empty match Java continues, Python tries again
    compiled = compile_pattern(pattern)

    assert compiled.replaced(text, compile_replacement("<$0>", compiled)) == re.sub(pattern, r"<\g<0>>", text)
