"""Word, Excel and PowerPoint documents (ISO 29500): parts in a zip file, linked by relationships."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from scoter.core.dates import parse_date
from scoter.core.metadata import PageMetadata
from scoter.core.page import EMPTY
from scoter.parse.documents.archive import ZipArchive
from scoter.parse.documents.pages import MOST_TEXT, DocumentContent, about
from scoter.parse.documents.xmltext import StopReading, TextBuilder, TextLimitReached, XmlTarget, tell

_MOST_RELATIONSHIPS: Final = 20_000
_MOST_PARTS: Final = 2_000
"""Limit on sheets, slides, headers and similar parts that are read."""
_USUAL_MAIN_PARTS: Final = ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml")
_DEEPEST: Final = 32
_LARGEST_PROPERTIES: Final = 1024 * 1024
_LONGEST_FIELD: Final = 4_000
_FIELD_LINK: Final = re.compile(r'\s*HYPERLINK\s+(?:\\\w+\s+)*"([^"]{1,2000})"', re.IGNORECASE)
_FORMULA_LINK: Final = re.compile(r'HYPERLINK\(\s*"([^"]{1,2000})"', re.IGNORECASE)


class Relationship(Struct, frozen=True):
    """A reference from one part to another part or to an external address."""

    kind: str
    target: str
    external: bool


Relationships = Mapping[str, Relationship]


def read_ooxml(archive: ZipArchive) -> DocumentContent:
    """Return the content of a document."""
    top = _relationships(archive, "")
    main = next(iter(_parts(top, "officeDocument")), "")
    main = main or next((name for name in _USUAL_MAIN_PARTS if name in archive), "")
    said = read_properties(archive, next(iter(_parts(top, "core-properties")), "docProps/core.xml"))
    if not main or main not in archive:
        return DocumentContent(about=said, doubt="damaged: no document in it")
    root = _ElementList()
    doubt = _read(archive, main, root)
    return _DocumentReader(archive, main, doubt).read(root.found[0][0] if root.found else "", said)


class _DocumentReader:
    """Reads the parts of one document in order."""

    def __init__(self, archive: ZipArchive, main: str, doubt: str) -> None:
        self._archive = archive
        self._main = main
        self._related = _relationships(archive, main)
        self._text = TextBuilder()
        self._doubts = [doubt]

    def read(self, root: str, said: PageMetadata) -> DocumentContent:
        readers = {"document": self._read_words, "workbook": self._read_sheets, "presentation": self._read_slides}
        try:
            if root in readers:
                readers[root]()
            else:
                self._doubts.append("damaged: no document in it")
        except TextLimitReached:
            self._doubts.append("truncated: more text than is kept")
        doubt = next(filter(None, self._doubts), "")
        return DocumentContent(text=self._text.text, links=tuple(self._text.links), about=said, doubt=doubt)

    def _read_words(self) -> None:
        self._tell(self._main, WordPart(self._text, self._related))
        for kind in ("footnotes", "endnotes", "header", "footer"):
            for part in _parts(self._related, kind):
                self._text.end_block()
                self._tell(part, WordPart(self._text, _relationships(self._archive, part)))

    def _read_sheets(self) -> None:
        strings = SharedStrings()
        for part in _parts(self._related, "sharedStrings")[:1]:
            self._tell(part, strings)
        for part, name in self._listed("sheet"):
            self._text.end_block()
            self._text.add(name)
            self._text.end_line()
            self._tell(part, SheetPart(self._text, _relationships(self._archive, part), strings.found))

    def _read_slides(self) -> None:
        for part, _ in self._listed("sldId"):
            self._text.end_block()
            own = _relationships(self._archive, part)
            self._tell(part, SlidePart(self._text, own))
            for notes in _parts(own, "notesSlide")[:1]:
                self._tell(notes, SlidePart(self._text, _relationships(self._archive, notes)))

    def _listed(self, element: str) -> list[tuple[str, str]]:
        """Return the sheets or slides that the main part lists, in order, each with its name."""
        order = _ElementList(element, _MOST_PARTS)
        _read(self._archive, self._main, order)
        found = ((self._related.get(each.get("r:id", "")), each.get("name", "")) for _, each in order.found)
        return [(related.target, name) for related, name in found if related is not None and not related.external]

    def _tell(self, part: str, target: XmlTarget) -> None:
        self._doubts.append(_read(self._archive, part, target))


def _read(archive: ZipArchive, part: str, target: XmlTarget) -> str:
    member = archive.member(part)
    return "damaged: a part is missing" if member is None else tell(target, archive.pieces(member))


def _relationships(archive: ZipArchive, part: str) -> Relationships:
    folder, name = posixpath.split(part)
    listed = _ElementList("Relationship", _MOST_RELATIONSHIPS)
    _read(archive, posixpath.join(folder, "_rels", f"{name}.rels"), listed)
    found = {}
    for _, said in listed.found:
        target, external = said.get("Target", ""), said.get("TargetMode") == "External"
        if not external:
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        found[said.get("Id", "")] = Relationship(said.get("Type", "").rpartition("/")[2], target, external)
    return found


def _parts(related: Relationships, kind: str) -> list[str]:
    return [each.target for each in related.values() if each.kind == kind and not each.external][:_MOST_PARTS]


def read_properties(archive: ZipArchive, part: str) -> PageMetadata:
    """Return the metadata in the properties of an Office or OpenDocument file."""
    target = _PropertyTexts()
    if (member := archive.member(part)) is not None:
        tell(target, archive.pieces(member, _LARGEST_PROPERTIES))

    def first(*names: str) -> str:
        return next((text for name in names if (text := target.found.get(name))), "")

    return about(
        "dublincore",
        title=first("title"),
        description=first("description", "subject"),
        authors=[first("initial-creator", "creator")],
        published=parse_date(first("created", "creation-date")),
        modified=parse_date(first("modified", "date")),
        keywords=[first("keywords", "keyword")],
        language=first("language"),
    )


class _PropertyTexts:
    """Collects the texts of a flat list of properties by element name."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._pieces: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._pieces.clear()

    def end(self, name: str) -> None:
        value = "".join(self._pieces).strip()
        self._pieces.clear()
        if not value or len(self.found) > 200:
            return
        self.found[name] = f"{self.found[name]}; {value}"[:4_000] if name in self.found else value[:4_000]

    def data(self, text: str) -> None:
        self._pieces.append(text)


