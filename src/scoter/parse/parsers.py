"""The built-in parsers: HTML and plain text."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from scoter.core.page import Content, Page
from scoter.parse.encoding import decoded
from scoter.parse.html import HtmlOptions, HtmlReader
from scoter.parse.html.doubt import doubt_about
from scoter.parse.html.options import is_text_needed
from scoter.parse.mediatype import HTML, TEXT, XHTML
from scoter.parse.prescan import harmless
from scoter.parse.robots_meta import directives
from scoter.plugins import Setup


class HtmlParser:
    """Reads HTML pages."""

    media_types: tuple[str, ...] = (HTML, XHTML)

    def __init__(self, setup: Setup) -> None:
        options = replace(HtmlOptions.of(setup.config), text=is_text_needed(setup.config))
        self._reader = HtmlReader(options)
        # Trafilatura goes over a page many times; the pre-scan bounds what Lexbor's tree costs, and nothing of that.
        self._can_take_long = options.extractor == "trafilatura"

    def parse(self, content: Content) -> Sequence[Page]:
        return (self._reader.read(content),)

    def in_place(self, content: Content) -> bool:
        """Tell whether a page cannot take long, so that no process of its own is needed."""
        return not self._can_take_long and harmless(content.body)


class TextParser:
    """Reads plain text; its first line is no title, and an address in it is no link."""

    media_types: tuple[str, ...] = (TEXT,)

    def __init__(self, setup: Setup) -> None:
        self._default = setup.config.parse.character_encoding_default
        self._agents = HtmlOptions.of(setup.config).agents

    def parse(self, content: Content) -> Sequence[Page]:
        found = decoded(content.body, content.encoding, self._default, markup=False)
        said = directives((), content.robots, self._agents)
        page = Page(
            url=content.url,
            text=found.utf8.decode().replace("\r\n", "\n").strip(),
            noindex=said.noindex,
            nofollow=said.nofollow,
            noarchive=said.noarchive,
            nosnippet=said.nosnippet,
            unavailable_after=said.unavailable_after,
            encoding=found.encoding,
            media_type=content.media_type,
            doubt=doubt_about(content, found, markup=False),
        )
        return (page,)

    def in_place(self, content: Content) -> bool:
        return True
