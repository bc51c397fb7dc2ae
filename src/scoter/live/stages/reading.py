"""What an answer holds: free of its codings, with its type, and read by the parser for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from scoter.config import Config
from scoter.core.page import Content, Page
from scoter.core.reply import Exchange
from scoter.fetch.decode import content_codings, decode
from scoter.live.records import Kind
from scoter.parse import HtmlOptions, ParseFailed, Parsing, received
from scoter.parse.robots_meta import directives

_FAMILIES: Mapping[str, Kind] = {"image": Kind.IMAGE, "video": Kind.VIDEO, "audio": Kind.AUDIO}
_PAGES = frozenset({"text/html", "application/xhtml+xml"})


class Read(Struct, frozen=True):
    """A content and its page; ``problem`` tells why there is no page, ``noarchive`` that it is not to be archived."""

    content: Content
    page: Page | None
    problem: str = ""
    noarchive: bool = False


class Reading:
    """Reads answers, one after another."""

    def __init__(self, config: Config, parsing: Parsing) -> None:
        self._parsing = parsing
        self._limit = config.fetch.content_limit
        self._sniffs = config.parse.mime_type_magic
        self._agents = HtmlOptions.of(config).agents

    async def __call__(self, exchange: Exchange) -> Read:
        codings = content_codings(exchange.headers)
        plain = decode(exchange.body, codings, self._limit) if codings else None
        body = exchange.body if plain is None else plain.body
        cut = bool(exchange.cut or (plain is not None and plain.cut))
        content = received(exchange.url, exchange.headers, body, truncated=cut, sniff=self._sniffs)
        outcome = await self._parsing.parse_async(content)
        if isinstance(outcome, ParseFailed):
            problem = f"{outcome.reason}: {outcome.detail}" if outcome.detail else outcome.reason
            # What cannot be read may be forbidden to archive all the same, by its header fields.
            return Read(content, None, problem, directives((), content.robots, self._agents).noarchive)
        return Read(content, outcome.page, outcome.page.doubt, outcome.page.noarchive)


def kind_of(media_type: str, page: Page | None) -> Kind:
    """Return what a content is, for those who show it.

    >>> kind_of("text/html", None), kind_of("image/png", None), kind_of("font/woff2", None)
    (<Kind.PAGE: 'page'>, <Kind.IMAGE: 'image'>, <Kind.OTHER: 'other'>)
    """
    if media_type in _PAGES:
        return Kind.PAGE
    family = _FAMILIES.get(media_type.partition("/")[0])
    if family is not None:
        return family
    return Kind.DOCUMENT if page is not None else Kind.OTHER
