"""EUC-JP, ISO-2022-JP and Big5 are decoded as the Encoding standard says, where Python's codecs differ from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.parse.encoding import decode_page
from scoter.parse.feeds.source import XmlSource
from scoter.parse.legacy_encodings import WEB_CODECS

# By the indexes and decoders of the standard, checked against encoding_rs for all pairs of bytes.
TEXTS = [
    ("euc-jp", b"\xa1\xc1\xa1\xc2\xa1\xdd\xa1\xf1\xa1\xf2\xa2\xcc", "～∥－￠￡￢"),
    ("euc-jp", b"\x8f\xa2\xb7~\x8e\xb1\x8f\xb0\xa1", "～~ｱ丂"),
    ("euc-jp", b"\xad\xa1\xad\xea\xfc\xe2\xf9\xa1", "①㈱髙纊"),
    ("euc-jp", b"\xa4<b>\xa4\xa2", "\ufffd<b>あ"),
    ("euc-jp", b"\xa4\x80a\xff\xa4\xa2\x8f\xa1<\x8e\xe0a\xa4", "\ufffda\ufffdあ\ufffd<\ufffda\ufffd"),
    ("iso-2022-jp", b"\x1b$B!A!B!]-!\x1b(B~\\", "～∥－①~\\"),
    ("iso-2022-jp", b"\x1b(J\\~a\x1b(I1\x1b$@0!\x1b(B", "¥‾aｱ亜"),
    ("iso-2022-jp", b"\x1b$B$\x1b(B<\x0e\x80", "\ufffd<\ufffd\ufffd"),
    ("iso-2022-jp", b"\x1b$B\x1b(Ba\x1b$(D", "\ufffda\ufffd$(D"),
    ("iso-2022-jp", b'\x1b$B$"\n0!!', "あ\ufffd亜\ufffd"),
    ("big5", b"\xa1\x45\xa1\x4e\xa1\xc2\xa1\xe3\xa1\xf2\xa1\xf3", "‧﹑¯～⊕⊙"),
    ("big5", b"\xa2\x41\xa2\x42\xa1\xfe\xa2\x40\xa2\x44\xa2\x46\xa2\x47", "∕﹨／＼￥￠￡"),
    ("big5", b"\xa3\xe1\x87\x7a\x87\xdf\xfb\x48\xfe\xdd\xc6\xdf", "€㡵鿋嘅砉仝"),
    ("big5", b"\x88\x62\x88\xa5", "Ê̄ê̌"),
    ("big5", b"\xa4<b>\x81\x40\x80\xff", "\ufffd<b>\ufffd@\ufffd\ufffd"),
    ("big5", b"\xf8\xa2\x41\xa2\x41\xa4", "齰A∕\ufffd"),
]


@pytest.mark.parametrize(("name", "body", "text"), TEXTS)
def test_text_is_decoded_as_by_the_standard(name: str, body: bytes, text: str) -> None:
    assert WEB_CODECS[name].decode(body)[0] == text


def test_page_is_decoded_as_by_the_standard() -> None:
    found = decode_page(b"<p>\xa1\xc1\xa1\xdd\xa4\xa2", "euc-jp")

    assert found.utf8.decode() == "<p>～－あ"


@pytest.mark.parametrize(
    ("name", "text"),
    [("euc-jp", b"\xa1\xc1\xad\xa1"), ("iso-2022-jp", b"\x1b$B!A-!\x1b(B"), ("big5", b"\xa1\xe3\xa2\x41")],
)
def test_feed_is_decoded_as_by_the_standard(name: str, text: bytes) -> None:
    body = f'<?xml version="1.0" encoding="{name}"?>'.encode() + b"<rss><title>" + text + b"</title></rss>"

    source = XmlSource(body)

    assert WEB_CODECS[name].decode(text)[0] in b"".join(source.pieces()).decode()


@given(st.sampled_from(sorted(WEB_CODECS)), st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_decoded(name: str, body: bytes, cut: int) -> None:
    decoder = WEB_CODECS[name].incrementaldecoder("replace")

    pieces = decoder.decode(body[:cut]) + decoder.decode(body[cut:], True)

    assert isinstance(WEB_CODECS[name].decode(body)[0], str)
    assert bool(pieces) == bool(body) or name == "iso-2022-jp"


@pytest.mark.parametrize(("name", "body", "text"), TEXTS)
def test_text_in_pieces_is_decoded_like_the_whole(name: str, body: bytes, text: str) -> None:
    whole = b"<p>" + body.replace(b"\x1b$B\x1b(B", b"") + b"</p>"
    for cut in range(len(whole)):
        decoder = WEB_CODECS[name].incrementaldecoder("replace")

        assert decoder.decode(whole[:cut]) + decoder.decode(whole[cut:], True) == WEB_CODECS[name].decode(whole)[0]
