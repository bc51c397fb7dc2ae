"""The inputs of the parse fuzzer: an intact document of every type, and ways to damage it."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct
from PIL import Image
from tests.parse.documents.made import docx, odt, paragraph, pdf, png, pptx, xlsx, zipped
from tests.parse.encodings.cases import ALL as ENCODINGS
from tests.parse.feeds.documents import ATOM, JSON, RDF, RSS, SITEMAP

from scoter.core.page import Content
from scoter.core.url import canonical
from scoter.parse.filetypes import DOCX, PPTX, XLSX
from scoter.simweb import SimWeb, WebSpec

LARGEST: Final = 300_000  # bytes of a damaged document
URLS: Final = [
    canonical(text)
    for text in ("http://a.example/", "http://a.example/dir/file.xml?q=1", "https://b.example:8443/%7Eu/a.zip")
]
TOKENS: Final = (
    *(b"<", b">", b"</", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<!DOCTYPE x [", b"&#0;", b"&#x110000;", b"&#xD800;"),
    *(b"&amp;", b"<?", b'"', b"'", b"=", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1b$B", b"\\u0000"),
    *(b"\\ud800", b"{", b"[", b"}", b"url(", b"/*", b"@import", b"http://", b"//", b"http://[", b"http://a:99999/"),
    *(b"javascript:", b"data:,", b"%", b"%zz", b"\n", b"\r", b"1e999", b"-1", b"99999999999999999999", b"PK\x03\x04"),
    *(b"PK\x01\x02", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"endobj", b"stream", b"<<", b">>", b"0 R", b"%PDF-1.4"),
    *(b"<script>", b"<template>", b"<svg>", b"<math>", b"<table>", b"<base href=", b"<meta charset=", b"<a href="),
    *(b'<script type="application/ld+json">', b'itemscope itemtype="http://schema.org/Product" itemprop=', b"srcset="),
    *(
        b'<meta property="og:image" content="',
        b"<item>",
        b"<entry>",
        b"<url><loc>",
        b"0001-01-01T00:00:00Z",
        b"\xe2\x80",
    ),
)
PAGE: Final = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Grüße &amp; seals</title>
<base href="/b/">
<meta name="robots" content="noarchive, unavailable_after: 2030-01-01"><meta http-equiv="refresh" content="9; url=/r">
<meta property="og:title" content="T"><meta property="og:image" content="/i.png">
<meta property="og:image:width" content="9">
<meta name="twitter:card" content="player"><meta name="dc.date" content="2024-02-30"><link rel="canonical" href="/c">
<link rel="alternate" hreflang="de" href="/de"><link rel="alternate" type="application/rss+xml" href="/feed">
<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [{"@type": "NewsArticle", "headline":
"H", "author": [{"name": "A"}], "datePublished": "2024-01-02T03:04:05+25:00", "image": {"url": "/x", "width": "9px"}}]}
</script></head><body><h1>Head</h1><p itemscope itemtype="http://schema.org/Product"><b itemprop="name">N</b>
<span itemprop="price" content="1.5">x</span></p><img srcset="/1.png 1x, /2.png 2x" src="/3.png" alt="pic" width="600">
<a href="../x#y" rel="nofollow">one</a><a href="HTTP://B.example:80/%7e">two</a><iframe src="//c.example/f"></iframe>
<table><tr><td>1<td>2</table><pre><code>code</code></pre><ul><li>l<li>m</ul><video src="/v.mp4"></video>
<div class="h-entry"><a class="u-url" href="/h">h</a><time class="dt-published" datetime="2024-01-01">t</time></div>
<script>var a = "/from/script.html", b = 'http://d.example/q?a=b&c';</script></body></html>"""


class IntactDocument(Struct, frozen=True):
    """A document without damage."""

    media_type: str
    body: bytes


def picture(form: str) -> bytes:
    target = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "a seal"
    Image.new("RGB", (9, 9)).save(target, form, exif=exif)
    return target.getvalue()


