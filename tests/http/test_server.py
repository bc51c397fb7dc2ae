"""The real server on loopback, and hostile clients."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from tests.http.raw import connected, serving
from tests.live.api.fakes import Bench

from scoter.config.sections.live import WebSettings
from scoter.config.units import Size
from scoter.errors import UsageError
from scoter.http.asgi import ApiResponse, Receive, Scope, Send, send_reply
from scoter.http.server import HttpServer, listen_locally, open_sockets
from scoter.http.streams import StreamTimings

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def post(body: bytes, *more: bytes) -> bytes:
    fields = (b"Host: localhost", b"Content-Type: application/json", *more)
    return b"POST /v1/messages HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body


def _head_time(seconds: float) -> WebSettings:
    return WebSettings(head_time=timedelta(seconds=seconds))


async def test_message_is_accepted_over_http() -> None:
    bench = Bench()
    body = json.dumps({"text": "see http://a.example/"}).encode()
    async with serving(bench.app) as port, connected(port) as client:
        client.say(post(body, b"Content-Length: %d" % len(body)))
        status, answer = await client.answer()

    assert status == 202
    assert list(json.loads(answer)["messages"][0]["entries"]) == ["http://a.example/"]


async def test_pipelined_requests_are_answered_in_order() -> None:
    bench = Bench()
    async with serving(bench.app) as port, connected(port) as client:
        client.say(GET * 3 + b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET)
        statuses = [(await client.answer())[0] for _ in range(5)]

    assert statuses == [200, 200, 200, 404, 200]


async def test_too_many_pipelined_requests_close_the_connection() -> None:
    bench = Bench()
    async with serving(bench.app, limits=WebSettings()) as port, connected(port) as client:
        client.say(b"GET /v1/urls?url=http://a.example/&wait=30s HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET * 500)
        try:
            text = await client.rest()
        except ConnectionError:
            text = b""

    assert text == b""
    assert len(bench.waiters) == 0


async def test_chunked_body_is_read_and_a_malformed_one_refused() -> None:
    bench = Bench()
    async with serving(bench.app) as port:
        async with connected(port) as client:
            client.say(post(b'd\r\n{"text": "x"}\r\n0\r\n\r\n', b"Transfer-Encoding: chunked"))
            good = await client.answer()
        async with connected(port) as client:
            client.say(post(b"zz\r\n", b"Transfer-Encoding: chunked"))
            bad = await client.rest()
        async with connected(port) as client:
            client.say(post(b"0\r\n\r\n", b"Transfer-Encoding: chunked", b"Content-Length: 5"))
            both = await client.rest()

    assert good[0] == 202
    assert bad.startswith(b"HTTP/1.1 400 ")
    assert both.startswith(b"HTTP/1.1 400 ")


async def test_slow_body_times_out() -> None:
    bench = Bench(web=WebSettings(body_time=timedelta(seconds=0.05)))
    async with serving(bench.app) as port, connected(port) as client:
        client.say(post(b'{"te', b"Content-Length: 100"))
        answer = await client.rest()

    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_unwanted_body_that_trickles_in_closes_the_connection() -> None:
    bench = Bench()
    async with (
        serving(bench.app, limits=_head_time(0.1)) as port,
        connected(port) as client,
    ):
        client.say(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx")
        status, _ = await client.answer()
        client.say(b"x")
        rest = await client.rest()

    assert status == 404
    assert rest == b""


async def test_unwanted_body_that_arrives_in_time_keeps_the_connection_open() -> None:
    bench = Bench()
    async with (
        serving(bench.app, limits=_head_time(5)) as port,
        connected(port) as client,
    ):
        client.say(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nx")
        first, _ = await client.answer()
        client.say(b"xxxx" + GET)
        second, _ = await client.answer()

    assert (first, second) == (404, 200)


async def test_large_body_is_refused_before_it_arrives() -> None:
    bench = Bench()
    async with serving(bench.app) as port, connected(port) as client:
        client.say(post(b"", b"Content-Length: 99999999"))
        status, _ = await client.answer()

    assert status == 413


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n", 400),
        (b"GET /healthz HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade\r\n", 400),
        (b"GET /healthz HTTP/1.0\r\n", 200),
        (b"GET /healthz HTTP/1.1\r\nHost:\r\n", 200),
    ],
)
async def test_request_has_exactly_one_host(head: bytes, status: int) -> None:
    async with serving(Bench().app) as port, connected(port) as client:
        client.say(head + b"\r\n")
        answer = await client.answer()

    assert answer[0] == status


@pytest.mark.parametrize(
    "field", [b"X: " + b"a" * 5_000, b"X: a\r\n" * 900, b"A" * 5_000 + b": x"], ids=["value", "number", "name"]
)
async def test_head_size_is_limited(field: bytes) -> None:
    bench = Bench()
    async with serving(bench.app, limits=WebSettings(head_size=Size(4_096))) as port, connected(port) as client:
        client.say(b"GET /healthz HTTP/1.1\r\n" + field)
        answer = await client.rest()

    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_preceding_body_does_not_count_towards_the_head_size() -> None:
    body = json.dumps({"text": "x" * 5_000}).encode()
    async with serving(Bench().app, limits=WebSettings(head_size=Size(1_000))) as port, connected(port) as client:
        client.say(post(body, b"Content-Length: %d" % len(body)) + GET[:9])
        first = await client.answer()
        client.say(GET[9:])
        second = await client.answer()

    assert (first[0], second[0]) == (202, 200)


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTT", b"GET / HTTP/1.1\r\nX: ", b"\r\n\r\n", GET + b"GET /"])
async def test_head_time_is_limited(said: bytes) -> None:
    bench = Bench()
    async with (
        serving(bench.app, limits=_head_time(0.05)) as port,
        connected(port) as client,
    ):
        client.say(said)
        answer = await client.rest()

    assert b"HTTP/1.1 408 " in answer or said in (b"", b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ") == said.startswith(GET)


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_request_that_is_not_http_is_refused_and_the_server_keeps_running(said: bytes) -> None:
    bench = Bench()
    async with serving(bench.app) as port:
        async with connected(port) as client:
            client.say(said)
            answer = await client.rest()
        async with connected(port) as client:
            client.say(GET)
            after = await client.answer()

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert after[0] == 200


async def test_client_input_never_becomes_a_response_header() -> None:
    bench = Bench()
    async with serving(bench.app) as port, connected(port) as client:
        client.say(b"GET /v1/urls?url=http://a.example/%0d%0aSet-Cookie:x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await client.head()

    assert b"cookie" not in head.lower()


@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize("at", [None, 20, -15, -3])
@pytest.mark.parametrize("is_chunked", [False, True])
async def test_protocol_upgrade_offer_is_ignored(is_chunked: bool, at: int | None, times: int) -> None:
    bench = Bench()
    body = json.dumps({"text": "see http://a.example/"}).encode()
    length = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % len(body)
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if is_chunked else body
    offer = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    said = post(sent, *offer, length)
    async with serving(bench.app) as port, connected(port) as client:
        for part in (said[:at], said[at:] + said * (times - 1) + GET) if at else (said * times + GET,):
            client.say(part)
            await asyncio.sleep(0.02)
        answers = [await client.answer() for _ in range(times + 1)]

    assert [status for status, _ in answers] == [202] * times + [200]
    assert all(b"http://a.example/" in answer for _, answer in answers[:-1])


async def test_websocket_is_not_opened() -> None:
    bench = Bench()
    async with serving(bench.app) as port, connected(port) as client:
        client.say(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        head = await client.head()

    assert head.startswith(b"HTTP/1.1 200 ")


async def test_idle_streams_beyond_the_limit_get_503() -> None:
    """Scaled down: 120 clients on a service for 40, instead of 10,000 on one for 1,000."""
    bench = Bench(most_streams=40, pace=StreamTimings(heartbeat=60, slow=5, look=60))
    ask = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with serving(bench.app) as port, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(port)) for _ in range(120)]
        for client in clients:
            client.say(ask)
        heads = [await client.head() for client in clients]
        async with connected(port) as other:
            other.say(GET)
            healthy = await other.answer()

    assert sum(head.startswith(b"HTTP/1.1 200 ") for head in heads) == 40
    refused = [head for head in heads if head.startswith(b"HTTP/1.1 503 ")]
    assert len(refused) == 80
    assert all(b"retry-after: 30\r\n" in head for head in refused)
    assert healthy[0] == 200


async def test_connections_beyond_the_limit_get_503() -> None:
    bench = Bench()
    async with serving(bench.app, limits=WebSettings(connections=5)) as port, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(port)) for _ in range(8)]
        answers = []
        for client in clients:
            client.say(GET)
            answers.append((await client.answer())[0])

    assert answers == [200] * 5 + [503] * 3


async def test_client_that_does_not_read_is_disconnected() -> None:
    ended = asyncio.Event()

    async def pour(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        ended.set()

    async with serving(pour, limits=WebSettings(stalled=timedelta(seconds=0.05))) as port, connected(port) as client:
        client.say(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        async with asyncio.timeout(5):
            await ended.wait()


@pytest.mark.parametrize("is_last", [False, True])
async def test_slow_reader_gets_the_whole_response(is_last: bool) -> None:
    size = 24 * 2**20

    async def pour(scope: Scope, receive: Receive, send: Send) -> None:
        await send_reply(send, ApiResponse(b"x" * size, headers=((b"connection", b"close"),) if is_last else ()))

    async with serving(pour, limits=WebSettings(stalled=timedelta(seconds=3))) as port, connected(port) as client:
        client.say(GET)
        head = await client.head()
        got = 0
        while got < size and (part := await client.some()):
            got += len(part)
            await asyncio.sleep(0.01)  # the whole response takes more than four seconds

    assert head.startswith(b"HTTP/1.1 200 ")
    assert got == size


async def test_stream_ends_when_the_server_stops() -> None:
    bench = Bench(pace=StreamTimings(heartbeat=60, slow=5, look=60))
    stopping = asyncio.Event()
    opened = socket.create_server(("127.0.0.1", 0))
    port = opened.getsockname()[1]
    server = HttpServer(bench.app, [opened], before_stop=bench.streams.close)
    running = asyncio.create_task(server.run_until(stopping))
    while not server.has_started:
        await asyncio.sleep(0)
    async with connected(port) as client:
        client.say(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await client.until(b"retry: 2000")
        stopping.set()
        text = await client.rest()
    await running

    assert text.endswith(b"0\r\n\r\n")


def test_sockets_share_a_port_and_a_second_service_is_refused() -> None:
    with open_sockets("127.0.0.1", 0, 2) as (first, second):
        port = first.getsockname()[1]

        assert second.getsockname()[1] == port
        with pytest.raises(UsageError, match="cannot listen on"), open_sockets("127.0.0.1", port, 1):
            pass


def test_unix_socket_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "core"
    listen_locally(path).close()

    again = listen_locally(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again.close()


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://127.0.0.1/v1/stats", b"127.0.0.1", 200),
        (b"http://127.0.0.1:8008/v1/stats", b"evil.example", 200),  # RFC 9112 3.2.2: the Host header is ignored
        (b"http://[::1]:8008/v1/stats", b"evil.example", 200),
        (b"http://evil.example/v1/stats", b"127.0.0.1", 421),
        (b"http://127.0.0.1@evil.example/v1/stats", b"127.0.0.1", 421),
        (b"http://evil.example:80/v1/stats", b"localhost", 421),
        (b"ftp://127.0.0.1/v1/stats", b"127.0.0.1", 400),
        (b"http:///v1/stats", b"127.0.0.1", 400),
    ],
)
async def test_authority_of_an_absolute_target_counts_as_the_host(target: bytes, host: bytes, status: int) -> None:
    async with serving(Bench().app) as port, connected(port) as client:
        client.say(b"GET %b HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % (target, host))
        answer = await client.rest()

    assert int(answer.split()[1]) == status
