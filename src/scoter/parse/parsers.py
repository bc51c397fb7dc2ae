"""The built-in parsers for HTML, plain text, JavaScript and CSS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec.structs import asdict, replace

from scoter.core.metadata import PageMetadata
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url, join
from scoter.parse.encoding import decode_page
from scoter.parse.filetypes import XHTML
from scoter.parse.html import MOST_LINKS, HtmlOptions, HtmlReader
from scoter.parse.html.options import is_text_needed
from scoter.parse.html.reader import doubt_about
from scoter.parse.mediatype import HTML, TEXT
from scoter.parse.prescan import is_partly_harmless
from scoter.parse.robots_meta import directives
from scoter.parse.scripts import css_addresses, script_addresses
from scoter.plugins import Setup

IN_PLACE: Final = 256 * 1024
"""Bytes of a script or style sheet that may be parsed in place: the slowest input we tried took 0.25 µs per byte."""


class HtmlParser:
    """Parses HTML pages."""

    media_types: tuple[str, ...] = (HTML, XHTML)

    def __init__(self, setup: Setup) -> None:
        options = replace(HtmlOptions.of(setup.config), text=is_text_needed(setup.config))
        self._reader = HtmlReader(options)

    def parse(self, content: Content) -> Sequence[Page]:
        return (self._reader.read(content),)

    def in_place(self, content: Content) -> bool:
        """Tell whether the page is sure to parse quickly, so that it needs no separate process."""
        return is_partly_harmless(content.body)


class PageParser:
    """A parser of one page per content, with the robots directives of its header fields."""

    def __init__(self, setup: Setup) -> None:
        self._agents = HtmlOptions.of(setup.config).agents

    def _page(self, content: Content, **fields: Any) -> Page:
        said = asdict(directives((), content.robots, self._agents))
        return Page(**{"url": content.url, "media_type": content.media_type, **said, **fields})


class TextParser(PageParser):
    """Parses plain text. It has no title and no links."""

    media_types: tuple[str, ...] = (TEXT,)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._default = setup.config.parse.character_encoding_default

    def parse(self, content: Content) -> Sequence[Page]:
        source = decode_page(content.body, content.encoding, self._default, markup=False)
        text = source.utf8.decode().replace("\r\n", "\n").strip()
        doubt = doubt_about(content, source, markup=False)
        return (self._page(content, text=text, encoding=source.encoding, doubt=doubt),)

    def in_place(self, content: Content) -> bool:
        return True


class ScriptParser(PageParser):
    """Parses JavaScript for the absolute URLs and paths in its strings."""

    media_types: tuple[str, ...] = (
        *("text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript"),
        *("text/ecmascript", "text/x-javascript"),
    )
    _kind = "text"
    _addresses = staticmethod(script_addresses)

    def parse(self, content: Content) -> Sequence[Page]:
        source = decode_page(content.body, content.encoding, "utf-8", markup=False)
        outlinks = _outlinks(self._addresses(source.utf8.decode("utf-8", "replace")), content.url, self._kind)
        return (self._page(content, outlinks=outlinks, encoding=source.encoding),)

    def in_place(self, content: Content) -> bool:
        return len(content.body) <= IN_PLACE


class CssParser(ScriptParser):
    """Parses style sheets for the files they import and show."""

    media_types: tuple[str, ...] = ("text/css",)
    _kind = "link"
    _addresses = staticmethod(css_addresses)


def metadata_from(source: str, **fields: Any) -> PageMetadata:
    """Return metadata with the fields that are not empty, all attributed to one source."""
    there = {name: value for name, value in fields.items() if value}
    return PageMetadata(**there, sources=dict.fromkeys(there, source))


def _outlinks(addresses: Iterable[str], base: Url, kind: str) -> tuple[Outlink, ...]:
    """Return the addresses as links, each target once."""
    links: dict[str, Outlink] = {}
    for address in addresses:
        target = join(base, address)
        if target is not None and target.text != base.text:
            links.setdefault(target.text, Outlink(target=target, kind=kind))
            if len(links) >= MOST_LINKS:
                break
    return tuple(links.values())