@cache
def intact_documents() -> tuple[IntactDocument, ...]:
    """Return documents of every type that has a parser."""
    word = docx(paragraph("words") * 3, [("x", "hyperlink", "http://l.example/")])
    made = [
        *(("text/html", PAGE.encode()), ("application/xhtml+xml", PAGE.encode()), ("text/plain", b"words\nhttp://x/")),
        *(
            ("application/rss+xml", RSS.encode()),
            ("application/atom+xml", ATOM.encode()),
            ("application/xml", RSS.encode()),
        ),
        *(("application/rdf+xml", RDF.encode()), ("application/feed+json", JSON.encode())),
        *(("application/xml", SITEMAP.encode()), ("application/gzip", gzip.compress(SITEMAP.encode()))),
        ("application/xml", b'<?xml version="1.0"?><x a="http://b.example/"><y>words</y><!-- c --><z/></x>'),
        (
            "image/svg+xml",
            b'<svg width="9" xmlns:xlink="x"><title>T</title><a xlink:href="/a"><text>t</text></a></svg>',
        ),
        ("application/pdf", pdf(["one", "two"], {"Title": "T", "CreationDate": "D:2024"}, link="http://l.example/")),
        *((DOCX, word), (XLSX, xlsx('<row><c t="s"><v>0</v></c></row>', "<si><t>a</t></si>"))),
        (PPTX, pptx(["<a:t>one</a:t>", "<a:t>two</a:t>"], "<a:t>note</a:t>")),
        ("application/vnd.oasis.opendocument.text", odt('<text:p>words <text:a xlink:href="/a">l</text:a></text:p>')),
        (
            "application/zip",
            zipped({"a.txt": "words", "b/p.html": PAGE, "c.docx": word, "d.zip": zipped({"e.xml": RSS})}),
        ),
        *((f"image/{form}", picture(form)) for form in ("png", "jpeg", "gif", "webp", "tiff", "bmp")),
        ("image/png", png(5, 5, (b"tEXt", b"Title\0a seal"), (b"iTXt", b"Title\0\0\0en\0\0Robbe"))),
        ("text/javascript", b'import x from "./m.js"; fetch("/api/a?b=c"); var u = \'http://d.example/\'; // "/no"'),
        ("text/css", b'@import "a.css"; /* url(no) */ a { background: url( "i.png" ) } @import url(b.css) screen;'),
        *(("text/html", case.body) for case in ENCODINGS),
    ]
    web = SimWeb(WebSpec(seed=5, hosts=4, pages=24))
    resources = [each for host in web.hosts() for each in list(web.resources(host))[:12]]
    made += [("text/html", each.body(0)) for each in resources if each.content_type.startswith("text/html")]
    pages = sorted(Path(__file__).parents[1].joinpath("parse").rglob("*.html"))
    made += [("text/html", page.read_bytes()) for page in pages]
    return tuple(IntactDocument(kind, body) for kind, body in made)


def damaged(chance: random.Random) -> Content:
    """Return a document with damaged bytes, a damaged archive member, or a wrong type."""
    whole = intact_documents()
    # Choose the type first: most documents are HTML pages.
    kind = chance.choice(sorted({each.media_type for each in whole}))
    body = chance.choice([each.body for each in whole if each.media_type == kind])
    dice = chance.random()
    if dice < 0.08:
        body = chance.randbytes(chance.choice((0, 1, 2, 7, 60, 3_000)))
    elif dice < 0.5 and body.startswith(b"PK"):
        body = _inside_zip(chance, body)
    elif dice < 0.6 and body.startswith(b"\x1f\x8b"):
        body = gzip.compress(_bytes(chance, gzip.decompress(body)), 1)
    else:
        body = _bytes(chance, body)
    if chance.random() < 0.1:
        kind = chance.choice(whole).media_type
    charset = chance.choice(("", "", "", "utf-8", "gbk", "utf-16", "shift_jis", "iso-2022-jp", "x-user-defined", "no"))
    return Content(url=chance.choice(URLS), media_type=kind, body=body[:LARGEST], encoding=charset)


def _bytes(chance: random.Random, body: bytes) -> bytes:
    found = bytearray(body)
    for _ in range(chance.choice((1, 1, 2, 3, 8, 30))):
        place, width = chance.randrange(len(found) + 1), chance.choice((1, 2, 8, 100, 2_000))
        match chance.randrange(9):
            case 0 if found:
                found[place % len(found)] ^= 1 << chance.randrange(8)
            case 1:
                del found[place : place + width]
            case 2:
                found[place:place] = chance.choice(TOKENS)
            case 3:
                found[place : place + width] = chance.randbytes(min(width, 8))
            case 4:
                found[place:place] = found[place : place + width] * chance.choice((1, 2, 50))
            case 5:
                del found[place:]
            case 6:
                other = chance.choice(intact_documents()).body
                start = chance.randrange(len(other) + 1)
                found[place:place] = other[start : start + width]
            case 7:
                found[place:place] = chance.choice(TOKENS) * chance.choice((3, 50, 700))
            case _:
                found[place : place + 4] = chance.choice(
                    (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"9999")
                )
        del found[LARGEST:]
    return bytes(found)


def _inside_zip(chance: random.Random, body: bytes) -> bytes:
    """Damage one member and pack it again; with a wrong checksum, parsers would not read it."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        damaged_name = chance.choice(names)
        for name in names:
            data = old.read(name)
            new.writestr(name, _bytes(chance, data) if name == damaged_name else data)
    return target.getvalue()
