"""XML of any kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import seconds_of
from tests.parse.feeds.documents import PLACE, targets, xml
from tests.parse.feeds.test_feed import FILE, LAUGHS, QUADRATIC

from scoter.core.page import Page

DOCUMENT = """<?xml version="1.0"?>
<book xml:lang="en" xml:base="http://b.example/books/" xmlns:xlink="http://www.w3.org/1999/xlink">
  <info><title>The  sea</title><author>Ann</author></info>
  <para>un<em>real</em> <b>waves</b>, and <link xlink:href="more.xml">more</link> of them</para>
  <para>second</para><style>p { }</style>
  <image src="/i.png"/><url>https://c.example/x</url><url>relative</url><loc> http://d.example/ </loc>
</book>"""


def test_text_has_a_line_for_each_element_and_none_for_those_inside_a_text() -> None:
    (page,) = xml(DOCUMENT)
    assert page.text.splitlines() == [
        "The sea",
        "Ann",
        "unreal waves, and more of them",
        "second",
        "https://c.example/x",
        "relative",
        "http://d.example/",
    ]
    assert (page.title, page.language, page.media_type) == ("The sea", "en", "application/xml")


def test_links_are_attributes_and_elements_that_hold_an_address() -> None:
    (page,) = xml(DOCUMENT)
    assert targets(page, "link") == ["http://b.example/books/more.xml"]
    assert targets(page, "media") == ["http://b.example/i.png"]
    assert targets(page, "text") == ["https://c.example/x", "http://d.example/"]


def test_broken_document_yields_its_readable_content_and_a_doubt() -> None:
    (page,) = xml("<a><title>T</title><b>one</c><d href='/x'>two")
    assert (page.title, targets(page, "link")) == ("T", ["http://a.example/x"])
    assert {"one", "two"} <= set(page.text.split())
    assert page.doubt.startswith("broken XML")


def test_document_without_element_has_no_root() -> None:
    assert xml("") == xml("words") == xml(b"\x00\xff") == xml("<!-- -->") == ()


@pytest.mark.parametrize("declared", [LAUGHS, FILE, QUADRATIC], ids=["laughs", "file", "quadratic"])
def test_entities_are_never_expanded(declared: str) -> None:
    uses = "&a12;" * 10_000
    body = f"{declared}]><r href='{uses}'><title>&a12;</title><b c='{uses}'>{uses}</b></r>"
    assert seconds_of(lambda: xml(body)) < 5
    (page,) = xml(body)
    assert page.title == "&a12;"
    assert len(page.text) < 2 * len(body)


def test_default_values_of_attributes_are_never_added() -> None:
    declared = f"<!DOCTYPE r [<!ATTLIST b href CDATA '/{'x' * 4_000}'>]>"
    (page,) = xml(f"{declared}<r>{'<b/>' * 10_000}</r>")
    assert page.outlinks == ()


@pytest.mark.parametrize(
    "body",
    [
        "<a>" * 300_000,
        "<a>" + "< " * 300_000,
        "<a " + " ".join(f"b{number}='c'" for number in range(50_000)) + "/>",
        "<a>" + "x<b/>" * 80_000 + "</a>",
        "<a>" + "<b href='/x'/>" * 40_000 + "</a>",
        "<a>" + "<![CDATA[]]>" * 60_000 + "</a>",
        "<a" + " " * 3_000_000 + ">",
        "<" + "a" * 3_000_000 + ">",
    ],
    ids=["deep", "faults", "attributes", "mixed", "links", "cdata", "spaces", "name"],
)
def test_hostile_document_is_read_in_linear_time(body: str) -> None:
    pages: list[Page] = []

    # What is quadratic takes minutes.
    assert seconds_of(lambda: pages.extend(xml(body))) < 3
    assert sum(len(page.text) for page in pages) <= len(body)


def test_fragment_link_is_ignored() -> None:
    (page,) = xml(f"<a href='#x'><b href=''/><c href='{PLACE}#y'/></a>")
    assert [link.target.text for link in page.outlinks] == [PLACE.text]


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(DOCUMENT)))
def test_any_bytes_are_read_without_error(noise: bytes, place: int) -> None:
    data = DOCUMENT.encode()
    for body in (noise, data[:place] + noise + data[place:]):
        for page in xml(body):
            assert page.url == PLACE
