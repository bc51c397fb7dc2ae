"""Pictures: sizes and what they say, without decoding a pixel."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from PIL import Image
from tests.parse.documents.made import parsed, png, read

from scoter.config import load
from scoter.parse.chain import ParserChain
from scoter.parse.documents.image import SVG, ImageParser

_XMP = (
    '<?xpacket begin="\ufeff"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:xmp="http://ns.adobe.com/xap/1.0/"><rdf:Description xmp:CreateDate="2024-02-03T04:05:06Z">'
    "<dc:title><rdf:Alt><rdf:li>A &amp; title</rdf:li></rdf:Alt></dc:title>"
    "<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>Bob</rdf:li></rdf:Seq></dc:creator>"
    "<dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li>sky</rdf:li></rdf:Bag></dc:subject>"
    '</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
).encode()


def _saved(form: str, **options: object) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (30, 20)).save(target, form, **options)
    return target.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_the_size_of_a_picture_is_read_from_its_head(form: str) -> None:
    page = read(ImageParser, _saved(form), f"image/{form.lower()}")

    assert (page.metadata["image.width"], page.metadata["image.height"]) == ("30", "20")
    assert page.metadata["image.format"] == form
    assert page.doubt == ""


def test_exif_tells_what_is_seen_who_made_it_and_when() -> None:
    exif = Image.Exif()
    exif[0x010E], exif[0x013B], exif[0x8298] = "A boat", "Ann Bee", "(c) Ann"
    exif.get_ifd(0x8769)[0x9003] = "2024:02:03 04:05:06"
    exif.get_ifd(0x8769)[0x9011] = "+01:00"
    exif[0x9C9B] = "The title".encode("utf-16-le")

    page = read(ImageParser, _saved("JPEG", exif=exif), "image/jpeg")

    assert (page.title, page.text) == ("The title", "A boat")
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann Bee"]
    assert page.about.published == datetime(2024, 2, 3, 3, 5, 6, tzinfo=UTC)
    assert page.metadata["image.copyright"] == "(c) Ann"


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "TIFF"])
def test_xmp_takes_precedence(form: str) -> None:
    options: dict[str, object] = {"xmp": _XMP} if form != "TIFF" else {"tiffinfo": {700: _XMP}}

    page = read(ImageParser, _saved(form, **options), f"image/{form.lower()}")

    assert page.title == "A & title"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann", "Bob"]
    assert page.about.keywords == ("sea", "sky")
    assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_the_texts_of_a_png_are_its_title_and_description() -> None:
    body = png(7, 5, (b"tEXt", b"Title\0A title"), (b"iTXt", "Description\0\0\0\0\0Grün".encode()))

    page = read(ImageParser, body, "image/png")

    assert (page.title, page.text) == ("A title", "Grün")


def test_huge_declared_image_size_allocates_nothing_and_is_doubted() -> None:
    page = read(ImageParser, png(2**31 - 1, 2**31 - 1), "image/png")

    assert page.doubt.startswith("bomb")


def test_decompression_bomb_in_png_text_is_not_read() -> None:
    import zlib

    page = read(ImageParser, png(7, 5, (b"zTXt", b"Title\0\0" + zlib.compress(b"x" * 50_000_000, 9))), "image/png")

    assert len(page.title) <= 1_000


@pytest.mark.parametrize("body", [b"", b"words", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"])
def test_non_image_yields_no_page_or_a_doubt(body: bytes) -> None:
    assert all(page.doubt for page in parsed(ImageParser, body, "image/png"))


def test_svg_has_title_text_links_and_size() -> None:
    body = (
        b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]>'
        b'<svg xmlns="&ns;" xmlns:xlink="http://www.w3.org/1999/xlink" width="12.5px" height="10" viewBox="0 0 1 1">'
        b"<title>A chart</title><desc>Of sales</desc><g><title>tip</title></g><text>Up <tspan>and</tspan> up</text>"
        b'<a xlink:href="/more"><text>More</text></a><image href="photo.jpg"/><script>no()</script></svg>'
    )

    page = read(ImageParser, body, SVG)

    assert (page.title, page.text) == ("A chart", "Up and up\nMore")
    assert page.about is not None
    assert page.about.description == "Of sales"
    assert (page.metadata["image.width"], page.metadata["image.height"]) == ("12", "10")
    assert [(link.target.text, link.anchor, link.kind) for link in page.outlinks] == [
        ("http://a.example/more", "More", "a"),
        ("http://a.example/files/photo.jpg", "", "img"),
    ]


def test_svg_links_are_read_to_a_depth_of_32() -> None:
    depth = 40
    opening = "".join(f'<a href="/{number}">' for number in range(depth))

    page = read(ImageParser, f"<svg>{opening}{'</a>' * depth}</svg>".encode(), SVG)

    assert {link.target.text for link in page.outlinks} == {f"http://a.example/{number}" for number in range(32)}


def test_svg_size_falls_back_to_the_view_box() -> None:
    page = read(ImageParser, b'<svg width="100%" viewBox="0 0 640 480"/>', SVG)

    assert (page.metadata["image.width"], page.metadata["image.height"]) == ("640", "480")


def test_xml_of_another_kind_is_no_picture() -> None:
    assert parsed(ImageParser, b"<rss><title>x</title></rss>", SVG) == ()


def test_svg_is_parsed_as_an_image_rather_than_xml() -> None:
    assert [name for name, _ in ParserChain.of(load()).parsers(SVG)] == ["image"]
    assert [name for name, _ in ParserChain.of(load(overrides=['parse.parsers=["xml"]'])).parsers(SVG)] == ["xml"]


def test_time_zone_from_xmp_is_not_added_twice() -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2024:02:03 05:05:06"
    exif.get_ifd(0x8769)[0x9011] = "+01:00"
    told = _XMP.replace(b"2024-02-03T04:05:06Z", b"2024-02-03T05:05:06+01:00")

    for packet in (told, told.replace(b"06+01:00", b"06")):
        page = read(ImageParser, _saved("JPEG", exif=exif, xmp=packet), "image/jpeg")
        assert page.about is not None
        assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_default_language_of_a_title_is_preferred() -> None:
    items = b'<rdf:li xml:lang="de-DE">Ein Titel</rdf:li><rdf:li xml:lang="x-default">A title</rdf:li>'
    packet = _XMP.replace(b"<rdf:li>A &amp; title</rdf:li>", items)

    assert read(ImageParser, _saved("JPEG", xmp=packet), "image/jpeg").title == "A title"

    packet = packet.replace(b"x-default", b"en-GB")
    assert read(ImageParser, _saved("JPEG", xmp=packet), "image/jpeg").title == "Ein Titel"


def test_iptc_tells_what_exif_does_not() -> None:
    sets = {
        5: "Seals",
        25: "sea",
        55: "20240203",
        60: "050506+0100",
        80: "Ann Bee",
        116: "(c) Ann",
        120: "Café am Meer",
    }
    values = [(number, value.encode()) for number, value in sets.items()] + [(25, b"sky")]
    block = b"".join(bytes((0x1C, 2, number)) + len(value).to_bytes(2) + value for number, value in values)
    resource = b"8BIM\x04\x04\0\0" + len(block).to_bytes(4) + block + b"\0" * (len(block) % 2)
    marker = b"Photoshop 3.0\0" + resource
    body = _saved("JPEG")
    page = read(ImageParser, body[:2] + b"\xff\xed" + (len(marker) + 2).to_bytes(2) + marker + body[2:], "image/jpeg")

    assert (page.title, page.text) == ("Seals", "Café am Meer")
    assert page.metadata["image.copyright"] == "(c) Ann"
    assert page.about is not None
    assert ([each.name for each in page.about.authors], page.about.keywords) == (["Ann Bee"], ("sea", "sky"))
    assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_tiff_capture_time_is_read() -> None:
    exif = {0x9003: "2024:02:03 05:05:06", 0x9011: "+01:00"}

    page = read(ImageParser, _saved("TIFF", tiffinfo={0x8769: exif}), "image/tiff")

    assert page.about is not None
    assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize("said", ["Sat, 3 Feb 2024 05:05:06 +0100", "3 Feb 2024 04:05:06 GMT", "2024-02-03T04:05:06Z"])
def test_png_creation_time_in_mail_date_format_is_read(said: str) -> None:
    page = read(ImageParser, png(3, 2, (b"tEXt", b"Creation Time\0" + said.encode())), "image/png")

    assert page.about is not None
    assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
