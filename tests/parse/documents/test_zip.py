"""Zip archives: members become pages with sound URLs."""

from __future__ import annotations

import io
import zipfile

import pytest
from tests.parse.documents.made import chain, content, docx, paragraph, pdf, zipped

from scoter.config import load
from scoter.core.page import Page
from scoter.core.url import canonical
from scoter.parse.documents.zip import ZIP, ZipParser, member_url
from scoter.plugins import Setup

URL = "http://a.example/d/archive.zip"


def unpacked(body: bytes, *overrides: str, url: str = URL) -> list[Page]:
    settings = load(overrides=overrides)
    parser = ZipParser(Setup(settings), parsers=chain(settings))
    return list(parser.parse(content(body, ZIP, url)))


def test_each_member_that_can_be_read_becomes_a_page() -> None:
    body = zipped(
        {
            "readme.txt": "Read me",
            "sub/page.html": "<title>T</title><p>Words",
            "a.pdf": pdf(["In a PDF"]),
            "b.docx": docx(paragraph("In Word")),
            "blob.bin": bytes(range(256)),
        }
    )

    archive, *members = unpacked(body)

    assert archive.url.text == URL
    assert archive.title == "archive.zip"
    assert archive.text == "readme.txt\nsub/page.html\na.pdf\nb.docx\nblob.bin"
    assert archive.metadata["zip.members"] == "5"
    assert {page.url.text.removeprefix(URL): page.text for page in members} == {
        "!/readme.txt": "Read me",
        "!/sub/page.html": "Words",
        "!/a.pdf": "In a PDF",
        "!/b.docx": "In Word",
    }
    assert all(page.metadata["zip.archive"] == URL for page in members)


def test_an_archive_inside_an_archive_is_read_and_one_deeper_is_not() -> None:
    deepest = zipped({"d.txt": "deepest"})
    inner = zipped({"c.txt": "inner", "deepest.zip": deepest})

    pages = unpacked(zipped({"inner.zip": inner, "a.txt": "outer"}))

    assert [page.url.text.removeprefix(URL) for page in pages] == [
        "",
        "!/inner.zip",
        "!/inner.zip!/c.txt",
        "!/a.txt",
    ]
    assert pages[1].doubt == "archives are nested too deeply"


def test_without_entries_the_archive_holds_what_its_members_say() -> None:
    body = zipped({"a.html": '<title>T</title><p>Words <a href="http://l.example/">l</a>', "b.txt": "more"})

    (page,) = unpacked(body, "parse.entries=0")

    assert page.text == "a.html\nb.txt\n\nT\nWords l\n\nmore"
    assert [link.target.text for link in page.outlinks] == ["http://l.example/"]


def test_members_honour_noindex_and_nofollow() -> None:
    body = zipped({"a.html": '<meta name=robots content=none><p>Words <a href="http://l.example/">l</a>'})

    (page,) = unpacked(body, "parse.entries=0")

    assert (page.text, page.outlinks) == ("a.html", ())


def test_number_of_member_pages_is_limited() -> None:
    pages = unpacked(zipped({f"{number}.txt": "x" for number in range(9)}), "parse.entries=4")

    assert len(pages) == 5
    assert pages[0].doubt.startswith("truncated")


def test_links_to_other_members_are_dropped_since_nobody_can_follow_them() -> None:
    body = zipped({"a/b.html": '<a href="c.html">c</a><a href="http://l.example/">l</a>'})

    pages = unpacked(body)

    assert [link.target.text for link in pages[1].outlinks] == ["http://l.example/"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("../../etc/passwd", "!/etc/passwd"),
        ("/etc/passwd", "!/etc/passwd"),
        ("..\\..\\boot.ini", "!/boot.ini"),
        ("%2e%2e/x", "!/%252e%252e/x"),
        ("a?b#c.txt", "!/a%3Fb%23c.txt"),
        ("a!/b", "!/a%21/b"),
        ("Grün.txt", "!/Gr%C3%BCn.txt"),
        ("a//./b", "!/a/b"),
        ("a\0b", "!/a%00b"),
    ],
)
def test_member_name_cannot_escape_the_archive(name: str, path: str) -> None:
    url = member_url(canonical(URL), name)

    assert url is not None
    assert url.text == URL + path
    assert canonical(url.text) == url


