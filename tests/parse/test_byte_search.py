"""Byte searches in C, and with and without numpy and Arrow."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.page import Content
from scoter.core.url import canonical
from scoter.parse import byte_search
from scoter.parse.byte_search import count_byte, is_whole_utf8, may_have_two_blanks
from scoter.parse.html import HtmlReader

LOADED = (np, pa)  # imported, as in a process that fetches for a crawl
LONG = "word " * 500
PIECES = st.lists(st.sampled_from(["a", "bc", " ", "  ", "\n", "\xa0", "é", "東京", "😀", "\x00"]), max_size=30).map(
    "".join
)


def _text(markup: str) -> str:
    content = Content(url=canonical("http://a.example/"), media_type="text/html", body=markup.encode())
    return HtmlReader().read(content).text


@given(PIECES, PIECES)
def test_two_spaces_are_never_missed(before: str, after: str) -> None:
    for text in (before + LONG + after, before + LONG.strip() + after):
        assert may_have_two_blanks(text) or "  " not in text
        assert not may_have_two_blanks(text) or "  " in text or "\0" in text or not text.isascii()


def test_short_text_is_searched_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_have_two_blanks("a b")
    assert not may_have_two_blanks(LONG)

    monkeypatch.delitem(sys.modules, "numpy")

    assert may_have_two_blanks(LONG)


@given(PIECES, PIECES)
def test_text_is_the_same_without_numpy(before: str, after: str) -> None:
    markup = f"<p>{before}<b>{after}</b>{LONG}{after}<p>{after} {before}"
    helped = _text(markup)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "numpy")
        assert _text(markup) == helped

    assert "  " not in helped


BLOCKS = st.binary(max_size=40)


@given(BLOCKS, BLOCKS, st.sampled_from([0, ord("<"), 127, 128, 255]))
def test_bytes_are_counted_the_same_in_c_and_by_numpy(block: bytes, rest: bytes, byte: int) -> None:
    for data in (rest, block * 120 + rest, bytes([byte]) * 3_000 + rest):
        counted = count_byte(data, byte)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(byte_search, "count_native", None)
            helped = count_byte(data, byte)
            patch.delitem(sys.modules, "numpy")
            assert count_byte(data, byte) == helped == counted == data.count(bytes([byte]))


# Valid and invalid UTF-8 (RFC 3629): limits of each length, overlong forms, surrogates, beyond U+10FFFF, fragments.
SEQUENCES = st.sampled_from(
    [
        *(b"a", b"\xc2\x80", b"\xdf\xbf", b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbf"),
        *(b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9f\xbf"),
        *(
            b"\xf0\x8f\xbf\xbf",
            b"\xed\xa0\x80",
            b"\xed\xbf\xbf",
            b"\xf5\x80\x80\x80",
            b"\xff",
            b"\x80",
            b"\xe2\x82",
            b"\0",
        ),
    ]
)


@given(st.lists(SEQUENCES, max_size=4).map(b"".join), st.binary(max_size=6), st.sampled_from([0, 700]))
def test_utf8_check_is_the_same_in_c_and_by_arrow(sequences: bytes, noise: bytes, filling: int) -> None:
    for data in (b"word " * filling + sequences, sequences + b"word " * filling + noise):
        checked = is_whole_utf8(data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(byte_search, "is_utf8_native", None)
            helped = is_whole_utf8(data)
            patch.delitem(sys.modules, "pyarrow")
            assert is_whole_utf8(data) == helped == checked
        assert checked == (data.decode(errors="ignore").encode() == data)


def test_arrow_is_used_if_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf:
        def __getattr__(self, name: str) -> None:
            raise LookupError(name)

    monkeypatch.setattr(byte_search, "is_utf8_native", None)
    monkeypatch.setitem(sys.modules, "pyarrow", Deaf())

    assert is_whole_utf8(b"short")
    with pytest.raises(LookupError):
        is_whole_utf8(LONG.encode())
