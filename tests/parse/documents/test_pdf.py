"""PDF documents: what is read of sound ones, of damaged ones, and of those that mean harm."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.parse.documents.made import assembled, parsed, pdf, read

from scoter.parse.documents.pdf import MOST_PAGES, PdfParser, pdf_date


def test_each_page_is_a_block_of_text() -> None:
    assert read(PdfParser, pdf(["First page", "Second page"])).text == "First page\n\nSecond page"


def test_document_title_and_authors_are_read() -> None:
    info = {
        "Title": "A title",
        "Author": "Ann Bee; Cy Dee",
        "Subject": "On things",
        "Keywords": "one, two",
        "CreationDate": "D:20240203040506+01'00'",
        "ModDate": "D:20240304",
    }

    page = read(PdfParser, pdf(["Words"], info, catalogue="/Lang(en-GB)"))

    assert page.title == "A title"
    assert page.language == "en-GB"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann Bee", "Cy Dee"]
    assert page.about.description == "On things"
    assert page.about.keywords == ("one", "two")
    assert page.about.published == datetime(2024, 2, 3, 3, 5, 6, tzinfo=UTC)
    assert page.about.modified == datetime(2024, 3, 4, tzinfo=UTC)
    assert page.about.sources["title"] == "content"
    assert page.metadata["pdf.pages"] == "1"
    assert page.doubt == ""


def test_xmp_complements_document_information() -> None:
    packet = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" {}>'
        '<rdf:Description xmp:CreateDate="2024-02-03T04:05:06Z"><dc:title><rdf:Alt><rdf:li>{}</rdf:li></rdf:Alt>'
        "</dc:title><dc:creator><rdf:Seq><rdf:li>Ann Bee</rdf:li><rdf:li>Cy Dee</rdf:li></rdf:Seq></dc:creator>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    own = packet.format('xmlns:pdf="http://ns.adobe.com/pdf/1.3/"', "A title").encode()
    picture = packet.format("", "A picture").encode()

    def with_xmp(info: dict[str, str]) -> bytes:
        return pdf(["Words"], info) + b"\n" + own + picture

    page = read(PdfParser, with_xmp({"Author": "Bob"}))

    assert page.title == "A title"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Bob"]
    assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert read(PdfParser, with_xmp({"Title": "Another"})).title == "Another"
    assert read(PdfParser, pdf(["Words"]) + picture).title == ""


def test_links_are_taken_from_annotations_and_from_the_text() -> None:
    page = read(PdfParser, pdf(["Click here", "See http://t.example/b, too"], link="http://l.example/a"))

    assert [(link.target.text, link.anchor, link.kind) for link in page.outlinks] == [
        ("http://l.example/a", "Click here", "a"),
        ("http://t.example/b", "", "text"),
    ]


def test_a_relative_link_is_joined_to_the_url_of_the_document() -> None:
    page = read(PdfParser, pdf(["x"], link="../other.pdf"))

    assert [link.target.text for link in page.outlinks] == ["http://a.example/other.pdf"]


def test_x_robots_tag_applies_to_documents() -> None:
    (page,) = parsed(PdfParser, pdf(["x"]), robots="noindex, nofollow")

    assert (page.noindex, page.nofollow, page.noarchive) == (True, True, False)


def test_password_protected_document_is_reported() -> None:
    page = read(PdfParser, pdf(["secret"], encrypted=True))

    assert (page.doubt, page.text) == ("encrypted", "")


def test_truncated_document_is_read_as_far_as_possible() -> None:
    whole = pdf(["First", "Second", "Third"])

    page = read(PdfParser, whole[: len(whole) * 2 // 3])

    assert page.text.startswith("First") or page.doubt.startswith("damaged")


def test_signature_without_document_is_damaged() -> None:
    assert read(PdfParser, b"%PDF-1.7\n" + b"\0" * 100).doubt.startswith("damaged")


@pytest.mark.parametrize("body", [b"", b"words", b"<html>"])
def test_non_pdf_yields_no_page(body: bytes) -> None:
    assert parsed(PdfParser, body) == ()


def test_document_with_missing_pages_is_abandoned_early() -> None:
    page = read(PdfParser, pdf(["only one"], count=100_000))

    assert page.text.startswith("only one")
    assert page.doubt != ""


def test_only_the_first_pages_of_a_huge_pdf_are_read() -> None:
    page = read(PdfParser, pdf([f"p{number}" for number in range(MOST_PAGES + 5)]))

    assert page.text.endswith(f"p{MOST_PAGES - 1}")
    assert page.doubt == f"truncated: only {MOST_PAGES} of {MOST_PAGES + 5} pages are read"


def test_cyclic_page_tree_terminates() -> None:
    looped = assembled({1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>", 4: "<<>>"})

    page = read(PdfParser, looped)

    assert page.doubt.startswith("damaged")


def test_deeply_nested_pdf_arrays_are_survived() -> None:
    deep = assembled({1: f"<</Type/Catalog/Pages 2 0 R/X {'[' * 100_000}>>", 2: "<</Kids[]/Count 0>>", 4: "<<>>"})

    assert len(parsed(PdfParser, deep)) == 1


@pytest.mark.parametrize("text", ["", "D:", "D:99999999", "D:20241301", "D:20240101000000+99'99'", "2024-01-01x"])
def test_odd_date_never_raises(text: str) -> None:
    assert pdf_date(text) is None or isinstance(pdf_date(text), datetime)
