"""Text put together from pieces: words into cells, cells into lines, within bounds."""

from __future__ import annotations

from typing import Final

from scoter.parse.documents.pages import MOST_TEXT, Link
from scoter.parse.html import LONGEST_ANCHOR, MOST_LINKS

_DEEPEST: Final = 32  # links or fields that are open at the same time


class Full(Exception):
    """There is as much text as is kept; no more of the document is read."""


class Prose:
    """Lines of text as a reader of XML comes upon them, and the links in them.

    The cells of a line are parted by tabs; white space inside a cell becomes one space.
    """

    def __init__(self, most: int = MOST_TEXT) -> None:
        self.links: list[Link] = []
        self._left = most
        self._lines: list[str] = []
        self._cells: list[str] = []
        self._pieces: list[str] = []
        self._anchors: list[list[str]] = []

    @property
    def text(self) -> str:
        """The lines so far; the one that was begun is ended."""
        self.end_line()
        return "\n".join(self._lines)

    def add(self, piece: str) -> None:
        """Add to the line; raise Full when there is no room for all of it."""
        self._pieces.append(piece[: max(0, self._left)])
        if self._anchors:
            self._anchors[-1].append(piece[: 2 * LONGEST_ANCHOR])
        self._left -= len(piece)
        if self._left < 0:
            raise Full

    def end_cell(self) -> None:
        cell = " ".join("".join(self._pieces).split())
        self._pieces.clear()
        if cell:
            self._cells.append(cell)

    def end_line(self) -> None:
        self.end_cell()
        if self._cells:
            self._lines.append("\t".join(self._cells))
            self._cells.clear()

    def end_block(self) -> None:
        """End the line and leave one empty."""
        self.end_line()
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def open_anchor(self) -> None:
        if len(self._anchors) < _DEEPEST:
            self._anchors.append([])

    def close_anchor(self) -> str:
        """Return what was added since the anchor was opened."""
        return " ".join("".join(self._anchors.pop()).split())[:LONGEST_ANCHOR] if self._anchors else ""

    def link(self, href: str, anchor: str = "", kind: str = "a") -> None:
        if href and len(self.links) < MOST_LINKS:
            self.links.append(Link(href, anchor, kind))
