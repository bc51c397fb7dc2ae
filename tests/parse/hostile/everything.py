"""A chain of all built-in parsers in the order of a crawl."""

from __future__ import annotations

from functools import partial

from scoter.config import Config, load
from scoter.parse.chain import ParserChain
from scoter.parse.documents.image import ImageParser
from scoter.parse.documents.office import OfficeParser
from scoter.parse.documents.pdf import PdfParser
from scoter.parse.documents.zip import ZipParser
from scoter.parse.feeds.feed import FeedParser
from scoter.parse.feeds.sitemap import SitemapParser
from scoter.parse.feeds.xml import XmlParser
from scoter.parse.parsers import CssParser, HtmlParser, ScriptParser, TextParser
from scoter.plugins import Parser, Setup

EVERYTHING = ("parse.metadata=true", "parse.markdown=true", "parse.main_text=true", "parse.script_links=true")
"""Settings that switch on everything that can be read from a page."""


def all_parsers(config: Config) -> ParserChain:
    """Return the chain; a module-level function, so that it can be pickled."""
    setup = Setup(config)
    outer: list[tuple[str, Parser]] = [
        ("html", HtmlParser(setup)),
        ("text", TextParser(setup)),
        ("feed", FeedParser(setup)),
        ("sitemap", SitemapParser(setup)),
        ("xml", XmlParser(setup)),
        ("pdf", PdfParser(setup)),
        ("office", OfficeParser(setup)),
        ("image", ImageParser(setup)),
        ("script", ScriptParser(setup)),
        ("css", CssParser(setup)),
    ]
    return ParserChain([*outer, ("zip", ZipParser(setup, parsers=ParserChain(outer)))])


def made_of_everything(*settings: str) -> partial[ParserChain]:
    return partial(all_parsers, load(overrides=[*EVERYTHING, *settings]))
