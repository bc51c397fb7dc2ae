"""What a report on a site's health reads of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.page import Content
from scoter.core.url import canonical
from scoter.parse.html.audit import PageAudit, PageLink, audit, style_links

URL = canonical("http://a.example/dir/page")


def read(html: str | bytes, robots: str = "") -> PageAudit:
    body = html if isinstance(html, bytes) else html.encode()
    return audit(
        Content(url=URL, media_type="text/html", body=body, encoding="utf-8", robots=robots), agents=("examplebot",)
    )


def targets(links: tuple[PageLink, ...] | list[PageLink]) -> list[tuple[str, str]]:
    return [(link.kind, link.href if link.target is None else link.target.text[16:]) for link in links]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=x>", [("a", "/dir/x")]),
        ("<base href=/other/><a href=x>", [("a", "/other/x")]),
        ("<a href=' /x '>", [("a", "/x")]),
        ("<a href=/ä>", [("a", "/%C3%A4")]),
        ("<area href=x>", [("a", "/dir/x")]),
        ("<img src=a.png srcset='b.png 1x, c,d.png 2x'>", [("image", f"/dir/{n}.png") for n in ("a", "b", "c,d")]),
        ("<picture><source srcset='a 1w,b 2w'></picture>", [("image", "/dir/a"), ("image", "/dir/b")]),
        (
            "<video src=a poster=b><track src=c></video>",
            [("media", "/dir/a"), ("image", "/dir/b"), ("media", "/dir/c")],
        ),
        ("<object data=a></object><embed src=b>", [("object", "/dir/a"), ("object", "/dir/b")]),
        ("<iframe src=a></iframe>", [("frame", "/dir/a")]),
        ("<body background=a><input type=image src=b>", [("image", "/dir/a"), ("image", "/dir/b")]),
        ("<link rel='shortcut icon' href=a><link rel=stylesheet href=b>", [("image", "/dir/a"), ("style", "/dir/b")]),
        ("<link rel=preconnect href=//b.example><link rel=next href=a>", [("link", "/dir/a")]),
        ("<link rel=alternate hreflang=de href=/de>", [("hreflang", "/de")]),
        ("<link rel=canonical href=/c>", [("canonical", "/c")]),
        ("<meta property=og:image content=/p.png>", [("image", "/p.png")]),
        ("<meta http-equiv=refresh content='9; url=/r'>", [("refresh", "/r")]),
        ("<p style='background: url(\"a b.png\")'>", [("image", "/dir/a%20b.png")]),
        (
            "<style>@import url(a.css); p { background: URL( b.png ) }</style>",
            [("style", "/dir/a.css"), ("image", "/dir/b.png")],
        ),
        ("<style>/* url(no.png) */ p { background: url(data:x), url(#y) }</style>", []),
        ("<form action=/send><button formaction=/other>", [("form", "/send"), ("form", "/other")]),
        ("<blockquote cite=/q>", [("cite", "/q")]),
        ("<a href='mailto:x@y'><a href='javascript:x'><a href='tel:1'><a href=data:x><a href='ftp://x/'>", []),
        ("<a href='http://[x'><a href='http://'>", [("a", "http://[x"), ("a", "http://")]),
        ("<link rel=canonical href='file:///srv/x.html'>", [("canonical", "file:///srv/x.html")]),
        ("<noscript><img src=x></noscript><template><a href=y></a></template><!-- <a href=z> -->", []),
        ("<svg><image href=a.png /><a href=b></a></svg>", [("image", "/dir/a.png"), ("a", "/dir/b")]),
    ],
)
def test_every_address_of_a_page_is_found(html: str, expected: list[tuple[str, str]]) -> None:
    assert targets(read(html).links) == expected


@pytest.mark.parametrize(
    ("href", "fragment"),
    [
        ("#x", "x"),
        ("/p#caf%C3%A9", "café"),
        ("#", ""),
        ("#top", ""),
        ("#/route", ""),
        ("#!x", ""),
        ("#:~:text=word", ""),
    ],
)
def test_fragments_that_name_a_place_are_kept(href: str, fragment: str) -> None:
    (link,) = read(f"<a href='{href}'>x</a>").links

    assert link.fragment == fragment


def test_the_text_of_a_link_is_what_a_reader_sees() -> None:
    links = read(
        "<a href=1> two\n <b>words</b></a><a href=2><img alt=picture></a><a href=3 aria-label=label></a>"
        f"<a href=4>{'x' * 300}</a><a href=5 rel='noopener NoFollow'>x</a>"
    ).links

    assert [link.text for link in links[:3]] == ["two words", "picture", "label"]
    assert len(links[3].text) == 200
    assert [link.nofollow for link in links[3:]] == [False, True]


def test_what_a_page_says_about_itself_is_never_made_up() -> None:
    empty = read("<p>A text that is no description.<h2>Not a main heading</h2><svg><title>Not the page</title></svg>")
    full = read(
        "<html lang=de><title> A\n title </title><meta name=Description content=' One '><h1>H</h1><h3>Deep</h3>"
        "<meta name=robots content=noindex><p id=a><a name=b></a><p id=a>"
    )

    assert (empty.titles, empty.descriptions, empty.headings, empty.language) == ((), (), (), "")
    assert (full.titles, full.descriptions, full.headings) == (("A title",), ("One",), ("H",))
    assert (full.language, full.noindex, full.skipped, full.names) == ("de", True, "h1 → h3 Deep", ("a", "b"))


def test_robots_of_the_header_and_for_others() -> None:
    assert read("", robots="noindex").noindex
    assert not read("<meta name=otherbot content=noindex>").noindex
    assert read("<meta name=examplebot content=nofollow>").nofollow


def test_an_immediate_refresh_is_a_redirect() -> None:
    assert read("<meta http-equiv=Refresh content='0; url=/x'>").refresh == "http://a.example/x"
    assert read("<meta http-equiv=refresh content='60; url=/x'>").refresh == ""


def test_style_sheets_name_other_files() -> None:
    text = (
        "@import 'a.css' screen; @import url(\"b.css\"); @font-face { src: url(c.woff2) format('woff2'), url(d.woff) }"
    )

    assert targets(style_links(text, URL)) == [
        *(("style", "/dir/a.css"), ("style", "/dir/b.css"), ("image", "/dir/c.woff2"), ("image", "/dir/d.woff")),
    ]


def test_work_is_bounded() -> None:
    assert len(read("<a href=x>" * 50_000).links) == 20_000
    assert len(read("".join(f"<p id=n{number}>" for number in range(30_000))).names) == 20_000


@given(st.binary(max_size=400))
def test_any_bytes_give_a_result(body: bytes) -> None:
    read(b"<title>" + body + b"<a href='" + body + b"' style='" + body + b"'>")


@given(st.text(max_size=300))
def test_any_style_gives_a_result(text: str) -> None:
    style_links(f"url({text})@import '{text}'", URL)
