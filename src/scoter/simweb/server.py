"""Serve a synthetic web on one loopback port, in an event loop, in a thread, or until interrupted."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvloop

from scoter.errors import UsageError
from scoter.simweb.connection import ADDRESS, SimConnection, SimServer
from scoter.simweb.spec import WebSpec
from scoter.simweb.web import SimWeb

_BACKLOG = 4096
_THREAD_TIMEOUT = 30.0


@asynccontextmanager
async def serve(web: SimWeb, port: int = 0) -> AsyncIterator[SimServer]:
    """Serve a web on loopback; port 0 selects a free port. Works with uvloop and asyncio's own loop."""
    if not 0 <= port <= 65535:
        raise UsageError(f"port={port} is invalid: it must be an integer from 0 to 65535", where="simweb")
    loop = asyncio.get_running_loop()
    server = SimServer(web)
    try:
        listener = await loop.create_server(lambda: SimConnection(server, loop), ADDRESS, port, backlog=_BACKLOG)
    except OSError as refusal:
        raise UsageError(
            f"cannot listen on {ADDRESS}:{port}: {refusal.strerror or refusal}",
            where="simweb",
            hint="Choose another port, or 0 for a free one.",
        ) from refusal
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for connection in tuple(server.connections):
            connection.abort()
        await listener.wait_closed()


def run_forever(web: SimWeb, port: int = 0, ready: Callable[[SimServer], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is called once requests are accepted."""

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        async with serve(web, port) as server:
            if ready is not None:
                ready(server)
            await stop.wait()

    uvloop.run(run())


@contextmanager
def running(spec: WebSpec | None = None, port: int = 0) -> Iterator[SimServer]:
    """Serve a web from a thread, for synchronous code."""
    web = SimWeb(spec)
    started = threading.Event()
    handed: list[SimServer] = []
    failed: list[BaseException] = []
    stops: list[Callable[[], object]] = []

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with serve(web, port) as server:
            handed.append(server)
            stops.append(lambda: loop.call_soon_threadsafe(stop.set))
            started.set()
            await stop.wait()

    def work() -> None:
        try:
            uvloop.run(run())
        except BaseException as failure:  # re-raised in the waiting thread
            failed.append(failure)
        finally:
            started.set()

    thread = threading.Thread(target=work, name="simweb", daemon=True)
    thread.start()
    started.wait(_THREAD_TIMEOUT)
    if not handed:
        raise failed[0] if failed else UsageError("the server did not start in time", where="simweb")
    try:
        yield handed[0]
    finally:
        stops[0]()
        thread.join(_THREAD_TIMEOUT)
    if failed:
        raise failed[0]
