"""DNS rebinding, and private addresses behind proxies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from tests.fetch.fakes import FakeResolver
from tests.fetch.hostile import KEEP, Pause, config_for, ok, serving

from scoter.config import Config, load
from scoter.core.reply import Failed, Fetched, Reason, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.filters import kind_of
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import Answer, CachingResolver, Resolved
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup

PUBLIC = "93.184.215.14"


async def _fetch(config: Config, table: dict[str, Answer | str | Sequence[Answer | str]], *urls: str) -> list[Reply]:
    resolver = CachingResolver(FakeResolver(table, ttl=0.0), Guard(config))
    protocol = HttpProtocol(Setup(config), resolver=resolver)
    try:
        return [await protocol.fetch(Request(url=canonical(url))) for url in urls]
    finally:
        await protocol.close()


async def test_name_that_becomes_private_is_refused() -> None:
    async with serving({"/": (ok(), KEEP)}) as server:
        # given a network that is allowed, and a name that leads out of it when it is looked up again
        config = load(
            overrides=[
                "agent.name=hostile-test",
                'fetch.allow_networks=["127.0.0.1"]',
                f"fetch.allow_ports=[{server.port}]",
                "http.timeout=1s",
            ]
        )
        url = f"http://rebinding.test:{server.port}/"
        first, second, third = await _fetch(config, {"rebinding.test": ["127.0.0.1", "127.0.0.2"]}, url, url, url)

    assert isinstance(first, Fetched)
    for reply in (second, third):
        assert isinstance(reply, Failed)
        assert kind_of(reply) == "refused_address"
        assert "127.0.0.2" in reply.detail
    assert server.accepted == 1


class LyingResolver:
    """Hands out a private address that nobody has checked."""

    async def resolve(self, host: str) -> Answer:
        return Resolved(("127.0.0.1",), 60.0)


async def test_the_socket_is_checked_even_when_a_resolver_hands_out_a_private_address() -> None:
    async with serving({"/": (ok(), KEEP)}) as server:
        config = load(overrides=["agent.name=hostile-test", f"fetch.allow_ports=[{server.port}]"])
        protocol = HttpProtocol(Setup(config), resolver=LyingResolver())
        reply = await protocol.fetch(Request(url=canonical(f"http://lying.test:{server.port}/")))
        await protocol.close()

    assert kind_of(reply) == "refused_address"
    assert server.accepted == 0


async def test_name_with_mixed_answers_is_refused() -> None:
    (reply,) = await _fetch(config_with_agent(), {"mixed.test": f"{PUBLIC} 10.0.0.1"}, "http://mixed.test/")

    assert kind_of(reply) == "refused_address"


def config_with_agent(*settings: str) -> Config:
    return load(overrides=["agent.name=hostile-test", "http.timeout=1s", "http.time_limit=4s", *settings])


class FakeProxy:
    """An HTTP and SOCKS5 proxy that reaches one server only, whatever it is asked for, and notes what that was."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            first = await reader.readexactly(1)
            await (self._socks(reader, writer) if first == b"\x05" else self._http(first, reader, writer))
        self._tasks.discard(task)
        writer.close()

    async def _http(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = first + await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head.partition(b"\r\n")[0].decode("latin-1"))
        await self._pass_on(reader, writer, head)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # RFC 1928: greeting, no authentication, then CONNECT with a name (type 3).
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x00")
        _, command, _, kind = await reader.readexactly(4)
        assert (command, kind) == (1, 3), "the name must be resolved by the proxy"
        name = await reader.readexactly((await reader.readexactly(1))[0])
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"SOCKS {name.decode()}:{port}")
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await self._pass_on(reader, writer, b"")

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        near, far = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            far.write(head.replace(b"GET http://public.test/", b"GET /"))
            await asyncio.gather(_copy(reader, far), _copy(near, writer))
        finally:
            far.close()

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def proxied(port: int) -> AsyncIterator[FakeProxy]:
    proxy = FakeProxy(port)
    listening = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        await proxy.close()


