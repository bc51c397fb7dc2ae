"""Hostile contents: each is small or simple, and costs a naive parser minutes or gigabytes."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from scoter.parse.filetypes import DOCX, XLSX

LAUGHS: Final = "".join(
    [
        '<!ENTITY a "ha ha ha ha ha ha ha ha ha ha ">',
        *(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(10)),
    ]
)
_MB: Final = 1_000_000


class Case(Struct, frozen=True):
    """A hostile content, and whether parsers finish it or are stopped by a limit."""

    name: str
    media_type: str
    body: Callable[[], bytes]
    stopped: bool | None = False  # None: either


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return file.getvalue()


def nested_zip(levels: int, copies: int) -> bytes:
    """Nested zips, each level with copies of the one below."""
    inner = zipped(**{"seal.txt": b"words " * 1_000})
    for _ in range(levels):
        inner = zipped(**{f"{number}.zip": inner for number in range(copies)})
    return inner


def overlapping_zip(members: int, size: int) -> bytes:
    """A zip directory whose entries all point to the same compressed bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(bytes(size)) + packer.flush()
    crc = zlib.crc32(bytes(size))
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 8, 0, 33, crc, len(data), size, 1, 0) + b"x" + data
    entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 8, 0, 33, crc, len(data), size, 6, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + b"%06d" % number for number in range(members))
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, members, members, len(directory), len(local), 0)
    return local + directory + end


def deflated(start: bytes, piece: bytes, times: int, wbits: int = 15) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    return b"".join([packer.compress(start), *(packer.compress(piece) for _ in range(times)), packer.flush()])


def office(part: str, data: bytes) -> bytes:
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Override PartName="/{0}" '
        'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    rels = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r" Target="{0}" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>'
    )
    made = {
        "[Content_Types].xml": types.format(part).encode(),
        "_rels/.rels": rels.format(part).encode(),
        part: data,
    }
    return zipped(**made)


