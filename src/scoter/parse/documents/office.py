"""Office documents: the parser for Word, Excel, PowerPoint and OpenDocument files, and the OpenDocument reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from zipfile import ZipInfo

from scoter.core.page import Content
from scoter.parse.documents.archive import UnreadableArchive, ZipArchive
from scoter.parse.documents.ooxml import PartReader, read_ooxml, read_properties
from scoter.parse.documents.pages import MOST_TEXT, DocumentContent, DocumentParser
from scoter.parse.documents.xmltext import TextBuilder, tell
from scoter.parse.filetypes import DOCX, PPTX, XLSX
from scoter.parse.html.elements import name_set

_OPEN: Final = "application/vnd.oasis.opendocument."
_OPENXML: Final = "application/vnd.openxmlformats-officedocument."
_MACRO: Final = "application/vnd.ms-{}.macroenabled.12"
_OPEN_KINDS: Final = ("text", "spreadsheet", "presentation", "graphics")
_TYPES: Final = (
    *(DOCX, f"{_OPENXML}wordprocessingml.template", *map(_MACRO.format, ("word.document", "word.template"))),
    *(XLSX, f"{_OPENXML}spreadsheetml.template"),
    *map(_MACRO.format, ("excel.sheet", "excel.template", "excel.addin")),
    *(PPTX, f"{_OPENXML}presentationml.slideshow", f"{_OPENXML}presentationml.template"),
    *map(_MACRO.format, ("powerpoint.presentation", "powerpoint.slideshow", "powerpoint.template")),
    *(f"{_OPEN}{kind}{ending}" for kind in _OPEN_KINDS for ending in ("", "-template")),
    *(f"{_OPEN}text-master", f"{_OPEN}text-web"),
)
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The stream of a compound file that holds an encrypted document (MS-OFFCRYPTO 2.3.4.4).
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_SMALL_PART: Final = 1024 * 1024
_NO_TEXT: Final = name_set("tracked-changes automatic-styles scripts font-face-decls annotation note-citation")


class OfficeParser(DocumentParser):
    """Reads Word, Excel, PowerPoint and OpenDocument files."""

    media_types: tuple[str, ...] = _TYPES

    def _read(self, content: Content) -> DocumentContent | None:
        body = content.body
        if body.startswith(_COMPOUND):
            is_encrypted = _ENCRYPTED in body
            return DocumentContent(
                doubt="encrypted" if is_encrypted else "damaged: an older format than its content type says"
            )
        if b"PK\x03\x04" not in body[:1024]:
            return None
        try:
            archive = ZipArchive(body)
            odf = archive.member("content.xml")
            return read_ooxml(archive) if odf is None else read_odf(archive, odf)
        except UnreadableArchive as error:
            return DocumentContent(doubt=str(error))


def read_odf(archive: ZipArchive, content: ZipInfo) -> DocumentContent:
    """Return the content of an OpenDocument file."""
    said = read_properties(archive, "meta.xml")
    if _is_encrypted(archive):
        return DocumentContent(about=said, doubt="encrypted")
    builder, notes = TextBuilder(), TextBuilder()
    doubt = tell(_OdfReader(builder, notes), archive.pieces(content))
    text = "\n".join(filter(None, (builder.text, notes.text)))[:MOST_TEXT]
    return DocumentContent(text=text, links=(*builder.links, *notes.links), about=said, doubt=doubt)


def _is_encrypted(archive: ZipArchive) -> bool:
    manifest = archive.member("META-INF/manifest.xml")
    try:
        return manifest is not None and b"encryption-data" in archive.read(manifest, _SMALL_PART)
    except UnreadableArchive:
        return False


class _OdfReader(PartReader):
    """Reads paragraphs, headings, tables and links.

    Notes appear in the middle of the sentence that refers to them, so they go into a separate builder.
    """

    def __init__(self, builder: TextBuilder, notes: TextBuilder) -> None:
        super().__init__(builder)
        self._main, self._notes = builder, notes
        self._paragraphs = 0
        self._unwanted = 0
        self._has_sheets = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._unwanted or name in _NO_TEXT:
            self._unwanted += 1
            return
        match name:
            case "p" | "h":
                self._paragraphs += 1
            case "s" | "tab":
                self._builder.add(" ")
            case "line-break":
                self._end_line()
            case "table-cell" | "covered-table-cell":
                self._cells += 1
            case "spreadsheet":
                self._has_sheets = True
            case "table" if attributes.get("name") and not self._cells:
                self._builder.end_block()
                if self._has_sheets:
                    self._builder.add(attributes["name"])
                    self._builder.end_line()
            case "note-body":
                self._builder = self._notes
            case "a":
                self._builder.open_link(attributes.get("href", ""))

    def end(self, name: str) -> None:
        if self._unwanted:
            self._unwanted -= 1
            return
        match name:
            case "p" | "h":
                self._paragraphs -= 1
                self._end_line()
            case "table-cell" | "covered-table-cell":
                self._end_cell()
            case "table-row":
                self._end_line()
            case "page":
                self._builder.end_block()
            case "note-body":
                self._builder.end_line()
                self._builder = self._main
            case "a":
                self._builder.close_link()

    def data(self, text: str) -> None:
        if self._paragraphs and not self._unwanted:
            self._builder.add(text)