class _ElementList:
    """Collects the names and attributes of elements of one name, or of any, until there are enough."""

    def __init__(self, wanted: str = "", most: int = 1) -> None:
        self.found: list[tuple[str, Mapping[str, str]]] = []
        self._wanted = wanted
        self._most = most

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._wanted in ("", name):
            self.found.append((name, attributes))
            if len(self.found) == self._most:
                raise StopReading

    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


class PartReader:
    """Adds text to a builder and resolves links through the part's relationships."""

    def __init__(self, builder: TextBuilder, related: Relationships = EMPTY) -> None:
        self._builder = builder
        self._related = related
        self._on = False
        self._cells = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._on = name == "t"
        if name == "tc":
            self._cells += 1
        elif name in ("br", "cr"):
            self._end_line()

    def end(self, name: str) -> None:
        self._on = False
        if name == "tc":
            self._end_cell()
        elif name in ("p", "tr"):
            self._end_line()

    def data(self, text: str) -> None:
        if self._on:
            self._builder.add(text)

    def _end_line(self) -> None:
        if self._cells:
            self._builder.add(" ")
        else:
            self._builder.end_line()

    def _end_cell(self) -> None:
        self._cells = max(0, self._cells - 1)
        if self._cells:  # a cell of a nested table
            self._builder.add(" ")
        else:
            self._builder.end_cell()

    def _address(self, attributes: Mapping[str, str]) -> str:
        relationship = self._related.get(attributes.get("r:id", ""))
        return relationship.target if relationship is not None and relationship.external else ""


class WordPart(PartReader):
    """Reads the paragraphs and tables of a text document."""

    def __init__(self, builder: TextBuilder, related: Relationships) -> None:
        super().__init__(builder, related)
        self._unwanted = 0
        self._instruction: list[str] | None = None
        self._fields: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._unwanted or name == "Fallback":  # repeats the content of its Choice
            self._unwanted += 1
            return
        super().start(name, attributes)
        match name:
            case "tab" | "ptab" | "noBreakHyphen":
                self._builder.add("-" if name == "noBreakHyphen" else " ")
            case "hyperlink":
                self._builder.open_link(self._address(attributes))
            case "fldSimple":
                self._builder.open_link(_field_address(attributes.get("instr", "")))
            case "instrText":
                self._instruction = []
            case "fldChar":
                self._field(attributes.get("fldCharType", ""))

    def end(self, name: str) -> None:
        if self._unwanted:
            self._unwanted -= 1
            return
        super().end(name)
        match name:
            case "hyperlink" | "fldSimple":
                self._builder.close_link()
            case "instrText":
                if self._fields and self._instruction is not None:
                    self._fields[-1] = (self._fields[-1] + "".join(self._instruction))[:_LONGEST_FIELD]
                self._instruction = None

    def data(self, text: str) -> None:
        if self._instruction is not None:
            self._instruction.append(text[:_LONGEST_FIELD])
        elif self._on and not self._unwanted:
            self._builder.add(text)

    def _field(self, mark: str) -> None:
        """Track a field: begin, instruction, separator, shown text, end (ISO 29500-1, 17.16.18)."""
        if mark == "begin" and len(self._fields) < _DEEPEST:
            self._fields.append("")
        elif mark == "separate" and self._fields:
            self._builder.open_link(_field_address(self._fields[-1]))
            self._fields[-1] = "shown"
        elif mark == "end" and self._fields and self._fields.pop() == "shown":
            self._builder.close_link()


def _field_address(instruction: str) -> str:
    found = _FIELD_LINK.match(instruction)
    return found[1] if found else ""


class SharedStrings:
    """Collects the string table shared by all sheets."""

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
                raise TextLimitReached
            self.found.append(text)
            self._pieces.clear()

    def data(self, text: str) -> None:
        if self._on:
            self._pieces.append(text)


class SheetPart(PartReader):
    """Reads the rows of a sheet; numbers and dates stay as stored."""

    def __init__(self, builder: TextBuilder, related: Relationships, strings: list[str]) -> None:
        super().__init__(builder, related)
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
            self._builder.link(self._address(attributes), attributes.get("display", ""))

    def end(self, name: str) -> None:
        self._element = ""
        if name == "c":
            shown = self._shown("".join(self._value))
            self._builder.add(shown)
            self._builder.end_cell()
            found = _FORMULA_LINK.search("".join(self._formula)[:_LONGEST_FIELD])
            if found:
                self._builder.link(found[1], shown)
        elif name == "row":
            self._builder.end_line()

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


class SlidePart(PartReader):
    """Reads the text of a slide."""

    def __init__(self, builder: TextBuilder, related: Relationships) -> None:
        super().__init__(builder, related)
        self._run = False
        self._href = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        match name:
            case "r":
                self._run, self._href = True, ""
                self._builder.open_link()
            case "hlinkClick" if self._run:
                self._href = self._address(attributes)
            case "hlinkClick":
                self._builder.link(self._address(attributes))

    def end(self, name: str) -> None:
        super().end(name)
        if name == "r":
            self._builder.close_link(self._href)
            self._run = False
