"""Messages over a socket survive fragmentation; invalid frames close the connection."""

from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.metadata import Media, PageMetadata
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request
from scoter.core.robots_cache import StoredRobots
from scoter.core.url import canonical
from scoter.fetch.progress import Snapshot
from scoter.live.api.records import DomainRule
from scoter.live.fetching.limits import WorkerLimits
from scoter.live.fetching.wire import (
    _HEAD,
    CrawlDelayNotice,
    DomainHold,
    FrameConnection,
    GrantShards,
    Heartbeat,
    HopDone,
    HopRefused,
    LiveWorkerReport,
    MakeHop,
    RecallShards,
    RefusalReason,
    RenewLease,
    RobotsAnswer,
    RobotsQuery,
    RobotsUpdate,
    SetRule,
    ShardsReturned,
    StartWorker,
    StopWorker,
    WireMessage,
    WorkerReady,
    encoded,
    frames_over,
)
from scoter.live.records import ContentKind, ContentSummary, Priority

URL = canonical("https://example.org/a?b")
EXCHANGE = Exchange(
    url=URL,
    started=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    request_head=b"GET",
    response_head=b"HTTP/1.1 200 OK\r\n\r\n",
    status=200,
    headers=(("Content-Type", "text/html"), ("X", "\xe9")),
    body=bytes(range(256)) * 300,
)
REPLIES: list[Reply] = [
    Fetched(EXCHANGE),
    Moved(EXCHANGE, canonical("http://b.example/"), permanent=True),
    Moved(EXCHANGE, None, permanent=False),
    NotModified(EXCHANGE),
    Gone(URL, Reason.NOT_FOUND, "no", EXCHANGE),
    Failed(URL, Reason.BUSY, "later", retry_after=timedelta(seconds=90), exchange=EXCHANGE),
]
READ = ContentSummary(
    media_type="text/html",
    kind=ContentKind.PAGE,
    size=3,
    about=PageMetadata(title="It", published=EXCHANGE.started, media=(Media(url="http://a.example/v", kind="video"),)),
    onward=URL,
)
MESSAGES: list[WireMessage] = [
    StartWorker(1, b"config", "/folder", WorkerLimits(deepest=1, patience=timedelta(seconds=2.5))),
    WorkerReady(1, 4_711),
    MakeHop(7, Request(url=URL, etag='"x"', headers=(("A", "b"),), context=b"c"), Priority.BULK, is_forwarded=True),
    MakeHop(8, Request(url=URL), Priority.PERSON, is_read=True),
    HopDone(9, REPLIES[0], read=READ),
    *(HopDone(number, reply, 0.1, 0.2, 0.3) for number, reply in enumerate(REPLIES)),
    HopRefused(7, RefusalReason.ON_HOLD, 12.5),
    RenewLease(1.5),
    GrantShards((1, 2), 3.5, (DomainHold("example.org", 9.0, 5.0),)),
    RecallShards((1,)),
    ShardsReturned({1: 2.5}),
    SetRule(DomainRule(domain="example.org", delay=2.0, concurrency=3, note="why")),
    CrawlDelayNotice("example.org", 5.0),
    RobotsQuery("https://example.org"),
    RobotsAnswer("https://example.org", None),
    RobotsUpdate("https://example.org", StoredRobots(b"User-agent: *", 5.0)),
    Heartbeat(),
    LiveWorkerReport(Snapshot(done=3, slowest=(("a", 1.0),)), 1, 2, 3.5, 4),
    StopWorker(0.5),
]


def wire(*messages: WireMessage) -> bytes:
    return b"".join(_HEAD.pack(len(data), kind) + data for kind, data in map(encoded, messages))


@given(cuts=st.lists(st.integers(0, 250_000), max_size=12))
def test_messages_survive_any_fragmentation(cuts: list[int]) -> None:
    got: list[WireMessage] = []
    frames, data = FrameConnection(got.append), wire(*MESSAGES)

    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        frames.data_received(data[start:end])

    assert got == MESSAGES


def test_messages_survive_byte_by_byte_delivery() -> None:
    got: list[WireMessage] = []
    frames = FrameConnection(got.append)

    for byte in wire(RenewLease(1.5), Heartbeat(), HopRefused(1, RefusalReason.BUSY)):
        frames.data_received(bytes([byte]))

    assert got == [RenewLease(1.5), Heartbeat(), HopRefused(1, RefusalReason.BUSY)]


@pytest.mark.parametrize(
    "data",
    [
        _HEAD.pack(1_000_001, 1),  # longer than the limit
        _HEAD.pack(1, 250) + b"\xc0",  # of no kind that there is
        _HEAD.pack(3, 5) + b"abc",  # not what its kind says
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
async def test_invalid_frame_closes_the_connection(data: bytes) -> None:
    got: list[WireMessage] = []
    ended = asyncio.Event()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    frames = await frames_over(ours, got.append, ended.set, limit=1_000_000)

    with theirs:
        await asyncio.get_running_loop().sock_sendall(theirs, wire(Heartbeat()) + data)
        async with asyncio.timeout(30):
            await ended.wait()

    assert got == [Heartbeat()]
    assert not frames.is_open
    frames.send(Heartbeat())  # in vain, and without harm


async def test_writer_waits_for_a_slow_reader() -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    frames = await frames_over(ours, lambda message: None, lambda: None)

    for _ in range(100):
        frames.send(HopDone(1, Fetched(EXCHANGE)))
    assert [frames.has_room] == [False]
    waiting = asyncio.create_task(frames.drained())
    loop = asyncio.get_running_loop()
    with theirs:
        while not waiting.done():
            await loop.sock_recv(theirs, 2**20)

    assert frames.has_room
    frames.close()
    await asyncio.sleep(0)
