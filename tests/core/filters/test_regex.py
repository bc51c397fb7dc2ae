"""The regex filter."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.filters.regex import parse
from scoter.core.url import canonical
from scoter.errors import RuleError

_FILE = """\
# pictures
-\\.(?:gif|jpg)$

+^https?://([a-z0-9-]+\\.)*example\\.org/
> example.com
-/private/
+/news/
< the rest
   # an indented comment
> www.example.net
+.
""".splitlines()


@pytest.mark.parametrize(
    ("url", "kept", "why"),
    [
        ("http://example.org/a.gif", False, r"line 2: -\.(?:gif|jpg)$"),
        ("http://www.example.org/a", True, r"line 4: +^https?://([a-z0-9-]+\.)*example\.org/"),
        ("http://www.example.com/news/", True, "line 7: +/news/"),
        ("http://example.com./news/", True, "line 7: +/news/"),
        ("http://example.com/private/news/", False, "line 6: -/private/"),
        ("http://example.com/", False, "no rule matches"),
        ("http://other.example/news/", False, "no rule matches"),
        ("http://www.example.net/x", True, "line 11: +."),
        ("http://example.net/x", False, "no rule matches"),
        ("http://www.example.net/x.jpg", False, r"line 2: -\.(?:gif|jpg)$"),
    ],
)
def test_first_matching_rule_decides(url: str, kept: bool, why: str) -> None:
    rules = parse(_FILE, "rules.txt")

    assert rules.keeps(canonical(url)) is kept
    assert rules.explain(canonical(url)) == why


def test_earlier_general_rule_wins_over_later_host_rule() -> None:
    rules = parse(["> example.org", "-/b", "<", "-/a", "> example.org", "+."], "rules.txt")

    assert rules.explain(canonical("http://example.org/b/a")) == "line 2: -/b"
    assert rules.explain(canonical("http://example.org/a")) == "line 4: -/a"
    assert rules.explain(canonical("http://example.org/c")) == "line 6: +."


def test_empty_rules_keep_nothing() -> None:
    assert not parse([], "rules.txt").keeps(canonical("http://example.org/"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("http://example.org", "is not a rule"),
        (" +indented", "is not a rule"),
        ("+(", "unmatched ("),
        ("-[z-a]", "reversed"),
        ("> not a host", "is not a host"),
        (">", "is not a host"),
        (">http://example.org/", "is not a host"),
    ],
)
def test_invalid_line_is_an_error_with_file_and_number(line: str, message: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:2: ") as caught:
        parse(["# first", line, "+."], "rules.txt")

    assert message in str(caught.value)
    assert caught.value.line == 2


def test_url_on_which_a_rule_times_out_is_dropped_with_the_reason() -> None:
    rules = parse([r"-(a+)+\1$", "+."], "rules.txt")
    hostile = canonical("http://example.org/" + "a" * 5_000 + "!")

    assert not rules.keeps(hostile)
    assert "gave up" in rules.explain(hostile)
    assert [rule.line for rule in rules.slow] == [1]
    assert rules.keeps(canonical("http://example.org/b"))


def test_too_long_url_is_dropped() -> None:
    rules = parse(["+."], "rules.txt")

    assert not rules.keeps(canonical("http://example.org/" + "a" * 70_000))


_patterns = st.sampled_from(
    ["/a", "b$", "^http:", r"\.org/", "[ab]{2}", "(?i)AB", "a.*b", "/(?:a|b)/", "x|y", r"(/[a-z])\1", "(?<!/)a", "."]
)
_rules = st.lists(st.tuples(st.sampled_from("+-"), _patterns, st.sampled_from(["", "example.org", "a.example.org"])))
_urls = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["example.org", "a.example.org", "b.example.org", "example.com"]),
    st.text(alphabet="ab/xAB", max_size=8),
)


@given(_rules, _urls)
def test_rules_agree_with_trying_one_by_one(rules: list[tuple[str, str, str]], text: str) -> None:
    url = canonical(text)
    lines = [line for sign, pattern, section in rules for line in (f"> {section}" if section else "<", sign + pattern)]

    kept = parse(lines, "rules.txt").keeps(url)

    expected = False
    for sign, pattern, section in rules:
        if section in {"", url.host, url.domain} and re.search(pattern, url.text):
            expected = sign == "+"
            break
    assert kept is expected
