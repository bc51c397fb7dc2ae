"""The elements of a page that hold metadata, collected once for all sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, TypeAlias

from selectolax.lexbor import LexborCSSSelector, LexborHTMLParser, LexborNode, create_tag

from scoter.core.url import Url, join
from scoter.parse.encoding import encode_query
from scoter.parse.html.elements import TEXT_LEVEL
from scoter.parse.metadata.field_values import LONGEST_TITLE, address, clean

MOST_ELEMENTS: Final = 1_000
"""``meta`` elements read from a page, and as many ``link`` elements."""
MOST_VALUES: Final = 50
"""Values kept for one name."""
LONGEST_VALUE: Final = 20_000
MOST_SCRIPTS: Final = 50
MOST_CLIMBS: Final = 256

Attributes: TypeAlias = dict[str, str | None]

_META: Final = create_tag("meta").tag_id
_LINK: Final = create_tag("link").tag_id
_TITLE: Final = create_tag("title").tag_id
_QUERY: Final = 'meta,link,title,script[type*="ld+json" i]'
_MOST_PIECES: Final = 500
# Lexbor has no name for a processing instruction.
_UNSHOWN: Final = ("script", "style", "noscript", "template", "noembed", "iframe", "svg", "-comment", "")
_GROUPS: Final = ("og:image", "og:video", "og:audio")
_NO_PICTURES: Final = (".mp4", ".m4v", ".webm", ".mov", ".ogv", ".avi", ".m3u8", ".mp3", ".m4a", ".ogg", ".wav")
_HEADINGS: Final = 'h1,h2,h3,[class*="headline" i],[class*="title" i]'
_MOST_HEADINGS: Final = 50
_NO_LETTERS: Final = re.compile(r"[\W_]+")


class PageElements:
    """The elements of a page: ``metas`` by lower-case name, ``links`` with their rels, and JSON-LD ``scripts``.

    ``groups`` are the Open Graph tags of media in page order, which shows what belongs together. ``colours`` are theme
    colours, each with whether it has a media query. ``bylines`` are the elements searched for an author. ``kind`` is
    the schema.org type of what the page is about, by the first source that has one.
    """

    def __init__(
        self,
        tree: LexborHTMLParser,
        selector: LexborCSSSelector,
        url: Url,
        base: Url,
        header_language: str,
        encoding: str = "utf-8",
    ) -> None:
        self.url = url
        self.base = base
        self.root = tree.root
        self.header_language = header_language
        self._encoding = encoding
        self.title = ""
        self.metas: dict[str, list[str]] = {}
        self.groups: list[tuple[str, str]] = []
        self.links: list[tuple[frozenset[str], Attributes]] = []
        self.scripts: list[str] = []
        self.colours: list[tuple[bool, str]] = []
        self.bylines: list[LexborNode] = []
        self.kind = ""
        self._selector = selector
        self._collect()

    def find(self, query: str, under: LexborNode | None = None) -> list[LexborNode]:
        """Return the elements that match a CSS selector, in page order."""
        node = under or self.root
        return [] if node is None else self._selector.find(query, node)

    def some(self, query: str, most: int, under: LexborNode | None = None) -> list[LexborNode]:
        """Return the first elements that match a CSS selector with several parts, each once.

        Lexbor returns an element once for each part that matches, in succession.
        """
        found: list[LexborNode] = []
        last = 0
        for node in self.find(query, under):
            if (number := node.mem_id) != last:
                if len(found) == most:
                    break
                found.append(node)
                last = number
        return found

    def address(self, href: str | None) -> str:
        """Return an href as an absolute URL; empty if it is not one."""
        return address(self.base, encode_query(href, self._encoding) if href else href)

    def picture(self, href: str | None) -> str:
        """Return the address of an image; empty for a video or a sound file, which some pages put in its place."""
        url = self.address(href)
        return "" if url.partition("?")[0].lower().endswith(_NO_PICTURES) else url

    def shows(self, text: str) -> bool:
        """Tell whether a text is part of the page's title or of one of its headings, by letters and digits only."""
        plain = _plain_text(text)
        return plain in _plain_text(self.title) or any(
            plain in _plain_text(visible_text(node, LONGEST_TITLE)) for node in self.some(_HEADINGS, _MOST_HEADINGS)
        )

    def first(self, *names: str) -> str:
        """Return the first value of the first of these names that has one."""
        for name in names:
            for value in self.metas.get(name, ()):
                if not value.isspace():
                    return value
        return ""

    def every(self, *names: str) -> list[str]:
        """Return all values of these names."""
        return [value for name in names for value in self.metas.get(name, ())]

    def is_here(self, href: str) -> bool:
        """Tell whether an href leads to this page, by its URL, canonical URL or og:url."""
        found = join(self.base, href)
        return found is not None and _comparable(found.text) in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        said = [self.first("og:url"), *(link.get("href") for rels, link in self.links if "canonical" in rels)]
        return frozenset(_comparable(text) for text in (self.url.text, *map(self.address, said)) if text)

    def _collect(self) -> None:
        metas = links = 0
        for node in self.find(_QUERY):
            number = node.tag_id
            if number == _META:
                metas += 1
                if metas <= MOST_ELEMENTS:
                    self._meta(node.attributes)
            elif number == _LINK:
                links += 1
                if links <= MOST_ELEMENTS:
                    self._link(node.attributes)
            elif number == _TITLE:
                if not self.title and not within(node, ("svg",)):
                    self.title = clean(node.text_lexbor()[: 4 * LONGEST_TITLE], LONGEST_TITLE)
            elif len(self.scripts) < MOST_SCRIPTS:
                self.scripts.append(node.text_lexbor())

    def _meta(self, attributes: Attributes) -> None:
        content = attributes.get("content")
        if not content:
            return
        # An element with both, as in name="description" property="og:description", counts for both.
        for name in (attributes.get("property"), attributes.get("name") or attributes.get("http-equiv")):
            if name:
                self._keep(name, content[:LONGEST_VALUE], attributes)

    def _keep(self, names: str, content: str, attributes: Attributes) -> None:
        for name in names[:500].lower().split():
            values = self.metas.setdefault(name, [])
            if len(values) < MOST_VALUES:
                values.append(content)
            if name.startswith(_GROUPS):
                if len(self.groups) < 4 * MOST_VALUES:
                    self.groups.append((name, content))
            elif name == "theme-color" and len(self.colours) < MOST_VALUES:
                self.colours.append((bool(attributes.get("media")), content))

    def _link(self, attributes: Attributes) -> None:
        rel = attributes.get("rel")
        if rel and attributes.get("href"):
            self.links.append((frozenset(rel[:500].lower().split()), attributes))


