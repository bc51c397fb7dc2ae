"""The normalisers without regular expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoter.core.normalizers import ajax, basic, host, protocol, querystring, slash
from scoter.core.normalizers.parts import split
from scoter.errors import RuleError

_slashes = slash.parse(["# which", "plus.example +", "minus.example\t-", "bücher.example -"], "slashes.txt")
_hosts = host.parse(["example.org www.example.org", "*.example.com www.example.com", "*.a.example.com x.example"], "h")
_protocols = protocol.parse(["*.example.org https", "old.example.org HTTP", "example.com https"], "protocols.txt")

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
def test_parts_joined_together_are_the_text_again(text: str) -> None:
    parts = split(text)

    assert parts is None or str(parts) == text


@pytest.mark.parametrize(
    "normalize",
    [
        basic.normalize,
        lambda text: basic.normalize(text, trim_trailing_dot=True),
        querystring.normalize,
        _slashes.normalize,
        _protocols.normalize,
        host.parse(["*.example.org example.org"], "h").normalize,
    ],
)
@given(text=_urls)
@example(text="http://a../?b")
@example(text="http://a.b../")
@example(text="http://minus.example//")
def test_doing_it_twice_changes_nothing_more(normalize: Callable[[str], str | None], text: str) -> None:
    once = normalize(text)

    assert once is None or normalize(once) == once


@given(_urls)
def test_nothing_makes_a_normaliser_raise(text: str) -> None:
    for normalize in (_hosts.normalize, _protocols.normalize, ajax.escaped, ajax.restored):
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
def test_basic_gives_the_canonical_form(text: str, expected: str | None) -> None:
    assert basic.normalize(text, trim_trailing_dot=True) == expected


def test_basic_keeps_the_last_dot_unless_told() -> None:
    assert basic.normalize("http://example.org./") == "http://example.org./"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example/?b=2&a=1&b=1", "http://a.example/?a=1&b=1&b=2"),
        ("http://a.example/b&a?x", "http://a.example/b&a?x"),
        ("http://a.example/?b&a#d&c", "http://a.example/?a&b#d&c"),
        ("http://a.example/#?b&a", "http://a.example/#?b&a"),
    ],
)
def test_querystring_sorts_parameters_and_nothing_else(text: str, expected: str) -> None:
    assert querystring.normalize(text) == expected


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
def test_slash_ends_paths_as_their_host_does(text: str, expected: str) -> None:
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
def test_host_puts_the_most_specific_target_in_its_place(text: str, expected: str) -> None:
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
def test_protocol_gives_a_host_one_scheme_unless_a_port_is_named(text: str, expected: str) -> None:
    assert _protocols.normalize(text) == expected


def test_the_last_of_two_lines_for_a_domain_counts_for_the_domain_itself_too() -> None:
    rules = protocol.parse(["*.example.org http", "*.example.org https"], "protocols.txt")

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
def test_ajax_turns_a_state_into_a_parameter(text: str, expected: str) -> None:
    assert ajax.escaped(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.sampled_from(["", "?q", "?q=1&r"]))
def test_ajax_goes_back_the_way_it_came(state: str, query: str) -> None:
    text = f"http://a.example/b{query}#!{state}"

    assert ajax.restored(ajax.escaped(text)) == text


def test_ajax_leaves_other_urls_alone_on_the_way_back() -> None:
    for text in ("http://a.example/?x_escaped_fragment_=1", "http://a.example/_escaped_fragment_=1", "nonsense"):
        assert ajax.restored(text) == text


@pytest.mark.parametrize(
    ("parse", "line"),
    [
        (slash.parse, "a.example"),
        (slash.parse, "a.example *"),
        (slash.parse, "a.example/ +"),
        (host.parse, "a.example"),
        (host.parse, "a.example b.example c.example"),
        (host.parse, "a.example http://b.example/"),
        (host.parse, "*.* b.example"),
        (protocol.parse, "a.example gopher"),
        (protocol.parse, "* https"),
    ],
)
def test_a_bad_line_is_told_with_file_and_number(parse: Callable[[list[str], str], object], line: str) -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:3: "):
        parse(["# rules", "", line], "rules.txt")
