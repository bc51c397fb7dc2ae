"""What a crawl calls: the right parser, the filters, and the process for what may be hostile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.parse.contents import content, made_of_built_in

from scoter.config import load
from scoter.core.page import Content, Page
from scoter.parse import Parsed, ParseFailed, Parsing
from scoter.parse.containment import Confinement
from scoter.parse.parsers import HtmlParser, TextParser
from scoter.plugins import ParseFilter, Parser, Setup, installed

CONFIG = load()
PARSERS: Sequence[tuple[str, Parser]] = [("html", HtmlParser(Setup(CONFIG))), ("text", TextParser(Setup(CONFIG)))]
SUSPICIOUS = b"<div>" * 9_000 + b"end"


class Loud:
    """A parse filter that raises its voice."""

    def refine(self, content: Content, page: Page) -> Page:
        return replace(page, text=page.text.upper())


class Broken:
    """A parse filter that does not work."""

    def refine(self, content: Content, page: Page) -> Page:
        raise KeyError("oops")


class Watched(Confinement):
    """A confinement that counts what it is given."""

    def __init__(self) -> None:
        super().__init__(made_of_built_in())
        self.given = 0

    def parse(self, content: Content) -> Parsed | ParseFailed:
        self.given += 1
        return super().parse(content)


def parsing(*filters: tuple[str, ParseFilter], parsers: Sequence[tuple[str, Parser]] = PARSERS) -> Parsing:
    return Parsing(CONFIG, parsers, filters)


def test_the_first_parser_that_reads_a_type_takes_it() -> None:
    class Other(TextParser):
        media_types: tuple[str, ...] = ("text/html", "text/plain")

    other = [("other", Other(Setup(CONFIG)))]

    html = parsing().parse(content(b"<b>x"))
    text = parsing(parsers=[*other, *PARSERS]).parse(content(b"<b>x"))

    assert isinstance(html, Parsed)
    assert html.page.text == "x"
    assert isinstance(text, Parsed)
    assert text.page.text == "<b>x"


def test_plain_text_is_text_without_links() -> None:
    outcome = parsing().parse(content("naïve\r\n<a href=/x>http://a.example/</a>\n", "text/plain", robots="noindex"))

    assert isinstance(outcome, Parsed)
    assert outcome.page.text == "naïve\n<a href=/x>http://a.example/</a>"
    assert outcome.page.outlinks == ()
    assert outcome.page.noindex


def test_a_type_without_a_parser_is_a_value() -> None:
    assert parsing().parse(content(b"%PDF-", "application/pdf")) == ParseFailed("no_parser", "application/pdf")


def test_a_truncated_content_is_skipped_by_setting() -> None:
    cut = content(b"<p>cut", truncated=True)

    assert parsing().parse(cut) == ParseFailed("truncated")
    assert isinstance(Parsing(load(overrides=["parse.skip_truncated=false"]), PARSERS).parse(cut), Parsed)


def test_parse_filters_work_on_what_the_parser_found() -> None:
    outcome = parsing(("loud", Loud())).parse(content(b"<p>seal"))

    assert isinstance(outcome, Parsed)
    assert outcome.page.text == "SEAL"


def test_a_broken_filter_fails_its_page_and_is_named() -> None:
    outcome = parsing(("loud", Loud()), ("broken", Broken())).parse(content(b"<p>seal"))

    assert outcome == ParseFailed("broken_plugin", "broken: KeyError: 'oops'")


def test_an_ordinary_page_is_parsed_in_place_and_a_suspicious_one_is_not() -> None:
    watched = Watched()
    with Parsing(CONFIG, PARSERS, confinement=watched) as both:
        ordinary = both.parse(content(b"<p>words"))
        assert watched.given == 0

        suspicious = both.parse(content(SUSPICIOUS))
        assert watched.given == 1

    assert isinstance(ordinary, Parsed)
    assert isinstance(suspicious, Parsed)
    assert suspicious.page.text == "end"


async def test_a_suspicious_page_leaves_the_event_loop_free() -> None:
    steps = 0
    with Parsing(CONFIG, PARSERS, confinement=Watched()) as both:
        parse = asyncio.create_task(both.parse_async(content(SUSPICIOUS)))
        while not parse.done():
            steps += 1
            await asyncio.wait([parse], timeout=0.01)

    assert isinstance(parse.result(), Parsed)
    assert steps > 2


async def test_a_crawl_that_stops_does_not_wait_for_a_hostile_page() -> None:
    both = Parsing(CONFIG, PARSERS, confinement=Watched())
    await both.parse_async(content(SUSPICIOUS))  # the process has started
    hostile = asyncio.create_task(both.parse_async(content(b"<div>" * 200_000)))
    done, _ = await asyncio.wait([hostile], timeout=0.1)
    assert not done

    both.close()

    outcome = await asyncio.wait_for(hostile, 10)
    assert isinstance(outcome, ParseFailed)
    assert outcome.reason == "crash"


async def test_an_ordinary_page_is_parsed_at_once() -> None:
    outcome = await parsing().parse_async(content(b"<p>words"))

    assert isinstance(outcome, Parsed)
    assert await parsing().parse_async(content(b"", "image/png")) == ParseFailed("no_parser", "image/png")


@pytest.mark.skipif(
    not {("parser", "html"), ("parser", "text")} <= {(each.point.name, each.name) for each in installed()},
    reason="the package was installed before it had parsers",
)
def test_the_configured_parsers_are_used_here_and_in_the_process() -> None:
    with Parsing(load(overrides=['parse.parsers=["html", "text"]'])) as configured:
        ordinary = configured.parse(content(b"<p>words"))
        suspicious = configured.parse(content(SUSPICIOUS))

    assert isinstance(ordinary, Parsed)
    assert isinstance(suspicious, Parsed)
    assert suspicious.page.text == "end"
