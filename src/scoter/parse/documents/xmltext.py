"""Turn XML into text as a stream, without building a tree, so memory does not grow with the document.

No external DTD, entity or file is ever loaded. Documents that declare entities are rejected, except SVG images, which
need them. libxml2 limits the expansion of entities and the nesting depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Protocol

from scoter.parse.documents.archive import UnreadableArchive
from scoter.parse.documents.pages import MOST_TEXT, DocumentLink
from scoter.parse.html import LONGEST_ANCHOR, MOST_LINKS

_RELATIONSHIPS: Final = "/relationships}"
_PROLOGUE: Final = 16 * 1024  # bytes searched for entity declarations
_DEEPEST: Final = 32  # links or fields that are open at once


class XmlTarget(Protocol):
    """Receives elements and text in document order.

    Names have no namespace, except attributes that name a relationship: ``r:id``.
    """

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


class StopReading(Exception):
    """Raised by a target that has found what it needs."""


class _LocalNames:
    """Strips namespaces: Office documents use two for each format, and no reader here distinguishes them."""

    def __init__(self, target: XmlTarget) -> None:
        self._target = target
        self.data = target.data

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        # With resolve_entities off, libxml2 leaves ampersands in attributes escaped.
        plain = {_attribute(name): value.replace("&#38;", "&") for name, value in attributes.items()}
        self._target.start(local(tag), plain)

    def end(self, tag: str) -> None:
        self._target.end(local(tag))

    def close(self) -> None:
        return None


@lru_cache(maxsize=4_096)
def local(name: str) -> str:
    """Return a name without its namespace.

    >>> local("{http://a.example/}p")
    'p'
    """
    return name[name.rfind("}") + 1 :]


@lru_cache(maxsize=4_096)
def _attribute(name: str) -> str:
    # A slide has an id besides that of its relationship.
    return f"r:{local(name)}" if _RELATIONSHIPS in name else local(name)


def tell(target: XmlTarget, pieces: Iterable[bytes], *, entities: bool = False) -> str:
    """Feed a document to a target; return what is wrong with it, or an empty string."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(
        target=_LocalNames(target), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    seen = 0
    try:
        for piece in pieces:
            if not entities and seen < _PROLOGUE and b"<!ENTITY" in piece:
                return "damaged: declares entities"
            seen += len(piece)
            parser.feed(piece)
        parser.close()
    except StopReading:
        return ""
    except TextLimitReached:
        return "truncated: more text than is kept"
    except UnreadableArchive as error:
        return str(error)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        return f"damaged: {str(error).partition(',')[0]}"
    return ""


class TextLimitReached(Exception):
    """Raised when the text limit is reached, to stop reading the document."""


class TextBuilder:
    """Assembles lines of text, and the links in them.

    Cells of a line are separated by tabs; white space inside a cell is collapsed.
    """

    def __init__(self, most: int = MOST_TEXT) -> None:
        self.links: list[DocumentLink] = []
        self._left = most
        self._lines: list[str] = []
        self._cells: list[str] = []
        self._pieces: list[str] = []
        self._anchors: list[tuple[str, list[str]]] = []

    @property
    def text(self) -> str:
        """The lines so far; ends the current one."""
        self.end_line()
        return "\n".join(self._lines)

    def add(self, piece: str) -> None:
        """Add to the current line; raise TextLimitReached if the text is full."""
        self._pieces.append(piece[: max(0, self._left)])
        if self._anchors:
            self._anchors[-1][1].append(piece[: 2 * LONGEST_ANCHOR])
        self._left -= len(piece)
        if self._left < 0:
            raise TextLimitReached

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
        """End the line and leave an empty one."""
        self.end_line()
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def open_link(self, href: str = "") -> None:
        """Begin a link whose anchor is the text that is added until it ends."""
        if len(self._anchors) < _DEEPEST:
            self._anchors.append((href, []))

    def close_link(self, href: str = "") -> None:
        """End the innermost link; ``href`` is its address if that was unknown at its beginning."""
        if self._anchors:
            known, pieces = self._anchors.pop()
            self.link(href or known, " ".join("".join(pieces).split())[:LONGEST_ANCHOR])

    def link(self, href: str, anchor: str = "", kind: str = "a") -> None:
        if href and len(self.links) < MOST_LINKS:
            self.links.append(DocumentLink(href, anchor, kind))
