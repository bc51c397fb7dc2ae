"""Events off the wire: the standard's own cases, and any way of cutting them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.client import ClientError
from scoter.client.sse import Frame, SseReader


def read(*chunks: bytes) -> list[Frame]:
    reader = SseReader()
    return [frame for chunk in chunks for frame in reader.feed(chunk)]


# WHATWG HTML 9.2.6 gives these streams and says what becomes of them.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [(b"YHOO\n+2\n10", "")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            [(b"first event", "1"), (b"second event", ""), (b" third event", "")],
        ),
        (b"data\n\ndata\ndata\n\ndata:", [(b"", ""), (b"\n", "")]),
        (b"data:test\n\ndata: test\n\n", [(b"test", ""), (b"test", "")]),
    ],
)
def test_the_standards_streams_are_read_as_it_says(text: bytes, found: list[tuple[bytes, str]]) -> None:
    assert [(frame.data, frame.id) for frame in read(text)] == found


def test_a_mark_at_the_start_and_unknown_fields_are_passed_over() -> None:
    assert read(b"\xef\xbb\xbfdata: a\nnonsense: 1\nnonsense\n\n") == [Frame("message", b"a", "")]


def test_an_id_without_data_moves_the_place_all_the_same() -> None:
    reader = SseReader("3")

    assert reader.feed(b"id: 7\nretry: 1500\n\n") == []
    assert (reader.last_id, reader.retry) == ("7", 1.5)


def test_a_frame_that_breaks_off_does_not_move_the_place() -> None:
    reader = SseReader("3")

    assert reader.feed(b"id: 7\ndata: a\n") == []
    assert reader.last_id == "3"


def test_an_id_with_a_nul_and_a_retry_that_is_no_number_are_ignored() -> None:
    reader = SseReader("3")
    reader.feed(b"id: 7\x008\nretry: soon\n\n")

    assert (reader.last_id, reader.retry) == ("3", None)


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 60, b"data: x\n" * 10])
def test_an_event_without_end_is_given_up(chunk: bytes) -> None:
    reader = SseReader(limit=1_000)

    def endless() -> None:
        for _ in range(1_000):
            reader.feed(chunk)

    with pytest.raises(ClientError, match="more than 1000 B"):
        endless()


ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
LINE = st.one_of(
    st.just(b""),
    st.sampled_from(
        [b"data: a", b"data", b"id: 5", b"id", b"event: gap", b": note", b"retry: 10", b"data:b", b"\xef\xbb\xbf"]
    ),
    st.binary(max_size=8).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b"")),
)


@given(st.lists(st.tuples(LINE, ENDS), max_size=30), st.lists(st.integers(0, 300), max_size=40))
def test_any_cutting_gives_the_same_events(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    text = b"".join(line + end for line, end in lines)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]

    whole, cut, single = SseReader(), SseReader(), SseReader()
    expected = whole.feed(text)

    assert [frame for piece in pieces for frame in cut.feed(piece)] == expected
    assert [frame for at in range(len(text)) for frame in single.feed(text[at : at + 1])] == expected
    assert (cut.last_id, cut.retry) == (single.last_id, single.retry) == (whole.last_id, whole.retry)


TEXT = st.text(st.characters(blacklist_characters="\r\n\0", blacklist_categories=["Cs"]), min_size=1, max_size=10)


@given(st.lists(st.tuples(TEXT, TEXT, st.lists(TEXT, min_size=1, max_size=3)), max_size=6), ENDS)
def test_what_was_sent_is_what_is_read(sent: list[tuple[str, str, list[str]]], end: bytes) -> None:
    text = b""
    for event, id_, data in sent:
        lines = [f"id: {id_}", f"event: {event}", *(f"data: {line}" for line in data), ""]
        text += b"".join(line.encode() + end for line in lines)

    expected = [Frame(event, "\n".join(data).encode(), id_) for event, id_, data in sent]

    assert read(text) == expected