@pytest.mark.parametrize(
    ("kind", "asked"), [("http", "GET http://public.test/page HTTP/1.1"), ("socks", "SOCKS public.test:80")]
)
async def test_proxy_gets_the_name_and_its_own_address_is_allowed(kind: str, asked: str) -> None:
    async with serving({"/page": (ok(b"through"), KEEP)}) as server, proxied(server.port) as proxy:
        config = config_with_agent(
            f"http.proxy_type={kind}", "http.proxy_host=127.0.0.1", f"http.proxy_port={proxy.port}"
        )
        (reply,) = await _fetch(config, {"public.test": PUBLIC}, "http://public.test/page")

    assert isinstance(reply, Fetched), reply
    assert reply.exchange.body == b"through"
    assert proxy.asked == [asked]


@pytest.mark.parametrize("url", ["http://private.test/", "http://10.0.0.1/", "http://[::1]/", "http://0x7f.1/"])
async def test_proxy_is_never_asked_for_a_private_address(url: str) -> None:
    async with serving({"/": (ok(), KEEP)}) as server, proxied(server.port) as proxy:
        config = config_with_agent("http.proxy_host=127.0.0.1", f"http.proxy_port={proxy.port}")
        (reply,) = await _fetch(config, {"private.test": "192.168.0.1"}, url)

    assert kind_of(reply) == "refused_address"
    assert proxy.asked == []


async def test_an_exception_from_the_proxy_is_reached_directly() -> None:
    async with serving({"/page": (ok(b"direct"), KEEP)}) as server, proxied(server.port) as proxy:
        config = config_for(
            server.port,
            "http.proxy_host=127.0.0.1",
            f"http.proxy_port={proxy.port}",
            'http.proxy_exception_list=["*.near.test"]',
        )
        (reply,) = await _fetch(config, {}, "http://www.near.test/page")

    assert isinstance(reply, Fetched)
    assert reply.exchange.body == b"direct"
    assert proxy.asked == []


async def test_an_exception_from_the_proxy_is_reached_directly_after_another_host_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    page = (ok(b"page"), KEEP)
    async with (
        serving({"/page": page, "http://public.test/page": page}) as server,
        proxied(server.port) as proxy,
    ):
        config = config_with_agent(
            f'fetch.connect_to=["*.near.test:*=127.0.0.1:{server.port}"]',
            "http.proxy_host=127.0.0.1",
            f"http.proxy_port={proxy.port}",
            'http.proxy_exception_list=["*.near.test"]',
        )
        urls = [f"http://{host}/page" for host in ("public.test", "www.near.test", "public.test", "www.near.test")]
        replies = await _fetch(config, {"public.test": PUBLIC}, *urls)

    assert [kind_of(reply) for reply in replies] == ["fetched"] * 4
    assert proxy.asked == ["GET http://public.test/page HTTP/1.1"]


async def test_missing_proxy_counts_as_unreachable_server() -> None:
    config = config_with_agent("http.proxy_host=127.0.0.1", "http.proxy_port=1")
    (reply,) = await _fetch(config, {"public.test": PUBLIC}, "http://public.test/")

    assert kind_of(reply) == "unreachable"


async def test_a_tunnel_is_asked_for_by_https_and_a_refused_one_is_a_failure() -> None:
    # given a server that answers CONNECT with 403, as a proxy with rules of its own does
    refused = {"public.test:443": (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", KEEP)}
    async with serving(refused) as proxy:
        config = config_with_agent("http.proxy_host=127.0.0.1", f"http.proxy_port={proxy.port}")
        (reply,) = await _fetch(config, {"public.test": PUBLIC}, "https://public.test/")

    assert isinstance(reply, Failed)
    assert proxy.heads[0].startswith(b"CONNECT public.test:443 HTTP/1.1\r\n")


async def test_connect_response_of_a_proxy_is_not_the_response() -> None:
    silent = {"public.test:443": (b"HTTP/1.1 200 Connected\r\n\r\n", Pause(5))}
    async with serving(silent) as proxy:
        config = config_with_agent(
            "http.proxy_host=127.0.0.1", f"http.proxy_port={proxy.port}", "http.timeout=2s", "http.time_limit=300ms"
        )
        (reply,) = await _fetch(config, {"public.test": PUBLIC}, "https://public.test/robots.txt")

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.exchange) == (Reason.TIMEOUT, None)
