"""A server that answers each path with exact bytes, however wrong, and what is needed to fetch from it.

A script is a sequence of steps: bytes to send, ``Pause`` to wait, ``RESET`` to break the connection, ``HANG`` to say no
more. When a script ends, the connection is closed, unless its last step is ``KEEP``: then the next request is read.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from scoter.config import Config, load
from scoter.core.reply import Reply, Request
from scoter.core.url import canonical
from scoter.fetch.fetcher import Fetcher


class Pause(Struct, frozen=True):
    """Wait for some seconds between two steps."""

    seconds: float


class Act(Enum):
    RESET = "reset"
    HANG = "hang"
    KEEP = "keep"


RESET, HANG, KEEP = Act.RESET, Act.HANG, Act.KEEP
Step: TypeAlias = bytes | Pause | Act
Script: TypeAlias = Sequence[Step]

MISSING: Script = (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", KEEP)


class Series(Struct, frozen=True):
    """Scripts for one path, played one a request; the last stays."""

    scripts: tuple[Script, ...]


def ok(body: bytes = b"hello", *fields: bytes) -> bytes:
    """Return a sound response, with further fields."""
    head = b"".join(field + b"\r\n" for field in (b"Content-Length: %d" % len(body), *fields))
    return b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body


class HostileServer:
    """Plays scripts by path; a path that has none gets 404. A ``Series`` is played one script a request.

    ``robots`` gives the script for a host's robots.txt, which is missing unless it says otherwise.
    """

    def __init__(self, scripts: Mapping[str, Script | Series], robots: Callable[[str], Script]) -> None:
        self._scripts = scripts
        self._robots = robots
        self._connections: set[asyncio.Task[None]] = set()
        self.asked: list[tuple[str, str]] = []  # host and path of each request
        self.heads: list[bytes] = []
        self.accepted = 0
        self.port = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode("latin-1")
        host = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode("latin-1")
        self.heads.append(head)
        self.asked.append((host, path))
        for step in self._script(host, path):
            if writer.transport.is_closing():  # the client has left; uvloop refuses to write then
                return False
            match step:
                case bytes():
                    writer.write(step)
                    await writer.drain()
                case Pause(seconds):
                    await asyncio.sleep(seconds)
                case Act.HANG:
                    await reader.read(1)
                case Act.RESET:
                    # No lingering: what closes is a RST, not a FIN.
                    raw = writer.get_extra_info("socket")
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                    return False
                case Act.KEEP:
                    return True
        return False

    def _script(self, host: str, path: str) -> Script:
        if path == "/robots.txt":
            return self._robots(host)
        found = self._scripts.get(path, MISSING)
        if not isinstance(found, Series):
            return found
        turn = self.asked.count((host, path))
        return found.scripts[min(turn, len(found.scripts)) - 1]

    async def close(self) -> None:
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)


@asynccontextmanager
async def serving(
    scripts: Mapping[str, Script | Series],
    tls: ssl.SSLContext | None = None,
    robots: Callable[[str], Script] = lambda host: MISSING,
) -> AsyncIterator[HostileServer]:
    """Run a hostile server on loopback, at a port of its own."""
    server = HostileServer(scripts, robots)
    listening = await asyncio.start_server(server._serve, "127.0.0.1", 0, ssl=tls, backlog=512)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.close()


def config_for(port: int, *settings: str) -> Config:
    """Return settings under which every name is found at a port of loopback, and nobody waits longer than needed."""
    return load(
        overrides=[
            "agent.name=hostile-test",
            f'fetch.connect_to=["*:*=127.0.0.1:{port}"]',
            'fetch.allow_ports=["1-65535"]',
            "fetch.delay=0",
            "fetch.adaptive_delay=false",
            "fetch.exceptions_per_queue_delay=0s",
            "fetch.max_exceptions_per_queue=-1",
            "fetch.content_limit=64KiB",
            "http.timeout=1s",
            "http.time_limit=2s",
            "http.robots_503_defer_visits=false",
            *settings,
        ]
    )


async def fetch_all(config: Config, urls: Iterable[str]) -> dict[str, Reply]:
    """Fetch URLs with a fetcher of their own; each reaches the sink exactly once."""
    wanted = list(urls)
    replies: dict[str, Reply] = {}

    async def source() -> AsyncIterator[Request]:
        for url in wanted:
            yield Request(url=canonical(url), context=url.encode())

    def sink(request: Request, reply: Reply) -> None:
        url = request.context.decode()
        assert url not in replies, f"{url} reached the sink twice"
        replies[url] = reply

    await Fetcher(config).run(source(), sink)
    assert replies.keys() == set(wanted)
    return replies


def open_files() -> int:
    """Return how many file descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def settled_files(before: int, within: float = 2.0) -> int:
    """Return the open files once they are back at a number, or as many as there are when time is up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            while open_files() > before:
                await asyncio.sleep(0.01)
    return open_files()
