"""The fetching process: ``python -m scoter.live.fetching.process FD``, joined to the core by the socket FD.

It opens no store. It ends when it is told to, by the core or by SIGTERM. When the core is gone it goes on answering
direct requests at its Unix socket, for the domains it holds, until a new core ends it or nobody has asked for a while.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import uvloop

from scoter.heap import collect_less, keep_memory
from scoter.live.fetching import clock
from scoter.live.fetching.frames import Frames, over
from scoter.live.fetching.messages import VERSION, Ask, Begin, Message
from scoter.live.fetching.reading import InTurn
from scoter.live.fetching.takeover import Pledge
from scoter.live.fetching.tenant import Tenant
from scoter.live.stages.reading import Reading
from scoter.parse import ContentParser

_DIRECT_LIMIT = 1024 * 1024  # bytes of a direct request
_MOST_DIRECT = 64  # connections


class Process:
    """Begins when the core has said with what, and hands on what comes after."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[Begin] = asyncio.get_running_loop().create_future()
        self.tenant: Tenant | None = None
        self._early: list[Message] = []
        self._is_lost = False

    def receive(self, message: Message) -> None:
        if isinstance(message, Begin):
            self.begun.set_result(message)
        elif self.tenant is None:
            self._early.append(message)
        else:
            self.tenant.receive(message)

    def lose_core(self) -> None:
        self._is_lost = True
        if self.tenant is not None:
            self.tenant.lose_core()
        elif not self.begun.done():
            self.begun.cancel()

    def settle(self, tenant: Tenant) -> None:
        """Hand over what came meanwhile."""
        self.tenant = tenant
        for message in self._early:
            tenant.receive(message)
        self._early.clear()
        if self._is_lost:
            tenant.lose_core()


class Direct:
    """Those who ask directly, at the process's own Unix socket."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._count = 0

    def accept(self) -> Frames:
        """Return the frames of a new connection."""
        self._count += 1
        frames = Frames(lambda message: self._receive(message, frames), self._ended, _DIRECT_LIMIT)
        if self._count > _MOST_DIRECT:
            frames.close()
        return frames

    def _ended(self) -> None:
        self._count -= 1

    def _receive(self, message: Message, asker: Frames) -> None:
        if not isinstance(message, Ask) or message.is_bare:
            raise ValueError(f"nobody may say {type(message).__name__} here")
        self._tenant.ask(message, asker)


async def serve(sock: socket.socket) -> None:
    """Be a fetcher of the core at the other end of a socket."""
    process = Process()
    core = await over(sock, process.receive, process.lose_core)
    with suppress(asyncio.CancelledError):
        begin = await process.begun
        await _work(begin, process, core)
    core.close()


async def _work(begin: Begin, process: Process, core: Frames) -> None:
    loop = asyncio.get_running_loop()
    folder = Path(begin.folder)
    pledge = Pledge(folder)
    config = pickle.loads(begin.config)  # noqa: S301 - from the process that started this one, over a socket of the two
    keep_memory()
    parsing = ContentParser(config)  # only what needs no process of its own is parsed here
    tenant = Tenant(
        config,
        core,
        version=VERSION,
        shards=begin.shards,
        deepest=begin.deepest,
        patience=begin.patience,
        alone_for=begin.alone_for,
        promise=pledge.promise,
        now=clock.now,
        reading=InTurn(Reading(config, parsing).at_once),
    )
    loop.add_signal_handler(signal.SIGTERM, partial(tenant.stop, 0.0))
    path = folder / f"fetcher-{os.getpid()}.sock"
    path.unlink(missing_ok=True)
    listening = await loop.create_unix_server(Direct(tenant).accept, path=str(path))
    try:
        process.settle(tenant)
        collect_less()
        await tenant.run()
    finally:
        parsing.close()
        listening.close()
        path.unlink(missing_ok=True)


def main() -> None:
    # A person's Ctrl-C reaches the whole group; it is for the core to end its fetchers in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.setblocking(False)
    uvloop.run(serve(sock))


if __name__ == "__main__":
    main()
