"""Hosts with several addresses, some of them unreachable."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from tests.fetch.fakes import FakeResolver

from scoter.config import load
from scoter.core.reply import Failed, Fetched, Reason, Request
from scoter.core.url import canonical
from scoter.fetch.network.resolver import Resolved
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup

ALIVE, DEAD = "127.0.0.1", "127.0.0.2"


@asynccontextmanager
async def server() -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        writer.close()

    listening = await asyncio.start_server(serve, ALIVE, 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


@contextmanager
def deaf(port: int) -> Iterator[None]:
    """Listen at the dead address and take no connection: some wait there, and Linux drops all further ones."""
    waiting: list[socket.socket] = []
    with socket.socket() as listening:
        listening.bind((DEAD, port))
        listening.listen(0)
        try:
            for _ in range(4):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                waiting[-1].connect_ex((DEAD, port))
            yield
        finally:
            for each in waiting:
                each.close()


@asynccontextmanager
async def protocol(port: int, *addresses: str) -> AsyncIterator[HttpProtocol]:
    settings = [
        "agent.name=testbot",
        "http.timeout=1s",
        'fetch.allow_networks=["127.0.0.0/8"]',
        f"fetch.allow_ports=[{port}]",
    ]
    resolver = FakeResolver({"a.example": Resolved(addresses, 300.0)})
    made = HttpProtocol(Setup(load(overrides=settings)), resolver=resolver)
    try:
        yield made
    finally:
        await made.close()


def page(port: int) -> Request:
    return Request(url=canonical(f"http://a.example:{port}/"))


@pytest.mark.parametrize("is_deaf", [True, False], ids=["no answer", "refused"])
async def test_reachable_address_is_preferred_after_a_failed_connection(
    is_deaf: bool,
) -> None:
    async with server() as port, protocol(port, DEAD, ALIVE) as http:
        with deaf(port) if is_deaf else socket.socket():
            first = await http.fetch(page(port))
            second = await http.fetch(page(port))
        hops, url = http._transport, page(port).url
        routes = await hops._resolve(url, hops._sites.get(url))

    assert isinstance(first, Fetched)
    assert isinstance(second, Fetched)
    assert (first.exchange.peer, second.exchange.peer) == (ALIVE, ALIVE)
    assert isinstance(routes, tuple)
    assert [ALIVE in each for each in routes] == [True, False]


async def test_host_with_only_unreachable_addresses_times_out() -> None:
    async with server() as port, protocol(port, DEAD) as http:
        with deaf(port):
            reply = await http.fetch(page(port))

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.TIMEOUT
