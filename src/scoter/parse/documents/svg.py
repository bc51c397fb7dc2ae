"""SVG: a picture in XML, with a title, words and links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from scoter.parse.documents.pages import Found, about
from scoter.parse.documents.prose import Prose
from scoter.parse.documents.sax import Enough, tell

_LENGTH: Final = re.compile(r"\s*(\d{1,7})(?:\.\d*)?(?:px)?\s*", re.ASCII)
_PIECE: Final = 64 * 1024


def read_svg(body: bytes) -> Found | None:
    """Return what is in a picture, or nothing when it is none."""
    prose = Prose()
    target = _Drawing(prose)
    # Drawing programs declare entities for their namespaces.
    doubt = tell(target, _pieces(body), entities=True)
    if not target.is_svg:
        return Found(doubt=doubt) if doubt and b"<svg" in body[:_PIECE] else None
    metadata = {"image.format": "SVG"}
    if target.size:
        metadata |= {"image.width": str(target.size[0]), "image.height": str(target.size[1])}
    return Found(
        text=prose.text,
        links=tuple(prose.links),
        about=about("content", title=target.texts["title"], description=target.texts["desc"]),
        metadata=metadata,
        doubt=doubt,
    )


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


class _Drawing:
    def __init__(self, prose: Prose) -> None:
        self.is_svg = False
        self.size: tuple[int, int] | None = None
        self.texts = {"title": "", "desc": ""}
        self._prose = prose
        self._depth = 0
        self._text = 0
        self._told = ""
        self._links: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self.is_svg = name == "svg"
            if not self.is_svg:
                raise Enough
            self.size = _size(attributes)
        match name:
            # The first child's: those of inner elements are tool tips.
            case "title" | "desc" if self._depth == 2 and not self.texts[name]:
                self._told = name
            case "text" | "p":
                self._text += 1
            case "a":
                self._links.append(attributes.get("href", ""))
                self._prose.open_anchor()
            case "image":
                self._prose.link(attributes.get("href", ""), kind="img")

    def end(self, name: str) -> None:
        self._depth -= 1
        match name:
            case "title" | "desc":
                self._told = ""
            case "text" | "p":
                self._text -= 1
                self._prose.end_line()
            case "a" if self._links:
                self._prose.link(self._links.pop(), self._prose.close_anchor())

    def data(self, text: str) -> None:
        if self._told and len(self.texts[self._told]) < 4_000:
            self.texts[self._told] += text
        elif self._text:
            self._prose.add(text)


def _size(attributes: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the size in pixels; in other units, or none at all, the view box tells it."""
    wide, high = (_LENGTH.fullmatch(attributes.get(name, "")) for name in ("width", "height"))
    if wide and high:
        return int(wide[1]), int(high[1])
    box = [_LENGTH.fullmatch(part) for part in attributes.get("viewBox", "")[:100].replace(",", " ").split()]
    if len(box) == 4 and box[2] and box[3]:
        return int(box[2][1]), int(box[3][1])
    return None
