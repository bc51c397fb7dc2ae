"""Contents and parser chains for tests."""

from __future__ import annotations

from functools import partial

from scoter.config import Config, load
from scoter.core.page import Content, Page
from scoter.core.url import canonical
from scoter.parse.chain import ParserChain
from scoter.parse.html import HtmlOptions, HtmlReader
from scoter.parse.parsers import HtmlParser, TextParser
from scoter.plugins import Setup

URL = "http://a.example/dir/page.html"


def content(body: bytes | str, kind: str = "text/html", robots: str = "", truncated: bool = False) -> Content:
    data = body.encode() if isinstance(body, str) else body
    return Content(url=canonical(URL), media_type=kind, body=data, robots=robots, truncated=truncated)


def read(body: bytes | str, options: HtmlOptions | None = None, robots: str = "") -> Page:
    return HtmlReader(options or HtmlOptions()).read(content(body, robots=robots))


def built_in(config: Config) -> ParserChain:
    """Return the chain of the built-in parsers; a module-level function, so that it can be pickled."""
    setup = Setup(config)
    return ParserChain([("html", HtmlParser(setup)), ("text", TextParser(setup))])


def made_of_built_in() -> partial[ParserChain]:
    return partial(built_in, load())
