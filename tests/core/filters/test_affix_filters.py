"""The prefix and suffix filters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.filters import prefix, suffix
from scoter.core.filters.affixes import affixes
from scoter.core.url import canonical
from scoter.errors import RuleError


def test_a_prefix_keeps_what_starts_with_it() -> None:
    rules = prefix.parse(["# sites", "http://example.org/a", "HTTPS://Example.COM/B", "ftp"], "rules.txt")

    assert rules.keeps(canonical("http://example.org/ab"))
    assert rules.keeps(canonical("https://example.com/Bc"))
    assert rules.keeps(canonical("ftp://example.net/"))
    assert not rules.keeps(canonical("https://example.com/bc"))
    assert not rules.keeps(canonical("http://example.org/"))
    assert rules.explain(canonical("http://example.org/ab")) == "line 2: http://example.org/a"
    assert rules.explain(canonical("http://example.org/")) == "no prefix matches"


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("http://example.org/b\xfccher/", "http://example.org/b%C3%BCcher/1"),
        ("http://example.org/%7euser/", "http://example.org/~user/"),
        ("http://example.org/a%2fb", "http://example.org/a%2Fb"),
        ("http://B\xfccher.example", "http://xn--bcher-kva.example/"),
        ("http://b\xfccher.example/b\xfccher?q=\xfc", "http://xn--bcher-kva.example/b%C3%BCcher?q=%C3%BCber"),
    ],
)
def test_a_prefix_is_found_however_its_letters_are_written(line: str, url: str) -> None:
    rules = prefix.parse([line], "rules.txt")

    assert rules.keeps(canonical(url))
    assert not rules.keeps(canonical("http://example.org/b"))


def test_a_prefix_with_a_space_is_told() -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:1: "):
        prefix.parse(["http://a.example/ http://b.example/"], "rules.txt")


@pytest.mark.parametrize(
    ("mode", "url", "kept"),
    [
        ("+", "http://a.example/x.gif", False),
        ("+", "http://a.example/x.GIF", True),
        ("+", "http://a.example/x.gif?y", True),
        ("+", "http://a.example/x", True),
        ("+I", "http://a.example/x.GIF", False),
        ("+P", "http://a.example/x.gif?y", False),
        ("+IP", "http://a.example/x.GIF?y.html", False),
        ("+PI", "http://a.example/x.GIF?y.html", False),
        ("-", "http://a.example/x.gif", True),
        ("-", "http://a.example/x", False),
        ("-P", "http://a.example/x?y.gif", False),
        ("", "http://a.example/x.gif", True),
        ("", "http://a.example/x", False),
    ],
)
def test_the_mode_says_what_becomes_of_the_rest(mode: str, url: str, kept: bool) -> None:
    rules = suffix.parse([".gif", mode, ".tar.gz"], "rules.txt")

    assert rules.keeps(canonical(url)) is kept


def test_a_suffix_is_explained_by_its_line() -> None:
    rules = suffix.parse(["+I", ".GIF"], "rules.txt")

    assert rules.explain(canonical("http://a.example/x.gif")) == "line 2: .gif"
    assert rules.explain(canonical("http://a.example/x")) == "no suffix matches"


@pytest.mark.parametrize("line", ["+.jpg", "-x", "+II X"])
def test_a_sign_with_anything_but_options_is_told(line: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:1: "):
        suffix.parse([line], "rules.txt")


def test_a_mode_that_contradicts_another_is_told() -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:3: .*otherwise than '\+I'"):
        suffix.parse(["+I", ".gif", "-"], "rules.txt")


def test_the_letters_of_several_modes_add_up_as_in_the_file_that_nutch_ships() -> None:
    rules = suffix.parse(["# ignore case", "+I", "# the path only", "+P", ".gif"], "rules.txt")

    assert not rules.keeps(canonical("http://a.example/x.GIF?y"))
    assert rules.keeps(canonical("http://a.example/x?y.gif"))


_pieces = st.text(alphabet="ab.", min_size=1, max_size=4)


@given(st.sets(_pieces), st.text(alphabet="ab.", max_size=8))
def test_look_ups_by_length_agree_with_python(pieces: set[str], text: str) -> None:
    found = affixes(dict.fromkeys(pieces, 1))

    assert (found.start(text) is not None) == text.startswith(tuple(pieces))
    assert (found.end(text) is not None) == text.endswith(tuple(pieces))
