"""The prefix and suffix filters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.filters.affixes import affixes, parse_prefixes, parse_suffixes
from scoter.core.url import canonical
from scoter.errors import RuleError


def test_prefix_keeps_urls_that_start_with_it() -> None:
    rules = parse_prefixes(["# sites", "http://example.org/a", "HTTPS://Example.COM/B", "ftp"], "rules.txt")

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
def test_prefix_matches_in_any_spelling(line: str, url: str) -> None:
    rules = parse_prefixes([line], "rules.txt")

    assert rules.keeps(canonical(url))
    assert not rules.keeps(canonical("http://example.org/b"))


def test_prefix_with_space_is_an_error() -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:1: "):
        parse_prefixes(["http://a.example/ http://b.example/"], "rules.txt")


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
def test_mode_decides_about_unlisted_suffixes(mode: str, url: str, kept: bool) -> None:
    rules = parse_suffixes([".gif", mode, ".tar.gz"], "rules.txt")

    assert rules.keeps(canonical(url)) is kept


def test_suffix_is_explained_by_its_line() -> None:
    rules = parse_suffixes(["+I", ".GIF"], "rules.txt")

    assert rules.explain(canonical("http://a.example/x.gif")) == "line 2: .gif"
    assert rules.explain(canonical("http://a.example/x")) == "no suffix matches"


@pytest.mark.parametrize("line", ["+.jpg", "-x", "+II X"])
def test_unknown_mode_letter_is_an_error(line: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:1: "):
        parse_suffixes([line], "rules.txt")


def test_contradicting_modes_are_an_error() -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:3: .*contradicts '\+I'"):
        parse_suffixes(["+I", ".gif", "-"], "rules.txt")


def test_letters_of_several_mode_lines_add_up() -> None:
    rules = parse_suffixes(["# ignore case", "+I", "# the path only", "+P", ".gif"], "rules.txt")

    assert not rules.keeps(canonical("http://a.example/x.GIF?y"))
    assert rules.keeps(canonical("http://a.example/x?y.gif"))


_pieces = st.text(alphabet="ab.", min_size=1, max_size=4)


@given(st.sets(_pieces), st.text(alphabet="ab.", max_size=8))
def test_lookup_by_length_agrees_with_startswith_and_endswith(pieces: set[str], text: str) -> None:
    found = affixes(dict.fromkeys(pieces, 1))

    assert (found.start(text) is not None) == text.startswith(tuple(pieces))
    assert (found.end(text) is not None) == text.endswith(tuple(pieces))


_targets = st.text(alphabet="abA./", max_size=6)


@given(
    st.sampled_from(["http://a.ab", "https://ab", "http://a:81", "ftp://b.a", "file://"]),
    _targets,
    st.sampled_from(["", "?", "?/a.b"]),
    st.lists(st.text(alphabet="ab./:1", min_size=1, max_size=7), min_size=1, max_size=4),
)
def test_suffixes_of_the_path_do_not_reach_into_host_and_query(
    origin: str, target: str, query: str, suffixes: list[str]
) -> None:
    url = canonical(f"{origin}/{target}{query}")
    rules = parse_suffixes(["+IP", *suffixes], "rules.txt")

    assert rules.keeps(url) == (not url.path.lower().endswith(tuple(suffixes)))
