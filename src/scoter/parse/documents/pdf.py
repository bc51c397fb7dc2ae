"""PDF documents, read with PDFium: text by page, metadata and links.

PDFium is Chromium's PDF reader and built for hostile files. If one crashes it, only the parser process ends.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final

from scoter.core.dates import parse_date
from scoter.core.metadata import PageMetadata
from scoter.core.page import Content
from scoter.parse.documents.embedded_metadata import read_xmp
from scoter.parse.documents.pages import MOST_TEXT, DocumentContent, DocumentLink, DocumentParser, about
from scoter.parse.html import MOST_LINKS

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

MOST_PAGES: Final = 2_000
_MOST_MISSING: Final = 20  # consecutive unreadable pages after which reading stops
_MOST_ANCHORS: Final = 500  # each needs a search through all characters of its page
_LONGEST_ADDRESS: Final = 4_096
_MOST_PACKETS: Final = 50
_SIGNATURE: Final = b"%PDF-"
_SIGNATURE_WITHIN: Final = 1_024  # bytes; PDF readers accept junk before the signature
_PASSWORD: Final = 4  # FPDF_ERR_PASSWORD
_URI: Final = 3  # PDFACTION_URI
# ISO 32000-1, 7.9.4; apostrophes and "D:" are often missing.
_DATE: Final = re.compile(
    r"\s*(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?\s*(?:(Z)|([+-])(\d\d)'?(\d\d)?)?", re.ASCII
)
# PDFium replaces a hyphen that breaks a word at the end of a line by a control character or a noncharacter.
_BROKEN_WORD: Final = re.compile("[\x02\ufffe]\r?\n?")


class PdfParser(DocumentParser):
    """Reads PDF documents."""

    media_types: tuple[str, ...] = ("application/pdf", "application/x-pdf")

    def _read(self, content: Content) -> DocumentContent | None:
        return _found(content.body) if _SIGNATURE in content.body[:_SIGNATURE_WITHIN] else None


def _found(body: bytes) -> DocumentContent:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return DocumentContent(doubt="encrypted" if error.err_code == _PASSWORD else f"damaged: {error}")
    with closing(document):
        return _PdfReader(document, _xmp(body)).found()


def _xmp(body: bytes) -> Mapping[str, Sequence[str]]:
    """Return the document's XMP metadata, which is stored uncompressed (ISO 32000-1, 14.3.2).

    The last packet counts, because changes are appended. Images in the document may have their own XMP.
    """
    end = len(body)
    for _ in range(_MOST_PACKETS):
        end = body.rfind(b"</x:xmpmeta", 0, end)
        start = body.rfind(b"<x:xmpmeta", 0, max(end, 0))
        if start < 0:
            break
        if b"http://ns.adobe.com/pdf/" in (packet := body[start : end + 12]) or b"/pdfa/" in packet:
            return read_xmp(packet)
        end = start
    return {}


def pdf_date(text: str) -> datetime | None:
    """Return the time that a date of a PDF names; one without a zone is taken as UTC.

    >>> pdf_date("D:20240203040506+01'00'")
    datetime.datetime(2024, 2, 3, 3, 5, 6, tzinfo=datetime.timezone.utc)
    >>> pdf_date("last summer")
    """
    found = _DATE.match(text[:64])
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) if part else None for part in found.groups()[:6])
    away = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0))
    try:
        zone = timezone(-away if found[8] == "-" else away)
        local = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=zone)
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class _PdfReader:
    """Reads the pages of one document."""

    def __init__(self, document: pypdfium2.PdfDocument, xmp: Mapping[str, Sequence[str]]) -> None:
        self._document = document
        self._xmp = xmp
        self._texts: list[str] = []
        self._links: list[DocumentLink] = []
        self._left = MOST_TEXT
        self._anchors = _MOST_ANCHORS

    def found(self) -> DocumentContent:
        doubt = self._read_pages()
        return DocumentContent(
            text="\n\n".join(self._texts),
            links=tuple(self._links),
            about=self._about(),
            metadata={"pdf.pages": str(len(self._document))},
            doubt=doubt,
        )

    def _read_pages(self) -> str:
        import pypdfium2

        count = len(self._document)
        is_damaged, in_a_row = False, 0
        for number in range(min(count, MOST_PAGES)):
            if self._left <= 0:
                return "truncated: more text than is kept"
            try:
                self._read_page(self._document[number])
                in_a_row = 0
            except pypdfium2.PdfiumError:
                is_damaged = True
                in_a_row += 1
                if in_a_row == _MOST_MISSING:
                    break
        if is_damaged:
            return "damaged: some pages cannot be read"
        return f"truncated: only {MOST_PAGES} of {count} pages are read" if count > MOST_PAGES else ""

    def _read_page(self, page: pypdfium2.PdfPage) -> None:
        with closing(page), closing(page.get_textpage()) as words:
            text = words.get_text_range(0, min(words.count_chars(), self._left))
            self._left -= len(text)
            self._texts.append(_BROKEN_WORD.sub("", text).strip())
            self._links.extend(self._links_of(page, words))

    def _links_of(self, page: pypdfium2.PdfPage, words: pypdfium2.PdfTextPage) -> Iterator[DocumentLink]:
        import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

        position, link, box = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
        while len(self._links) < MOST_LINKS and pdfium.FPDFLink_Enumerate(page, position, link):
            action = pdfium.FPDFLink_GetAction(link)
            if not action or pdfium.FPDFAction_GetType(action) != _URI:
                continue
            address = ctypes.create_string_buffer(_LONGEST_ADDRESS)
            size = pdfium.FPDFAction_GetURIPath(self._document, action, address, _LONGEST_ADDRESS)
            if not 1 < size <= _LONGEST_ADDRESS:
                continue
            anchor = ""
            if self._anchors > 0 and pdfium.FPDFLink_GetAnnotRect(link, box):
                self._anchors -= 1
                anchor = words.get_text_bounded(box.left, box.bottom, box.right, box.top)
            yield DocumentLink(address.value.decode("utf-8", "replace"), _BROKEN_WORD.sub("", anchor))

    def _about(self) -> PageMetadata:
        """Return the metadata from the Info dictionary, with XMP as fallback."""
        value = self._document.get_metadata_value

        def either(name: str, other: str) -> str:
            return value(name).strip("\0 ") or "; ".join(self._xmp.get(other, ()))

        return about(
            "content",
            title=either("Title", "title"),
            description=either("Subject", "description"),
            authors=[either("Author", "creator")],
            published=pdf_date(value("CreationDate")) or parse_date("".join(self._xmp.get("CreateDate", ()))),
            modified=pdf_date(value("ModDate")) or parse_date("".join(self._xmp.get("ModifyDate", ()))),
            keywords=[either("Keywords", "subject")],
            language=self._language(),
        )

    def _language(self) -> str:
        import pypdfium2.raw as pdfium

        buffer = (ctypes.c_ushort * 64)()
        size = pdfium.FPDFCatalog_GetLanguage(self._document, buffer, ctypes.sizeof(buffer))
        return bytes(buffer)[: size - 2].decode("utf-16-le", "replace") if 2 < size <= ctypes.sizeof(buffer) else ""
