"""Office documents: the parser for Word, Excel, PowerPoint and OpenDocument files, and the OpenDocument reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scoter.core.dates import parse_date
from scoter.core.metadata import PageMetadata
from scoter.core.page import Content, Page
from scoter.parse.documents.archive import UnreadableArchive, ZipArchive
from scoter.parse.documents.ooxml import PropertyTexts, read_ooxml
from scoter.parse.documents.pages import MOST_TEXT, DocumentContent, PageMaker, about, authors, keywords
from scoter.parse.documents.xmltext import TextBuilder, tell
from scoter.parse.html.elements import name_set
from scoter.plugins import Setup

_OPEN: Final = "application/vnd.oasis.opendocument."
_OPENXML: Final = "application/vnd.openxmlformats-officedocument."
DOCX: Final = f"{_OPENXML}wordprocessingml.document"
XLSX: Final = f"{_OPENXML}spreadsheetml.sheet"
PPTX: Final = f"{_OPENXML}presentationml.presentation"
TYPES_BY_SUFFIX: Final = {
    "docx": DOCX,
    "docm": "application/vnd.ms-word.document.macroenabled.12",
    "dotx": f"{_OPENXML}wordprocessingml.template",
    "dotm": "application/vnd.ms-word.template.macroenabled.12",
    "xlsx": XLSX,
    "xlsm": "application/vnd.ms-excel.sheet.macroenabled.12",
    "xltx": f"{_OPENXML}spreadsheetml.template",
    "xltm": "application/vnd.ms-excel.template.macroenabled.12",
    "xlam": "application/vnd.ms-excel.addin.macroenabled.12",
    "pptx": PPTX,
    "pptm": "application/vnd.ms-powerpoint.presentation.macroenabled.12",
    "ppsx": f"{_OPENXML}presentationml.slideshow",
    "ppsm": "application/vnd.ms-powerpoint.slideshow.macroenabled.12",
    "potx": f"{_OPENXML}presentationml.template",
    "potm": "application/vnd.ms-powerpoint.template.macroenabled.12",
    "odt": f"{_OPEN}text",
    "ott": f"{_OPEN}text-template",
    "odm": f"{_OPEN}text-master",
    "oth": f"{_OPEN}text-web",
    "ods": f"{_OPEN}spreadsheet",
    "ots": f"{_OPEN}spreadsheet-template",
    "odp": f"{_OPEN}presentation",
    "otp": f"{_OPEN}presentation-template",
    "odg": f"{_OPEN}graphics",
    "otg": f"{_OPEN}graphics-template",
}
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The stream of a compound file that holds an encrypted document (MS-OFFCRYPTO 2.3.4.4).
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_SMALL_PART: Final = 1024 * 1024
_NO_TEXT: Final = name_set("tracked-changes automatic-styles scripts font-face-decls annotation note-citation")


class OfficeParser:
    """Reads Word, Excel, PowerPoint and OpenDocument files."""

    media_types: tuple[str, ...] = tuple(TYPES_BY_SUFFIX.values())

    def __init__(self, setup: Setup) -> None:
        self._maker = PageMaker(setup)

    def parse(self, content: Content) -> Sequence[Page]:
        found = _found(content.body)
        return () if found is None else (self._maker.page(content, found),)


def _found(body: bytes) -> DocumentContent | None:
    if body.startswith(_COMPOUND):
        return DocumentContent(
            doubt="encrypted" if _ENCRYPTED in body else "damaged: an older format than its content type says"
        )
    if b"PK\x03\x04" not in body[:1024]:
        return None
    try:
        archive = ZipArchive(body)
        return read_odf(archive) if "content.xml" in archive else read_ooxml(archive)
    except UnreadableArchive as error:
        return DocumentContent(doubt=str(error))


def read_odf(archive: ZipArchive) -> DocumentContent:
    """Return the content of an OpenDocument file."""
    said = _meta(archive)
    content = archive.member("content.xml")
    if content is None:
        return DocumentContent(about=said, doubt="damaged: no document in it")
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


def _meta(archive: ZipArchive) -> PageMetadata:
    target = PropertyTexts()
    if (member := archive.member("meta.xml")) is not None:
        tell(target, archive.pieces(member, _SMALL_PART))
    said = target.found
    return about(
        "dublincore",
        title=said.get("title", ""),
        description=said.get("description") or said.get("subject", ""),
        authors=authors(said.get("initial-creator") or said.get("creator", "")),
        published=parse_date(said.get("creation-date", "")),
        modified=parse_date(said.get("date", "")),
        keywords=keywords(said.get("keyword", "")),
        language=said.get("language", ""),
    )


class _OdfReader:
    """Reads paragraphs, headings, tables and links.

    Notes appear in the middle of the sentence that refers to them, so they go into a separate builder.
    """

    def __init__(self, builder: TextBuilder, notes: TextBuilder) -> None:
        self._builder = self._main = builder
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
                self._links.append(attributes.get("href", ""))
                self._builder.open_anchor()

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
                    self._builder.add(" ")
                else:
                    self._builder.end_cell()
            case "table-row":
                self._end_line()
            case "page":
                self._builder.end_block()
            case "note-body":
                self._builder.end_line()
                self._builder = self._main
            case "a" if self._links:
                self._builder.link(self._links.pop(), self._builder.close_anchor())

    def data(self, text: str) -> None:
        if self._paragraphs and not self._unwanted:
            self._builder.add(text)

    def _end_line(self) -> None:
        if self._cells:
            self._builder.add(" ")
        else:
            self._builder.end_line()