def visible_text(node: LexborNode, longest: int) -> str:
    """Return the visible text of an element; line breaks and blocks separate words.

    At most ``longest`` characters and 500 nodes are read.
    """
    first = node.first_child
    if first is None or (first.is_text_node and first.next is None):
        return node.text_lexbor()[:longest]
    pieces: list[str] = []
    # A stack of nodes to read; None marks the end of a block.
    todo: list[LexborNode | None] = [first]
    for _ in range(_MOST_PIECES):
        while todo and todo[-1] is None:
            pieces.append(" ")
            todo.pop()
        here = todo.pop() if todo else None
        if here is None or longest <= 0:
            break
        if (beside := here.next) is not None:
            todo.append(beside)
        if here.is_text_node:
            pieces.append(text := here.text_lexbor()[:longest])
            longest -= len(text)
        elif (tag := here.tag or "") not in _UNSHOWN:
            if tag not in TEXT_LEVEL:
                pieces.append(" ")
                todo.append(None)
            if (inner := here.first_child) is not None:
                todo.append(inner)
    return "".join(pieces)


def ancestors(node: LexborNode, most: int = MOST_CLIMBS) -> Iterator[LexborNode]:
    """Yield the nearest ancestors of an element."""
    parent = node.parent
    for _ in range(most):
        if parent is None:
            return
        yield parent
        parent = parent.parent


def within(node: LexborNode, names: tuple[str, ...]) -> bool:
    """Tell whether an element is inside one of these."""
    parent = node.parent
    for _ in range(MOST_CLIMBS):
        if parent is None:
            return False
        if parent.tag in names:
            return True
        parent = parent.parent
    return True  # ignore what is nested so deep


def _plain_text(text: str) -> str:
    return _NO_LETTERS.sub("", text).casefold()


def _comparable(text: str) -> str:
    """Return a URL without scheme, www, query and trailing slash, for comparison."""
    _, _, rest = text.partition("://")
    return rest.removeprefix("www.").partition("?")[0].removesuffix("/").removesuffix("/index.html").lower()
