"""Character encodings: the cases of the HTML standard's sniffing algorithm and some from real pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.parse.encoding import PRESCAN, decode_page, is_utf8, prescan

RUSSIAN = "Серый тюлень плавает вдоль берега и ловит рыбу, а потом спит на тёплых камнях. " * 6
JAPANESE = "灰色アザラシは海岸に沿って泳ぎ、魚を捕まえてから温かい岩の上で眠ります。" * 6
CHINESE = "灰海豹沿着海岸游泳，捕鱼，然后在温暖的岩石上睡觉。这是一个很长的句子。" * 6
KOREAN = "회색 물범은 해안을 따라 헤엄치며 물고기를 잡은 다음 따뜻한 바위에서 잠을 잡니다. " * 6


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<meta charset=utf-8>", "utf-8"),
        (b"<META CHARSET='ISO-8859-1'>", "windows-1252"),
        (b'<meta charset = "shift-jis" >', "shift_jis"),
        (b"<meta/charset=gbk>", "gbk"),
        (b"<meta\n\tcharset=big5\n>", "big5"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">', "euc-kr"),
        (b"<meta content='text/html;charset=koi8-r' http-equiv=content-type>", "koi8-r"),
        (b"<meta http-equiv=content-type content=\"text/html; charset = 'euc-jp' \">", "euc-jp"),
        (b'<meta content="text/html; charset=gbk">', ""),  # needs the http-equiv
        (b'<meta http-equiv=refresh content="0; charset=gbk">', ""),
        (b"<meta name=charset content=gbk>", ""),
        (b"<meta charset=klingon>", ""),
        (b"<meta charset=klingon><meta charset=gbk>", "gbk"),
        (b"<meta charset=gbk charset=big5>", "gbk"),  # the first of repeated attributes counts
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=utf-16be>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<!-- <meta charset=gbk> --><meta charset=big5>", "big5"),
        (b"<!--><meta charset=gbk>", "gbk"),  # the standard lets the dashes overlap
        (b"<!-- <meta charset=gbk>", ""),
        (b"<!doctype <meta charset=gbk>", ""),
        (b"<?xml <meta charset=gbk>", ""),
        (b"</ <meta charset=gbk>", ""),
        (b'<p title="<meta charset=gbk>"><meta charset=big5>', "big5"),
        (b"<p title='<meta charset=gbk>'>", ""),
        (b"</p x='<meta charset=gbk>'>", ""),
        (b"<metadata charset=gbk>", ""),
        (b"<script><meta charset=gbk></script>", "gbk"),  # the prescan does not know elements
        (b"<meta charset=gbk", ""),  # it may continue after the prescanned bytes
        (b"text < 3 <meta charset=gbk>", "gbk"),
        (b"<title>x</title>\n<meta charset='gb18030'/>", "gb18030"),
    ],
)
def test_prescan_follows_the_standard(head: bytes, name: str) -> None:
    assert prescan(head) == name


def test_declaration_after_the_first_kilobyte_is_ignored() -> None:
    body = b" " * PRESCAN + b"<meta charset=koi8-r>" + RUSSIAN.encode("utf-8")

    assert decode_page(body).encoding == "utf-8"


@pytest.mark.parametrize(
    ("body", "http", "name", "why"),
    [
        (b"\xef\xbb\xbf<meta charset=gbk>x", "big5", "utf-8", "bom"),
        ("\ufeffgrau".encode("utf-16-le"), "", "utf-16le", "bom"),
        ("\ufeffgrau".encode("utf-16-be"), "utf-8", "utf-16be", "bom"),
        (b"<meta charset=gbk>x", "Big5", "big5", "http"),
        (b"<meta charset=gbk>x", "klingon", "gbk", "meta"),
        (b"<p>plain", "", "utf-8", "utf-8"),
        ("<p>grüße".encode(), "", "utf-8", "utf-8"),
        ("<html><p>grau</p></html>".encode("utf-16-le"), "", "utf-16le", "detector"),
        ("<html><p>grau</p></html>".encode("utf-16-be"), "", "utf-16be", "detector"),
    ],
)
def test_encoding_evidence_has_an_order_of_precedence(body: bytes, http: str, name: str, why: str) -> None:
    found = decode_page(body, http)

    assert (found.encoding, found.why) == (name, why)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        *(("windows-1251", RUSSIAN), ("koi8-r", RUSSIAN), ("iso-8859-5", RUSSIAN)),
        *(("shift_jis", JAPANESE), ("euc-jp", JAPANESE), ("iso-2022-jp", JAPANESE)),
        *(("gbk", CHINESE), ("gb18030", CHINESE), ("euc-kr", KOREAN), ("utf-8", KOREAN)),
        ("windows-1252", "naïve café – “quoted” €"),
        ("big5", "灰海豹沿著海岸游泳,捕魚,然後在溫暖的岩石上睡覺"),
    ],
)
def test_declared_encoding_is_used(label: str, text: str) -> None:
    body = f"<meta charset={label}><p>{text}".encode(label)

    assert decode_page(body).utf8.decode() == f"<meta charset={label}><p>{text}"


@pytest.mark.parametrize(
    ("label", "text"),
    [("windows-1251", RUSSIAN), ("koi8-r", RUSSIAN), ("shift_jis", JAPANESE), ("euc-jp", JAPANESE), ("gbk", CHINESE)],
)
def test_undeclared_encoding_is_detected(label: str, text: str) -> None:
    found = decode_page(f"<html><body><p>{text}".encode(label))

    assert found.why == "detector"
    assert text in found.utf8.decode()


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1251", "gbk", "shift_jis"])
def test_valid_utf8_overrides_the_declaration(declared: str) -> None:
    body = f"<meta charset={declared}><p>{RUSSIAN}".encode()

    assert decode_page(body).encoding == "utf-8"
    assert decode_page(body, http=declared).encoding == "utf-8"


def test_gbk_that_is_valid_utf8_by_chance_stays_gbk() -> None:
    body = "通通".encode("gbk")
    assert is_utf8(body)

    assert decode_page(body, http="gbk").utf8.decode() == "通通"


def test_mostly_invalid_utf8_declaration_is_ignored() -> None:
    body = "<p>Le café était fermé; où déjeuner à présent? Très étrange, ces drôles de fenêtres.".encode("windows-1252")

    assert decode_page(body, http="utf-8").utf8.decode().startswith("<p>Le café était fermé")


def test_few_invalid_bytes_keep_declared_utf8() -> None:
    body = f"<p>{RUSSIAN}".encode() + b"\xe9"

    found = decode_page(body + b"</p>", http="utf-8")

    assert (found.encoding, found.why) == ("utf-8", "http")
    assert found.utf8.decode().endswith("\ufffd</p>")


def test_page_truncated_within_a_character_is_still_utf8() -> None:
    body = "<p>grüße".encode() + "ü".encode()[:1]

    assert is_utf8(body)
    assert decode_page(body).utf8.decode() == "<p>grüße\ufffd"


def test_utf8_passes_through_unchanged() -> None:
    body = "<p>grüße".encode()

    assert decode_page(body).utf8 is body


def test_declared_utf16_needs_few_ascii_bytes() -> None:
    chinese = "丼亀" * 50  # three bytes of four are ASCII, among them "<"
    cyrillic = "<p>" + "Ъ" * 9 + "grau " * 9

    assert decode_page(chinese.encode("utf-16-le"), http="utf-16le").utf8.decode() == chinese
    assert decode_page(cyrillic.encode("windows-1251"), http="utf-16le").encoding != "utf-16le"


def test_meta_in_plain_text_is_ignored() -> None:
    assert decode_page(b"<meta charset=gbk>", markup=False).encoding == "utf-8"


@given(
    st.binary(max_size=3_000), st.sampled_from(["", "utf-8", "gbk", "utf-16", "iso-2022-jp", "replacement", "é", "x"])
)
def test_result_is_always_valid_utf8(body: bytes, http: str) -> None:
    decode_page(body, http).utf8.decode()


@given(st.binary(max_size=1_024).map(lambda tail: b"<meta " + tail))
def test_prescan_accepts_any_bytes(head: bytes) -> None:
    prescan(head)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("euc-jp", JAPANESE.encode("euc_jp") + b"\xad\xa1 \xad\xea \xfc\xe2\xad\xa2\xa4\xa2"),
        ("iso-2022-jp", JAPANESE.encode("iso2022_jp")[:-3] + b'-!\x1b(B \x1b$B-j\x1b(B \x1b$B|b-"$"\x1b(B'),
    ],
)
def test_vendor_extensions_of_jis_are_decoded(name: str, body: bytes) -> None:
    found = decode_page(b"<p>" + body, name)

    assert (found.encoding, found.replaced) == (name, 0)
    assert found.utf8.decode() == f"<p>{JAPANESE}① ㈱ 髙②あ"


@pytest.mark.parametrize("broken", [b"\xad", b"\xad\xa1\xad", b"\xad\xfe\xad\x21", b"\xf9\xff", b"\x8f\xad\xa1"])
def test_unassigned_jis_codes_become_the_replacement_character(broken: bytes) -> None:
    assert decode_page(JAPANESE.encode("euc_jp") + broken + b"\n", "euc-jp").replaced > 0
