"""The URL rules, with cases after the WHATWG URL standard and RFC 3986, section 6.2.2."""

from __future__ import annotations

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.url import Url, canonical, join, queue_key, stored_url
from scoter.errors import UrlError

SPELLINGS = [
    # case, default ports, dot segments, empty paths, fragments
    ("HTTP://EXAMPLE.com/Path", "http://example.com/Path"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:443", "https://example.com/"),
    ("http://example.com:0080/", "http://example.com/"),
    ("http://example.com:443/", "http://example.com:443/"),
    ("http://example.com/a/./b/../../c", "http://example.com/c"),
    ("http://example.com/%2e%2E/a/.%2e/b", "http://example.com/b"),
    ("http://example.com?q", "http://example.com/?q"),
    ("http://example.com/#top", "http://example.com/"),
    ("http://example.com/a?b#c?d#e", "http://example.com/a?b"),
    # white space and other characters around and inside URLs
    ("  http://example.com/a \n", "http://example.com/a"),
    ("ht\ttp://exa\nmple.com/\ra", "http://example.com/a"),
    ("http:\\\\example.com\\a\\b?c\\d", "http://example.com/a/b?c\\d"),
    ("http:/example.com/a", "http://example.com/a"),
    ("http:////example.com/a", "http://example.com/a"),
    # user names and passwords are removed
    ("http://user:pass@example.com/", "http://example.com/"),
    ("http://example.org@example.com/", "http://example.com/"),
    ("http://a@b@example.com:8080/x@y", "http://example.com:8080/x@y"),
    ("http://user@example.com/?mail=a@b", "http://example.com/?mail=a@b"),
    # percent-encoding is normalised
    ("http://example.com/%7ejoe/%41%2fb", "http://example.com/~joe/A%2Fb"),
    ("http://example.com/?%7E=%c3%a4", "http://example.com/?~=%C3%A4"),
    ("http://example.com/%zz/%/%4", "http://example.com/%zz/%/%4"),
    ("http://example.com/ä b", "http://example.com/%C3%A4%20b"),
    ("http://example.com/%252e", "http://example.com/%252e"),
    ("http://example.com/%2%45%2%45/b", "http://example.com/%2%45%2%45/b"),
    ("http://example.com/%%34%31", "http://example.com/%%341"),
    # names and addresses in every notation
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
    ("http://ｅｘａｍｐｌｅ.com/", "http://example.com/"),
    ("http://faß.example/", "http://xn--fa-hia.example/"),
    ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),
    ("http://0x7f.0.0.1/", "http://127.0.0.1/"),
    ("http://017700000001/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://127.1/", "http://127.0.0.1/"),
    ("http://１２７.０.０.１/", "http://127.0.0.1/"),
    ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
    ("http://[::127.0.0.1]:8080/a", "http://[::7f00:1]:8080/a"),
    ("http://[2001:DB8::1]", "http://[2001:db8::1]/"),
    # other schemes that can be fetched
    ("ftp://example.com:21/a", "ftp://example.com/a"),
    ("file:///tmp/a/../b", "file:///tmp/b"),
]


@pytest.mark.parametrize(("spelling", "stored"), SPELLINGS)
def test_every_spelling_has_one_canonical_form(spelling: str, stored: str) -> None:
    assert canonical(spelling).text == stored
    assert canonical(stored).text == stored
    assert stored_url(stored) == canonical(spelling)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com/no-scheme",
        "http://",
        "http:///",
        "http://exa mple.com/",
        "http://[::1",
        "http://256.256.256.256/",
        "http://1.2.3.4.5.6.0x/",
        "http://example.com:65536/",
        "http://exam%00ple.com/",
        "mailto:someone@example.com",
        "javascript:alert(1)",
        "javascript://example.com/%0aalert(1)",
        "data:text/html,http://example.com/",
        "foo:///no-host",
        "\ud800http://example.com/",
    ],
)
def test_invalid_url_is_rejected_with_a_clear_error(text: str) -> None:
    with pytest.raises(UrlError, match="is not a URL that can be fetched"):
        canonical(text)


def test_error_truncates_long_url() -> None:
    with pytest.raises(UrlError) as caught:
        canonical("x" * 1_000_000)

    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "key", "host"),
    [
        ("http://www.example.com/a?b", "com,example,www)/a?b", "www.example.com"),
        ("https://example.com:8443/", "com,example:8443)/", "example.com"),
        ("http://127.0.0.1:81/x", "127.0.0.1:81)/x", "127.0.0.1"),
        ("http://[::1]/x", "[::1])/x", "[::1]"),
        ("http://example.com./", "com,example)/", "example.com."),
    ],
)
def test_url_has_sort_key_and_host(text: str, key: str, host: str) -> None:
    url = canonical(text)

    assert (url.key, url.host) == (key, host)


def test_urls_of_a_domain_sort_together() -> None:
    urls = ["http://b.example.org/", "http://example.com/", "http://a.example.org/x", "http://example.org/z"]

    in_order = sorted(urls, key=lambda text: canonical(text).key)

    assert in_order == [
        "http://example.com/",
        "http://example.org/z",
        "http://a.example.org/x",
        "http://b.example.org/",
    ]


def test_url_has_its_parts() -> None:
    url = canonical("https://[2001:db8::1]:8443/a/b//c/?x=/y:z")

    assert (url.scheme, url.port, url.path, url.query, url.target, url.depth) == (
        "https",
        8443,
        "/a/b//c/",
        "x=/y:z",
        "/a/b//c/?x=/y:z",
        3,
    )
    assert canonical("http://example.com/").port is None
    assert canonical("http://example.com/?a=b:80").port is None
    assert canonical("foo://host").path == "/"


