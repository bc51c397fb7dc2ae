"""OpenDocument: texts, sheets, slides and drawings, all in one part each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scoter.core.metadata import PageMetadata
from scoter.parse.documents.archive import Archive, Unreadable
from scoter.parse.documents.ooxml import Properties
from scoter.parse.documents.pages import MOST_TEXT, Found, about, authors, keywords, moment
from scoter.parse.documents.prose import Prose
from scoter.parse.documents.sax import tell

_SMALL: Final = 1024 * 1024
_NO_TEXT: Final = frozenset(
    {"tracked-changes", "automatic-styles", "scripts", "font-face-decls", "annotation", "note-citation"}
)


def read_odf(archive: Archive) -> Found:
    """Return what is in a document."""
    said = _meta(archive)
    content = archive.member("content.xml")
    if content is None:
        return Found(about=said, doubt="damaged: no document in it")
    if _is_encrypted(archive):
        return Found(about=said, doubt="encrypted")
    prose, notes = Prose(), Prose()
    doubt = tell(_Content(prose, notes), archive.pieces(content))
    text = "\n".join(filter(None, (prose.text, notes.text)))[:MOST_TEXT]
    return Found(text=text, links=(*prose.links, *notes.links), about=said, doubt=doubt)


def _is_encrypted(archive: Archive) -> bool:
    manifest = archive.member("META-INF/manifest.xml")
    try:
        return manifest is not None and b"encryption-data" in archive.read(manifest, _SMALL)
    except Unreadable:
        return False


def _meta(archive: Archive) -> PageMetadata:
    target = Properties()
    if (member := archive.member("meta.xml")) is not None:
        tell(target, archive.pieces(member, _SMALL))
    said = target.found
    return about(
        "dublincore",
        title=said.get("title", ""),
        description=said.get("description") or said.get("subject", ""),
        authors=authors(said.get("initial-creator") or said.get("creator", "")),
        published=moment(said.get("creation-date", "")),
        modified=moment(said.get("date", "")),
        keywords=keywords(said.get("keyword", "")),
        language=said.get("language", ""),
    )


class _Content:
    """Paragraphs, headings, tables and links; text stands between the elements of a paragraph.

    Notes stand where they are referred to, in the middle of a sentence: they are put into a prose of their own.
    """

    def __init__(self, prose: Prose, notes: Prose) -> None:
        self._prose = self._main = prose
        self._notes = notes
        self._paragraphs = 0
        self._cells = 0
        self._unwanted = 0
        self._has_sheets = False
        self._links: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._unwanted or name in _NO_TEXT:
            self._unwanted += 1
            return
        match name:
            case "p" | "h":
                self._paragraphs += 1
            case "s" | "tab":
                self._prose.add(" ")
            case "line-break":
                self._end_line()
            case "table-cell" | "covered-table-cell":
                self._cells += 1
            case "spreadsheet":
                self._has_sheets = True
            case "table" if attributes.get("name") and not self._cells:
                self._prose.end_block()
                if self._has_sheets:
                    self._prose.add(attributes["name"])
                    self._prose.end_line()
            case "note-body":
                self._prose = self._notes
            case "a":
                self._links.append(attributes.get("href", ""))
                self._prose.open_anchor()

    def end(self, name: str) -> None:
        if self._unwanted:
            self._unwanted -= 1
            return
        match name:
            case "p" | "h":
                self._paragraphs -= 1
                self._end_line()
            case "table-cell" | "covered-table-cell":
                self._cells -= 1
                if self._cells:
                    self._prose.add(" ")
                else:
                    self._prose.end_cell()
            case "table-row":
                self._end_line()
            case "page":
                self._prose.end_block()
            case "note-body":
                self._prose.end_line()
                self._prose = self._main
            case "a" if self._links:
                self._prose.link(self._links.pop(), self._prose.close_anchor())

    def data(self, text: str) -> None:
        if self._paragraphs and not self._unwanted:
            self._prose.add(text)

    def _end_line(self) -> None:
        if self._cells:
            self._prose.add(" ")
        else:
            self._prose.end_line()
