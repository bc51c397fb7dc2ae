"""Event streams, and resuming them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn

import pytest
from tests.live.api.client import Exchanging
from tests.live.api.fakes import Bench

from scoter.errors import UserError
from scoter.http.streams import StreamTimings
from scoter.live.records import Event

HOST = ("Host", "127.0.0.1")


@asynccontextmanager
async def listening(bench: Bench, target: str = "/v1/events", *headers: tuple[str, str]) -> AsyncIterator[Exchanging]:
    """Yield a client with an open stream, while new events are being read."""
    exchange = Exchanging("GET", target, headers=(HOST, *headers))
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(bench.streams.run())
        asking = group.create_task(bench.app(exchange.scope, exchange.receive, exchange.send))
        await exchange.until(b"retry: 2000")
        yield exchange
        exchange.leave()
        await asking
        reading.cancel()


def numbers(text: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"^id: ([0-9]+)\nevent: url$", text, re.MULTILINE)]


async def happen(bench: Bench, count: int) -> None:
    """Announce a number of events."""
    before = bench.stores.events.last()
    urls = [f"http://a.example/{before + n}" for n in range(count)]
    for at in range(0, count, 20):
        await bench.client.post("/v1/messages", {"urls": urls[at : at + 20]})
    await bench.work()


async def test_new_events_are_streamed() -> None:
    bench = Bench()
    await happen(bench, 2)

    async with listening(bench) as stream:
        await happen(bench, 1)
        text = await stream.until(b"id: 3")

    assert numbers(text) == [3]
    assert b'"url":"http://a.example/2"' in text
    assert dict(stream.sent)[b"content-type"] == b"text/event-stream"


@pytest.mark.parametrize("how", ["header", "query", "both"])
async def test_resumed_stream_misses_no_event(how: str) -> None:
    bench = Bench()
    await happen(bench, 250)
    target = {"header": "/v1/events", "query": "/v1/events?after=30", "both": "/v1/events?after=7"}[how]
    headers = () if how == "query" else (("Last-Event-ID", "30"),)

    async with listening(bench, target, *headers) as stream:
        await stream.until(b"id: 250\n")
        await happen(bench, 130)
        text = await stream.until(b"id: 380\n")

    assert numbers(text) == list(range(31, 381))


async def test_stream_resumed_too_late_starts_with_a_gap() -> None:
    bench = Bench(most_events=10)
    await happen(bench, 40)
    await bench.stores.events.prune(100)

    async with listening(bench, "/v1/events", ("Last-Event-ID", "5")) as stream:
        text = await stream.until(b"id: 40\n")

    assert b'id: 30\nevent: gap\ndata: {"after":5,"first":31}\n\n' in text
    assert numbers(text) == list(range(31, 41))


async def test_unknown_event_number_is_a_gap() -> None:
    bench = Bench()
    await happen(bench, 2)

    async with listening(bench, "/v1/events?after=1000") as stream:
        await happen(bench, 1)
        text = await stream.until(b"id: 3\n")

    assert b'event: gap\ndata: {"after":1000,"first":3}' in text
    assert numbers(text) == [3]


async def test_idle_stream_sends_heartbeats() -> None:
    bench = Bench()

    async with listening(bench) as stream:
        text = await stream.until(b":\n\n:\n\n")

    assert numbers(text) == []


async def test_disconnected_client_frees_its_stream() -> None:
    bench = Bench(most_streams=1)

    async with listening(bench):
        refused = await bench.client.get("/v1/events")
        assert len(bench.streams) == 1

    assert refused.status == 503
    assert refused.headers["retry-after"] == "30"
    assert len(bench.streams) == 0


async def test_client_that_does_not_read_is_disconnected() -> None:
    bench = Bench(pace=StreamTimings(heartbeat=5, slow=0.02, look=0.01))
    stream = Exchanging("GET", "/v1/events", headers=(HOST,))
    reading = asyncio.create_task(bench.streams.run())
    asking = asyncio.create_task(bench.app(stream.scope, stream.receive, stream.send))
    await stream.until(b"retry")
    stream.may_send.clear()

    await happen(bench, 1)
    await asking

    assert len(bench.streams) == 0
    assert not stream.is_whole
    reading.cancel()


async def test_temporarily_unreadable_store_loses_no_event(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(pace=StreamTimings(heartbeat=5, slow=5, look=0.01))
    events = bench.stores.events

    async with listening(bench) as stream:
        since = events.since

        async def fail(number: int, most: int) -> NoReturn:
            raise UserError("the disk does not do its part")

        events.since = fail  # type: ignore[method-assign]
        await happen(bench, 1)
        while "cannot read events" not in caplog.text:
            await asyncio.sleep(0)
        events.since = since  # type: ignore[method-assign]
        text = await stream.until(b"id: 1\n")

    assert numbers(text) == [1]


async def test_streams_end_at_shutdown() -> None:
    bench = Bench(pace=StreamTimings(heartbeat=60, slow=1, look=60))

    async with listening(bench) as stream:
        bench.streams.close()
        await stream.until(b"")
        for _ in range(10):
            await asyncio.sleep(0)
        assert (await bench.client.get("/v1/events")).status == 503

    assert stream.is_whole


async def test_all_streams_get_the_same_events() -> None:
    bench = Bench(most_streams=300)
    streams = [Exchanging("GET", "/v1/events", headers=(HOST,)) for _ in range(300)]
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(bench.streams.run())
        for each in streams:
            group.create_task(bench.app(each.scope, each.receive, each.send))
        for each in streams:
            await each.until(b"retry")
        await happen(bench, 45)
        texts = [await each.until(b"id: 45\n") for each in streams]
        for each in streams:
            each.leave()
        reading.cancel()

    assert all(numbers(text) == list(range(1, 46)) for text in texts)


@pytest.mark.parametrize("last", ["abc", "-1", "1.5", "9" * 30, "1 2", "\u00b2"])
async def test_last_event_id_must_be_a_number(last: str) -> None:
    got = await Bench().client.get("/v1/events", ("Last-Event-ID", last))

    assert got.status == 422


@pytest.mark.parametrize("after", ["abc", "-1", "1.5", "9" * 30, ""])
async def test_after_must_be_a_number(after: str) -> None:
    got = await Bench().client.get(f"/v1/events?after={after}")

    assert (got.status, got.json["where"]) == (422, "?after")


async def test_new_events_are_read_once_for_all_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    streams = [Exchanging("GET", "/v1/events", headers=(HOST,)) for _ in range(20)]
    reads: list[int] = []
    since = bench.stores.events.since

    async def counted(number: int, most: int) -> Sequence[Event]:
        reads.append(number)
        return await since(number, most)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(bench.streams.run())
        asking = [group.create_task(bench.app(each.scope, each.receive, each.send)) for each in streams]
        for stream in streams:
            await stream.until(b"retry: 2000")
        monkeypatch.setattr(bench.stores.events, "since", counted)
        await happen(bench, 1)
        for stream in streams:
            await stream.until(b"id: 1\n")
            stream.leave()
        await asyncio.gather(*asking)
        reading.cancel()

    assert 0 < len(reads) < len(streams)
