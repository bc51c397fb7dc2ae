"""Media types by header, bytes, extension and signature."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parse.contents import URL

from scoter.core.url import canonical
from scoter.parse.filetypes import DOCX, PPTX, XLSX
from scoter.parse.mediatype import Decision, decide_type, make_content, parse_content_type, sniff_type, usual_type

HERE = canonical(URL)
OCTETS = "application/octet-stream"
ODT = "application/vnd.oasis.opendocument.text"
XHTML = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">'
RDF_FEED = b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/" xmlns="http://purl.org/rss/1.0/">'


def zip_of(*names: str, first: str = "", last: str = "") -> bytes:
    """Make a zip of empty members; ``first`` or ``last`` is the content of its member mimetype and where it is."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        if first:
            archive.writestr("mimetype", first, zipfile.ZIP_STORED)
        for name in names:
            archive.writestr(name, "")
        if last:
            archive.writestr("mimetype", last)
    return file.getvalue()


def at(path: str) -> str:
    return f"http://a.example/{path}"


@pytest.mark.parametrize(
    ("said", "body", "found"),
    [
        ("text/html", b"<p>x", "text/html"),
        ("text/html", b"words", "text/html"),
        ("text/html", b"\0\1\2", "text/html"),
        ("text/html", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("text/html", b"%PDF-1.4", "application/pdf"),
        ("text/html", b"BMW cars", "text/html"),
        ("text/html", XHTML, "text/html"),
        ("text/plain", b"<html>", "text/plain"),
        ("text/plain", b"GIF89a...", "image/gif"),
        ("text/plain", b"%PDF-1.4\nall of it text", "application/pdf"),
        ("text/plain", b"\0\1\2\3", OCTETS),
        ("text/plain", "grüße".encode("latin-1"), "text/plain"),
        ("application/pdf", b"<html>", "application/pdf"),
        ("application/json", b"{}", "application/json"),
        ("image/jpeg", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("image/jpg", b"\xff\xd8\xff...", "image/jpeg"),
        ("image/png", b"<html>", "image/png"),
        ("image/svg+xml", b"<svg>", "image/svg+xml"),
        ("video/mp4", b"<html>", "video/mp4"),
    ],
)
def test_declared_type_is_used_unless_plainly_wrong(said: str, body: bytes, found: str) -> None:
    why = "header" if found == usual_type(said) else "default" if found == OCTETS else "bytes"

    decision = decide_type(said, HERE, body)
    assert (decision.media_type, decision.why) == (found, why)


@pytest.mark.parametrize("vague", ["", OCTETS, "binary/octet-stream", "unknown/unknown", "application/force-download"])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"\n <!DOCTYPE HTML><title>", "text/html"),
        (b"\xef\xbb\xbf<html>", "text/html"),
        ("\ufeff<html>".encode("utf-16-le"), "text/html"),
        ("<html>".encode("utf-16-be"), "text/html"),
        (b"<!-- comment -->", "text/html"),
        (b"<!-- comment --><rss>", "application/rss+xml"),
        (b"<bold>", "text/plain"),
        (b"words", "text/plain"),
        (b"BMW cars", "text/plain"),
        (b"", "text/plain"),
        ("\ufeff灰海豹".encode("utf-16-le"), "text/plain"),
        ("Grey seals,\r\nof the \u201cnorth\u201d".encode("utf-16-le"), "text/plain"),
        ("Grey seals rest. ".encode("utf-16-be") * 200, "text/plain"),
        ("\U0001f9ad seals".encode("utf-16-le") * 200, "text/plain"),
        (XHTML, "application/xhtml+xml"),
        (b'<?xml version="1.0"?><svg>', "image/svg+xml"),
        (b'<?xml version="1.0"?><other>', "application/xml"),
        (b"\x1f\x8b\x08...", "application/gzip"),
        (b"RIFF....WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x20ftypavif\0", "image/avif"),
        (b"\0\0\0\x20ftypisom\0", "video/mp4"),
        (b"\x1a\x45\xdf\xa3\0\0\x42\x82\x84webm", "video/webm"),
        (b"ID3\3\0", "audio/mpeg"),
        (b"RIFF\1\2\3\0WAVE", "audio/wave"),
        (b"\0\1\0\0\0", "font/ttf"),
        (b"wOF2\0", "font/woff2"),
        (b"BM\0\0", "image/bmp"),
        (b"7z\xbc\xaf'\x1c", "application/x-7z-compressed"),
        (b"\0\0junk\n%PDF-1.4", "application/pdf"),
        (b"{\\rtf1 x}", "application/rtf"),
    ],
)
def test_bytes_decide_if_the_declared_type_is_vague(vague: str, body: bytes, found: str) -> None:
    assert decide_type(vague, canonical("http://a.example/"), body) == Decision(found, "bytes")


