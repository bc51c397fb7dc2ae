"""Documents made by hand for the tests, and the parsers that read them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import partial

from scoter.config import Config, load
from scoter.core.page import Content, Page
from scoter.core.url import canonical
from scoter.parse.chain import ParserChain
from scoter.parse.documents.image import ImageParser
from scoter.parse.documents.office import OfficeParser
from scoter.parse.documents.pdf import PdfParser
from scoter.parse.documents.zip import ZipParser
from scoter.parse.parsers import HtmlParser, TextParser
from scoter.plugins import Parser, Setup

URL = "http://a.example/files/document"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="http://purl.org/dc/terms/">'
    "<dc:title>The  title</dc:title><dc:creator>Ann Bee; Cy Dee</dc:creator><dc:description>What it is</dc:description>"
    "<cp:keywords>one, two</cp:keywords><t:created>2024-02-03T04:05:06Z</t:created>"
    "<t:modified>2024-03-04T05:06:07Z</t:modified><dc:language>en-GB</dc:language></cp:coreProperties>"
)


def content(body: bytes, kind: str, url: str = URL, robots: str = "") -> Content:
    return Content(url=canonical(url), media_type=kind, body=body, robots=robots)


def config(*overrides: str) -> Config:
    return load(overrides=["parse.metadata=true", *overrides])


def parsed(kind: type[Parser], body: bytes, media_type: str = "", *, robots: str = "") -> Sequence[Page]:
    """Parse with a parser of its own; the media type is the first that it reads if none is given."""
    parser: Parser = kind(Setup(config()))  # type: ignore[call-arg]
    return parser.parse(content(body, media_type or kind.media_types[0], robots=robots))


def read(kind: type[Parser], body: bytes, media_type: str = "") -> Page:
    (page,) = parsed(kind, body, media_type)
    return page


def chain(settings: Config | None = None) -> ParserChain:
    """The parsers of this package with those for text; a function of a module, so that it can go elsewhere."""
    setup = Setup(settings or config())
    members: list[tuple[str, Parser]] = [
        ("html", HtmlParser(setup)),
        ("text", TextParser(setup)),
        ("pdf", PdfParser(setup)),
        ("office", OfficeParser(setup)),
        ("image", ImageParser(setup)),
    ]
    return ParserChain([*members, ("zip", ZipParser(setup, parsers=ParserChain(members)))])


def made_of_documents() -> partial[ParserChain]:
    return partial(chain, config())


def zipped(members: Mapping[str, bytes | str], *, stored: bool = False) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return target.getvalue()


def relationships(*given: tuple[str, str, str]) -> str:
    """Relationships as (id, kind, target); a target with a scheme is elsewhere."""
    rows = "".join(
        f'<Relationship Id="{name}" Type="{R}/{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if "://" in target else "/>")
        for name, kind, target in given
    )
    return f'<Relationships xmlns="{_PACKAGE}">{rows}</Relationships>'


def docx(body: str, links: Sequence[tuple[str, str, str]] = (), more: Mapping[str, str] | None = None) -> bytes:
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships(
                ("a", "officeDocument", "word/document.xml"), ("b", "metadata/core-properties", "docProps/core.xml")
            ),
            "docProps/core.xml": CORE,
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>',
            "word/_rels/document.xml.rels": relationships(*links),
            **(more or {}),
        }
    )


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(rows: str, strings: str = "") -> bytes:
    return zipped(
        {
            "_rels/.rels": relationships(("a", "officeDocument", "/xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>'
            '<sheet name="Second" sheetId="2" r:id="r2"/><sheet name="First" sheetId="1" r:id="r1"/></sheets>'
            "</workbook>",
            "xl/_rels/workbook.xml.rels": relationships(
                ("r1", "worksheet", "worksheets/sheet1.xml"),
                ("r2", "worksheet", "worksheets/sheet2.xml"),
                ("r3", "sharedStrings", "sharedStrings.xml"),
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{S}">{strings}</sst>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData/></worksheet>',
            "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{S}" xmlns:r="{R}"><sheetData>{rows}</sheetData>'
            '<hyperlinks><hyperlink ref="A1" r:id="h" display="shown"/></hyperlinks></worksheet>',
            "xl/worksheets/_rels/sheet2.xml.rels": relationships(("h", "hyperlink", "http://h.example/")),
        }
    )


def pptx(slides: Sequence[str], notes: str = "") -> bytes:
    """Slides in an order of its own: the last file comes first."""
    count = len(slides)
    listed = "".join(f'<p:sldId r:id="r{number}" id="{255 + number}"/>' for number in range(count, 0, -1))
    members = {
        "_rels/.rels": relationships(("a", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{listed}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relationships(
            *((f"r{number}", "slide", f"slides/slide{number}.xml") for number in range(1, count + 1))
        ),
        "ppt/notes.xml": f'<p:notes xmlns:p="{P}" xmlns:a="{A}"><a:p><a:r><a:t>{notes}</a:t></a:r></a:p></p:notes>',
    }
    for number, body in enumerate(slides, 1):
        members[f"ppt/slides/slide{number}.xml"] = f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}">{body}</p:sld>'
        members[f"ppt/slides/_rels/slide{number}.xml.rels"] = relationships(
            ("l", "hyperlink", "http://l.example/"), ("n", "notesSlide", "../notes.xml")
        )
    return zipped(members)


def odt(body: str, manifest: str = "<manifest/>") -> bytes:
    names = 'xmlns:text="t" xmlns:table="b" xmlns:office="o" xmlns:xlink="x" xmlns:draw="d" xmlns:dc="c"'
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document {names}><office:body>{body}</office:body></office:document>",
            "meta.xml": '<m xmlns:dc="d" xmlns:meta="m"><dc:title>A title</dc:title>'
            "<meta:initial-creator>Ann</meta:initial-creator><dc:creator>Bob</dc:creator><meta:keyword>k1</meta:keyword>"
            "<meta:keyword>k2</meta:keyword><meta:creation-date>2024-02-03T04:05:06.123456789</meta:creation-date></m>",
            "META-INF/manifest.xml": manifest,
        }
    )


def pdf(
    pages: Sequence[str],
    info: Mapping[str, str] | None = None,
    *,
    link: str = "",
    catalogue: str = "",
    encrypted: bool = False,
    count: int | None = None,
) -> bytes:
    """A PDF of one line a page; ``link`` lies over the line of the first page."""
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    objects = {
        1: f"<</Type/Catalog/Pages 2 0 R{catalogue}>>",
        2: f"<</Type/Pages/Kids[{kids}]/Count {len(pages) if count is None else count}>>",
        3: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        4: "<<" + "".join(f"/{name}({value})" for name, value in (info or {}).items()) + ">>",
        5: f"<</Type/Annot/Subtype/Link/Rect[60 690 400 720]/A<</S/URI/URI({link})>>>>",
        6: f"<</Filter/Standard/V 1/R 2/P -4/O<{'41' * 32}>/U<{'42' * 32}>>>",
    }
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        annotated = "/Annots[5 0 R]" if link and number == 0 else ""
        objects[10 + 2 * number] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>{annotated}"
            f"/Contents {11 + 2 * number} 0 R>>"
        )
        objects[11 + 2 * number] = f"<</Length {len(stream)}>>stream\n{stream}\nendstream"
    return assembled(objects, "/ID[<41><41>]/Encrypt 6 0 R" if encrypted else "")


def assembled(objects: Mapping[int, str], trailer: str = "") -> bytes:
    body = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, text in objects.items():
        places[number] = len(body)
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    start = len(body)
    body += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        body += f"{number} 1\n{place:010} 00000 n \n".encode()
    body += f"trailer\n<</Size {max(objects) + 1}/Root 1 0 R/Info 4 0 R{trailer}>>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(body)


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG of a declared size, with chunks of text and hardly a pixel."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), *chunks, (b"IDAT", zlib.compress(b"\0" * 16)), (b"IEND", b"")]
    packed = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