@pytest.mark.parametrize("name", ["", "..", "/", "../..", ". /", "\ud800" * 2_000])
def test_meaningless_member_name_has_no_url(name: str) -> None:
    assert member_url(canonical(URL), name) is None


def test_the_query_of_an_archive_stays_behind_the_names_of_members() -> None:
    pages = unpacked(zipped({"a.txt": "x"}), url="http://a.example/get?id=3")

    assert pages[1].url.text == "http://a.example/get!/a.txt?id=3"


def test_utf_8_member_name_is_decoded_regardless_of_its_flag() -> None:
    for name in ("übung.txt", "日本.txt"):
        body = zipped({"x" * len(name.encode()): "words"}).replace(b"x" * len(name.encode()), name.encode())

        archive, member = unpacked(body)

        assert archive.text == name
        assert member.url == member_url(archive.url, name)


def _with_names(names: list[str], encoding: str) -> bytes:
    """Return an archive whose names are in an encoding, as programs write them that know nothing of its flag."""
    raw = [name.encode(encoding) for name in names]
    signs = [letter * len(name) for letter, name in zip("xyz", raw, strict=False)]
    body = zipped(dict.fromkeys(signs, "words"))
    for sign, name in zip(signs, raw, strict=True):
        body = body.replace(sign.encode(), name)
    return body


@pytest.mark.parametrize(
    ("names", "encoding"),
    [
        (["資料/報告書.txt", "写真1.txt"], "cp932"),
        (["使用说明.txt"], "gbk"),
        (["보고서.txt", "사진/여름.txt"], "euc-kr"),
        (["Übung.txt", "Größe/Straße.txt"], "cp437"),
        (["été.txt", "Noël.txt"], "cp437"),
    ],
)
def test_names_without_a_flag_are_read_as_windows_writes_them(names: list[str], encoding: str) -> None:
    assert unpacked(_with_names(names, encoding))[0].text.splitlines() == names


def test_truncated_archive_is_reported() -> None:
    body = zipped({"a.txt": "words", "b.txt": "words"})

    assert unpacked(body[: len(body) // 2])[0].doubt == "damaged: the end of the file is missing"


def test_first_of_two_members_with_one_name_becomes_a_page() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("a.txt", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.txt", "second")

    assert [page.text for page in unpacked(target.getvalue())[1:]] == ["first"]


def test_member_with_wrong_checksum_is_skipped_and_reported() -> None:
    body = zipped({"bad.txt": "some words", "good.txt": "others"}, stored=True).replace(b"some words", b"some w0rds")

    pages = unpacked(body)

    assert [page.text for page in pages[1:]] == ["others"]
    assert "CRC" in pages[0].doubt


def test_encrypted_member_is_skipped_and_reported() -> None:
    body = bytearray(zipped({"a.txt": "secret"}))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1

    (page,) = unpacked(bytes(body))

    assert (page.doubt, page.text) == ("encrypted", "a.txt")


def test_member_without_name_is_ignored() -> None:
    body = zipped({"Q": "words", "b.txt": "others"}, stored=True).replace(b"Q", b"\0")

    assert [page.text for page in unpacked(body)[1:]] == ["others"]


def test_the_parsers_that_the_configuration_names_read_the_members() -> None:
    pages = ZipParser(Setup(load())).parse(content(zipped({"a.txt": "words"}), ZIP, URL))

    assert [page.text for page in pages] == ["a.txt", "words"]


@pytest.mark.parametrize("body", [b"", b"words"])
def test_non_archive_yields_no_page(body: bytes) -> None:
    assert unpacked(body) == []


def test_an_archive_without_its_end_is_a_doubted_page() -> None:
    (page,) = unpacked(zipped({"a.txt": "words"})[:-30])

    assert page.doubt.startswith("damaged")


def test_x_robots_tag_applies_to_members() -> None:
    settings = load()
    parser = ZipParser(Setup(settings), parsers=chain(settings))

    pages = parser.parse(content(zipped({"a.txt": "x"}), ZIP, URL, robots="noindex"))

    assert [page.noindex for page in pages] == [True, True]