@pytest.mark.parametrize("said", ["text/html", "text/xml", "application/xml", "text/plain", ""])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'<?xml version="1.0"?>\n<rss version="2.0">', "application/rss+xml"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!-- a --><?style x?> <feed xmlns='x'>", "application/atom+xml"),
        (b"<a10:feed xmlns:a10='http://www.w3.org/2005/Atom'>", "application/atom+xml"),
        (b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x ">">]><rss>', "application/rss+xml"),
        (RDF_FEED, "application/rdf+xml"),
        (b'<?xml version="1.0"?><urlset xmlns="x">', "application/xml"),
        (b'{"version": "https:\\/\\/jsonfeed.org\\/version\\/1.1"', "application/feed+json"),
    ],
)
def test_feed_is_recognised_despite_its_declared_type(said: str, body: bytes, found: str) -> None:
    if said.endswith("/xml") and found == "application/feed+json":
        said = "application/json"

    assert decide_type(said, HERE, body).media_type == found


def test_html_served_as_xml_is_html() -> None:
    assert decide_type("text/xml", HERE, b"<!DOCTYPE html><html>") == Decision("text/html", "bytes")
    assert decide_type("text/xml", HERE, XHTML) == Decision("application/xhtml+xml", "bytes")
    assert decide_type("application/xml", HERE, b"<other/>") == Decision("application/xml", "header")


@pytest.mark.parametrize("said", ["application/zip", "", OCTETS, "application/x-zip-compressed", "text/html"])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        (zip_of("[Content_Types].xml", "_rels/.rels", "word/document.xml"), DOCX),
        (zip_of("xl/workbook.xml", "[Content_Types].xml"), XLSX),
        (zip_of("[Content_Types].xml", "ppt/presentation.xml"), PPTX),
        (zip_of("content.xml", first=ODT), ODT),
        (zip_of("content.opf", first="application/epub+zip"), "application/epub+zip"),
        (zip_of("page.html", first="text/html"), "application/zip"),
        (zip_of("content.xml", last=ODT), ODT),
        (zip_of(*(f"{number:0500}.txt" for number in range(200)), last=ODT), ODT),
        (zip_of("mimetypes.xml", last=ODT), ODT),
        (zip_of("mimetype/a.xml"), "application/zip"),
        (zip_of("content.xml", last=ODT)[:120], "application/zip"),
        (zip_of(*(f"{number:0500}.txt" for number in range(200)), "word/document.xml"), DOCX),
        (zip_of("a.txt", "sword/b.txt"), "application/zip"),
        (zip_of(), "application/zip"),
    ],
)
def test_office_documents_are_recognised_by_zip_members(said: str, body: bytes, found: str) -> None:
    assert decide_type(said, HERE, body).media_type == found


def test_wrong_office_type_is_corrected_by_zip_members() -> None:
    book = zip_of("xl/workbook.xml")

    assert decide_type("application/msword", HERE, book) == Decision(XLSX, "bytes")
    assert decide_type("application/vnd.ms-excel", HERE, b"\xd0\xcf\x11\xe0") == Decision(
        "application/vnd.ms-excel", "header"
    )


