"""Hostile clients at the public port of a service: they get a response, and no other client is affected."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from tests.http.raw import Raw, connected
from tests.live.api.chain import Chain, chained
from tests.live.api.fakes import Bench

from scoter.config.sections.live import WebSettings
from scoter.http.streams import StreamTimings

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
INNER = (
    b"PUT /v1/domains/smuggled.example HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Content-Length: 16\r\n\r\n{"blocked":true}'
)
LISTEN = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _head_time(seconds: float) -> WebSettings:
    return WebSettings(head_time=timedelta(seconds=seconds))


@pytest.fixture
async def chain(tmp_path: Path) -> AsyncIterator[Chain]:
    async with chained(tmp_path) as found:
        yield found


def post(*fields: bytes, body: bytes = b"", path: bytes = b"/v1/messages") -> bytes:
    lines = (b"POST %b HTTP/1.1" % path, b"Host: localhost", b"Content-Type: application/json", *fields)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def others_are_well(chain: Chain) -> None:
    """Check that another client gets correct responses, over the same connections to the core."""
    async with connected(chain.port) as client:
        for name in (b"one", b"two"):
            client.say(b"GET /v1/domains/%b.example HTTP/1.1\r\nHost: localhost\r\n\r\n" % name)
            assert await client.answer() == (200, b'{"domain":"%b.example"}' % name)


async def whole(client: Raw) -> bytes:
    try:
        return await client.rest()
    except ConnectionError:
        return b""


SIZE = b"Content-Length: %d" % len(INNER)
CHUNKED = b"Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    "said",
    [
        post(SIZE, b"Content-Length: 0", body=INNER),
        post(b"Content-Length: 0", SIZE, body=INNER),
        post(SIZE, SIZE, body=INNER),
        post(b"Content-Length: 0, 5", body=INNER),
        post(b"Content-Length: +0", body=INNER),
        post(b"Content-Length: 0x0", body=INNER),
        post(b"Content-Length: 1_0", body=INNER),
        post(b"Content-Length: ", body=INNER),
        post(b"Content-Length: 99999999999999999999999", body=INNER),
        post(SIZE, CHUNKED, body=b"0\r\n\r\n" + INNER),
        post(CHUNKED, SIZE, body=b"0\r\n\r\n" + INNER),
        post(CHUNKED, b"Content-Length: 0", body=b"0\r\n\r\n" + INNER),
        post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + INNER),
        post(b"Transfer-Encoding: identity, chunked, identity", body=b"0\r\n\r\n" + INNER),
        post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + INNER),
        post(b"Transfer-Encoding:\x0bchunked", body=b"0\r\n\r\n" + INNER),
        post(b"Transfer-Encoding: identity", CHUNKED, SIZE, body=INNER),
        post(b"X: y\nTransfer-Encoding: chunked", SIZE, body=b"0\r\n\r\n" + INNER),
        post(b"X: y\r\n Transfer-Encoding: chunked", b"Content-Length: 0\r\n 5", body=INNER),
        post(CHUNKED, body=b"ffffffffffffffff1\r\nx\r\n0\r\n\r\n"),
        post(CHUNKED, body=b"0x5\r\nhello\r\n0\r\n\r\n"),
        post(CHUNKED, body=b"-1\r\nx\r\n0\r\n\r\n"),
        post(CHUNKED, body=b"5\rXhello\r\n0\r\n\r\n"),
        post(CHUNKED, body=b"2\r\n{}\r\n0\r\nContent-Length: 5\r\nAuthorization: Bearer x\r\n\r\n"),
        post(b"X: \x00", body=INNER),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rb: c\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
async def test_request_smuggling_does_not_affect_other_clients(chain: Chain, said: bytes) -> None:
    async with connected(chain.port) as client:
        client.say(said)
        client._writer.write_eof()
        answer = await whole(client)

    # Refused, or parsed in one way only: the smuggled request is never executed.
    assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 202 "))
    assert answer.count(b"HTTP/1.1 ") <= 2
    assert chain.bench.stores.rules.get("smuggled.example") is None
    await others_are_well(chain)


@pytest.mark.parametrize(
    ("target", "statuses"),
    [
        (b"//healthz", {404}),
        (b"/v1//stats", {404}),
        (b"/%76%31/stats", {404}),
        (b"/v1/domains/%2e%2e", {404, 422}),
        (b"/v1/domains/..%2f..%2fkeys", {404, 422}),
        (b"/v1/domains/a%0d%0aX-Evil:1", {422}),
        (b"/v1/domains/..", {404, 422}),
        (b"/v1/../v1/stats", {404}),
        (b"/v1/domains/%ff%fe", {422}),
        (b"/v1/stats%00", {404}),
        (b"*", {400, 404}),
        (b"http://other.example/v1/nowhere", {404}),
        (b"http://other.example:99999/", {400, 404}),
        (b"/" + b"a" * 20_000, {404}),
        (b"/" + b"a" * 40_000, {431}),
        (b"/v1/urls?url=" + b"%F0%9F%98%80" * 10_000, {431}),
        (b"/v1/urls?wait=1s&url=" + b"a" * 20_000, {422}),
        (b"/v1/events?after=" + b"9" * 10_000, {422}),
    ],
)
async def test_hostile_request_target_gets_a_problem_response(chain: Chain, target: bytes, statuses: set[int]) -> None:
    async with connected(chain.port) as client:
        client.say(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
        head = await client.head()
        body = await client.until(b"}")

    assert int(head[9:12]) in statuses
    assert b"content-type: application/problem+json\r\n" in head
    assert b"x-evil" not in head.lower()
    assert json.loads(body)["status"] in statuses
    await others_are_well(chain)


@pytest.mark.parametrize(
    "body",
    [
        b'{"urls":' + b"[" * 200_000,
        b"[" * 500_000 + b"]" * 500_000,
        b'{"text":' + b'{"a":' * 100_000,
        b'{"force": ' + b"9" * 300_000 + b"}",
        b'{"force": 1e999999}',
        b'{"force": -' + b"0" * 1000 + b"}",
        b'{"id": "\\ud800"}',
        b'{"id": "a\\r\\nX-Evil: 1"}',
        b"\x81\xa4text\xa1x",
        b"\xff\xfe\x7b\x00\x7d\x00",
    ],
    ids=["open", "deep", "nested", "long", "infinite", "minus", "surrogate", "crlf", "msgpack", "utf-16"],
)
async def test_hostile_body_is_refused(chain: Chain, body: bytes) -> None:
    async with connected(chain.port) as client:
        client.say(post(b"Content-Length: %d" % len(body), body=body))
        head = await client.head()

    assert int(head[9:12]) in (400, 413, 422)
    assert b"x-evil" not in head.lower()
    assert chain.bench.stores.journal.waiting() == 0
    await others_are_well(chain)


async def test_last_of_two_equal_json_keys_counts(chain: Chain) -> None:
    body = b'{"text": "http://a.example/", "text": "http://b.example/"}'
    async with connected(chain.port) as client:
        client.say(post(b"Content-Length: %d" % len(body), body=body))
        status, answer = await client.answer()

    assert status == 202
    assert list(json.loads(answer)["messages"][0]["entries"]) == ["http://b.example/"]


@pytest.mark.parametrize("path", [b"/v1/messages", b"/v1/urls/lookup"], ids=["core", "lookup"])
async def test_endless_body_is_not_read_forever(chain: Chain, path: bytes) -> None:
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    async with connected(chain.port) as client:
        client.say(post(CHUNKED, path=path))
        try:
            while sent < 1_000:  # 64 MB: twice what is read and discarded
                client.say(piece)
                await client.drained()
                sent += 1
        except ConnectionError:
            pass
        else:
            pytest.fail("all of it was read")
    await others_are_well(chain)


async def test_slow_clients_are_disconnected_and_counted(tmp_path: Path) -> None:
    bench = Bench(web=WebSettings(body_time=timedelta(seconds=0.15)))
    async with chained(tmp_path, bench, _head_time(0.15)) as chain:
        started = asyncio.get_running_loop().time()
        async with connected(chain.port) as head, connected(chain.port) as body:
            body.say(post(b"Content-Length: 1000"))
            answers = [asyncio.create_task(whole(client)) for client in (head, body)]
            for at in range(500):  # one byte at a time, for longer than any timeout
                head.say(HEALTH[at % 20 : at % 20 + 1] if at < 20 else b"x")
                body.say(b"x")
                if all(task.done() for task in answers):
                    break
                await asyncio.sleep(0.01)
            told = await asyncio.gather(*answers)
        took = asyncio.get_running_loop().time() - started
        refused = chain.refused()

        # Empty if a late byte reset the connection before the response was read.
        assert told[0][:13] in (b"HTTP/1.1 408 ", b"")
        assert told[1][:13] in (b"HTTP/1.1 408 ", b"")
        assert took < 4
        assert refused == {"head_too_slow": 1}
        await others_are_well(chain)


async def test_stream_client_that_never_reads_is_disconnected_without_affecting_others(tmp_path: Path) -> None:
    bench = Bench(pace=StreamTimings(heartbeat=60, slow=0.3, look=0.01), most_events=50_000)
    running = asyncio.create_task(bench.streams.run())
    async with (
        chained(tmp_path, bench, WebSettings(stalled=timedelta(seconds=0.3))) as chain,
        connected(chain.port) as idle,
    ):
        idle.say(LISTEN)
        await idle.until(b"retry: 2000")
        idle._writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(20):
            number = 0
            while len(bench.streams):
                urls = [f"http://a.example/{number + at}" + "x" * 7_000 for at in range(100)]
                number += 100
                message = {"urls": urls[:20]}
                await bench.client.post("/v1/messages", message)
                await bench.work()
                await asyncio.sleep(0)
        await others_are_well(chain)
        bench.streams.close()
        await running


@pytest.mark.slow
async def test_idle_streams_beyond_the_limit_get_503(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(2_000, (hard - 1_000) // 4)  # each takes four descriptors here: two ends of two connections
    bench = Bench(most_streams=300, pace=StreamTimings(heartbeat=60, slow=5, look=60))
    async with chained(tmp_path, bench, passed_on=1_000) as chain, AsyncExitStack() as stack:
        clients = []
        for _ in range(count):
            client = await stack.enter_async_context(connected(chain.port))
            client.say(LISTEN)
            clients.append(client)
        heads = [await client.head() for client in clients]
        await others_are_well(chain)
        listening = len(bench.streams)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    refused = [head for head in heads if not head.startswith(b"HTTP/1.1 200 ")]
    assert listening == 300
    assert len(refused) == count - 300
    assert all(head.startswith(b"HTTP/1.1 503 ") and b"\r\nretry-after: " in head for head in refused)


async def test_client_errors_are_counted_and_not_logged(chain: Chain, caplog: pytest.LogCaptureFixture) -> None:
    wrong = (
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    )
    with caplog.at_level(logging.INFO):
        for said in wrong:
            async with connected(chain.port) as client:
                client.say(said)
                await client.head()

    assert chain.refused() == {"not_http": 1, "head_too_large": 1}
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
