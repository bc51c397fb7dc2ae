"""Documents that mean harm: each comes to its end within bounds."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from datetime import timedelta

import pytest
from tests.parse.documents.made import (
    assembled,
    chain,
    content,
    docx,
    made_of_documents,
    paragraph,
    pdf,
    png,
    read,
    xlsx,
    zipped,
)

from scoter.config import load
from scoter.core.page import Page
from scoter.parse.documents import ooxml
from scoter.parse.documents.archive import MOST_MEMBERS, ByteBudget, UnreadableArchive, ZipArchive
from scoter.parse.documents.image import SVG, ImageParser
from scoter.parse.documents.office import OfficeParser
from scoter.parse.documents.ooxml import SharedStrings
from scoter.parse.documents.pages import MOST_TEXT
from scoter.parse.documents.pdf import PdfParser
from scoter.parse.documents.xmltext import TextLimitReached
from scoter.parse.documents.zip import ZIP, ZipParser
from scoter.parse.filetypes import DOCX, XLSX
from scoter.parse.parser_process import ParserProcess
from scoter.parse.records import Parsed
from scoter.plugins import Setup

MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def process() -> Iterator[ParserProcess]:
    one = ParserProcess(made_of_documents(), timedelta(seconds=60))
    yield one
    one.close()


def unzipped(body: bytes) -> list[Page]:
    settings = load()
    return list(ZipParser(Setup(settings), parsers=chain(settings)).parse(content(body, ZIP)))


def bomb(size: int) -> bytes:
    """Zeros, packed a thousand to one without ever being all there."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    checksum, packed, zeros = 0, bytearray(), bytes(MEBIBYTE)
    for _ in range(size // MEBIBYTE):
        packed += packer.compress(zeros)
        checksum = zlib.crc32(zeros, checksum)
    packed += packer.flush()
    return _archive([("bomb.txt", bytes(packed), size, checksum)])


def _archive(members: list[tuple[str, bytes, int, int]], *, overlapping: bool = False) -> bytes:
    """An archive by hand; overlapping members all are the same bytes."""
    body, entries = bytearray(), bytearray()
    for name, packed, size, checksum in members:
        place = 0 if overlapping else len(body)
        sizes = struct.pack("<IIIHH", checksum, len(packed), size, len(name), 0)
        if not overlapping or not body:
            body += b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0) + sizes + name.encode() + packed
        entries += b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0) + sizes
        entries += struct.pack("<HHHII", 0, 0, 0, 0, place) + name.encode()
    count = min(len(members), 65_535)
    return (
        bytes(body + entries) + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(entries), len(body), 0)
    )


def test_bomb_is_rejected_before_it_fills_memory() -> None:
    body = bomb(96 * MEBIBYTE)
    tracemalloc.start()

    (page,) = unzipped(body)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert page.doubt.startswith("bomb")
    assert most < 64 * MEBIBYTE


def test_bombs_in_archives_in_archives_share_one_budget() -> None:
    inner = zipped({"a.txt": bytes(15 * MEBIBYTE)})
    layer = zipped({f"{number}.zip": inner for number in range(40)})

    pages = unzipped(layer)

    assert len(pages) < 40
    assert pages[0].doubt.startswith("bomb")


def test_overlapping_members_share_one_budget() -> None:
    text = bytes(MEBIBYTE)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    members = [("same", packed, len(text), zlib.crc32(text)) for _ in range(1_000)]
    archive = ZipArchive(_archive(members, overlapping=True), ByteBudget(16 * MEBIBYTE))

    with pytest.raises(UnreadableArchive):
        [archive.read(member) for member in archive.members]


def test_an_archive_with_a_million_names_is_not_opened() -> None:
    with pytest.raises(UnreadableArchive, match="too many members"):
        ZipArchive(b"PK\x01\x02" * (2 * MOST_MEMBERS + 1))


def test_deeply_nested_archive_is_read_up_to_the_limit() -> None:
    body = b"words"
    for number in range(30):
        body = zipped({"a.zip" if number else "a.txt": body})

    pages = unzipped(body)

    assert len(pages) == 2
    assert pages[-1].doubt == "archives are nested too deeply"


