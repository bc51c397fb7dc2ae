"""XML of any kind: text, links and a guessed title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url, join
from scoter.parse.feeds.entries import address_of, is_web_address
from scoter.parse.feeds.source import ElementCounter, XmlSource, local, walk
from scoter.parse.html import LONGEST_TITLE, MOST_LINKS
from scoter.parse.parsers import PageParser

_ATTRIBUTES: Final = {"href": "link", "src": "media"}
_ADDRESSES: Final = frozenset(("loc", "url", "uri", "link", "href", "src"))
_NO_TEXT: Final = frozenset(("script", "style"))


class XmlParser(PageParser):
    """Reads XML of any kind."""

    media_types: tuple[str, ...] = (
        *("application/xml", "text/xml", "application/rdf+xml", "application/rss+xml", "application/atom+xml"),
        *("application/mathml+xml", "application/xslt+xml"),
    )

    def parse(self, content: Content) -> Sequence[Page]:
        source = XmlSource(content.body, content.encoding)
        if not source.root:
            return ()
        found = _XmlTextReader(content.url)
        doubt = walk(source, found)
        page = self._page(
            content,
            title=" ".join(found.title.split())[:LONGEST_TITLE],
            text="\n".join(filter(None, (" ".join(line.split()) for line in "".join(found.text).split("\n\n")))),
            outlinks=tuple(found.links.values()),
            language=found.language,
            encoding=source.encoding,
            doubt=doubt,
        )
        return (page,)


class _Open(Struct):
    """An open element: whether it is inside a line of text, and whether it has text."""

    name: str
    inline: bool
    has_text: bool = False


class _XmlTextReader:
    """Collects text and links.

    An element ends a line unless it is in the middle of its parent's text (``un<em>real</em>``).
    """

    full = False

    def __init__(self, base: Url) -> None:
        self.title = ""
        self.language = ""
        self.text: list[str] = []
        self.links: dict[str, Outlink] = {}
        self._base = base
        self._depth = ElementCounter()
        self._open: list[_Open] = []
        self._run: list[str] = []
        self._silent = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._flush()
        name = local(tag)
        self._depth.check(len(self._open))
        above = self._open[-1] if self._open else None
        self._open.append(_Open(name, above is not None and (above.has_text or above.inline)))
        self._silent += name in _NO_TEXT
        for key, value in attributes.items():
            kind = local(key)
            if kind in _ATTRIBUTES:
                self._link(value, _ATTRIBUTES[kind])
            elif kind == "lang" and not self.language and len(self._open) == 1:
                self.language = value.strip()[:35]
            elif kind == "base" and len(self._open) == 1:
                self._base = join(self._base, value) or self._base

    def data(self, text: str) -> None:
        self._run.append(text)

    def end(self, tag: str) -> None:
        self._flush(ending=True)
        if self._open:
            self._silent -= self._open.pop().name in _NO_TEXT

    def close(self) -> None:
        self._flush(ending=True)

    def _flush(self, ending: bool = False) -> None:
        """Add the text since the last tag; ``ending`` tells that its element ends."""
        text = "".join(self._run)
        self._run.clear()
        if not self._open or self._silent:
            return
        within = self._open[-1]
        if not text.strip():
            if text and (within.inline or within.has_text):
                self.text.append(" ")
            return
        first = not within.has_text and not within.inline
        within.has_text = True
        # Kept text has no empty lines, so an empty line can mark the end of a line.
        self.text += ["\n\n" if first else "", " ".join(text.split("\n"))]
        if not ending:
            return
        if within.name == "title" and first and not self.title:
            self.title = text
        elif first and within.name in _ADDRESSES and is_web_address(text.strip()):
            self._link(text, "text")

    def _link(self, text: str, kind: str) -> None:
        text = address_of(text)
        if not text or text.startswith("#") or len(self.links) >= MOST_LINKS:
            return
        if (target := join(self._base, text)) is not None:
            self.links.setdefault(target.text, Outlink(target=target, kind=kind))
