"""Event streams that break and resume without losing events."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.service import DROP, Clients, FakeService, Said, event, problem, said, stream

from scoter.client import ClientError, Event, Gap, Unreachable
from scoter.client.events import STREAM_ENDED, EventSubscription, SseFrame, SseReader

HELLO = b"retry: 1000\n\n"


def numbers(found: list[Event | Gap]) -> list[Any]:
    return [each.number if isinstance(each, Event) else (each.after, each.first) for each in found]


def test_events_are_yielded_as_they_arrive(clients: Clients) -> None:
    with FakeService(stream(HELLO, event(1), b":\n\n", event(2) + event(3))) as service:
        found = list(islice(clients(service).events(), 3))

    assert numbers(found) == [1, 2, 3]
    assert (service.asked[0].target, service.asked[0].headers["accept"]) == ("/v1/events", "text/event-stream")
    assert "last-event-id" not in service.asked[0].headers


def test_events_start_after_a_number(clients: Clients) -> None:
    with FakeService(stream(HELLO, event(18))) as service:
        next(iter(clients(service).events(since=17)))

    assert service.asked[0].target == "/v1/events?after=17"


@pytest.mark.parametrize("cut", [1, 20, 60, len(event(2)) - 1])
def test_stream_broken_within_an_event_resumes_with_that_event(clients: Clients, cut: int) -> None:
    with FakeService(stream(HELLO + event(1), event(2)[:cut]), stream(HELLO, event(2), event(3))) as service:
        found = list(islice(clients(service).events(since=0), 3))

    assert numbers(found) == [1, 2, 3]
    assert service.asked[1].headers["last-event-id"] == "1"
    assert service.asked[1].target == "/v1/events"


def test_truncated_chunk_reconnects(clients: Clients) -> None:
    whole = stream(HELLO + event(1), event(2))
    with FakeService(Said(whole.raw[:-10], closes=True), stream(event(2))) as service:
        assert numbers(list(islice(clients(service).events(), 2))) == [1, 2]


def test_ended_stream_is_reopened_after_its_retry_time(clients: Clients) -> None:
    lost: list[tuple[str, float]] = []
    with FakeService(stream(HELLO, event(1), ends=True), stream(HELLO, event(2))) as service:
        found = clients(service).events(on_lost=lambda error, pause: lost.append((error.message, pause)))
        assert numbers(list(islice(found, 2))) == [1, 2]

    assert len(clients.pauses) == 1
    assert 0.5 <= clients.pauses[0] <= 1.0
    assert "ended" in lost[0][0]


def test_id_without_an_event_is_a_position_to_resume_from(clients: Clients) -> None:
    with FakeService(stream(b"id: 41\nretry: 1000\n\n"), stream(event(42))) as service:
        assert numbers(list(islice(clients(service).events(), 1))) == [42]

    assert service.asked[1].headers["last-event-id"] == "41"


def test_gap_is_reported_and_the_stream_continues_after_it(clients: Clients) -> None:
    gap = b'id: 9\nevent: gap\ndata: {"after":3,"first":10}\n\n'
    with FakeService(stream(HELLO, gap), stream(event(10))) as service:
        assert numbers(list(islice(clients(service).events(since=3), 2))) == [(3, 10), 10]

    assert service.asked[1].headers["last-event-id"] == "9"


def test_events_of_other_names_are_ignored(clients: Clients) -> None:
    with FakeService(stream(b"event: new\ndata: ?\n\n", event(1))) as service:
        assert numbers(list(islice(clients(service).events(), 1))) == [1]


def test_reconnects_back_off_and_honour_retry_after(clients: Clients) -> None:
    crowded = problem(503, "crowded", retry_after=40.0)
    with FakeService(stream(HELLO, event(1)), DROP, DROP, DROP, crowded, stream(event(2))) as service:
        assert numbers(list(islice(clients(service).events(), 2))) == [1, 2]

    first, second, third, fourth, fifth = clients.pauses
    assert first < 1.01 and 1 <= second <= 2 and 2 <= third <= 4 and 4 <= fourth <= 8  # noqa: PT018
    assert fifth == 40.0


def test_stream_gives_up_after_patience(clients: Clients) -> None:
    with FakeService(stream(HELLO, event(1)), *[DROP] * 20) as service, pytest.raises(Unreachable):
        list(clients(service).events(patience=20.0))

    assert sum(clients.pauses) <= 20.0


@pytest.mark.parametrize("refusal", [problem(401, "unauthorized"), problem(503, "crowded", retry_after=3), DROP])
def test_stream_that_never_opened_fails_at_once(clients: Clients, refusal: Said) -> None:
    with FakeService(refusal) as service, pytest.raises(ClientError):
        list(clients(service).events())

    assert clients.pauses == []


def test_revoked_key_ends_the_stream(clients: Clients) -> None:
    with FakeService(stream(event(1)), problem(401, "unauthorized")) as service, pytest.raises(ClientError) as raised:
        list(clients(service).events())

    assert raised.value.problem.status == 401


@pytest.mark.parametrize(
    "answer",
    [said(200, b"<h1>Hello", "text/html"), stream(b"event: url\ndata: {}\n\n"), stream(b"data: " + b"x" * 5_000_000)],
)
def test_response_that_is_not_an_event_stream_is_an_error(clients: Clients, answer: Said) -> None:
    with FakeService(answer) as service, pytest.raises(ClientError, match="The answer is not from a Scoter service"):
        list(clients(service).events())


def test_closing_the_iterator_closes_the_connection(clients: Clients) -> None:
    with FakeService(Said(stream(HELLO, event(1)).raw, hangs=True)) as service:
        events = clients(service).events()
        next(iter(events))
        events.close()  # type: ignore[attr-defined]


@given(st.integers(1, 5), st.lists(st.integers(1, 900), max_size=8))
def test_every_event_arrives_once_wherever_the_stream_breaks(number: int, cuts: list[int]) -> None:
    log = [event(each) for each in range(1, number + 1)]
    listening, found = EventSubscription(0, chance=lambda: 0.0), []
    for cut in [*cuts, 10_000]:
        after = int(listening.headers.get("Last-Event-ID", "0"))
        text = (HELLO + b"".join(log[after:]))[:cut]
        listening.opened()
        found += listening.feed(text)
        assert 0 < listening.lost(Unreachable("http://a/", STREAM_ENDED)) <= 30

    assert numbers(found) == list(range(1, number + 1))


def read(*chunks: bytes) -> list[SseFrame]:
    reader = SseReader()
    return [frame for chunk in chunks for frame in reader.feed(chunk)]


# Examples of WHATWG HTML 9.2.6.
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
def test_example_streams_of_the_standard(text: bytes, found: list[tuple[bytes, str]]) -> None:
    assert [(frame.data, frame.id) for frame in read(text)] == found


def test_byte_order_mark_and_unknown_fields_are_ignored() -> None:
    assert read(b"\xef\xbb\xbfdata: a\nnonsense: 1\nnonsense\n\n") == [SseFrame("message", b"a", "")]


def test_id_without_data_advances_the_position() -> None:
    reader = SseReader("3")

    assert reader.feed(b"id: 7\nretry: 1500\n\n") == []
    assert (reader.last_id, reader.retry) == ("7", 1.5)


def test_truncated_frame_does_not_advance_the_position() -> None:
    reader = SseReader("3")

    assert reader.feed(b"id: 7\ndata: a\n") == []
    assert reader.last_id == "3"


def test_id_with_nul_and_non_numeric_retry_are_ignored() -> None:
    reader = SseReader("3")
    reader.feed(b"id: 7\x008\nretry: soon\n\n")

    assert (reader.last_id, reader.retry) == ("3", None)


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 60, b"data: x\n" * 10])
def test_endless_event_is_an_error(chunk: bytes) -> None:
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
def test_chunk_boundaries_do_not_change_the_events(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
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
def test_encoded_frames_are_read_back(sent: list[tuple[str, str, list[str]]], end: bytes) -> None:
    text = b""
    for name, id_, data in sent:
        lines = [f"id: {id_}", f"event: {name}", *(f"data: {line}" for line in data), ""]
        text += b"".join(line.encode() + end for line in lines)

    expected = [SseFrame(name, "\n".join(data).encode(), id_) for name, id_, data in sent]

    assert read(text) == expected
