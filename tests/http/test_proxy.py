"""Requests are forwarded to the core, and its responses returned."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from tests.http.raw import connected, serving
from tests.live.api.client import Client, Exchanging
from tests.live.api.fakes import Bench
from tests.live.api.test_events import happen, numbers
from tests.waiting import until

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import ApiResponse, Receive, Scope, Send, send_reply
from scoter.http.proxy import CoreProxy, request_head
from scoter.http.streams import StreamTimings
from scoter.live.api.lookup_app import LookupApp
from scoter.live.api.metrics import LookupMetrics

JSON = ("Content-Type", "application/json")


@asynccontextmanager
async def core(bench: Bench, tmp_path: Path) -> AsyncIterator[tuple[Client, CoreProxy]]:
    """Yield a client of a proxy, and the proxy, which forwards everything to a core on a Unix socket."""
    path = tmp_path / "core"
    async with serving(bench.app, path=path):
        passing = CoreProxy(path)
        yield Client(passing, bench.document, (("Host", "localhost"),)), passing
        passing.close()


async def test_forwarded_request_gets_the_same_response_as_a_direct_one(tmp_path: Path) -> None:
    bench = Bench()
    await bench.know("http://a.example/")
    async with core(bench, tmp_path) as (client, _):
        known = await client.get("/v1/urls?url=http%3A%2F%2Fa.example%2F&wait=1s")
        body = json.dumps({"text": "see http://b.example/"}).encode()
        taken = await client.ask("POST", "/v1/messages", body, (JSON, ("Content-Length", str(len(body)))))
        nowhere = await client.get("/nowhere")
        head = Exchanging("HEAD", "/v1/stats")
        await client.app(head.scope, head.receive, head.send)

    assert known.json["url"] == "http://a.example/"
    assert taken.status == 202
    assert nowhere.status == 404
    assert (head.status, head.text, head.is_whole) == (200, b"", True)


async def test_body_is_forwarded_in_parts(tmp_path: Path) -> None:
    bench = Bench()
    async with core(bench, tmp_path) as (client, _):
        parts = [b'{"te', b'xt": "see ', b'http://b.example/"}', b""]
        got = await client.ask("POST", "/v1/messages", parts, (JSON, ("Transfer-Encoding", "chunked")))

    assert got.status == 202
    assert list(got.json["messages"][0]["entries"]) == ["http://b.example/"]


async def test_connection_to_the_core_is_reused(tmp_path: Path) -> None:
    bench = Bench()
    async with core(bench, tmp_path) as (client, passing):
        for _ in range(20):
            assert (await client.get("/v1/stats")).status == 200

        assert len(passing._idle) == 1


async def test_connection_that_was_idle_for_long_is_not_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, closed = 0, 0

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened, closed
        opened += 1
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()
        closed += 1

    async with await asyncio.start_unix_server(respond, tmp_path / "core"):
        passing = CoreProxy(tmp_path / "core")
        for idle in (30.0, 30.0, 0.0):
            monkeypatch.setattr("scoter.http.proxy._IDLE", idle)
            exchange = Exchanging("GET", "/v1/stats")
            await passing(exchange.scope, exchange.receive, exchange.send)
            assert exchange.status == 200
        passing.close()
        async with asyncio.timeout(5):
            await until(lambda: closed >= opened)

    assert opened == 2


async def test_concurrent_requests_do_not_interfere(tmp_path: Path) -> None:
    bench = Bench()
    for n in range(100):
        await bench.know(f"http://a.example/{n}")
    async with core(bench, tmp_path) as (client, _):
        got = await asyncio.gather(*(client.get(f"/v1/urls?url=http://a.example/{n}&wait=1s") for n in range(100)))

    assert [each.json["url"] for each in got] == [f"http://a.example/{n}" for n in range(100)]


async def test_early_response_is_passed_back(tmp_path: Path) -> None:
    bench = Bench()
    async with core(bench, tmp_path) as (client, _):
        large = await client.ask(
            "POST", "/v1/messages", [b"x" * 65_536] * 40, (JSON, ("Content-Length", str(65_536 * 40)))
        )
        after = await client.get("/v1/stats")

    assert large.status == 413
    assert after.status == 200


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/urls/lookup"])
async def test_client_that_writes_before_it_reads_sees_that_its_body_is_too_large(
    path: str, is_chunked: bool, tmp_path: Path
) -> None:
    bench = Bench()

    def write_then_read(port: int) -> bytes:
        length = 20 * 2**20
        field = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {length}"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{field}\r\n\r\n"
        body = b"x" * length
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(head.encode() + (b"%x\r\n%b\r\n0\r\n\r\n" % (length, body) if is_chunked else body))
            return client.recv(65_536)

    async with core(bench, tmp_path) as (_, passing):
        app = LookupApp(bench.services.lookup, bench.access, passing)
        patient = WebSettings(head_time=timedelta(minutes=2))
        async with serving(app, limits=patient) as port:
            answer = await asyncio.to_thread(write_then_read, port)

    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_http_1_0_without_host_is_forwarded(tmp_path: Path) -> None:
    bench = Bench()
    async with core(bench, tmp_path) as (_, passing), serving(passing) as port, connected(port) as client:
        client.say(b"GET /v1/stats HTTP/1.0\r\n\r\n")
        status, _ = await client.answer()

    assert status == 200


async def test_stream_is_forwarded_as_it_arrives_and_ends_with_the_client(tmp_path: Path) -> None:
    bench = Bench()
    async with core(bench, tmp_path) as (_, passing):
        reading = asyncio.create_task(bench.streams.run())
        stream = Exchanging("GET", "/v1/events", headers=(("Host", "localhost"),))
        asking = asyncio.create_task(passing(stream.scope, stream.receive, stream.send))
        await stream.until(b"retry")
        await happen(bench, 3)
        text = await stream.until(b"id: 3\n")
        stream.leave()
        await asking
        async with asyncio.timeout(5):
            await until(lambda: not len(bench.streams))
        reading.cancel()

    assert numbers(text) == [1, 2, 3]


async def test_long_response_reaches_a_slow_client(tmp_path: Path) -> None:
    size = 8 * 2**20

    async def long(scope: Scope, receive: Receive, send: Send) -> None:
        await send_reply(send, ApiResponse(b"x" * size))

    async with serving(long, path=tmp_path / "core"):
        passing = CoreProxy(tmp_path / "core")
        async with serving(passing) as port, connected(port) as client:
            client.say(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.sleep(0.2)  # by now all buffers on the way are full
            status, body = await client.answer()
        passing.close()

    assert (status, len(body)) == (200, size)


async def test_core_waits_while_the_client_does_not_read(tmp_path: Path) -> None:
    part, parts = b"x" * 65_536, 256
    sent = 0

    async def long(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(part) * parts))
        for _ in range(parts):
            writer.write(part)
            await writer.drain()
            sent += 1
        writer.close()

    exchange = Exchanging("GET", "/v1/stats")
    exchange.may_send.clear()
    async with await asyncio.start_unix_server(long, tmp_path / "core"):
        passing = CoreProxy(tmp_path / "core")
        asking = asyncio.create_task(passing(exchange.scope, exchange.receive, exchange.send))
        before = 0
        while not sent or sent > before:
            before = sent
            await asyncio.sleep(0.1)
        exchange.may_send.set()
        await asking
        passing.close()

    assert before < parts / 4
    assert len(exchange.text) == len(part) * parts


async def test_unreachable_core_returns_503_with_retry_after(tmp_path: Path) -> None:
    client = Client(CoreProxy(tmp_path / "nobody"), Bench().document)

    got = await client.get("/v1/stats")

    assert got.status == 503
    assert got.headers["retry-after"] == "2"


async def test_core_crash_mid_response_leaves_the_response_incomplete(tmp_path: Path) -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\ncontent-type: application/json\r\n\r\n{")
        writer.close()

    async with await asyncio.start_unix_server(die, tmp_path / "core"):
        exchange = Exchanging("GET", "/v1/stats")
        await CoreProxy(tmp_path / "core")(exchange.scope, exchange.receive, exchange.send)

    assert exchange.status == 200
    assert not exchange.is_whole


async def test_invalid_response_from_the_core_returns_503(tmp_path: Path) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"what?\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(babble, tmp_path / "core"):
        got = await Client(CoreProxy(tmp_path / "core"), Bench().document).get("/v1/stats")

    assert got.status == 503


async def test_concurrent_forwards_are_limited(tmp_path: Path) -> None:
    got = await Client(CoreProxy(tmp_path / "core", most=0), Bench().document).get("/v1/stats")

    assert got.status == 503


async def test_hop_by_hop_headers_are_not_forwarded() -> None:
    headers = (("Host", "x"), ("Connection", "close"), ("Upgrade", "h2c"), ("Expect", "100-continue"), ("X-Kept", "1"))
    exchange = Exchanging("GET", "/v1/stats?a=b", headers=headers)

    head = request_head(exchange.scope, is_chunked=False)

    assert head == b"GET /v1/stats?a=b HTTP/1.1\r\nhost: x\r\nx-kept: 1\r\n\r\n"


async def test_lookup_process_answers_lookups_and_forwards_the_rest(tmp_path: Path) -> None:
    bench = Bench(pace=StreamTimings(heartbeat=60, slow=5, look=0.01))
    await bench.know("http://a.example/")
    async with core(bench, tmp_path) as (_, passing):
        lookup = LookupApp(bench.services.lookup, bench.access, passing)
        async with serving(lookup) as port, connected(port) as client:
            client.say(b"GET /v1/urls?url=http://a.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
            status, body = await client.answer()
            client.say(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stats = await client.answer()
            reading = asyncio.create_task(bench.streams.run())
            client.say(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await client.until(b"retry: 2000\n\n")
            await happen(bench, 1)
            event = await client.until(b"event: url\n")
            reading.cancel()

    assert (status, json.loads(body)["url"]) == (200, "http://a.example/")
    assert stats[0] == 200
    assert b"id: 1\n" in event


@pytest.mark.parametrize("sent", ["malformed chunk", "too many pipelined requests", "half a body"])
async def test_fault_of_a_client_does_not_count_as_one_of_the_core(sent: str, tmp_path: Path) -> None:
    bench, path = Bench(), tmp_path / "core"
    metrics = LookupMetrics(bench.access)
    proxy = CoreProxy(path, note=lambda: metrics.answered("passed on", 503, metrics.clock()))
    waiting = b"GET /v1/urls?url=http://a.example/&wait=5s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    post = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})
    async with serving(bench.app, path=path), serving(proxy, note=metrics.refused) as port, connected(port) as client:
        if sent == "malformed chunk":
            client.say(post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
        elif sent == "half a body":
            client.say(post + b"Content-Length: 50\r\n\r\n{")
            await asyncio.sleep(0.05)
            client.close()
        else:
            client.say(waiting + waiting * 200)
        with suppress(ConnectionError):
            await client.rest()
        async with asyncio.timeout(5):
            await until(lambda: not len(proxy))

    statuses = {labels[1]: count for labels, count in metrics.take().requests}
    assert statuses == ({"400": 1} if sent == "malformed chunk" else {})
    proxy.close()
