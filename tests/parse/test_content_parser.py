"""ContentParser and ParserChain: choice of parsers, parse filters, and the process for suspicious contents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from tests.parse.contents import content, made_of_built_in

from scoter.builtin.scoring import OpicScoring
from scoter.builtin.signatures import Md5Signature
from scoter.config import load
from scoter.core.page import Content, Page
from scoter.core.url import Url, canonical
from scoter.errors import ConfigError
from scoter.parse import ContentParser, Parsed, ParseFailed
from scoter.parse.chain import ParserChain, read_types
from scoter.parse.html import options
from scoter.parse.mediatype import make_content
from scoter.parse.parser_process import ParserProcess
from scoter.parse.parsers import HtmlParser, TextParser
from scoter.plugins import ParseFilter, Parser, Setup, installed

CONFIG = load()
PARSERS: Sequence[tuple[str, Parser]] = [("html", HtmlParser(Setup(CONFIG))), ("text", TextParser(Setup(CONFIG)))]
SUSPICIOUS = b"<svg>" + b"<div/>" * 9_000 + b"end"


class UpperCaseFilter:
    """A parse filter that converts the text to upper case."""

    def refine(self, content: Content, page: Page) -> Page:
        return replace(page, text=page.text.upper())


class FailingFilter:
    """A parse filter that always fails."""

    def refine(self, content: Content, page: Page) -> Page:
        raise KeyError("oops")


class CountingProcess(ParserProcess):
    """A parser process that counts its contents."""

    def __init__(self) -> None:
        super().__init__(made_of_built_in())
        self.given = 0

    def parse(self, content: Content) -> Parsed | ParseFailed:
        self.given += 1
        return super().parse(content)


def parsing(*filters: tuple[str, ParseFilter], parsers: Sequence[tuple[str, Parser]] = PARSERS) -> ContentParser:
    return ContentParser(CONFIG, parsers, filters)


def test_first_parser_for_a_type_parses_it() -> None:
    class Other(TextParser):
        media_types: tuple[str, ...] = ("text/html", "text/plain")

    other = [("other", Other(Setup(CONFIG)))]

    html = parsing().parse(content(b"<b>x"))
    text = parsing(parsers=[*other, *PARSERS]).parse(content(b"<b>x"))

    assert isinstance(html, Parsed)
    assert html.page.text == "x"
    assert isinstance(text, Parsed)
    assert text.page.text == "<b>x"


def test_plain_text_has_no_links() -> None:
    outcome = parsing().parse(content("naïve\r\n<a href=/x>http://a.example/</a>\n", "text/plain", robots="noindex"))

    assert isinstance(outcome, Parsed)
    assert outcome.page.text == "naïve\n<a href=/x>http://a.example/</a>"
    assert outcome.page.outlinks == ()
    assert outcome.page.noindex


def test_type_without_parser_fails_with_no_parser() -> None:
    assert parsing().parse(content(b"%PDF-", "application/pdf")) == ParseFailed("no_parser", "application/pdf")


def test_truncated_content_is_skipped_if_configured() -> None:
    cut = content(b"<p>cut", truncated=True)

    assert parsing().parse(cut) == ParseFailed("truncated")
    assert isinstance(ContentParser(load(overrides=["parse.skip_truncated=false"]), PARSERS).parse(cut), Parsed)


def test_parse_filters_get_the_parsed_page() -> None:
    outcome = parsing(("loud", UpperCaseFilter())).parse(content(b"<p>seal"))

    assert isinstance(outcome, Parsed)
    assert outcome.page.text == "SEAL"


def test_failure_names_the_broken_filter() -> None:
    outcome = parsing(("loud", UpperCaseFilter()), ("broken", FailingFilter())).parse(content(b"<p>seal"))

    assert outcome == ParseFailed("broken_plugin", "broken: KeyError: 'oops'")


def test_filter_that_returns_no_page_fails_the_content() -> None:
    class Forgetful:
        def refine(self, content: Content, page: Page) -> Page:
            return None  # type: ignore[return-value]

    outcome = parsing(("forgetful", Forgetful()), ("loud", UpperCaseFilter())).parse(content(b"<p>seal"))

    assert outcome == ParseFailed("broken_plugin", "forgetful: TypeError: None is no page")


def test_next_parser_is_tried_if_one_returns_no_pages() -> None:
    class Wordy(TextParser):
        media_types: tuple[str, ...] = ("text/html",)

        def parse(self, content: Content) -> Sequence[Page]:
            return ["seal"]  # type: ignore[list-item]

    wordy = ("wordy", Wordy(Setup(CONFIG)))

    alone, followed = ParserChain([wordy]), ParserChain([wordy, *PARSERS])

    assert alone.parse(content(b"<p>seal")) == ParseFailed("broken_plugin", "wordy: TypeError: 'seal' is no page")
    assert isinstance(followed.parse(content(b"<p>seal")), Parsed)


def test_only_suspicious_pages_are_parsed_in_the_process() -> None:
    watched = CountingProcess()
    with ContentParser(CONFIG, PARSERS, process=watched) as both:
        ordinary = both.parse(content(b"<p>words"))
        assert watched.given == 0

        suspicious = both.parse(content(SUSPICIOUS))
        assert watched.given == 1

    assert isinstance(ordinary, Parsed)
    assert isinstance(suspicious, Parsed)
    assert suspicious.page.text == "end"


def test_process_that_is_kept_serves_the_next_parser() -> None:
    process = ParserProcess(made_of_built_in())
    with closing(process):
        with ContentParser(CONFIG, PARSERS, process=process, keeps_process=True) as first:
            first.parse(content(SUSPICIOUS))
        pid = process.pid
        with ContentParser(CONFIG, PARSERS, process=process, keeps_process=True) as second:
            second.parse(content(SUSPICIOUS))

        assert pid is not None
        assert process.pid == pid
    assert process.pid is None


async def test_suspicious_page_does_not_block_the_event_loop() -> None:
    steps = 0
    with ContentParser(CONFIG, PARSERS, process=CountingProcess()) as both:
        parse = asyncio.create_task(both.parse_async(content(SUSPICIOUS)))
        while not parse.done():
            steps += 1
            await asyncio.wait([parse], timeout=0.01)

    assert isinstance(parse.result(), Parsed)
    assert steps > 2


async def test_close_does_not_wait_for_a_hostile_page() -> None:
    process = CountingProcess()
    both = ContentParser(CONFIG, PARSERS, process=process)
    await both.parse_async(content(SUSPICIOUS))  # starts the process
    hostile = asyncio.create_task(both.parse_async(content(b"<svg>" + b"<div/>" * 200_000)))
    async with asyncio.timeout(30):
        while process.given < 2:  # on a busy machine its thread starts late
            await asyncio.sleep(0.01)
    done, _ = await asyncio.wait([hostile], timeout=0.1)
    assert not done

    both.close()

    outcome = await asyncio.wait_for(hostile, 10)
    assert isinstance(outcome, ParseFailed)
    assert outcome.reason == "crash"


async def test_ordinary_page_is_parsed_without_awaiting() -> None:
    outcome = await parsing().parse_async(content(b"<p>words"))

    assert isinstance(outcome, Parsed)
    assert await parsing().parse_async(content(b"", "image/png")) == ParseFailed("no_parser", "image/png")


@pytest.mark.skipif(
    not {("parser", "html"), ("parser", "text")} <= {(each.point.name, each.name) for each in installed()},
    reason="the package was installed before it had parsers",
)
def test_configured_parsers_run_in_place_and_in_the_process() -> None:
    with ContentParser(load(overrides=['parse.parsers=["html", "text"]'])) as configured:
        ordinary = configured.parse(content(b"<p>words"))
        suspicious = configured.parse(content(SUSPICIOUS))

    assert isinstance(ordinary, Parsed)
    assert isinstance(suspicious, Parsed)
    assert suspicious.page.text == "end"


class PrefixParser:
    """A parser that accepts only contents that begin with its name."""

    def __init__(self, name: str, *kinds: str, is_quick: bool = False) -> None:
        self.media_types: tuple[str, ...] = kinds
        self.asked = 0
        self._name = name
        self._is_quick = is_quick

    def parse(self, content: Content) -> Sequence[Page]:
        self.asked += 1
        if content.body == b"bad":
            raise ValueError("bad")
        return [Page(url=content.url, text=self._name)] if content.body.startswith(self._name.encode()) else ()

    def in_place(self, content: Content) -> bool:
        return self._is_quick


def read_by(chain: ParserChain, body: bytes, kind: str) -> str:
    """Return the name of the parser that parsed a content, or why none did."""
    outcome = chain.parse(content(body, kind))
    return outcome.page.text if isinstance(outcome, Parsed) else f"{outcome.reason}: {outcome.detail}"


def test_next_parser_is_tried_if_one_finds_no_page() -> None:
    feed, sitemap = PrefixParser("feed", "application/xml"), PrefixParser("sitemap", "application/xml")
    chain = ParserChain([("feed", feed), ("sitemap", sitemap)])

    assert read_by(chain, b"feed", "application/xml") == "feed"
    assert sitemap.asked == 0
    assert read_by(chain, b"sitemap", "application/xml") == "sitemap"
    assert read_by(chain, b"other", "application/xml") == "empty: feed, sitemap"


def test_first_failed_parser_is_named_if_no_other_succeeds() -> None:
    text = TextParser(Setup(CONFIG))
    broken = ("odd", PrefixParser("odd", "text/plain"))

    assert read_by(ParserChain([broken, ("text", text)]), b"bad", "text/plain") == "bad"
    assert read_by(ParserChain([broken]), b"bad", "text/plain") == "broken_plugin: odd: ValueError: bad"


@pytest.mark.parametrize(
    ("kind", "readers"),
    [
        ("image/png", ["exact", "family"]),
        ("image/x-png", ["exact", "family"]),  # an alias
        ("image/gif", ["family"]),
        ("application/xml", ["markup"]),
        ("text/xml", ["markup"]),
        ("application/vnd.x+xml", ["markup"]),
        ("application/x-other", []),
    ],
)
def test_parsers_are_found_by_type_family_and_suffix(kind: str, readers: list[str]) -> None:
    named = {"exact": "image/png", "family": "image/*", "markup": "text/xml"}
    chain = ParserChain([(name, PrefixParser(name, types)) for name, types in named.items()])

    assert [name for name, _ in chain.parsers(kind)] == readers
    assert chain.reads(kind) == bool(readers)


@pytest.mark.parametrize(
    ("kind", "readers"),
    [
        ("text/markdown", ["text"]),
        ("text/csv", ["table"]),
        ("text/x-python", ["text"]),
        ("text/css", []),
        ("text/javascript", []),
        ("application/x-tex", []),
    ],
)
def test_other_text_types_fall_back_to_plain_text(kind: str, readers: list[str]) -> None:
    chain = ParserChain([("text", PrefixParser("text", "text/plain")), ("table", PrefixParser("table", "text/csv"))])

    assert [name for name, _ in chain.parsers(kind)] == readers


@pytest.mark.parametrize(
    ("kind", "readers"),
    [
        ("image/png", ["second"]),
        ("image/gif", ["second", "first"]),
        ("text/html", ["first"]),
        ("audio/mpeg", ["third"]),
        ("application/pdf", ["third", "first"]),
    ],
)
def test_configured_types_override_those_of_parsers(kind: str, readers: list[str]) -> None:
    first = ("first", PrefixParser("first", "image/png", "image/gif", "text/html", "application/pdf"))
    second, third = ("second", PrefixParser("second")), ("third", PrefixParser("third"))
    types = {
        "image/*": [second, first],
        "image/png": [second],
        "*/*": [third],
        "application/pdf": [third, first],
    }

    assert [name for name, _ in ParserChain([first], types=types).parsers(kind)] == readers


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["application/pdf"], "'application/pdf' does not assign parsers to a media type"),
        (["pdf=text"], "'pdf=text' does not assign"),
        (["*/pdf=text"], "does not assign"),
        (["image/*="], "does not assign"),
        (["image/*=text,"], "does not assign"),
        (["a/b=text", "A/B=html"], "'A/B=html' repeats the type a/b"),
        (["text/xml=text", "application/xml=html"], "repeats the type application/xml"),
        (["a/b=text,text"], "lists 'text' twice"),
        (["a/b=texd"], "'a/b=texd': 'texd' is not a parser; did you mean 'text'?"),
    ],
)
def test_invalid_type_entry_is_rejected(entries: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_types(entries, ["html", "text"])

    assert message in str(caught.value)
    assert caught.value.where == "parse.types"
    assert caught.value.hint


def test_parser_named_only_for_a_type_parses_nothing_else() -> None:
    settings = ['parse.parsers=["html"]', 'parse.types=["application/x-notes=text"]']
    chain = ParserChain.of(load(overrides=settings))

    assert [name for name, _ in chain.parsers("application/x-notes")] == ["text"]
    assert chain.parsers("text/plain") == ()


def test_wildcard_type_is_the_fallback() -> None:
    chain = ParserChain.of(load(overrides=['parse.types=["*/*=text"]']))

    assert [name for name, _ in chain.parsers("application/x-unheard-of")] == ["text"]
    assert [name for name, _ in chain.parsers("text/html")] == ["html"]


@pytest.mark.parametrize(
    ("quick", "body", "in_process"),
    [
        ((True,), b"first", False),
        ((False,), b"first", True),
        ((True, False), b"first", False),  # the second is not needed
        ((True, False), b"second", True),  # it is needed, and not sure to be quick
        ((True, True), b"second", False),
        ((False, True), b"second", True),
        ((True, True), b"none", False),
        ((True, False), b"none", True),
    ],
)
def test_contents_not_sure_to_be_quick_are_parsed_in_the_process(
    quick: tuple[bool, ...], body: bytes, in_process: bool
) -> None:
    names = ("first", "second")
    parsers = [(name, PrefixParser(name, "a/b", is_quick=each)) for name, each in zip(names, quick, strict=False)]

    outcome = ParserChain(parsers).parse_in_place(content(body, "a/b"))

    assert (outcome is None) == in_process
    if in_process:
        assert all(parser.asked == 0 for (_, parser), is_quick in zip(parsers, quick, strict=True) if not is_quick)


@pytest.mark.parametrize(
    ("settings", "made_out"),
    [
        ((), True),
        (("parse.store_text=false", "parse.filters=[]"), False),
        (("parse.store_text=false", "parse.filters=[]", "parse.simhash=true"), True),
        (("parse.store_text=false",), True),
        (("parse.store_text=false", 'parse.filters=["headings"]'), True),
        (("parse.store_text=false", "parse.filters=[]", "db.signature=text-profile"), True),
        (("parse.store_text=false", "parse.filters=[]", "db.signature=text-md5"), True),
        (("parse.store_text=false", "parse.filters=[]", 'scoring.filters=["opic", "depth"]'), False),
    ],
)
def test_text_is_extracted_only_if_something_uses_it(settings: Sequence[str], made_out: bool) -> None:
    parser = HtmlParser(Setup(load(overrides=settings)))

    (page,) = parser.parse(content("<title>Seals</title><p>Grey <b>seal</b>s</p><p><a href=/more>More</a></p>"))

    assert page.text == ("Grey seals\nMore" if made_out else "")
    assert (page.title, page.outlinks[0].anchor) == ("Seals", "More")


class Weighing:
    """A third-party scoring filter that uses pages."""

    def __init__(self, setup: Setup) -> None: ...

    def after_parsing(self, url: Url, content: Content, page: Page) -> Page:
        return page


class Own:
    """A third-party signature that does not declare whether it uses the text."""

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return text.encode()


@pytest.mark.parametrize(("plugin", "setting"), [(Weighing, 'scoring.filters=["x"]'), (Own, "db.signature=x")])
def test_text_is_extracted_for_plug_ins_that_may_use_it(
    plugin: type, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = {"x": plugin, "opic": OpicScoring, "md5": Md5Signature}
    monkeypatch.setattr(options, "find", lambda point, name: SimpleNamespace(load=lambda: loaded[name]))
    without = ("parse.store_text=false", "parse.filters=[]")

    assert not options.is_text_needed(load(overrides=without))
    assert options.is_text_needed(load(overrides=[*without, setting]))


@pytest.mark.parametrize(
    ("media_type", "body"),
    [("text/html", b'<meta http-equiv=refresh content="0; /meta"><a href=/a>a</a>'), ("text/plain", b"moved")],
)
def test_refresh_header_field_counts_like_the_meta_element_and_before_it(media_type: str, body: bytes) -> None:
    url = canonical("http://a.example/here")

    def parsed(refresh: str) -> Page:
        headers = (("Content-Type", media_type), ("refresh", refresh))
        outcome = parsing().parse(make_content(url, headers, body, sniff=False))
        assert isinstance(outcome, Parsed)
        return outcome.page

    soon, later, reload = parsed("0;url=/caf\xc3\xa9"), parsed("30; URL=there"), parsed("5")
    assert soon.refresh is not None
    assert (soon.refresh.target, soon.refresh.is_redirect) == (canonical("http://a.example/caf%C3%A9"), True)
    assert later.refresh is not None
    assert not later.refresh.is_redirect
    assert (later.outlinks[-1].target, later.outlinks[-1].kind) == (canonical("http://a.example/there"), "refresh")
    assert (reload.refresh is not None) == (media_type == "text/html")
