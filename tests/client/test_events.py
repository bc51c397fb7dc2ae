"""A stream of events that breaks, over and over, and loses nothing."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.service import DROP, Clients, FakeService, Said, event, problem, said, stream

from scoter.client import ClientError, Event, Gap, Unreachable
from scoter.client.listening import Listening, ended

HELLO = b"retry: 1000\n\n"


def numbers(found: list[Event | Gap]) -> list[Any]:
    return [each.number if isinstance(each, Event) else (each.after, each.first) for each in found]


def test_events_come_as_they_happen(clients: Clients) -> None:
    with FakeService(stream(HELLO, event(1), b":\n\n", event(2) + event(3))) as service:
        found = list(islice(clients(service).events(), 3))

    assert numbers(found) == [1, 2, 3]
    assert (service.asked[0].target, service.asked[0].headers["accept"]) == ("/v1/events", "text/event-stream")
    assert "last-event-id" not in service.asked[0].headers


def test_events_begin_after_a_number(clients: Clients) -> None:
    with FakeService(stream(HELLO, event(18))) as service:
        next(iter(clients(service).events(since=17)))

    assert service.asked[0].target == "/v1/events?after=17"


@pytest.mark.parametrize("cut", [1, 20, 60, len(event(2)) - 1])
def test_a_stream_that_breaks_in_an_event_goes_on_with_that_event(clients: Clients, cut: int) -> None:
    with FakeService(stream(HELLO + event(1), event(2)[:cut]), stream(HELLO, event(2), event(3))) as service:
        found = list(islice(clients(service).events(since=0), 3))

    assert numbers(found) == [1, 2, 3]
    assert service.asked[1].headers["last-event-id"] == "1"
    assert service.asked[1].target == "/v1/events"


def test_a_chunk_that_breaks_off_is_a_broken_stream(clients: Clients) -> None:
    whole = stream(HELLO + event(1), event(2))
    with FakeService(Said(whole.raw[:-10], closes=True), stream(event(2))) as service:
        assert numbers(list(islice(clients(service).events(), 2))) == [1, 2]


def test_a_stream_that_ends_is_opened_again_after_the_time_it_named(clients: Clients) -> None:
    lost: list[tuple[str, float]] = []
    with FakeService(stream(HELLO, event(1), ends=True), stream(HELLO, event(2))) as service:
        found = clients(service).events(on_lost=lambda error, pause: lost.append((error.message, pause)))
        assert numbers(list(islice(found, 2))) == [1, 2]

    assert len(clients.pauses) == 1
    assert 0.5 <= clients.pauses[0] <= 1.0
    assert "ended" in lost[0][0]


def test_a_place_that_comes_without_an_event_is_gone_on_from(clients: Clients) -> None:
    with FakeService(stream(b"id: 41\nretry: 1000\n\n"), stream(event(42))) as service:
        assert numbers(list(islice(clients(service).events(), 1))) == [42]

    assert service.asked[1].headers["last-event-id"] == "41"


def test_a_gap_is_told_and_gone_on_behind(clients: Clients) -> None:
    gap = b'id: 9\nevent: gap\ndata: {"after":3,"first":10}\n\n'
    with FakeService(stream(HELLO, gap), stream(event(10))) as service:
        assert numbers(list(islice(clients(service).events(since=3), 2))) == [(3, 10), 10]

    assert service.asked[1].headers["last-event-id"] == "9"


def test_events_of_other_names_are_passed_over(clients: Clients) -> None:
    with FakeService(stream(b"event: new\ndata: ?\n\n", event(1))) as service:
        assert numbers(list(islice(clients(service).events(), 1))) == [1]


def test_a_service_that_is_away_or_crowded_is_tried_ever_less_often(clients: Clients) -> None:
    crowded = problem(503, "crowded", retry_after=40.0)
    with FakeService(stream(HELLO, event(1)), DROP, DROP, DROP, crowded, stream(event(2))) as service:
        assert numbers(list(islice(clients(service).events(), 2))) == [1, 2]

    first, second, third, fourth, fifth = clients.pauses
    assert first < 1.01 and 1 <= second <= 2 and 2 <= third <= 4 and 4 <= fourth <= 8  # noqa: PT018
    assert fifth == 40.0


def test_patience_ends(clients: Clients) -> None:
    with FakeService(stream(HELLO, event(1)), *[DROP] * 20) as service, pytest.raises(Unreachable):
        list(clients(service).events(patience=20.0))

    assert sum(clients.pauses) <= 20.0


@pytest.mark.parametrize("refusal", [problem(401, "unauthorized"), problem(503, "crowded", retry_after=3), DROP])
def test_who_was_never_let_in_is_told_so_at_once(clients: Clients, refusal: Said) -> None:
    with FakeService(refusal) as service, pytest.raises(ClientError):
        list(clients(service).events())

    assert clients.pauses == []


def test_a_key_that_is_taken_back_ends_the_stream(clients: Clients) -> None:
    with FakeService(stream(event(1)), problem(401, "unauthorized")) as service, pytest.raises(ClientError) as raised:
        list(clients(service).events())

    assert raised.value.problem.status == 401


@pytest.mark.parametrize(
    "answer",
    [said(200, b"<h1>Hello", "text/html"), stream(b"event: url\ndata: {}\n\n"), stream(b"data: " + b"x" * 5_000_000)],
)
def test_what_is_no_stream_of_events_is_not_understood(clients: Clients, answer: Said) -> None:
    with FakeService(answer) as service, pytest.raises(ClientError, match="not that of a Scoter service"):
        list(clients(service).events())


def test_a_listener_who_leaves_hangs_up(clients: Clients) -> None:
    with FakeService(Said(stream(HELLO, event(1)).raw, hangs=True)) as service:
        events = clients(service).events()
        next(iter(events))
        events.close()  # type: ignore[attr-defined]


@given(st.integers(1, 5), st.lists(st.integers(1, 900), max_size=8))
def test_wherever_it_breaks_every_event_comes_once(number: int, cuts: list[int]) -> None:
    log = [event(each) for each in range(1, number + 1)]
    listening, found = Listening(0, chance=lambda: 0.0), []
    for cut in [*cuts, 10_000]:
        after = int(listening.headers.get("Last-Event-ID", "0"))
        text = (HELLO + b"".join(log[after:]))[:cut]
        listening.opened()
        found += listening.feed(text)
        assert 0 < listening.lost(ended("http://a/")) <= 30

    assert numbers(found) == list(range(1, number + 1))
