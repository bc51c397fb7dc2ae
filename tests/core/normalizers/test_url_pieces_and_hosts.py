"""The normalisers without regular expressions: basic, querystring, ajax, host, protocol and slash."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoter.core.normalizers.by_host import parse_hosts, parse_protocols, parse_slashes
from scoter.core.normalizers.url_pieces import canonical_text, escape_fragment, restore_fragment, sort_query, split_url
from scoter.errors import RuleError

_slashes = parse_slashes(["# which", "plus.example +", "minus.example\t-", "bücher.example -"], "slashes.txt")
_hosts = parse_hosts(["example.org www.example.org", "*.example.com www.example.com", "*.a.example.com x.example"], "h")
_protocols = parse_protocols(["*.example.org https", "old.example.org HTTP", "example.com https"], "protocols.txt")

_urls = st.one_of(
    st.text(),
    st.builds(
        "{}://{}{}".format,
        st.sampled_from(["http", "HTTPS", "ftp", "x-y"]),
        st.sampled_from(
            ["plus.example", "Minus.example.", "u@www.example.org:80", "a.example.com", "a.b.", "[::1]", ""]
        ),
        st.text(alphabet="/ab?&=#!.%2F é\\", max_size=12),
    ),
)


@given(_urls)
def test_joined_pieces_are_the_original_text(text: str) -> None:
    pieces = split_url(text)

    assert pieces is None or str(pieces) == text


@pytest.mark.parametrize(
    "normalize",
    [
        canonical_text,
        lambda text: canonical_text(text, trim_trailing_dot=True),
        sort_query,
        _slashes.normalize,
        _protocols.normalize,
        parse_hosts(["*.example.org example.org"], "h").normalize,
    ],
)
@given(text=_urls)
@example(text="http://a../?b")
@example(text="http://a.b../")
@example(text="http://minus.example//")
@example(text="http://./path.")
def test_normalisers_are_idempotent(normalize: Callable[[str], str | None], text: str) -> None:
    once = normalize(text)

    assert once is None or normalize(once) == once


@given(_urls)
def test_normalisers_never_raise(text: str) -> None:
    for normalize in (_hosts.normalize, _protocols.normalize, escape_fragment, restore_fragment):
        assert isinstance(normalize(text), str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.ORG:80/a/../b?c#d", "http://example.org/b?c"),
        ("http://example.org.", "http://example.org/"),
        ("http://example.org.:8080/a.", "http://example.org:8080/a."),
        ("http://10.1./", "http://10.0.0.1/"),
        ("mailto:me@example.org", None),
        ("nonsense", None),
    ],
)
def test_basic_returns_the_canonical_form(text: str, expected: str | None) -> None:
    assert canonical_text(text, trim_trailing_dot=True) == expected


def test_basic_keeps_trailing_dot_of_host_by_default() -> None:
    assert canonical_text("http://example.org./") == "http://example.org./"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example/?b=2&a=1&b=1", "http://a.example/?a=1&b=1&b=2"),
        ("http://a.example/b&a?x", "http://a.example/b&a?x"),
        ("http://a.example/?b&a#d&c", "http://a.example/?a&b#d&c"),
        ("http://a.example/#?b&a", "http://a.example/#?b&a"),
    ],
)
def test_querystring_sorts_only_parameters(text: str, expected: str) -> None:
    assert sort_query(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://plus.example/a", "http://plus.example/a/"),
        ("http://PLUS.example:8080/a?b", "http://PLUS.example:8080/a/?b"),
        ("http://plus.example/a.html", "http://plus.example/a.html"),
        ("http://plus.example/v1.2345678", "http://plus.example/v1.2345678/"),
        ("http://plus.example/a.b/c", "http://plus.example/a.b/c/"),
        ("http://plus.example/", "http://plus.example/"),
        ("http://minus.example/a/?b", "http://minus.example/a?b"),
        ("http://minus.example/", "http://minus.example/"),
        ("http://minus.example//", "http://minus.example/"),
        ("http://xn--bcher-kva.example/a/", "http://xn--bcher-kva.example/a"),
        ("http://other.example/a/", "http://other.example/a/"),
    ],
)
def test_slash_is_added_or_removed_by_host(text: str, expected: str) -> None:
    assert _slashes.normalize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://example.org/example.org", "http://www.example.org/example.org"),
        ("http://EXAMPLE.org:8080/a", "http://www.example.org:8080/a"),
        ("http://www.example.org/", "http://www.example.org/"),
        ("http://b.example.com/", "http://www.example.com/"),
        ("http://b.a.example.com/", "http://x.example/"),
        ("http://example.com/", "http://example.com/"),
        ("http://notexample.com/", "http://notexample.com/"),
    ],
)
def test_host_is_replaced_by_most_specific_rule(text: str, expected: str) -> None:
    assert _hosts.normalize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://example.org/a", "https://example.org/a"),
        ("http://a.b.example.org/", "https://a.b.example.org/"),
        ("https://old.example.org/", "http://old.example.org/"),
        ("http://example.com/", "https://example.com/"),
        ("http://www.example.com/", "http://www.example.com/"),
        ("http://example.org:8080/", "http://example.org:8080/"),
        ("ftp://example.org/", "ftp://example.org/"),
    ],
)
def test_protocol_sets_scheme_of_urls_without_port(text: str, expected: str) -> None:
    assert _protocols.normalize(text) == expected


def test_last_protocol_line_for_domain_applies_to_domain_itself() -> None:
    rules = parse_protocols(["*.example.org http", "*.example.org https"], "protocols.txt")

    assert rules.normalize("http://example.org/") == "https://example.org/"
    assert rules.normalize("http://www.example.org/") == "https://www.example.org/"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example/#!b=1&c", "http://a.example/?_escaped_fragment_=b=1%26c"),
        ("http://a.example/?q#!%é +", "http://a.example/?q&_escaped_fragment_=%25%C3%A9%20%2B"),
        ("http://a.example/#top", "http://a.example/#top"),
        ("http://a.example/#a#!b", "http://a.example/#a#!b"),
    ],
)
def test_ajax_turns_state_into_parameter(text: str, expected: str) -> None:
    assert escape_fragment(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.sampled_from(["", "?q", "?q=1&r"]))
def test_ajax_round_trip_restores_the_url(state: str, query: str) -> None:
    text = f"http://a.example/b{query}#!{state}"

    assert restore_fragment(escape_fragment(text)) == text


def test_ajax_restores_only_its_own_parameter() -> None:
    for text in ("http://a.example/?x_escaped_fragment_=1", "http://a.example/_escaped_fragment_=1", "nonsense"):
        assert restore_fragment(text) == text


@pytest.mark.parametrize(
    ("parse", "line"),
    [
        (parse_slashes, "a.example"),
        (parse_slashes, "a.example *"),
        (parse_slashes, "a.example/ +"),
        (parse_hosts, "a.example"),
        (parse_hosts, "a.example b.example c.example"),
        (parse_hosts, "a.example http://b.example/"),
        (parse_hosts, "*.* b.example"),
        (parse_protocols, "a.example gopher"),
        (parse_protocols, "* https"),
    ],
)
def test_bad_line_is_an_error_with_file_and_number(parse: Callable[[list[str], str], object], line: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:3: "):
        parse(["# rules", "", line], "rules.txt")