@pytest.mark.parametrize(
    ("path", "body", "found"),
    [
        ("style.css", b"p { }", Decision("text/css", "extension")),
        ("app.JS?v=1", b"var x", Decision("text/javascript", "extension")),
        ("data.json", b"{}", Decision("application/json", "extension")),
        ("notes.md", b"# words", Decision("text/markdown", "extension")),
        ("page.html", b"words", Decision("text/html", "extension")),
        ("page.html", b"\0\1", Decision(OCTETS, "default")),  # not text
        ("style.css", b"<html>", Decision("text/html", "bytes")),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", Decision("application/msword", "extension")),
        ("old", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", Decision("application/x-ole-storage", "bytes")),
        ("book.epub", zip_of("a"), Decision("application/epub+zip", "extension")),
        ("files.zip", zip_of("a"), Decision("application/zip", "bytes")),
        ("picture.png", b"\0\1\2", Decision(OCTETS, "default")),  # without the signature of an image
        ("x.djvu", b"\0\1\2", Decision("image/vnd.djvu", "extension")),
        ("v1.2", b"words", Decision("text/plain", "bytes")),
        ("x.exe", b"\0\1\2", Decision(OCTETS, "default")),
        ("x", b"8BPS\0\1\0\0", Decision("image/vnd.adobe.photoshop", "magic")),
        ("x", b"SQLite format 3\0\0", Decision("application/x-sqlite3", "magic")),
        ("x", bytes(3_000), Decision(OCTETS, "default")),
    ],
)
def test_extension_and_puremagic_are_the_fallbacks(path: str, body: bytes, found: Decision) -> None:
    assert decide_type(OCTETS, canonical(at(path)), body) == found


def test_compressed_sitemap_is_gzip() -> None:
    packed = gzip.compress(b"<urlset/>")

    assert decide_type("application/x-gzip", canonical(at("sitemap.xml.gz")), packed).media_type == "application/gzip"
    assert decide_type("text/xml", canonical(at("sitemap.xml.gz")), packed) == Decision("application/gzip", "bytes")


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("", ("", "")),
        ("text/html", ("text/html", "")),
        ("text/html;charset=utf-8", ("text/html", "utf-8")),
        ("text/html; x=y ; Charset = 'Big5'", ("text/html", "Big5")),
        ("nonsense", ("", "")),
        ("; charset=gbk", ("", "gbk")),
        ('text/html; charset="gbk', ("text/html", "gbk")),
        ("text/html; charset='gbk; x=y", ("text/html", "gbk")),
        ('text/html; charset=" gbk "', ("text/html", "gbk")),
        ("text/html; charset=gbk, text/html", ("text/html", "gbk")),
        ('text/html; charset=""', ("text/html", "")),
        ("application/ld+json; profile=x", ("application/ld+json", "")),
    ],
)
def test_content_type_has_a_media_type_and_a_charset(field: str, found: tuple[str, str]) -> None:
    assert parse_content_type(field) == found


def test_received_makes_a_content_of_a_response() -> None:
    headers = (
        ("content-type", "text/html; charset=GBK"),
        ("X-Robots-Tag", "noindex"),
        ("x-robots-tag", "otherbot: nofollow"),
    )

    content = make_content(HERE, headers, b"<p>", truncated=True)

    assert (content.media_type, content.encoding, content.truncated) == ("text/html", "GBK", True)
    assert content.robots == "noindex\notherbot: nofollow"


def test_declared_type_is_final_without_sniffing() -> None:
    assert make_content(HERE, (("Content-Type", "text/html"),), b"%PDF-", sniff=False).media_type == "text/html"
    assert make_content(HERE, (), b"<html>", sniff=False).media_type == OCTETS


@given(
    st.sampled_from(
        ["", OCTETS, "text/html", "text/plain", "text/xml", "application/zip", "image/png", "application/json"]
    ),
    st.sampled_from([b"", b"PK\x03\x04", b"<?xml ", b"<!DOCTYPE x [", b"\xff\xfe", b"RIFF", b"{", b"PK\x05\x06"]),
    st.binary(max_size=2_000),
)
def test_any_bytes_have_a_type(said: str, start: bytes, rest: bytes) -> None:
    found = decide_type(said, canonical(at("x.bin")), start + rest)

    assert "/" in found.media_type
    assert "/" in sniff_type(start + rest)


def test_language_and_robots_headers_are_kept() -> None:
    headers = (
        ("Content-Type", "text/html"),
        ("Content-language", "de"),
        ("X-Robots-Tag", "noindex"),
        ("x-robots-tag", "a: b"),
    )

    content = make_content(canonical("http://a.example/"), headers, b"<p>")

    assert (content.metadata, content.robots) == ({"content-language": "de"}, "noindex\na: b")


def test_zip_member_with_a_mimetype_prefix_is_ignored() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype.txt", ODT)

    assert sniff_type(file.getvalue()) == "application/zip"


@pytest.mark.parametrize(
    "body", [bytes((1, 0, 2, 0, 255, 0, 7, 0)) * 20, b"a\0b\0", b"BLOB\0\0\0\1\0\0\0\2\0\0\0\3" * 9]
)
def test_binary_data_with_zeros_is_not_utf16_text(body: bytes) -> None:
    assert sniff_type(body) == OCTETS
