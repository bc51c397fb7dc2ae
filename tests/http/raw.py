"""A server on loopback, and a client that sends raw bytes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import App
from scoter.http.protocol import QuickAnswer
from scoter.http.refusals import RefusalCounter
from scoter.http.server import KEEP_ALIVE, HttpServer, listen_locally

WITHIN = 10.0


@asynccontextmanager
async def serving(
    app: App,
    *,
    path: Path | None = None,
    limits: WebSettings = WebSettings(),  # noqa: B008  frozen
    note: RefusalCounter = lambda why: None,
    at_once: QuickAnswer | None = None,
    keep_alive: int = KEEP_ALIVE,
) -> AsyncIterator[int]:
    """Serve an application until the block ends; yield its port, or 0 for a Unix socket."""
    opened = socket.create_server(("127.0.0.1", 0)) if path is None else listen_locally(path)
    port = 0 if path is not None else opened.getsockname()[1]
    server = HttpServer(app, [opened], limits=limits, note=note, at_once=at_once, keep_alive=keep_alive)
    running = asyncio.create_task(server.run())
    while not server.has_started:
        await asyncio.sleep(0)
    try:
        yield port
    finally:
        server.stop()
        await running


class Raw:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def say(self, data: bytes) -> None:
        self._writer.write(data)

    async def drained(self) -> None:
        await self._writer.drain()

    async def head(self) -> bytes:
        async with asyncio.timeout(WITHIN):
            return await self._reader.readuntil(b"\r\n\r\n")

    async def answer(self) -> tuple[int, bytes]:
        """Return the status and body of the next response, which must have a length."""
        head = await self.head()
        lines = head.lower().split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        async with asyncio.timeout(WITHIN):
            return int(head[9:12]), await self._reader.readexactly(length)

    async def until(self, text: bytes) -> bytes:
        async with asyncio.timeout(WITHIN):
            return await self._reader.readuntil(text)

    async def some(self) -> bytes:
        """Return the available bytes; empty if the server has closed the connection."""
        async with asyncio.timeout(WITHIN):
            return await self._reader.read(65_536)

    async def rest(self) -> bytes:
        """Return everything until the server closes the connection."""
        async with asyncio.timeout(WITHIN):
            return await self._reader.read()

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