def test_host_ends_at_the_query_if_there_is_no_path() -> None:
    url = canonical("httpx://user@bucket?by=me@b/c")

    assert (url.text, url.host, url.query) == ("httpx://bucket?by=me@b/c", "bucket", "by=me@b/c")


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("c.html", "http://example.com/a/c.html"),
        ("./c", "http://example.com/a/c"),
        ("../c", "http://example.com/c"),
        ("../../../c", "http://example.com/c"),
        ("/c", "http://example.com/c"),
        ("//other.example/c", "http://other.example/c"),
        ("?y", "http://example.com/a/b?y"),
        ("#f", "http://example.com/a/b?x=/z"),
        ("", "http://example.com/a/b?x=/z"),
        (" ?y ", "http://example.com/a/b?y"),
        ("http:?y", "http://example.com/a/b?y"),
        ("http:c", "http://example.com/a/c"),
        ("HTTP:", "http://example.com/a/b?x=/z"),
        ("https:c", "https://c/"),
        ("\\c", "http://example.com/c"),
        ("help", "http://example.com/a/help"),
        ("http://", None),
        ("tel:+123", None),
        ("javascript:void(0)", None),
        ("http://[bad", None),
    ],
)
def test_link_is_resolved_against_its_page(href: str, target: str | None) -> None:
    found = join(canonical("http://example.com/a/b?x=/z"), href)

    assert (found and found.text) == target


def test_cached_join_is_exact_for_another_page_of_the_folder() -> None:
    one, other = canonical("http://example.com/a/one?p=1"), canonical("http://example.com/a/two?p=2")

    for href in ("x", "?q", "#f", "", "http:?q", "http:", "../y", "/z", "http://h/", "ht\ttp:?q"):
        assert join(one, href) == canonical(ada_url.join_url(one.text, href))
        assert join(other, href) == canonical(ada_url.join_url(other.text, href))


PAGES = st.sampled_from(["http://example.com/a/b?x", "https://example.com/", "http://h:81/a/b/", "file:///a/b"])


@given(PAGES, st.text(alphabet="htps:/?#.a\\ \t%2e@[]x", max_size=20))
def test_join_agrees_with_the_standard_for_any_link(page: str, href: str) -> None:
    base = canonical(page)
    try:
        expected: Url | None = canonical(ada_url.join_url(base.text, href))
    except (ValueError, UrlError):
        expected = None

    assert join(base, href) == expected


ORIGINS = st.tuples(
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(
        [
            *("a.example", "A.example.", "127.1", "0x7f.1", "a)b.example", "xn--bcher-kva.example", "-", "1.2.3"),
            *("a.b--c.-d-", "a.0x1f", "a..example", "xn-.example", "a" * 64 + ".example", "axn--b.example"),
        ]
    ),
    st.sampled_from(["", ":80", ":443", ":81", ":0", ":081", ":99999"]),
).map(lambda parts: f"{parts[0]}://{parts[1]}{parts[2]}")
TARGETS = st.text(alphabet="/.a~-_Z9?=&%2eE", max_size=16)


@given(ORIGINS, TARGETS)
def test_fast_path_reads_plain_url_like_the_parser(origin: str, target: str) -> None:
    found = []
    for text in (f"{origin}/{target}", f"{origin}/{target}#"):  # fragments are dropped, and avoid the fast path
        try:
            url = canonical(text)
            found.append((url.text, url.key, url.host))
        except UrlError:
            found.append(("no URL", "", ""))

    assert found[0] == found[1]


@given(ORIGINS, TARGETS, TARGETS)
def test_fast_path_resolves_plain_link_like_the_parser(origin: str, page: str, target: str) -> None:
    try:
        base = canonical(f"{origin}/{page}")
    except UrlError:
        return
    plain, parsed = join(base, f"/{target}"), join(base, f"/{target}#")

    assert (plain and (plain.text, plain.key, plain.host)) == (parsed and (parsed.text, parsed.key, parsed.host))


ESCAPES = st.text(alphabet="%0123456789abcdefABCDEF./", max_size=12).map("http://example.com/".__add__)


@given(ESCAPES)
def test_canonicalising_percent_signs_is_idempotent(text: str) -> None:
    assert canonical(canonical(text).text) == canonical(text)


@given(
    st.text(max_size=60) | st.text(max_size=60).map("http://example.com/".__add__) | st.text().map("http://".__add__)
)
def test_canonicalisation_is_idempotent(text: str) -> None:
    try:
        url = canonical(text)
    except UrlError:
        return

    assert canonical(url.text) == url
    assert stored_url(url.text) == url
    assert "#" not in url.text
    assert url.text.startswith(f"{url.scheme}://")


def test_all_schemes_and_ports_of_a_host_share_a_queue() -> None:
    spellings = ["http://www.example.co.uk/", "https://www.example.co.uk:8443/", "http://WWW.example.co.uk./a"]

    assert {queue_key(canonical(text)) for text in spellings} == {"www.example.co.uk"}
    assert {queue_key(canonical(text), "domain") for text in spellings} == {"example.co.uk"}
    assert queue_key(canonical("http://127.1:81/"), "domain") == "127.0.0.1"


def test_repr_shows_the_url() -> None:
    assert repr(canonical("http://example.com")) == "Url('http://example.com/')"
    assert str(canonical("http://example.com")) == "http://example.com/"


@pytest.mark.parametrize(
    "text",
    ["", "example.com", "http://example.com", "http:///a", "mailto:a@b", "http://a.example/\r\nX: y", "http://ä/"],
)
def test_text_that_is_no_stored_url_is_refused(text: str) -> None:
    with pytest.raises(UrlError):
        stored_url(text)
