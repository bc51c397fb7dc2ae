"""The validator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.filters.validator import ValidatorRules
from scoter.core.url import canonical
from scoter.errors import UrlError


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://a-b.example.org:8443/x;y=1/~z/%C3%A4?q={x}|y",
        "ftp://example.org/file",
        "file:///etc/hosts",
        "http://192.0.2.1/",
        "http://localhost:8000/",
        "http://example.org/a|b/[c]",
        "http://[2001:db8::1]/",
        "http://bücher.example/",
        "http://my_host.example.org/",
        "http://example.xn--p1ai/",
        "http://example.org./",
        f"http://{'a' * 63}.example/",
    ],
)
def test_urls_of_the_public_web_are_valid(url: str) -> None:
    rules = ValidatorRules()

    assert rules.keeps(canonical(url)), rules.explain(canonical(url))
    assert rules.explain(canonical(url)) == "a valid URL"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("gopher://example.org/", "scheme gopher"),
        ("http://intranet/", "intranet is not a public host name"),
        ("http://example.c/", "not a public host name"),
        ("http://-a.example.org/", "not a public host name"),
        ("http://a-.example.org/", "not a public host name"),
        ("http://a..example.org/", "not a public host name"),
        (f"http://{'a' * 64}.example/", "not a public host name"),
        ("http://" + "a.b" * 100 + ".example/", "not a public host name"),
        ("http://a~b.example.org/", "not a public host name"),
        ("http://example.org:0/", "port 0"),
        ("http://example.org/" + "a" * 70_000, "longer than 65536"),
    ],
)
def test_other_urls_are_dropped_with_a_reason(url: str, why: str) -> None:
    rules = ValidatorRules()

    assert not rules.keeps(canonical(url))
    assert why in rules.explain(canonical(url))


def test_schemes_and_length_are_configurable() -> None:
    rules = ValidatorRules(schemes=("gopher",), longest=30)

    assert rules.keeps(canonical("gopher://example.org/"))
    assert not rules.keeps(canonical("http://example.org/"))
    assert not rules.keeps(canonical("gopher://example.org/0123456789"))


@given(st.text())
def test_any_url_is_checked_without_an_error(text: str) -> None:
    try:
        url = canonical(f"http://{text}")
    except UrlError:
        return

    rules = ValidatorRules()

    assert rules.keeps(url) is (rules.explain(url) == "a valid URL")


@given(st.lists(st.sampled_from(["a", "b", "11", "", "c?d/a/a"]), max_size=9))
def test_only_words_that_a_path_repeats_more_than_twice_are_a_fault(pieces: list[str]) -> None:
    url = canonical(f"http://a.example/{'/'.join(pieces)}")
    segments = url.path.split("/")

    assert ValidatorRules().keeps(url) == all(segments.count(each) <= 2 for each in segments if each in ("a", "b", "c"))
