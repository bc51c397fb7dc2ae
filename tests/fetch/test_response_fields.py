"""The fast and the thorough parser of response heads agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.fetch.protocols.http_transport import _fields, _is_plain, _odd_fields

LINES = st.lists(
    st.text(st.sampled_from("aZ0-: \t\r\n;,\x0b\x0c\x00\xe9\x85"), max_size=12) | st.just("Content-Type: text/html"),
    max_size=6,
)


@given(LINES)
def test_a_plain_head_has_the_fields_that_the_thorough_pattern_finds(lines: list[str]) -> None:
    head = "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""])

    if _is_plain(head):
        assert _fields(head.encode("latin-1")) == _odd_fields(head)


@pytest.mark.parametrize(
    ("odd", "fields"),
    [
        (b"A: b \r\n", (("A", "b"),)),
        (b"A: b\n", (("A", "b"),)),
        (b"A: b\r\n c\r\n", (("A", "b c"),)),
        (b"A: b\rc\r\n", (("A", "b\rc"),)),
        (b"Location : /x\r\nA\t:b\r\n", (("Location", "/x"), ("A", "b"))),
        (b"A:b\r\nC:\r\nd: e: f\r\n", (("A", "b"), ("C", ""), ("d", "e: f"))),
    ],
)
def test_blanks_and_bare_line_ends_are_no_part_of_a_field(odd: bytes, fields: tuple[tuple[str, str], ...]) -> None:
    assert _fields(b"HTTP/1.1 200 OK\r\n" + odd + b"\r\n") == fields


@pytest.mark.timeout(10)
@pytest.mark.parametrize("odd", [b"A: b \r\n", b"A: b\n", b"A: b\r\n c\r\n"])
def test_long_run_of_blanks_in_a_field_is_read_in_linear_time(odd: bytes) -> None:
    blanks = b" \t" * 60_000

    fields = _fields(b"HTTP/1.1 200 OK\r\n" + odd + b"X: a" + blanks + b"z\r\n\r\n")

    assert fields[-1] == ("X", f"a{blanks.decode()}z")
