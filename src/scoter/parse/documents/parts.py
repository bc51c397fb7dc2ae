"""Readers of the parts of Office documents: what stands in a text, on a sheet, on a slide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from scoter.parse.documents.pages import MOST_TEXT
from scoter.parse.documents.prose import Full, Prose

_DEEPEST: Final = 32
_LONGEST_FIELD: Final = 4_000
_FIELD_LINK: Final = re.compile(r'\s*HYPERLINK\s+(?:\\\w+\s+)*"([^"]{1,2000})"', re.IGNORECASE)
_FORMULA_LINK: Final = re.compile(r'HYPERLINK\(\s*"([^"]{1,2000})"', re.IGNORECASE)


class Relationship(Struct, frozen=True):
    """What a part refers to: another part, or an address elsewhere."""

    kind: str
    target: str
    external: bool


Relationships = Mapping[str, Relationship]


class Silent:
    """A target that cares for nothing."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


class _Linking:
    """A target that looks up addresses in the part's relationships."""

    def __init__(self, prose: Prose, related: Relationships) -> None:
        self._prose = prose
        self._related = related
        self._on = False
        self._cells = 0

    def data(self, text: str) -> None:
        if self._on:
            self._prose.add(text)

    def _end_line(self) -> None:
        if self._cells:
            self._prose.add(" ")
        else:
            self._prose.end_line()

    def _end_cell(self) -> None:
        self._cells = max(0, self._cells - 1)
        if self._cells:  # the cell of a table within a cell
            self._prose.add(" ")
        else:
            self._prose.end_cell()

    def _address(self, attributes: Mapping[str, str]) -> str:
        relationship = self._related.get(attributes.get("r:id", ""))
        return relationship.target if relationship is not None and relationship.external else ""


class Words(_Linking):
    """Paragraphs and tables of a text document."""

    def __init__(self, prose: Prose, related: Relationships) -> None:
        super().__init__(prose, related)
        self._unwanted = 0
        self._links: list[str] = []
        self._instruction: list[str] | None = None
        self._fields: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._unwanted or name == "Fallback":  # says again what stands in its Choice
            self._unwanted += 1
            return
        self._on = name == "t"
        match name:
            case "tab" | "ptab" | "noBreakHyphen":
                self._prose.add("-" if name == "noBreakHyphen" else " ")
            case "br" | "cr":
                self._end_line()
            case "tc":
                self._cells += 1
            case "hyperlink":
                self._open(self._address(attributes))
            case "fldSimple":
                self._open(_field_address(attributes.get("instr", "")))
            case "instrText":
                self._instruction = []
            case "fldChar":
                self._field(attributes.get("fldCharType", ""))

    def end(self, name: str) -> None:
        if self._unwanted:
            self._unwanted -= 1
            return
        self._on = False
        match name:
            case "p" | "tr":
                self._end_line()
            case "tc":
                self._end_cell()
            case "hyperlink" | "fldSimple":
                self._close()
            case "instrText":
                if self._fields and self._instruction is not None:
                    self._fields[-1] = (self._fields[-1] + "".join(self._instruction))[:_LONGEST_FIELD]
                self._instruction = None

    def data(self, text: str) -> None:
        if self._instruction is not None:
            self._instruction.append(text[:_LONGEST_FIELD])
        elif self._on and not self._unwanted:
            self._prose.add(text)

    def _field(self, mark: str) -> None:
        """A field is begun, told what it is, parted from what it shows, and ended (ISO 29500-1, 17.16.18)."""
        if mark == "begin" and len(self._fields) < _DEEPEST:
            self._fields.append("")
        elif mark == "separate" and self._fields:
            self._open(_field_address(self._fields[-1]))
            self._fields[-1] = "shown"
        elif mark == "end" and self._fields and self._fields.pop() == "shown":
            self._close()

    def _open(self, address: str) -> None:
        if len(self._links) < _DEEPEST:
            self._links.append(address)
            self._prose.open_anchor()

    def _close(self) -> None:
        if self._links:
            self._prose.link(self._links.pop(), self._prose.close_anchor())


def _field_address(instruction: str) -> str:
    found = _FIELD_LINK.match(instruction)
    return found[1] if found else ""


class Strings:
    """The strings that the cells of all sheets share."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._left = MOST_TEXT
        self._pieces: list[str] = []
        self._on = False
        self._phonetic = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._phonetic = self._phonetic or name == "rPh"
        self._on = name == "t" and not self._phonetic

    def end(self, name: str) -> None:
        self._on = False
        if name == "rPh":
            self._phonetic = False
        elif name == "si":
            text = "".join(self._pieces)
            self._left -= len(text) + 1
            if self._left < 0:
                raise Full
            self.found.append(text)
            self._pieces.clear()

    def data(self, text: str) -> None:
        if self._on:
            self._pieces.append(text)


class Cells(_Linking):
    """The rows of a sheet; numbers and dates as they are stored."""

    def __init__(self, prose: Prose, related: Relationships, strings: list[str]) -> None:
        super().__init__(prose, related)
        self._strings = strings
        self._kind = ""
        self._element = ""
        self._value: list[str] = []
        self._formula: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._element = name
        if name == "c":
            self._kind = attributes.get("t", "")
            self._value.clear()
            self._formula.clear()
        elif name == "hyperlink":
            self._prose.link(self._address(attributes), attributes.get("display", ""))

    def end(self, name: str) -> None:
        self._element = ""
        if name == "c":
            shown = self._shown("".join(self._value))
            self._prose.add(shown)
            self._prose.end_cell()
            found = _FORMULA_LINK.search("".join(self._formula)[:_LONGEST_FIELD])
            if found:
                self._prose.link(found[1], shown)
        elif name == "row":
            self._prose.end_line()

    def data(self, text: str) -> None:
        if self._element in ("v", "t"):
            self._value.append(text)
        elif self._element == "f":
            self._formula.append(text)

    def _shown(self, value: str) -> str:
        if self._kind != "s":
            return value
        number = int(value) if value.isdecimal() and len(value) < 10 else -1
        return self._strings[number] if 0 <= number < len(self._strings) else ""


class Shapes(_Linking):
    """The text on a slide."""

    def __init__(self, prose: Prose, related: Relationships) -> None:
        super().__init__(prose, related)
        self._run = False
        self._href = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._on = name == "t"
        match name:
            case "r":
                self._run, self._href = True, ""
                self._prose.open_anchor()
            case "br":
                self._end_line()
            case "tc":
                self._cells += 1
            case "hlinkClick" if self._run:
                self._href = self._address(attributes)
            case "hlinkClick":
                self._prose.link(self._address(attributes))

    def end(self, name: str) -> None:
        self._on = False
        match name:
            case "r":
                self._prose.link(self._href, self._prose.close_anchor())
                self._run = False
            case "p" | "tr":
                self._end_line()
            case "tc":
                self._end_cell()
