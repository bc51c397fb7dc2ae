"""The domain, denylist and fast filters."""

from __future__ import annotations

import pytest

from scoter.core.filters import fast
from scoter.core.filters.domain import parse_domains
from scoter.core.url import canonical
from scoter.errors import RuleError

_NAMES = ["# wanted", "Example.org", "www.example.com", "co.uk", "jp", "bücher.example", "10.0.0.1"]


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://example.org/", 2),
        ("https://a.b.example.org:8443/x", 2),
        ("http://example.org./", 2),
        ("http://www.example.com/", 3),
        ("http://example.com/", None),
        ("http://a.www.example.com/", None),
        ("http://www.bbc.co.uk/", 4),
        ("http://example.ac.uk/", None),
        ("http://example.co.jp/", 5),
        ("http://BÜCHER.example/", 6),
        ("http://10.0.0.1/", 7),
        ("http://10.0.0.10/", None),
        ("file:///etc/hosts", None),
    ],
)
def test_urls_are_kept_or_dropped_by_host_domain_or_suffix(url: str, line: int | None) -> None:
    wanted, unwanted = parse_domains(_NAMES, "rules.txt"), parse_domains(_NAMES, "rules.txt", keep=False)
    found = canonical(url)

    assert wanted.keeps(found) is (line is not None)
    assert unwanted.keeps(found) is (line is None)
    assert wanted.explain(found).startswith("no name matches" if line is None else f"line {line}: ")


@pytest.mark.parametrize(
    "name",
    [
        "http://a.example",
        "a.example/b",
        "a.example:80",
        "u@a.example",
        "a b",
        ".",
        ".org",
        "a..example",
        "10.1",
        "*.a.example",
    ],
)
def test_line_that_is_not_a_name_is_an_error(name: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:2: .* not a host"):
        parse_domains(["org", name], "rules.txt")


_BLOCKS = """\
Host www.example.org      # one host
  DenyPath /private/
  DenyPathQuery [?&]sid=
Domain example.org
  DenyPath ^/tmp/
Domain example.com
  DenyPath .*
Domain .
  DenyPath /cgi-bin/
Host .
  DenyPathQuery \\?print$
Host unused.example
""".splitlines()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://www.example.org/private/x", "line 2: DenyPath /private/"),
        ("http://www.example.org/x?sid=1", "line 3: DenyPathQuery [?&]sid="),
        ("http://www.example.org/x?u=/private/", ""),
        ("http://a.example.org/private/x", ""),
        ("http://a.example.org/tmp/", "line 5: DenyPath ^/tmp/"),
        ("http://www.example.org/tmp/", "line 5: DenyPath ^/tmp/"),
        ("http://example.com/", "line 7: DenyPath .*"),
        ("http://a.b.example.com/x", "line 7: DenyPath .*"),
        ("http://myexample.com/x", ""),
        ("http://other.example/cgi-bin/x", "line 9: DenyPath /cgi-bin/"),
        ("file:///cgi-bin/x", "line 9: DenyPath /cgi-bin/"),
        ("http://other.example/x?print", "line 11: DenyPathQuery \\?print$"),
        ("http://unused.example/", ""),
    ],
)
def test_path_is_denied_by_rules_of_host_and_domains(url: str, why: str) -> None:
    rules = fast.parse(_BLOCKS, "rules.txt")

    assert rules.keeps(canonical(url)) is not why.startswith("line")
    assert rules.explain(canonical(url)) == (why or "no rule matches")


def test_urls_beyond_length_limits_are_dropped() -> None:
    rules = fast.parse([], "rules.txt", fast.LengthLimits(url=40, path=10, query=5))

    assert rules.keeps(canonical("http://a.example/123456789?12345"))
    assert not rules.keeps(canonical("http://a.example/1234567890"))
    assert not rules.keeps(canonical("http://a.example/?123456"))
    assert not rules.keeps(canonical("http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example/"))
    assert rules.explain(canonical("http://a.example/?123456")) == "the query has 6 characters; the limit is 5"


@pytest.mark.parametrize(
    "line", ["DenyPath /x", "Host", "Host a b", "Deny /x", "Domain http://a.example/", "host a.example"]
)
def test_line_that_is_not_a_rule_is_an_error(line: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:1: "):
        fast.parse([line], "rules.txt")


@pytest.mark.parametrize("line", ["DenyPath (", "DenyPath", "DenyPath a b", "Allow /"])
def test_bad_rule_in_block_is_an_error(line: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:2: "):
        fast.parse(["Host a.example", line], "rules.txt")


def test_slow_rule_is_reported_and_drops_urls_it_gives_up_on() -> None:
    rules = fast.parse(["Domain .", r"DenyPath (a+)+\1$"], "rules.txt")
    hostile = canonical("http://a.example/" + "a" * 5_000 + "!")

    assert [rule.line for rule in rules.slow] == [2]
    assert not rules.keeps(hostile)
    assert "gave up" in rules.explain(hostile)
