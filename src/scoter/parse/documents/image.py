"""Images: size and embedded metadata, and text and links of SVG. Pixels are never decoded.

Pillow reads the header of a file when it opens it. Calls that would decode the rest (``load``, and ``getexif`` of a
PNG) are avoided.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from scoter.core.dates import parse_date
from scoter.core.page import Content
from scoter.parse.documents.embedded_metadata import read_iptc, read_xmp
from scoter.parse.documents.pages import DocumentContent, DocumentParser, about
from scoter.parse.mediatype import sniff_type

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

from scoter.parse.documents.xmltext import StopReading, TextBuilder, tell

SVG: Final = "image/svg+xml"
_FORMATS: Final = {
    "image/png": "PNG",
    "image/apng": "PNG",
    "image/jpeg": "JPEG",
    "image/pjpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/x-ms-bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}
_IPTC: Final = 0x0404  # number of the Photoshop resource with IPTC data
_ZONED: Final = re.compile(r"(?:Z|:\d\d(?:\.\d+)?[+-]\d\d:?\d\d)\s*\Z", re.ASCII)
_LONGEST: Final = 64 * 1024  # bytes of a text inside an image
# Tags of Exif 2.32, including those taken over from TIFF.
_DESCRIPTION, _ARTIST, _COPYRIGHT, _CHANGED, _XMP = 0x010E, 0x013B, 0x8298, 0x0132, 0x02BC
_EXIF, _TAKEN, _OFFSET = 0x8769, 0x9003, 0x9011
_TITLE, _SUBJECT, _KEYWORDS = 0x9C9B, 0x9C9F, 0x9C9E  # Windows extensions, in UTF-16
_TAGS: Final = frozenset(
    {_DESCRIPTION, _ARTIST, _COPYRIGHT, _CHANGED, _XMP, _TAKEN, _OFFSET, _TITLE, _SUBJECT, _KEYWORDS}
)

# Pillow's warnings about damaged files would go to standard error; the page's doubt reports them instead.
logging.getLogger("PIL").addHandler(logging.NullHandler())
_LENGTH: Final = re.compile(r"\s*(\d{1,7})(?:\.\d*)?(?:px)?\s*", re.ASCII)
_HEAD: Final = 64 * 1024  # bytes in which a damaged file must show that it is SVG


class ImageParser(DocumentParser):
    """Reads the size of images, and their titles, descriptions and authors."""

    media_types: tuple[str, ...] = (*_FORMATS, SVG)

    def _read(self, content: Content) -> DocumentContent | None:
        return read_svg(content.body) if content.media_type == SVG else _found(content.body)


def _found(body: bytes) -> DocumentContent | None:
    """Return the embedded metadata of an image: from XMP, else Exif, IPTC, or the text fields of the format."""
    image = _opened(body)
    if image is None or isinstance(image, DocumentContent):
        return image
    with image:
        info: Mapping[Any, Any] = image.info
        exif = _exif(image)
        size = {"image.width": str(image.width), "image.height": str(image.height)}
        metadata = {**size, "image.format": image.format or ""}
    packet = info.get("xmp") or info.get("XML:com.adobe.xmp") or exif.get(_XMP) or b""
    xmp = read_xmp(packet if isinstance(packet, bytes) else str(packet).encode("utf-8", "replace"))
    iptc = _iptc(info.get("photoshop"))

    def first(name: str, tags: Sequence[int], keys: Sequence[str] = ()) -> str:
        given = (
            "; ".join(xmp.get(name, ())),
            *(_text(exif.get(tag)) for tag in tags),
            "; ".join(iptc.get(name, ())),
            *(_text(info.get(key)) for key in keys),
        )
        return next(filter(None, given), "")

    if rights := first("rights", (_COPYRIGHT,), ("Copyright",)):
        metadata["image.copyright"] = rights
    said = about(
        "content",
        title=first("title", (_TITLE,), ("Title",)),
        description=first("description", (_DESCRIPTION, _SUBJECT), ("Description", "Comment", "comment")),
        authors=[first("creator", (_ARTIST,), ("Author",))],
        published=_date(first("CreateDate", (_TAKEN,), ("Creation Time",)), _text(exif.get(_OFFSET))),
        modified=_date(first("ModifyDate", (_CHANGED,))),
        keywords=[first("subject", (_KEYWORDS,))],
    )
    return DocumentContent(text=said.description, about=said, metadata=metadata)


def _opened(body: bytes) -> ImageFile | DocumentContent | None:
    """Open an image with the listed readers only: some of Pillow's start other programs."""
    from PIL import AvifImagePlugin, Image, TiffImagePlugin, UnidentifiedImageError, WebPImagePlugin  # noqa: F401

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Image.open(io.BytesIO(body), formats=tuple(set(_FORMATS.values())))
    except UnidentifiedImageError:
        is_image = sniff_type(body).startswith("image/")
        return DocumentContent(doubt="damaged: its header cannot be read") if is_image else None
    except Image.DecompressionBombError:
        return DocumentContent(doubt="bomb: larger than any image that can be displayed")
    except MemoryError:
        raise
    except Exception as error:  # Pillow's readers raise many kinds for damaged files
        return DocumentContent(doubt=f"damaged: {error or type(error).__name__}")


