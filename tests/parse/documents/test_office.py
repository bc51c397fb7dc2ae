"""Office documents: paragraphs, tables, sheets, slides and links."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.parse.documents.made import docx, odt, paragraph, parsed, pptx, read, xlsx, zipped

from scoter.parse.documents.office import OfficeParser
from scoter.parse.filetypes import PPTX, XLSX


def test_paragraphs_are_lines_and_words_parted_by_runs_stay_whole() -> None:
    page = read(OfficeParser, docx("<w:p><w:r><w:t>un</w:t></w:r><w:r><w:t>real</w:t></w:r></w:p>" + paragraph("Two")))

    assert page.text == "unreal\nTwo"


def test_document_properties_become_metadata() -> None:
    page = read(OfficeParser, docx(paragraph("x")))

    assert page.title == "The title"
    assert page.language == "en-GB"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann Bee", "Cy Dee"]
    assert page.about.description == "What it is"
    assert page.about.keywords == ("one", "two")
    assert page.about.published == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert page.about.modified == datetime(2024, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert page.about.sources["authors"] == "dublincore"


def test_table_row_is_a_line_with_tabs_between_cells() -> None:
    cell = "<w:tc>{}</w:tc>"
    row = f"<w:tr>{cell.format(paragraph('a') + paragraph('b'))}{cell.format(paragraph('c'))}</w:tr>"

    page = read(OfficeParser, docx(f"<w:tbl>{row}{row}</w:tbl>" + paragraph("after")))

    assert page.text == "a b\tc\na b\tc\nafter"


def test_links_come_from_relationships_and_from_both_kinds_of_fields() -> None:
    body = (
        '<w:p><w:hyperlink r:id="x"><w:r><w:t>by </w:t></w:r><w:r><w:t>relationship</w:t></w:r></w:hyperlink></w:p>'
        '<w:p><w:fldSimple w:instr=" HYPERLINK &quot;http://s.example/&quot; "><w:r><w:t>simple</w:t></w:r>'
        '</w:fldSimple></w:p><w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        '<w:r><w:instrText>HYPERLINK \\o "http://c.</w:instrText></w:r><w:r><w:instrText>example/"</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>complex</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>'
    )

    page = read(OfficeParser, docx(body, [("x", "hyperlink", "http://r.example/")]))

    assert [(link.target.text, link.anchor) for link in page.outlinks] == [
        ("http://r.example/", "by relationship"),
        ("http://s.example/", "simple"),
        ("http://c.example/", "complex"),
    ]
    assert page.text == "by relationship\nsimple\ncomplex"


def test_ampersand_in_an_attribute_is_unescaped_once() -> None:
    by_field = "<w:fldSimple w:instr=' HYPERLINK \"http://f.example/?a=1&amp;b=&amp;amp;\" '><w:r><w:t>f</w:t></w:r>"
    body = f'<w:p><w:hyperlink r:id="x"><w:r><w:t>r</w:t></w:r></w:hyperlink>{by_field}</w:fldSimple></w:p>'

    page = read(OfficeParser, docx(body, [("x", "hyperlink", "http://r.example/?a=1&amp;b=2")]))

    assert [link.target.text for link in page.outlinks] == [
        "http://r.example/?a=1&b=2",
        "http://f.example/?a=1&b=&amp;",
    ]


def test_deleted_text_and_fallbacks_are_skipped() -> None:
    body = (
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>"
        "<AlternateContent><Choice><w:r><w:t>new</w:t></w:r></Choice><Fallback><w:r><w:t>old</w:t></w:r></Fallback>"
        "</AlternateContent>"
    )

    assert read(OfficeParser, docx(body)).text == "kept\nnew"


def test_notes_headers_and_footers_follow_the_text() -> None:
    part = '<w:x xmlns:w="w"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:x>'
    more = {"word/footnotes.xml": part.format("a note"), "word/header1.xml": part.format("a header")}

    page = read(
        OfficeParser,
        docx(paragraph("text"), [("h", "header", "header1.xml"), ("f", "footnotes", "footnotes.xml")], more),
    )

    assert page.text == "text\n\na note\n\na header"


def test_sheets_come_in_the_order_of_the_workbook_with_their_names() -> None:
    rows = (
        '<row><c t="s"><v>1</v></c><c><v>4.5</v></c></row>'
        '<row><c t="inlineStr"><is><t>in line</t></is></c><c t="s"><v>99</v></c></row>'
        '<row><c t="str"><f>HYPERLINK("http://f.example/","Go")</f><v>Go</v></c></row>'
    )
    strings = "<si><t>zero</t></si><si><r><t>o</t></r><r><t>ne</t></r><rPh><t>wan</t></rPh></si>"

    page = read(OfficeParser, xlsx(rows, strings), XLSX)

    assert page.text == "Second\none\t4.5\nin line\nGo\n\nFirst"
    assert [(link.target.text, link.anchor) for link in page.outlinks] == [
        ("http://f.example/", "Go"),
        ("http://h.example/", "shown"),
    ]


def test_slides_come_in_the_order_of_the_presentation_with_their_notes() -> None:
    run = "<a:p><a:r><a:rPr>{}</a:rPr><a:t>{}</a:t></a:r></a:p>"
    slides = [run.format("", "File one"), run.format('<a:hlinkClick r:id="l"/>', "File two")]

    page = read(OfficeParser, pptx(slides, notes="Say this"), PPTX)

    assert page.text == "File two\nSay this\n\nFile one\nSay this"
    assert [(link.target.text, link.anchor) for link in page.outlinks] == [("http://l.example/", "File two")]


def test_an_open_document_is_read_with_its_tables_and_links() -> None:
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h>"
        '<text:p>Some<text:s/><text:a xlink:href="http://l.example/"><text:span>link</text:span>ed</text:a> text'
        "</text:p>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
    )

    page = read(OfficeParser, odt(body), "application/vnd.oasis.opendocument.text")

    assert page.text == "Head\nSome linked text\na\tb"
    assert [(link.target.text, link.anchor) for link in page.outlinks] == [("http://l.example/", "linked")]
    assert page.title == "A title"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann"]
    assert page.about.keywords == ("k1", "k2")


def test_sheets_of_an_open_document_have_their_names() -> None:
    row = "<table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    sheets = [f'<table:table table:name="{name}">{row.format(name.lower())}</table:table>' for name in ("One", "Two")]

    page = read(OfficeParser, odt(f"<office:spreadsheet>{''.join(sheets)}</office:spreadsheet>"))
    assert page.text == "One\none\n\nTwo\ntwo"

    page = read(OfficeParser, odt(f"<office:text>{sheets[0]}</office:text>"))
    assert page.text == "one"


def test_notes_of_an_open_document_follow_its_text_and_comments_are_not_read() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>By Ann</text:p></text:note-body>"
    )
    comment = "<office:annotation><dc:creator>Eve</dc:creator><dc:date>2024</dc:date><text:p>why?</text:p>"
    body = f"<text:p>Seals{note}</text:note> swim{comment}</office:annotation> in <text:date>May</text:date>.</text:p>"

    page = read(OfficeParser, odt(body), "application/vnd.oasis.opendocument.text")

    assert page.text == "Seals swim in May.\nBy Ann"


def test_encrypted_open_document_is_reported() -> None:
    assert read(OfficeParser, odt("<text:p>x</text:p>", "<m><encryption-data/></m>")).doubt == "encrypted"


def test_encrypted_word_document_in_a_compound_file_is_reported() -> None:
    body = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")

    assert read(OfficeParser, body).doubt == "encrypted"


def test_an_archive_without_a_document_in_it_is_damaged() -> None:
    assert read(OfficeParser, zipped({"a.txt": "x"})).doubt == "damaged: no document in it"


@pytest.mark.parametrize("body", [b"", b"words", bytes(2000)])
def test_non_archive_yields_no_page(body: bytes) -> None:
    assert parsed(OfficeParser, body) == ()


def test_text_before_broken_xml_is_kept_and_the_page_doubted() -> None:
    page = read(OfficeParser, docx(paragraph("before") + "<w:p><w:r><w:t>then</w:x>"))

    assert page.text.startswith("before")
    assert page.doubt.startswith("damaged: Opening and ending tag mismatch")


def test_macro_enabled_types_are_read_too() -> None:
    kinds = OfficeParser.media_types

    assert sum("macroenabled" in kind for kind in kinds) >= 6
    assert all(kind == kind.lower() for kind in kinds)
