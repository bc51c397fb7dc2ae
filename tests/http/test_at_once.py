"""Requests that are answered before the application sees them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest
from tests.http.raw import connected, serving

from scoter.http.asgi import ApiResponse, Receive, Scope, Send, send_reply

HOST = b"Host: 127.0.0.1\r\n"


def quick(target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> ApiResponse | None:
    """Answer what begins with /quick."""
    if target == b"/quick/defect":
        raise RuntimeError("a defect")
    return ApiResponse(b"quick " + target) if target.startswith(b"/quick") else None


class Echo:
    """An application that waits for ``go`` and answers with the method, the target and the headers."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["raw_path"] == b"/quick/defect":
            raise RuntimeError("a defect")
        await self.go.wait()
        names = b",".join(name for name, _ in scope["headers"])
        body = (await receive())["body"] if scope["method"] != "HEAD" else b""
        line = b" ".join((scope["method"].encode(), scope["raw_path"], scope["query_string"], names, body))
        await send_reply(send, ApiResponse(line))


async def test_responses_come_in_the_order_of_pipelined_requests() -> None:
    app = Echo()
    app.go.clear()
    async with serving(app, at_once=quick) as port, connected(port) as client:
        for target in (b"/quick/1", b"/slow?a=1", b"/quick/2"):
            client.say(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST))
        first = await client.answer()
        app.go.set()

        assert first == (200, b"quick /quick/1")
        assert await client.answer() == (200, b"GET /slow a=1 host ")
        assert await client.answer() == (200, b"GET /quick/2  host ")  # by the application: it had to wait its turn
        client.say(b"GET /quick/3 HTTP/1.1\r\n%b\r\n" % HOST)
        assert await client.answer() == (200, b"quick /quick/3")


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"POST /quick HTTP/1.1\r\n%bContent-Length: 2\r\n\r\nhi", b"POST /quick  host,content-length hi"),
        (b"GET /quick HTTP/1.1\r\n%bContent-Length: 2\r\n\r\nhi", b"GET /quick  host,content-length hi"),
        (b"GET /quick HTTP/1.1\r\n%bConnection: close\r\n\r\n", b"GET /quick  host,connection "),
        (b"GET /quick HTTP/1.0\r\n%b\r\n", b"GET /quick  host "),
    ],
)
async def test_unusual_requests_reach_the_application(request_: bytes, answer: bytes) -> None:
    async with serving(Echo(), at_once=quick) as port, connected(port) as client:
        client.say(request_ % HOST)

        assert await client.answer() == (200, answer)


async def test_defect_is_logged_and_answered_by_the_application(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with serving(Echo(), at_once=quick) as port, connected(port) as client:
            client.say(b"GET /quick/defect HTTP/1.1\r\n%b\r\n" % HOST)

            assert (await client.answer())[0] == 500
    assert "a defect" in caplog.text


@pytest.mark.parametrize(
    "request_", [b"GET /quick HTTP/1.1\r\n\r\n", b"GET /quick HTTP/1.1\r\n%b%b\r\n" % (HOST, HOST)]
)
async def test_hosts_are_checked_before(request_: bytes) -> None:
    async with serving(Echo(), at_once=quick) as port, connected(port) as client:
        client.say(request_)

        assert (await client.answer())[0] == 400


async def test_quick_answer_has_the_headers_of_others() -> None:
    async with serving(Echo(), at_once=quick) as port, connected(port) as client:
        heads = []
        for target in (b"/quick", b"/slow"):
            client.say(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST))
            head = await client.head()
            heads.append(sorted(line.partition(b":")[0].lower() for line in head.split(b"\r\n")))
            await client.until(target)
            if target == b"/slow":
                await client.until(b"host ")

    assert heads[0] == heads[1]


@pytest.mark.parametrize("target", [b"/quick", b"/slow"])
async def test_connection_is_closed_when_it_has_been_idle_since_its_last_response(target: bytes) -> None:
    loop = asyncio.get_running_loop()
    async with serving(Echo(), at_once=quick, keep_alive=1) as port, connected(port) as client:
        for pause in (0.0, 0.4):
            await asyncio.sleep(pause)
            client.say(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST))
            await client.answer()
        answered = loop.time()

        assert await client.rest() == b""
        assert loop.time() - answered > 0.9


async def test_connection_stays_open_while_a_request_takes_longer_than_it_may_be_idle() -> None:
    app = Echo()
    app.go.clear()
    async with serving(app, at_once=quick, keep_alive=1) as port, connected(port) as client:
        for target in (b"/quick", b"/slow"):
            client.say(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST))
        await client.answer()
        await asyncio.sleep(1.3)
        app.go.set()

        assert (await client.answer())[0] == 200
        client.say(b"GET /quick HTTP/1.1\r\n%b\r\n" % HOST)
        assert (await client.answer())[0] == 200
        assert await client.rest() == b""
