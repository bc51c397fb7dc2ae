"""Addresses in scripts and style sheets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import seconds_of
from tests.parse.contents import content

from scoter.config import load
from scoter.core.page import Page
from scoter.parse.html import MOST_LINKS
from scoter.parse.parsers import IN_PLACE, CssParser, ScriptParser
from scoter.parse.scripts import css_addresses, script_addresses
from scoter.plugins import Setup


def script(text: str | bytes) -> Page:
    return ScriptParser(Setup(load())).parse(content(text, "text/javascript"))[0]


def css(text: str | bytes) -> Page:
    return CssParser(Setup(load())).parse(content(text, "text/css"))[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('go("https://x.example/a?b=1")', ["https://x.example/a?b=1"]),
        (r'"https:\/\/x.example\/a"', ["https://x.example/a"]),
        (r'"\u002Fapi\u002Fitems"', ["/api/items"]),
        ("'//cdn.example/x.js'", ["//cdn.example/x.js"]),
        ("'http://localhost:80/x' + `http://[::1]/`", ["http://localhost:80/x", "http://[::1]/"]),
        (
            "'/img/a.png', './b', '../c/d', 'page.html?x', 'data.json'",
            ["/img/a.png", "./b", "../c/d", "page.html?x", "data.json"],
        ),
        ("'text/html' + 'and/or' + 'a.b.c' + '1/2' + '/' + '//' + 'https://' + '</div>' + '/a b/'", []),
        ("`/t/${id}`", []),
        ('re = /"\\/x/; "/y"', ["/y"]),
    ],
)
def test_script_strings_that_look_like_addresses_are_links(text: str, found: list[str]) -> None:
    assert list(script_addresses(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a { b: url(x.png) url( 'y.png' ) URL(\"z.png\") }", ["x.png", "y.png", "z.png"]),
        ("@import 'a.css' screen; @IMPORT url(b.css);", ["a.css", "b.css"]),
        ("/* url(no) @import 'no' */ a { b: url(yes) }", ["yes"]),
        ("a { content: 'url(no)'; c: \"@import 'no'\" }", []),
        (r"a { b: url(x\ y\29.png) }", ["x y).png"]),
        (r"a { b: url(\66 oo.woff) url( b\61\72  ) }", ["foo.woff", "bar"]),
        (r"a { b: url(\d7ff \e000.png) url(\0 \dfff.png) }", ["\ud7ff\ue000.png", "\ufffd\ufffd.png"]),
        ("a { b: url(#shape) url() url('') }", []),
        ("/* never closed url(no)", []),
    ],
)
def test_style_sheet_imports_and_urls_are_links(text: str, found: list[str]) -> None:
    assert list(css_addresses(text)) == found


def test_script_has_no_text() -> None:
    page = script("a('/x'); b('/x'); c('http://b.example/')")
    assert [link.target.text for link in page.outlinks] == ["http://a.example/x", "http://b.example/"]
    assert {link.kind for link in page.outlinks} == {"text"}
    assert (page.title, page.text, page.media_type) == ("", "", "text/javascript")


def test_style_sheet_has_no_text() -> None:
    page = css("@import '../a.css'; b { c: url(data:image/png;base64,xx) url(d.png) }")
    assert [link.target.text for link in page.outlinks] == ["http://a.example/a.css", "http://a.example/dir/d.png"]
    assert ({link.kind for link in page.outlinks}, page.text) == ({"link"}, "")


def test_number_of_script_links_is_limited() -> None:
    text = ",".join(f"'/{number}'" for number in range(MOST_LINKS + 50))
    assert len(script(text).outlinks) == MOST_LINKS


def test_only_small_files_are_parsed_in_place() -> None:
    parsers = (ScriptParser(Setup(load())), CssParser(Setup(load())))
    assert all(each.in_place(content(b"x" * IN_PLACE)) for each in parsers)
    assert not any(each.in_place(content(b"x" * (IN_PLACE + 1))) for each in parsers)


HOSTILE = {
    "quotes": '"' * 2**20,
    "mixed quotes": "\"a'b`" * 2**18,
    "open string": '"' + "a" * 2**20,
    "paths": ('"' + "/a" * 900 + '!"') * 500,
    "files": ('"' + "a/" * 900 + '!"') * 500,
    "dots": ('"' + "a." * 1_000 + '"') * 500,
    "backslashes": '"' + "\\" * 2**20,
    "comments": "/*" * 2**19,
    "stars": "/*" + "*" * 2**20,
    "urls": "url(" * 2**18,
    "spaces": "url(" + " " * 2**20 + "@import" + " " * 2**20,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_file_takes_linear_time(text: str) -> None:
    assert seconds_of(lambda: list(script_addresses(text))) < 3
    assert seconds_of(lambda: list(css_addresses(text))) < 3


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_parsers_accept_any_bytes(body: bytes) -> None:
    assert script(body).text == css(body).text == ""