def test_members_packed_by_methods_without_bounds_are_not_read() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.txt", bytes(MEBIBYTE))

    (page,) = unzipped(target.getvalue())

    assert page.doubt == "compressed by an unsupported method"


def test_entities_in_a_word_document_are_not_expanded() -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "laugh"}">' for n in range(12))
    laughing = f"<!DOCTYPE x [{entities}]><document><p><r><t>&a11;</t></r></p></document>"

    page = read(OfficeParser, docx("", more={"word/document.xml": laughing}), DOCX)

    assert (page.text, page.doubt) == ("", "damaged: declares entities")


def test_entities_in_a_picture_are_expanded_within_bounds_only() -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "laugh"}">' for n in range(12))

    page = read(ImageParser, f"<!DOCTYPE svg [{entities}]><svg><text>&a11;</text></svg>".encode(), SVG)

    assert len(page.text) <= MOST_TEXT
    assert page.doubt.startswith("damaged")


def test_files_of_this_machine_are_not_read_into_a_document() -> None:
    body = b'<!DOCTYPE svg [<!ENTITY f SYSTEM "file:///etc/passwd">]><svg><text>a&f;b</text></svg>'

    assert "root" not in read(ImageParser, body, SVG).text


def test_repeated_shared_string_is_truncated() -> None:
    rows = "<row>" + '<c t="s"><v>0</v></c>' * 3_000 + "</row>"

    page = read(OfficeParser, xlsx(rows, f"<si><t>{'x' * 10_000}</t></si>"), XLSX)

    assert len(page.text) <= MOST_TEXT
    assert page.doubt.startswith("truncated")


def test_shared_strings_fill_the_limit_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MOST_TEXT", len("ab\ncd\n"))
    strings = SharedStrings()

    def add(text: str) -> None:
        strings.start("t", {})
        strings.data(text)
        strings.end("si")

    add("ab")
    add("cd")

    assert strings.found == ["ab", "cd"]
    with pytest.raises(TextLimitReached):
        add("")


def test_too_deeply_nested_elements_are_damaged() -> None:
    page = read(OfficeParser, docx(paragraph("before") + "<w:p>" * 100_000), DOCX)

    assert page.text == "before"
    assert page.doubt.startswith("damaged")


def test_part_of_zeros_is_rejected() -> None:
    page = read(OfficeParser, docx("", more={"word/document.xml": "<d>" + " " * 70 * MEBIBYTE}), DOCX)

    assert page.doubt != ""
    assert page.text == ""


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/pdf", pdf([f"{n}" for n in range(20)], count=2_000_000_000)),
        ("application/pdf", assembled({1: "<</Pages 2 0 R>>", 2: "<</Kids[2 0 R]/Count 100000>>", 4: "[" * 200_000})),
        (ZIP, bomb(64 * MEBIBYTE)),
        (DOCX, docx(paragraph("x") * 100_000)),
        ("image/png", png(2**31 - 1, 1)),
        ("image/gif", b"GIF89a\xff\xff\xff\xff\xf7\0\0" + bytes(768) + b",\0\0\0\0\xff\xff\xff\xff\0\x08"),
    ],
)
def test_hostile_documents_become_pages_in_the_parser_process(process: ParserProcess, kind: str, body: bytes) -> None:
    outcome = process.parse(content(body, kind))

    assert isinstance(outcome, Parsed), outcome


@pytest.mark.slow
def test_pdf_stream_bomb_affects_only_its_own_document(process: ParserProcess) -> None:
    packed = zlib.compress(b"q " * 10_000_000, 1).decode("latin-1")
    flood = assembled(
        {
            1: "<</Type/Catalog/Pages 2 0 R>>",
            2: "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 5 0 R>>",
            4: "<<>>",
            5: f"<</Length {len(packed)}/Filter/FlateDecode>>stream\n{packed}\nendstream",
        }
    )

    process.parse(content(flood, "application/pdf"))
    after = process.parse(content(pdf(["still here"]), "application/pdf"))

    assert isinstance(after, Parsed)
    assert after.page.text == "still here"


def test_document_parsers_never_parse_in_place() -> None:
    for kind in (PdfParser, OfficeParser, ZipParser, ImageParser):
        assert not hasattr(kind, "in_place")
