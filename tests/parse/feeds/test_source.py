"""Documents brought into one form: what they declare is gone, common faults are mended."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import seconds_of

from scoter.parse.feeds.source import HEAD, PIECE, XmlSource


def whole(body: str | bytes, charset: str = "", most: int = 2**26) -> str:
    source = XmlSource(body.encode() if isinstance(body, str) else body, charset, most=most)
    return b"".join(source.pieces()).decode()


@pytest.mark.parametrize(
    "prolog",
    [
        '<?xml version="1.0"?>',
        "\ufeff \n<!-- <not the=root> -->",
        "<!DOCTYPE rss SYSTEM 'a>b'>",
        "<!DOCTYPE a [<!ENTITY b '>]'> <!-- ]> --> <?p ]> ?>] >",
        "<!doctype a><!DOCTYPE b [<!ENTITY c 'd'>]>",
        "Warning: something at line 3\n<?xml version='1.0'?>",
    ],
)
def test_prolog_is_removed(prolog: str) -> None:
    assert whole(prolog + "<a>b</a>") == "<a>b</a>"


@pytest.mark.parametrize("prolog", ["<!DOCTYPE a [<!ENTITY b 'c'>", "<!DOCTYPE a [<!ENTITY b 'c>]>", "<!--", "<?xml "])
def test_unterminated_prolog_leaves_nothing(prolog: str) -> None:
    source = XmlSource(f"{prolog}<a>b</a>".encode())
    assert (source.root, b"".join(source.pieces())) == ("", b"")


def test_huge_prolog_is_not_read_completely() -> None:
    source = XmlSource(b"<!--" + b" " * 2 * HEAD + b"--><a/>")
    assert source.root == ""
    assert "root" in source.doubt


def test_the_root_is_known_by_its_local_name() -> None:
    assert [XmlSource(body).root for body in (b"<RSS>", b"<x:urlset xmlns:x='y'>", b"<a", b"words", b"")] == [
        "rss",
        "urlset",
        "a",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("<a>?x=1&y=2&amp;z</a>", "<a>?x=1&amp;y=2&amp;z</a>"),
        ("<a>caf&eacute;&nbsp;&own;</a>", "<a>café\xa0&amp;own;</a>"),
        ("<a>&AMP;&LT;&lt;&#65;&#x41;&#0;&#xD800;</a>", "<a>&amp;&lt;&lt;&#65;&#x41;\ufffd\ufffd</a>"),
        ("<a><![CDATA[x&y&eacute;]]>&</a>", "<a><![CDATA[x&y&eacute;]]>&amp;</a>"),
        ("<a>\x00\x08b\x1f</a>", "<a>b</a>"),
    ],
)
def test_common_xml_faults_are_repaired(broken: str, mended: str) -> None:
    assert whole(broken) == mended


@pytest.mark.parametrize("mark", ["&eacute;", "&", "<![CDATA[&eacute;]]>", "é", "&#233;"])
def test_chunk_boundaries_do_not_change_the_result(mark: str) -> None:
    expected = whole(f"<a>{mark}x</a>")[3:-4]
    for before in range(PIECE - 24, PIECE + 2):
        filling = "x" * before
        assert whole(f"<a>{filling}{mark}x</a>") == f"<a>{filling}{expected}</a>"


@pytest.mark.parametrize(
    ("body", "charset", "encoding"),
    [
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>".encode("latin-1"), "", "windows-1252"),
        ("<?xml version='1.0' encoding='Shift_JIS'?><a>海鳥は海の鳥です</a>".encode("shift_jis"), "", "shift_jis"),
        ("<?xml version='1.0' encoding='utf-8'?><a>海鳥は海の鳥です</a>".encode("euc-jp"), "euc-jp", "euc-jp"),
        ("<?xml version='1.0' encoding='gb2312'?><a>海鸟是海的鸟\U0001f426</a>".encode("gb18030"), "", "gbk"),
        ("<?xml version='1.0' encoding='utf-16'?><a>é</a>".encode("utf-16"), "", "utf-16le"),
        ("<a>é</a>".encode("utf-16be"), "", "utf-16be"),
        ("<a>é</a>".encode(), "nonsense", "utf-8"),
    ],
)
def test_an_encoding_is_found_in_the_header_the_declaration_and_the_bytes(
    body: bytes, charset: str, encoding: str
) -> None:
    source = XmlSource(body, charset)
    text = b"".join(source.pieces()).decode()
    assert (source.encoding, text.startswith("<a>")) == (encoding, True)
    assert "\ufffd" not in text


def test_gzip_is_unpacked_member_by_member() -> None:
    packed = gzip.compress(b"<a>" + b"x" * 200_000) + gzip.compress(b"y</a>") + bytes(512)
    source = XmlSource(packed)
    assert b"".join(source.pieces()) == b"<a>" + b"x" * 200_000 + b"y</a>"
    assert source.doubt == ""


def test_truncated_or_damaged_gzip_yields_its_beginning() -> None:
    packed = gzip.compress(b"<a>" + bytes(range(33, 127)) * 2_000)
    cut = XmlSource(packed[:-9])
    damaged = XmlSource(packed[:-8] + b"12345678")
    assert b"".join(cut.pieces()).startswith(b"<a>")
    assert b"".join(damaged.pieces()).startswith(b"<a>")
    assert (cut.doubt, damaged.doubt) == ("the gzip file ends too early", "the gzip file is damaged")


def test_bomb_is_decompressed_up_to_the_limit() -> None:
    bomb = gzip.compress(b"<a>" + bytes(20_000_000), 1)
    source = XmlSource(bomb, most=1_000_000)
    assert len(b"".join(source.pieces())) <= 1_000_000
    assert "977 KiB" in source.doubt
    assert seconds_of(lambda: sum(1 for _ in XmlSource(bomb, most=1_000_000).pieces())) < 1


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_error(body: bytes) -> None:
    for each in (body, b"<a>" + body, gzip.compress(body)):
        b"".join(XmlSource(each).pieces()).decode()


def test_endless_escape_sequences_are_read() -> None:
    # Found by a fuzzer: Python's decoder of ISO-2022-JP fails on it.
    body = b"<?" + b"x" * 29 + b"\x1b$B" * 375 + b"\x1b$\xd1,\xc3\xab\x8b\xea`\xda"

    assert "x" not in whole(body)
