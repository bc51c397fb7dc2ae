"""Office documents: Word, Excel, PowerPoint and OpenDocument, all of them XML in a zip file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scoter.core.page import Content, Page
from scoter.parse.documents.archive import Archive, Unreadable
from scoter.parse.documents.odf import read_odf
from scoter.parse.documents.ooxml import read_ooxml
from scoter.parse.documents.pages import Found, PageMaker
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
# The stream in which an encrypted document lies within a compound file (MS-OFFCRYPTO 2.3.4.4).
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")


class OfficeParser:
    """Reads Word, Excel, PowerPoint and OpenDocument files."""

    media_types: tuple[str, ...] = tuple(TYPES_BY_SUFFIX.values())

    def __init__(self, setup: Setup) -> None:
        self._maker = PageMaker(setup)

    def parse(self, content: Content) -> Sequence[Page]:
        found = _found(content.body)
        return () if found is None else (self._maker.page(content, found),)


def _found(body: bytes) -> Found | None:
    if body.startswith(_COMPOUND):
        return Found(doubt="encrypted" if _ENCRYPTED in body else "damaged: an older format than its type says")
    if b"PK\x03\x04" not in body[:1024]:
        return None
    try:
        archive = Archive(body)
        return read_odf(archive) if "content.xml" in archive else read_ooxml(archive)
    except Unreadable as error:
        return Found(doubt=str(error))
