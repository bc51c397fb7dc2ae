"""Servers that record what was sent, and the protocol plug-in that asks them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from scoter.config import load
from scoter.core.reply import Reply, Request
from scoter.core.url import canonical
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup

Handler = Callable[[bytes], bytes]


def response(body: bytes = b"ok", *fields: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Serve each request head with what the handler makes of it; yield the port and the heads."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                heads.append(head)
                writer.write(handler(head))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heads
    finally:
        listening.close()


@asynccontextmanager
async def protocol(port: int, *overrides: str) -> AsyncIterator[HttpProtocol]:
    config = load(
        overrides=["agent.name=testbot", f'fetch.connect_to=["*:*=127.0.0.1:{port}"]', "http.timeout=2s", *overrides]
    )
    made = HttpProtocol(Setup(config))
    try:
        yield made
    finally:
        await made.close()


async def get(port: int, text: str, *overrides: str, **known: object) -> Reply:
    async with protocol(port, *overrides) as http:
        return await http.fetch(Request(url=canonical(text), **known))  # type: ignore[arg-type]


def lines_of(head: bytes) -> list[str]:
    return head.decode("latin-1").split("\r\n")
