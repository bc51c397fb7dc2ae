"""Passes connections on: ``python -m tests.servers.relay FROM TO``, each ``port:N`` on loopback or ``file:PATH``.

A Unix socket is visible in every network namespace, so two of these join a port of one namespace to that of another.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import StreamReader, StreamWriter
from contextlib import suppress


async def _connect(place: str) -> tuple[StreamReader, StreamWriter]:
    kind, _, value = place.partition(":")
    if kind == "file":
        return await asyncio.open_unix_connection(value)
    return await asyncio.open_connection("127.0.0.1", int(value))


async def _copy(reader: StreamReader, writer: StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


async def relay(listen: str, to: str) -> None:
    """Pass connections on until cancelled."""

    async def accept(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            there, back = await _connect(to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    kind, _, value = listen.partition(":")
    server = await (
        asyncio.start_unix_server(accept, value)
        if kind == "file"
        else asyncio.start_server(accept, "127.0.0.1", int(value))
    )
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(relay(sys.argv[1], sys.argv[2]))
