"""Write the content of a page as plain text.

Each block has its own line, with an empty line around paragraphs, headings, lists and the like. The rows of a data
table are lines.
"""

from __future__ import annotations

from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.nodes import Element, Line
from scoter.parse.main.tables import is_data

_GAPS: Final = ("", " ", "\n", "\n\n")
_SPACE, _LINE, _EMPTY_LINE = 1, 2, 3
_APART: Final = name_set("p h1 h2 h3 h4 h5 h6 pre blockquote table ul ol dl figure hr")
_CELLS: Final = name_set("td th")


def plain_text(part: Element) -> str:
    """Return the text of a part of a page."""
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
        gap = _EMPTY_LINE if tag in _APART else _SPACE if tag in _CELLS and self._in_data else _LINE
        self._part(gap)
        if element.code:
            self._add(element.code)
        around = self._most, self._in_data
        if tag == "table":
            self._in_data = is_data(element)
        elif tag in _CELLS and self._in_data:
            self._most = _SPACE
        for child in element.children:
            if type(child) is Element:
                self.write(child)
            elif type(child) is Line and child.words:
                self._part(_LINE)
                self._add(child.words)
                self._part(_LINE)
        self._most, self._in_data = around
        self._part(gap)

    def _part(self, gap: int) -> None:
        if gap > self._most:
            gap = self._most
        if gap > self._gap:
            self._gap = gap

    def _add(self, words: str) -> None:
        if self.parts:
            self.parts.append(_GAPS[self._gap])
        self._gap = 0
        self.parts.append(words)
