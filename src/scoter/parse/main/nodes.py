"""The nodes of the tree of a page: block elements, and the lines in them."""

from __future__ import annotations

import re
from html import unescape
from typing import Final, TypeAlias

from msgspec import Struct

from scoter.parse.html.elements import name_set
from scoter.parse.main.names import INLINE, About

_ATTRIBUTE: Final = re.compile(r' ([^\s="]+)="([^"]*)"')
CODE_BREAKS: Final = name_set("br div p li tr")
NUMBERED: Final = re.compile(r'class="[^"]*\b(?:linenos?|linenumbers?|line-numbers|gutter|copy\w*)\b')
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\U000f0000-\U0010ffff\u200b\ufeff]"
)


class Line(Struct, eq=False, gc=False):
    """Inline content between two block boundaries.

    ``parts`` are texts and tags in turn, as written; ``words`` is its plain text with white space collapsed and line
    breaks, ``linked`` how many of its characters are in links.
    """

    parts: list[str]
    words: str
    linked: int = 0


class Element(Struct, eq=False):
    """A block element, or a link around blocks.

    ``size`` counts the characters of its text, ``linked`` those in links. ``code`` is the text of a ``pre``.
    """

    tag: str
    about: About
    children: list[Node] = []
    size: int = 0
    linked: int = 0
    code: str = ""
    task: str = ""

    def get(self, name: str) -> str:
        """Return an attribute's value, or an empty string."""
        return attribute(self.about.attributes, name)

    def elements(self) -> list[Element]:
        """Return this element and all its descendants in document order."""
        found: list[Element] = []
        todo = [self]
        while todo:
            element = todo.pop()
            found.append(element)
            if inner := [child for child in element.children if type(child) is Element]:
                inner.reverse()
                todo += inner
        return found

    def text(self) -> str:
        """Return its text, with a line break after each line or code block."""
        found: list[str] = []
        for element in self.elements():  # not quite in order where lines follow elements
            found += [element.code] if element.code else []
            found += [child.words for child in element.children if type(child) is Line]
        return "\n".join(found)


Node: TypeAlias = Element | Line


def attribute(attributes: str, name: str) -> str:
    """Return the value of an attribute, given them as written."""
    if name not in attributes:
        return ""
    return next((unescape(value) for key, value in _ATTRIBUTE.findall(attributes) if key == name), "")


def clean(text: str) -> str:
    """Remove invisible characters: controls, and private-use characters of icon fonts."""
    return _CONTROL.sub("", text)


class Tree(Struct, frozen=True):
    """The body of a page, without elements that are never displayed.

    ``hidden_size`` counts the characters of hidden elements. ``is_technical`` tells whether the page has code, or
    permalinks at its headings.
    """

    body: Element
    hidden_size: int = 0
    is_technical: bool = False


def measure(element: Element) -> None:
    """Compute the measures of an element from those of its children."""
    size, linked = len(element.code), 0
    for child in element.children:
        if type(child) is Line:
            size += len(child.words)
            linked += child.linked
        elif type(child) is Element:
            size += child.size
            linked += child.linked
    element.size = size
    element.linked = size if element.tag == "a" else linked


def line_words(parts: list[str]) -> str:
    """Return the plain text of a line."""
    if "br" in parts:
        broken = [
            text + ("\x1e" if tag == "br" else "") for text, tag in zip(parts[::2], [*parts[1::2], ""], strict=False)
        ]
        segments = [" ".join(part.split()) for part in "".join(broken).split("\x1e")]
        words = re.sub("\n{3,}", "\n\n", "\n".join(segments)).strip("\n")
    else:
        words = " ".join("".join(parts[::2]).split())
    if "&" in words:
        words = unescape(words)
    return words if words.isprintable() else clean(words)


def code_text(texts: list[str], tags: list[str]) -> str:
    """Return code whose lines are elements, without line numbers."""
    found: list[str] = []
    skipped = ""
    opened = 0
    for text, tag in zip(texts, tags, strict=False):
        name = tag.split(" ", 1)[0]
        if skipped:
            opened += (name == skipped) - (name == f"/{skipped}")
            if not opened:
                skipped = ""
            continue
        found.append(text)
        if name == "br" or (name.lstrip("/") not in INLINE and found and "".join(found[-2:])[-1:] not in {"\n", ""}):
            found.append("\n")
        if name[:1] != "/" and NUMBERED.search(tag):
            skipped, opened = name, 1
    return "".join(found)