def word(body: str) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return office("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'.encode())


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of these objects; the first is its catalogue."""
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (size, trailer, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (size, table, end)


def one_page(stream: bytes, extra: bytes = b"", trailer: bytes = b"") -> bytes:
    return pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << >> >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(stream), extra, stream),
        trailer=trailer,
    )


def png(width: int, height: int) -> bytes:
    head = struct.pack(">II5B", width, height, 8, 6, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + b"\0\0\0\0IDAT"


def laughing(root: str, inside: str) -> bytes:
    return f'<?xml version="1.0"?><!DOCTYPE {root} [{LAUGHS}]><{root}>{inside}</{root}>'.encode()


ITEM: Final = "<channel><title>&k;</title><item><title>&k;</title><link>http://a.example/&k;</link></item></channel>"
ENCRYPT: Final = b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O (%s) /U (%s) >> /ID [(a) (a)]" % (
    b"o" * 32,
    b"u" * 32,
)

HTML: Final = (
    Case("100,000 nested tags", "text/html", lambda: b"<div>" * 100_000),
    Case("100,000 nested tags behind a picture", "text/html", lambda: b"<svg>" + b"<div/>" * 100_000, stopped=True),
    Case(
        *("100,000 attributes", "text/html"),
        lambda: b"<p " + b"".join(b"a%d=1 " % n for n in range(100_000)),
        stopped=None,
    ),
    Case("50 MB of links", "text/html", lambda: b'<a href="/p/123456">x</a>\n' * 1_925_000, stopped=None),
    Case(
        *("formatting left open", "text/html"),
        lambda: b"<p>" + b"".join(b"<b %d>" % n for n in range(2_500)) + b"<p>x" * 2_500,
        stopped=None,
    ),
    Case("tables in tables", "text/html", lambda: b"<table><tr><td>" * 3_000, stopped=None),
    Case("one attribute of 20 MB", "text/html", lambda: b'<a href="' + b"x" * 20 * _MB + b'">x</a>', stopped=None),
    Case("one tag of brackets", "text/html", lambda: b"<" * 2 * _MB, stopped=None),
    Case("a million comments", "text/html", lambda: b"<!---->" * _MB, stopped=None),
    Case("entities without end", "text/html", lambda: b"&ampampamp" * 200_000, stopped=None),
    Case(
        *("JSON-LD of brackets", "text/html"),
        lambda: b'<script type="application/ld+json">' + b'[{"a":' * 50_000 + b"</script>",
        stopped=None,
    ),
    Case(
        *("a style of selectors", "text/html"),
        lambda: b"<style>" + b"a>b~c+d " * 200_000 + b"</style><p style='" + b"(" * _MB + b"'>x",
        stopped=None,
    ),
    Case(
        *("a refresh of digits", "text/html"),
        lambda: b'<meta http-equiv=refresh content="' + b"1" * _MB + b'">',
        stopped=None,
    ),
)  # fmt: skip

XML: Final = (
    Case("a billion laughs in XML", "application/xml", lambda: laughing("x", "&k;")),
    Case("a billion laughs in a feed", "application/rss+xml", lambda: laughing("rss", ITEM)),
    Case(
        *("a billion laughs in a sitemap", "application/xml"),
        lambda: laughing("urlset", "<url><loc>http://a.example/&k;</loc></url>"),
    ),
    Case(
        *("one long entity, often", "application/xml"),
        lambda: b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 100_000 + b'">]><x>' + b"&a;" * 100_000 + b"</x>",
    ),
    Case("100,000 nested elements", "application/xml", lambda: b"<x>" * 100_000),
    Case(
        *("100,000 attributes", "application/xml"),
        lambda: b"<x " + b"".join(b'a%d="1" ' % n for n in range(100_000)) + b"/>",
        stopped=None,
    ),
    Case(
        *("100,000 namespaces", "application/atom+xml"),
        lambda: b"<feed " + b"".join(b'xmlns:a%d="u:%d" ' % (n, n) for n in range(100_000)) + b"/>",
        stopped=None,
    ),
    Case(
        *("a feed in a feed in a feed", "application/rss+xml"),
        lambda: b"<rss><channel>" + b"<item>" * 50_000,
        stopped=None,
    ),
    Case(
        *("200,000 entries", "application/rss+xml"),
        lambda: b"<rss><channel>" + b"<item><link>http://a.example/x</link></item>" * 200_000 + b"</channel></rss>",
        stopped=None,
    ),
    Case(
        *("a JSON feed of brackets", "application/feed+json"),
        lambda: b'{"version":"https://jsonfeed.org/version/1","items":' + b"[" * _MB,
    ),
    Case(
        *("a sitemap of 200 MB in 200 KB", "application/gzip"),
        lambda: deflated(b"<urlset>", b" " * _MB, 200, wbits=31),
        stopped=None,
    ),
    Case("a sitemap that is packed ten times", "application/gzip", lambda: packed(b"<urlset/>", 10)),
)  # fmt: skip

FILES: Final = (
    Case("a zip bomb", "application/zip", lambda: zipped(**{f"{n}.txt": bytes(30 * _MB) for n in range(6)})),
    Case("a zip whose members overlap", "application/zip", lambda: overlapping_zip(50_000, 10 * _MB)),
    Case("a zip of 60,000 members", "application/zip", lambda: zipped(**{f"{n}.txt": b"" for n in range(60_000)})),
    Case("zips in zips, deep", "application/zip", lambda: nested_zip(60, 1)),
    Case("zips in zips, wide", "application/zip", lambda: nested_zip(4, 12)),
    Case("a document of 100 MB in 100 KB", DOCX, lambda: word(" " * 100 * _MB)),
    Case("a document that laughs", DOCX, lambda: office("word/document.xml", laughing("document", "&k;"))),
    Case("a document of nested tables", DOCX, lambda: word("<w:tbl><w:tr><w:tc>" * 30_000)),
    Case(
        *("a sheet that says it has a billion cells", XLSX),
        lambda: office("xl/workbook.xml", b'<workbook><dimension ref="A1:XFD1048576"/></workbook>'),
    ),
    Case("an encrypted PDF", "application/pdf", lambda: one_page(b"", trailer=ENCRYPT)),
    Case("a PDF that was cut", "application/pdf", lambda: one_page(b"BT (x) Tj ET" * 900)[:3_000]),
    Case("a PDF without its head", "application/pdf", lambda: one_page(b"BT (x) Tj ET")[60:]),
    Case(
        *("a PDF of 200 MB in 200 KB", "application/pdf"),
        lambda: one_page(deflated(b"", b"BT (x) Tj ET " * 80_000, 200), b"/Filter /FlateDecode"),
        stopped=None,
    ),
    Case(
        *("a PDF whose pages are their own children", "application/pdf"),
        lambda: pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R 2 0 R] /Count 99999999 >>"
        ),
    ),
    Case("a PDF of brackets", "application/pdf", lambda: pdf(b"<< /Type /Catalog /Pages " + b"[" * _MB), stopped=None),
    Case("a picture of 10 gigapixels", "image/png", lambda: png(100_000, 100_000)),
    Case("a picture that is none", "image/png", lambda: b"\x89PNG\r\n\x1a\n" + bytes(100)),
    Case("a drawing that laughs", "image/svg+xml", lambda: laughing("svg", "&k;")),
    Case("a style sheet of brackets", "text/css", lambda: b"a{" * _MB),
    Case("a style sheet of urls without end", "text/css", lambda: b"url(" * _MB),
    Case("a style sheet of comments without end", "text/css", lambda: b"/*" * _MB + b"@import 'x" * 100_000),
    Case("a script of strings without end", "text/javascript", lambda: b"\"http://a.example/'" * 300_000 + b"\\" * _MB),
    Case("50 MB of text", "text/plain", lambda: b"word " * 10 * _MB),
    Case("50 MB of nothing", "text/plain", lambda: bytes(50 * _MB)),
)  # fmt: skip


def packed(data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = gzip.compress(data)
    return data


ALL: Final = (*HTML, *XML, *FILES)
