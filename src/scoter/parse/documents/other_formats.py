"""More formats, read with kreuzberg: old Office files, RTF, EPUB, mail and others.

kreuzberg comes with the extra ``documents``. Its cache and OCR are disabled, so it writes no files and downloads no
models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from scoter.core.dates import parse_date
from scoter.core.page import Content
from scoter.errors import PluginError
from scoter.extras import install_command
from scoter.parse.documents.pages import DocumentContent, DocumentLink, DocumentParser, about
from scoter.plugins import Setup

_KEPT: Final = ("format_type", "page_count", "sheet_count", "slide_count")


class OtherFormatsParser(DocumentParser):
    """Reads old Office files, RTF, EPUB, mail and other formats with kreuzberg."""

    media_types: tuple[str, ...] = (
        *("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"),
        *("application/rtf", "text/rtf", "application/epub+zip", "application/x-fictionbook+xml"),
        *("message/rfc822", "application/vnd.ms-outlook", "application/x-hwp", "application/x-dbf"),
        *("application/x-latex", "text/x-tex", "application/x-typst", "text/x-rst", "text/org", "text/troff"),
        *("application/docbook+xml", "application/x-jats+xml", "application/x-opml+xml", "text/x-opml"),
        *("application/x-ipynb+json", "application/x-bibtex", "application/x-research-info-systems"),
        *("text/markdown", "text/csv", "text/tab-separated-values"),
        "application/vnd.ms-excel.sheet.binary.macroenabled.12",
    )

    requires: ClassVar[tuple[str, str]] = ("kreuzberg", "documents")
    """The package it needs, and the extra that has it."""

    def __init__(self, setup: Setup) -> None:
        if find_spec("kreuzberg") is None:
            raise PluginError(
                "the parser wide requires the package kreuzberg, which is not installed",
                where="parse.parsers",
                hint=f"Run {install_command('documents')}, or remove 'wide' from parse.parsers.",
            )
        super().__init__(setup)

    def _read(self, content: Content) -> DocumentContent | None:
        found = _found(content.body, content.media_type) if content.body else DocumentContent()
        return found if found.text.strip() or found.about.title or found.doubt else None


def _found(body: bytes, media_type: str) -> DocumentContent:
    kreuzberg: Any = import_module("kreuzberg")
    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        enable_quality_processing=False,
        concurrency=kreuzberg.ConcurrencyConfig(max_threads=1),
    )
    try:
        result = kreuzberg.extract_bytes_sync(body, media_type, config)
    except kreuzberg.KreuzbergError as error:
        return DocumentContent(doubt=f"damaged: {error}")
    except MemoryError:
        raise
    except Exception as error:  # its readers raise many kinds of errors
        return DocumentContent(doubt=f"damaged: {error or type(error).__name__}")
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a Rust panic, which is not an Exception
            raise
        return DocumentContent(doubt="damaged: the reader crashed")
    metadata: Mapping[str, Any] = result.metadata or {}
    return DocumentContent(
        text=result.content,
        links=tuple(_links(result.uris or ())),
        about=about(
            "content",
            title=_text(metadata, "title") or _text(metadata, "subject"),
            description=_text(metadata, "description"),
            authors=_texts(metadata, "authors"),
            published=parse_date(_text(metadata, "created_at")),
            modified=parse_date(_text(metadata, "modified_at")),
            keywords=_texts(metadata, "keywords"),
            language=_text(metadata, "language"),
        ),
        metadata={f"document.{name}": str(metadata[name]) for name in _KEPT if metadata.get(name)},
    )


def _links(uris: Sequence[Any]) -> list[DocumentLink]:
    return [
        DocumentLink(href, _text(uri, "label"), "img" if uri.get("kind") == "image" else "a")
        for uri in uris
        if isinstance(uri, Mapping) and (href := _text(uri, "url"))
    ]


def _text(metadata: Mapping[str, Any], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _texts(metadata: Mapping[str, Any], name: str) -> list[str]:
    value = metadata.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else [_text(metadata, name)]
