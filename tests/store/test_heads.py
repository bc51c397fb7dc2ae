"""Archived heads: unchanged, except where they would contradict the archived body."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.store.warc.record import archived_request, archived_response, parse_head, split_message

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("head", "length", "expected"),
    [
        (OK + b"\r\n", 0, OK + b"\r\n"),
        (OK + b"Content-Length: 5\r\n\r\n", 5, OK + b"Content-Length: 5\r\n\r\n"),
        (OK + b"Content-Length: 9\r\n\r\n", 5, OK + b"X-Crawler-Content-Length: 9\r\n\r\n"),
        (OK + b"content-length : 9\r\n\r\n", 5, OK + b"X-Crawler-content-length : 9\r\n\r\n"),
        (OK + b"Content-Length: -1\r\n\r\n", 5, OK + b"X-Crawler-Content-Length: -1\r\n\r\n"),
        (OK + b"Content-Length: 9\r\n\r\n", None, OK + b"Content-Length: 9\r\n\r\n"),
        (OK + b"TRANSFER-ENCODING: chunked\r\n\r\n", 5, OK + b"X-Crawler-TRANSFER-ENCODING: chunked\r\n\r\n"),
        (OK + b"X-Transfer-Encoding: a\r\n\r\n", 5, OK + b"X-Transfer-Encoding: a\r\n\r\n"),
        (OK + b"A: Content-Length: 9\r\n\r\n", 5, OK + b"A: Content-Length: 9\r\n\r\n"),
        # two lengths, one of them correct
        (
            OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
            5,
            OK + b"Content-Length: 5\r\nX-Crawler-Content-Length: 6\r\n\r\n",
        ),
        # bare line feeds, mixed line ends, and no empty line
        (b"HTTP/1.0 200 OK\nA: b\n\n", 0, b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.0 200 OK\r\nA: b\n\r\n", 0, b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.0 200 OK\r\nA: b\r\n", 0, b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n"),
        # an interim response first
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n", 0, OK + b"\r\n"),
        # folding, a line without a colon, bytes beyond ASCII, NUL: unchanged
        (OK + b"A: b\r\n c\r\nodd\r\nB: \xff\0\r\n\r\n", 0, OK + b"A: b\r\n c\r\nodd\r\nB: \xff\0\r\n\r\n"),
    ],
)
def test_archived_response_head_is_unchanged_except_for_framing(
    head: bytes, length: int | None, expected: bytes
) -> None:
    assert archived_response(head, length) == expected


@pytest.mark.parametrize(
    ("head", "status", "fields"),
    [
        (b"HTTP/1.1 200\r\n\r\n", 200, ()),
        (b"HTTP/1.1 404 Not  Here\r\nA:b\r\nA:  c \r\n\r\n", 404, (("A", "b"), ("A", "c"))),
        (b"ICY 200 OK\r\n\r\n", 200, ()),
        (b"HTTP/1.1 2000 OK\r\n\r\n", 0, ()),
        (b"nonsense", 0, ()),
        (b"", 0, ()),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n", 200, (("A", "b c"),)),
        (b"HTTP/1.1 200 OK\r\n folded: nothing\r\nA : b\r\n\r\n", 200, (("A", "b"),)),
        (b"HTTP/1.1 200 \xe9t\xe9\r\nA: caf\xe9\r\nno colon\r\n\r\n", 200, (("A", "café"),)),
    ],
)
def test_head_is_parsed(head: bytes, status: int, fields: tuple[tuple[str, str], ...]) -> None:
    assert parse_head(head) == (status, fields)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_body_is_found_after_any_head(head: bytes, body: bytes) -> None:
    archived = archived_response(head, len(body))

    found, rest = split_message(archived + body)

    # An empty head consists of the empty line only.
    assert (found, rest) == (archived, body)


@given(st.binary(max_size=200))
def test_archiving_a_request_head_is_idempotent(head: bytes) -> None:
    once = archived_request(head)

    assert archived_request(once) == once
