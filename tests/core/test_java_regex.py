"""Translation of Java's patterns for the two engines."""

from __future__ import annotations

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.java_regex import translate
from scoter.core.pattern import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\d\w\s", "1a\x0b", True),
        (r"\d", "\u0663", False),  # Java's digits are ASCII
        (r"\w", "é", False),
        (r"[\W]", "é", True),
        (r"[^\D]", "5", True),
        (r"[^\D]", "x", False),
        (r"\p{Lu}", "É", True),
        (r"\pL", "é", True),
        (r"\P{L}", "é", False),
        (r"\p{IsGreek}", "α", True),
        (r"\p{Upper}", "É", False),
        (r"[\p{Alpha}_]+$", "ab_", True),
        (r"\p{Punct}", "]", True),
        (r"\Qa.b*\E$", "a.b*", True),
        (r"\Qa.b*\E$", "axbb", False),
        (r"\Q*", "a*", True),
        (r"\x41\u0042\x{43}\0104", "ABCD", True),
        (r"a(?i)b", "aB", True),
        (r"a(?i)b", "AB", False),
        (r"(?i:a)b", "Ab", True),
        (r"(?i)a(?-i)b", "AB", False),
        (r"a(?i)b|c", "C", True),
        (r"(?u)a", "a", True),
        (r"(?:(?i)a)b", "AB", False),
        (r"[a\-z]", "m", False),
        (r"[]a]", "]", True),
        (r"[a-]", "-", True),
        (r"[.?*+(){}|$^]+$", ".?*+(){}|$^", True),
        (r"[~|#]", "#", True),
        ("a]}", "a]}", True),
        (r"a\Z", "a", True),
        (r"^\Aa\z", "a", True),
        ("a$", "a\n", False),
        ("(?m)a$", "a\nb", True),
        (r"(?<w>ab)x", "abx", True),
        (r"a{2,3}b", "aab", True),
        (r"\h\v", " \n", True),
        (r"\/\-\=", "/-=", True),
    ],
)
def test_pattern_matches_as_in_java(pattern: str, text: str, expected: bool) -> None:
    found = compile_pattern(pattern)
    by_backtracking = regex.compile(translate(pattern).backtracking, regex.V1).search(text) is not None

    assert found.linear
    assert found.found(text) is expected
    assert by_backtracking is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"(/[a-z]+)\1", "/a/a", True),
        (r"(/[a-z]+)\1", "/a/b", False),
        (r"(?<w>a|b)\k<w>", "ab", False),
        (r"(?<w>a|b)\k<w>", "bb", True),
        (r"(a)\11", "aa1", True),  # there is no group 11, so it is group 1 and the digit 1
        (r"a*+a", "aaa", False),
        (r"(?>a*)a", "aaa", False),
        (r"(?<!:)//", "http://a", False),
        (r"(?<!:)//", "http://a//", True),
        (r"a(?!b)", "ab", False),
        (r"(?=.*b)^a", "ab", True),
        (r"(a)\1$", "aa\n", False),
        (r"(?i)(a)b\1", "aBA", True),
        (r"(\w)\1", "éé", False),
    ],
)
def test_pattern_that_needs_backtracking_matches_and_is_marked_slow(pattern: str, text: str, expected: bool) -> None:
    found = compile_pattern(pattern)

    assert not found.linear
    assert found.found(text) is expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "unmatched ("),
        (")", "unmatched )"),
        ("a)", "unmatched )"),
        ("[a", "unmatched ["),
        ("[", "unmatched ["),
        ("[a-", "unmatched ["),
        ("*a", "nothing to repeat"),
        ("a**", "nothing to repeat"),
        ("{", "nothing to repeat"),
        ("a{,3}", "starts no repetition"),
        ("a{3,2}", "maximum is less"),
        ("[z-a]", "reversed"),
        (r"[a-\d]", "reversed"),
        ("[a[b]]", "nested class"),
        ("[a&&b]", "nested class"),
        (r"\y", "unknown escape"),
        ("a\\", "backslash"),
        (r"\1", "refers to group 1"),
        (r"\k<n>", "undefined group"),
        ("(?x)a b", "flag 'x'"),
        ("(?P<n>a)", "unsupported group"),
        ("(?R)", "flag"),
        ("(?", "unsupported group"),
        (r"\p{InGreek}", "unsupported character set"),
        (r"\p{}", "unsupported character set"),
        (r"\p{NoSuchScript}", "not a regular expression"),
        (r"\x{110000}", "invalid character code"),
        (r"\ud800", "invalid character code"),
        ("\ud800", "lone surrogate"),
        ("(?<n>a)(?<n>b)", "two groups"),
        ("a" * 4_097, "longer than"),
        ("(" * 100 + ")" * 100, "nests"),
        ("(?:(?:(?:a{1000}){1000}){1000}){1000}", "too large"),
        ("(?:a{1,1000})" * 100, "too large"),
    ],
)
def test_unsupported_pattern_is_rejected_with_a_reason(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        compile_pattern(pattern)

    assert reason in str(caught.value)


@given(st.text(alphabet="ab01\\()[]{}|*+?.^$-,<>:=!&pPkQExuidDwWsSzZéß\n", max_size=30))
def test_any_pattern_compiles_or_raises_value_error(pattern: str) -> None:
    try:
        answer = compile_pattern(pattern).found("http://ab01.example/")
    except ValueError:
        answer = None

    assert answer in {True, False, None}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20))
def test_quoted_text_matches_itself(words: str) -> None:
    quoted = words.replace("\\E", "")

    assert compile_pattern(f"^\\Q{quoted}\\E$").found(quoted)
