"""Write the content of a page as plain text.

Each block has its own line, with an empty line around paragraphs, headings, lists and the like. The rows of a data
table are lines.
"""

from __future__ import annotations

from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.blocks import code_text, is_data
from scoter.parse.main.inline import clean
from scoter.parse.main.tree import INLINE, Element, Text

_GAPS: Final = ("", " ", "\n", "\n\n")
_SPACE, _LINE, _EMPTY_LINE = 1, 2, 3
_APART: Final = name_set("p h1 h2 h3 h4 h5 h6 pre blockquote table ul ol dl figure hr")
_CELLS: Final = name_set("td th")


def plain_text(part: Element) -> str:
    """Return the kept text of a part of a page."""
    writer = PlainWriter()
    writer.write(part)
    return "".join(writer.parts)


class PlainWriter:
    """Collects words, with the widest of the gaps between two of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._gap = 0
        self._most = _EMPTY_LINE  # the widest gap here
        self._in_data = False

    def write(self, element: Element) -> None:
        """Write an element; the tree bounds the recursion."""
        tag = element.tag
        gap = _LINE if tag == "br" or element.blocky or tag not in INLINE else 0
        if tag in _APART:
            gap = _EMPTY_LINE
        elif tag in _CELLS and self._in_data:
            gap = _SPACE
        self._part(gap)
        if tag == "pre":
            self._add(code_text(element))
        else:
            around = self._most, self._in_data
            if tag == "table":
                self._in_data = is_data(element)
            elif tag in _CELLS and self._in_data:
                self._most = _SPACE
            for child in element.children:
                if type(child) is Element:
                    self.write(child)
                elif type(child) is Text and child.kept:
                    self._take(child.words)
            self._most, self._in_data = around
        self._part(gap)

    def _take(self, words: str) -> None:
        if words[:1].isspace():
            self._part(_SPACE)
        self._add(clean(" ".join(words.split())))
        if words[-1:].isspace():
            self._part(_SPACE)

    def _part(self, gap: int) -> None:
        self._gap = max(self._gap, min(gap, self._most))

    def _add(self, words: str) -> None:
        if words:
            if self.parts:
                self.parts.append(_GAPS[self._gap])
            self._gap = 0
            self.parts.append(words)
