"""The browser's forward proxy: what it connects to, passes on, and refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from tests.fetch.fakes import FakeResolver

from scoter.config import Config, Network, PortRange
from scoter.config.sections.fetch import FetchSettings
from scoter.fetch.network.forward_proxy import ForwardProxy
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Site:
    """A server that keeps what it was asked, and answers the same to all."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\nhello") -> None:
        self.asked: list[bytes] = []
        self._answer = answer
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.read(65_536))
        writer.write(self._answer)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def site(answer: bytes = b"HTTP/1.1 200 OK\r\n\r\nhello") -> AsyncIterator[Site]:
    made = Site(answer)
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


@asynccontextmanager
async def proxy(
    *, networks: tuple[str, ...] = (), rules: tuple[str, ...] = (), names: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[ForwardProxy]:
    fetch = FetchSettings(
        allow_networks=tuple(map(Network, networks)),
        connect_to=rules,
        allow_ports=(PortRange(80, 80), PortRange(443, 443), PortRange(1_024, 65_535)),
    )
    guard = Guard(Config(fetch=fetch))
    resolver = CachingResolver(FakeResolver(dict(names or {})), guard)
    made = ForwardProxy(guard, resolver, **{"timeout": timedelta(seconds=2), **options})
    await made.start()
    try:
        yield made
    finally:
        await made.close()


async def ask(through: ForwardProxy, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", through.port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_request_is_passed_on_in_the_form_for_a_server() -> None:
    async with site() as server, proxy(rules=(f"a.example:80=127.0.0.1:{server.port}",)) as through:
        answer = await ask(
            through,
            b"POST http://a.example/p?q=1 HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: keep-alive\r\n"
            b"Connection: keep-alive\r\nContent-Length: 3\r\nX-Own: 1\r\n\r\nabcGET http://other/ HTTP/1.1\r\n",
        )

    assert answer == b"HTTP/1.1 200 OK\r\n\r\nhello"
    # what stands behind the body is another request, perhaps to another server: it is not this one's
    assert b"".join(server.asked).startswith(
        b"POST /p?q=1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nX-Own: 1\r\nConnection: close\r\n\r\n"
    )
    assert b"other" not in b"".join(server.asked)


async def test_a_tunnel_carries_bytes_both_ways() -> None:
    async with site(b"bytes back") as server, proxy(rules=(f"a.example:443=127.0.0.1:{server.port}",)) as through:
        answer = await ask(through, b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nhello")

    assert answer == b"HTTP/1.1 200 Connected\r\n\r\nbytes back"


async def test_names_are_resolved_by_us() -> None:
    names = {"inside.example": "127.0.0.1"}
    async with site() as server, proxy(networks=("127.0.0.0/8",), names=names) as through:
        request = f"GET http://inside.example:{server.port}/ HTTP/1.1\r\nHost: x\r\n\r\n"
        answer = await ask(through, request.encode())

    assert answer.endswith(b"hello")


@pytest.mark.parametrize(
    "target",
    [
        "127.0.0.1:{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "0:{port}",
        "rebound.example:{port}",
        "mixed.example:{port}",
        "localhost:{port}",
        "169.254.169.254:80",
        "a.example:22",
        "a.example:25",
        "a.example@127.0.0.1:{port}",
    ],
)
@pytest.mark.parametrize("form", ["CONNECT {target} HTTP/1.1\r\n\r\n", "GET http://{target}/ HTTP/1.1\r\n\r\n"])
async def test_proxy_does_not_connect_to_refused_addresses(target: str, form: str) -> None:
    names = {"rebound.example": "127.0.0.1", "mixed.example": "8.8.8.8 127.0.0.1", "localhost": "127.0.0.1"}
    async with site() as server, proxy(names=names) as through:
        place = target.format(port=server.port)
        answer = await ask(through, form.format(target=place).encode())

        assert answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))
        assert server.asked == []
        assert len(through.refusals) == 1


async def test_background_requests_of_the_browser_are_refused_before_dns() -> None:
    async with proxy(deny=("update.example",)) as through:
        answer = await ask(through, b"CONNECT update.example:443 HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert "background request" in through.refusals[0]


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET ftp://a.example/ HTTP/1.1\r\n\r\n",
        b"GET https://a.example/ HTTP/1.1\r\n\r\n",
        b"CONNECT  HTTP/1.1\r\n\r\n",
        b"CONNECT a b c d\r\n\r\n",
        b"\xff\xfe\x00\r\n\r\n",
        b"POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_invalid_proxy_request_gets_an_error(request_: bytes) -> None:
    async with proxy() as through:
        answer = await ask(through, request_)

    assert answer.startswith(b"HTTP/1.1 4")


async def test_an_endless_head_and_an_endless_silence_end() -> None:
    async with proxy(timeout=timedelta(milliseconds=50)) as through:
        assert await ask(through, b"GET http://a.example/ HTTP/1.1\r\n" + b"X: y\r\n" * 20_000) == b""
        assert await ask(through, b"GET http://a.exa") == b""


async def test_bytes_of_a_connection_are_limited() -> None:
    rules = ("a.example:443=127.0.0.1:{port}",)
    async with site(b"x" * 300_000) as server:
        placed = tuple(rule.format(port=server.port) for rule in rules)
        async with proxy(rules=placed, max_bytes=100_000) as through:
            answer = await ask(through, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n!")

    assert len(answer.partition(b"\r\n\r\n")[2]) == 100_000


async def test_unreachable_server_gets_502() -> None:
    async with proxy(rules=("a.example:80=127.0.0.1:1",)) as through:
        answer = await ask(through, b"GET http://a.example/ HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 502 ")
