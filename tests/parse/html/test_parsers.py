"""The HTML and text parsers: parsing in place, and options from the configuration."""

from __future__ import annotations

from tests.parse.contents import content

from scoter.config import load
from scoter.core.page import Page
from scoter.parse.parsers import HtmlParser, TextParser
from scoter.plugins import Setup

BODY = (
    '<html><head><title>Seals</title><meta property="og:title" content="Grey seals"><base href="/b/"></head><body>'
    "<nav><a href=/>Home</a></nav><main><h1>Seals</h1>"
    + "<p>Grey seals <b>eat</b> fish, and they <a href=x>rest</a> on the shore for hours between two dives.</p>" * 9
    + "</main></body></html>"
)


def parser(*settings: str) -> HtmlParser:
    return HtmlParser(Setup(load(overrides=settings)))


def parsed(*settings: str) -> Page:
    return parser(*settings).parse(content(BODY))[0]


def test_ordinary_page_is_parsed_in_place() -> None:
    assert parser().in_place(content(BODY))
    assert parser("parse.main_text=true", "parse.markdown=true").in_place(content(BODY))


def test_main_content_and_metadata_are_read_if_configured() -> None:
    plain = parsed()
    rich = parsed("parse.metadata=true", "parse.main_text=true", "parse.markdown=true")

    assert (plain.about, plain.main_text, plain.markdown) == (None, "", "")
    assert rich.about is not None
    assert rich.about.title == "Grey seals"
    assert "Home" not in rich.main_text
    assert "Grey seals eat fish" in rich.main_text
    assert "[rest](http://a.example/b/x)" in rich.markdown
    assert rich.text == plain.text
    assert rich.outlinks == plain.outlinks


def test_plain_text_has_type_robots_directives_and_doubt() -> None:
    given = content(b"seals\0", "text/plain", robots="nosnippet, unavailable_after: 2030-01-01")

    (page,) = TextParser(Setup(load())).parse(given)

    assert page.media_type == "text/plain"
    assert page.nosnippet
    assert page.unavailable_after is not None
    assert page.doubt == "binary"
    assert page.outlinks == ()
