"""Word, Excel and PowerPoint documents (ISO 29500): parts in a zip file, joined by relationships."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final

from scoter.core.metadata import PageMetadata
from scoter.parse.documents.archive import Archive, Unreadable
from scoter.parse.documents.pages import Found, about, authors, keywords, moment
from scoter.parse.documents.parts import Cells, Relationship, Relationships, Shapes, Silent, Strings, Words
from scoter.parse.documents.prose import Full, Prose
from scoter.parse.documents.sax import Enough, Target, tell

_MOST_RELATIONSHIPS: Final = 20_000
_MOST_PARTS: Final = 2_000
"""Sheets, slides, headers and their like that are read."""
_GUESSES: Final = ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml")


def read_ooxml(archive: Archive) -> Found:
    """Return what is in a document."""
    top = _relationships(archive, "")
    main = _one(top, "officeDocument") or next((name for name in _GUESSES if name in archive), "")
    said = _properties(archive, _one(top, "core-properties") or "docProps/core.xml")
    if not main or main not in archive:
        return Found(about=said, doubt="damaged: no document in it")
    root = _Root()
    doubts = [_read(archive, main, root)]
    related = _relationships(archive, main)
    prose = Prose()
    try:
        match root.name:
            case "document":
                _words(archive, main, related, prose, doubts)
            case "workbook":
                _sheets(archive, main, related, prose, doubts)
            case "presentation":
                _slides(archive, main, related, prose, doubts)
            case _:
                doubts.append("damaged: no document in it")
    except Full:
        doubts.append("cut: more text than is kept")
    return Found(text=prose.text, links=tuple(prose.links), about=said, doubt=next(filter(None, doubts), ""))


def _words(archive: Archive, main: str, related: Relationships, prose: Prose, doubts: list[str]) -> None:
    doubts.append(_read(archive, main, Words(prose, related)))
    for kind in ("footnotes", "endnotes", "header", "footer"):
        for part in _all(related, kind):
            prose.end_block()
            doubts.append(_read(archive, part, Words(prose, _relationships(archive, part))))


def _sheets(archive: Archive, main: str, related: Relationships, prose: Prose, doubts: list[str]) -> None:
    order = _Order("sheet")
    _read(archive, main, order)
    strings = Strings()
    doubts += [_read(archive, part, strings) for part in _all(related, "sharedStrings")[:1]]
    for attributes in order.found:
        relationship = related.get(attributes.get("r:id", ""))
        if relationship is None or relationship.external:
            continue
        prose.end_block()
        prose.add(attributes.get("name", ""))
        prose.end_line()
        part = relationship.target
        doubts.append(_read(archive, part, Cells(prose, _relationships(archive, part), strings.found)))


def _slides(archive: Archive, main: str, related: Relationships, prose: Prose, doubts: list[str]) -> None:
    order = _Order("sldId")
    _read(archive, main, order)
    for attributes in order.found:
        relationship = related.get(attributes.get("r:id", ""))
        if relationship is None or relationship.external:
            continue
        prose.end_block()
        own = _relationships(archive, relationship.target)
        doubts.append(_read(archive, relationship.target, Shapes(prose, own)))
        notes = _all(own, "notesSlide")[:1]
        doubts += [_read(archive, part, Shapes(prose, _relationships(archive, part))) for part in notes]


def _read(archive: Archive, part: str, target: Target) -> str:
    member = archive.member(part)
    return "damaged: a part is missing" if member is None else tell(target, archive.pieces(member))


def _relationships(archive: Archive, part: str) -> Relationships:
    folder, name = posixpath.split(part)
    target = _RelationshipList(folder)
    member = archive.member(posixpath.join(folder, "_rels", f"{name}.rels"))
    if member is not None:
        tell(target, archive.pieces(member))
    return target.found


def _one(related: Relationships, kind: str) -> str:
    return next(iter(_all(related, kind)), "")


def _all(related: Relationships, kind: str) -> list[str]:
    return [each.target for each in related.values() if each.kind == kind and not each.external][:_MOST_PARTS]


def _properties(archive: Archive, part: str) -> PageMetadata:
    target = Properties()
    member = archive.member(part)
    if member is not None:
        try:
            tell(target, archive.pieces(member, 1024 * 1024))
        except Unreadable:
            return PageMetadata()
    said = target.found
    return about(
        "dublincore",
        title=said.get("title", ""),
        description=said.get("description") or said.get("subject", ""),
        authors=authors(said.get("creator", "")),
        published=moment(said.get("created", "")),
        modified=moment(said.get("modified", "")),
        keywords=keywords(said.get("keywords", "")),
        language=said.get("language", ""),
    )


class Properties:
    """The texts of a flat list of properties, by the names of their elements."""

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


class _Root(Silent):
    """The name of the outermost element."""

    name = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.name = name
        raise Enough


class _Order(Silent):
    """The elements that list the sheets or slides in their order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[Mapping[str, str]] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == self._name:
            self.found.append(dict(attributes))
            if len(self.found) == _MOST_PARTS:
                raise Enough


class _RelationshipList(Silent):
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.found: dict[str, Relationship] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name != "Relationship" or len(self.found) == _MOST_RELATIONSHIPS:
            return
        target = attributes.get("Target", "")
        external = attributes.get("TargetMode") == "External"
        if not external:
            target = posixpath.normpath(posixpath.join("/", self._folder, target)).lstrip("/")
        kind = attributes.get("Type", "").rpartition("/")[2]
        self.found[attributes.get("Id", "")] = Relationship(kind, target, external)