def _iptc(resources: object) -> Mapping[str, Sequence[str]]:
    block = resources.get(_IPTC) if isinstance(resources, dict) else None
    found = read_iptc(block) if isinstance(block, bytes) else {}
    day, time = ("".join(found.get(name, ())[:1]) for name in ("day", "time"))
    return {**found, "CreateDate": (f"{day}T{time}" if time else day,)} if day else found


def _exif(image: ImageFile) -> Mapping[int, Any]:
    from PIL.Image import Exif

    found: dict[int, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exif: Any = getattr(image, "tag_v2", None)
            if exif is None:
                inner = exif = Exif()
                exif.load(image.info.get("exif") or b"")
            else:
                inner = image.getexif()
            found.update((tag, value) for tag, value in inner.get_ifd(_EXIF).items() if tag in _TAGS)
            found.update((tag, exif.get(tag)) for tag in _TAGS if exif.get(tag) is not None)
    except MemoryError:
        raise
    except Exception:  # damaged Exif is no reason to reject the image
        return found
    return found


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value[:_LONGEST]
        wide = len(value) > 3 and not any(value[1:8:2])  # UTF-16, written by Windows
        value = value.decode("utf-16-le" if wide else "utf-8", "replace")
    return value[:_LONGEST].strip("\0 \n") if isinstance(value, str) else ""


def _date(text: str, zone: str = "") -> datetime | None:
    """Parse a date of Exif, XMP or PNG; ``zone`` applies if the date has none itself."""
    return parse_date(text if not text[:4].isdigit() or _ZONED.search(text) else text + zone)


def read_svg(body: bytes) -> DocumentContent | None:
    """Return the content of an SVG image, or ``None`` if it is not one."""
    builder = TextBuilder()
    target = _SvgReader(builder)
    # Drawing programs declare entities for namespaces.
    doubt = tell(target, (body,), entities=True)
    if not target.is_svg:
        return DocumentContent(doubt=doubt) if doubt and b"<svg" in body[:_HEAD] else None
    metadata = {"image.format": "SVG"}
    if target.size:
        metadata |= {"image.width": str(target.size[0]), "image.height": str(target.size[1])}
    return DocumentContent(
        text=builder.text,
        links=tuple(builder.links),
        about=about("content", title=target.texts["title"], description=target.texts["desc"]),
        metadata=metadata,
        doubt=doubt,
    )


class _SvgReader:
    def __init__(self, builder: TextBuilder) -> None:
        self.is_svg = False
        self.size: tuple[int, int] | None = None
        self.texts = {"title": "", "desc": ""}
        self._builder = builder
        self._depth = 0
        self._text = 0
        self._told = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self.is_svg = name == "svg"
            if not self.is_svg:
                raise StopReading
            self.size = _size(attributes)
        match name:
            # Only those of the root element: the others are tool tips.
            case "title" | "desc" if self._depth == 2 and not self.texts[name]:
                self._told = name
            case "text" | "p":
                self._text += 1
            case "a":
                self._builder.open_link(attributes.get("href", ""))
            case "image":
                self._builder.link(attributes.get("href", ""), kind="img")

    def end(self, name: str) -> None:
        self._depth -= 1
        match name:
            case "title" | "desc":
                self._told = ""
            case "text" | "p":
                self._text -= 1
                self._builder.end_line()
            case "a":
                self._builder.close_link()

    def data(self, text: str) -> None:
        if self._told and len(self.texts[self._told]) < 4_000:
            self.texts[self._told] += text
        elif self._text:
            self._builder.add(text)


def _size(attributes: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the size in pixels, from the view box if width or height are missing or in other units."""
    wide, high = (_LENGTH.fullmatch(attributes.get(name, "")) for name in ("width", "height"))
    if wide and high:
        return int(wide[1]), int(high[1])
    box = [_LENGTH.fullmatch(part) for part in attributes.get("viewBox", "")[:100].replace(",", " ").split()]
    if len(box) == 4 and box[2] and box[3]:
        return int(box[2][1]), int(box[3][1])
    return None
