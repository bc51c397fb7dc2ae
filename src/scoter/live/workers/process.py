"""The fetching process: ``python -m scoter.live.workers.process FD``, joined to the core by the socket FD.

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
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import uvloop

from scoter.core.reply import Exchange
from scoter.heap import collect_less, keep_memory
from scoter.live import clock
from scoter.live.records import ContentSummary
from scoter.live.stages.parser import ResponseParser
from scoter.live.workers.lease import WorkerLock
from scoter.live.workers.wire import VERSION, FrameConnection, MakeHop, StartWorker, WireMessage, frames_over
from scoter.live.workers.worker import LiveWorker
from scoter.parse import ContentParser

_DIRECT_LIMIT = 1024 * 1024  # bytes of a direct request
_MOST_DIRECT = 64  # connections


class WorkerStartup:
    """Begins when the core has said with what, and hands on what comes after."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[StartWorker] = asyncio.get_running_loop().create_future()
        self.worker: LiveWorker | None = None
        self._early: list[WireMessage] = []
        self._is_lost = False

    def receive(self, message: WireMessage) -> None:
        if isinstance(message, StartWorker):
            self.begun.set_result(message)
        elif self.worker is None:
            self._early.append(message)
        else:
            self.worker.receive(message)

    def lose_core(self) -> None:
        self._is_lost = True
        if self.worker is not None:
            self.worker.lose_core()
        elif not self.begun.done():
            self.begun.cancel()

    def settle(self, worker: LiveWorker) -> None:
        """Hand over what came meanwhile."""
        self.worker = worker
        for message in self._early:
            worker.receive(message)
        self._early.clear()
        if self._is_lost:
            worker.lose_core()


class DirectRequests:
    """Those who ask directly, at the process's own Unix socket."""

    def __init__(self, worker: LiveWorker) -> None:
        self._tenant = worker
        self._count = 0

    def accept(self) -> FrameConnection:
        """Return the frames of a new connection."""
        self._count += 1
        frames = FrameConnection(lambda message: self._receive(message, frames), self._ended, _DIRECT_LIMIT)
        if self._count > _MOST_DIRECT:
            frames.close()
        return frames

    def _ended(self) -> None:
        self._count -= 1

    def _receive(self, message: WireMessage, asker: FrameConnection) -> None:
        if not isinstance(message, MakeHop) or message.is_bare:
            raise ValueError(f"unexpected message on the socket for direct requests: {type(message).__name__}")
        self._tenant.ask(message, asker)


async def serve(sock: socket.socket) -> None:
    """Be a fetcher of the core at the other end of a socket."""
    process = WorkerStartup()
    core = await frames_over(sock, process.receive, process.lose_core)
    with suppress(asyncio.CancelledError):
        begin = await process.begun
        await _work(begin, process, core)
    core.close()


async def _work(begin: StartWorker, process: WorkerStartup, core: FrameConnection) -> None:
    loop = asyncio.get_running_loop()
    folder = Path(begin.folder)
    lock = WorkerLock(folder)
    config = pickle.loads(begin.config)  # noqa: S301 - from the process that started this one, over a socket of the two
    keep_memory()
    parsing = ContentParser(config)  # only what needs no process of its own is parsed here
    worker = LiveWorker(
        config,
        core,
        version=VERSION,
        shards=begin.shards,
        deepest=begin.deepest,
        patience=begin.patience,
        alone_for=begin.alone_for,
        promise=lock.promise,
        now=clock.lease_now,
        reading=InPlaceParser(ResponseParser(config, parsing).at_once),
    )
    loop.add_signal_handler(signal.SIGTERM, partial(worker.stop, 0.0))
    path = folder / f"fetcher-{os.getpid()}.sock"
    path.unlink(missing_ok=True)
    listening = await loop.create_unix_server(DirectRequests(worker).accept, path=str(path))
    try:
        process.settle(worker)
        collect_less()
        await worker.run()
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


# Seconds. A hostile page may take one: a few of them without a pause, and the core would take the process for dead.
_BREATH: Final = 0.02


class InPlaceParser:
    """Reads one answer after another, and lets the event loop see to everything else in between."""

    def __init__(
        self, at_once: Callable[[Exchange], ContentSummary | None], timer: Callable[[], float] = time.perf_counter
    ) -> None:
        """``at_once`` reads an answer, or tells by none that it may take long."""
        self._at_once = at_once
        self._timer = timer
        self._turn = asyncio.Lock()
        self._spent = 0.0

    async def __call__(self, exchange: Exchange) -> ContentSummary | None:
        """Return what an answer holds; none if it is to be read elsewhere."""
        async with self._turn:
            if self._spent > _BREATH:
                self._spent = 0.0
                await asyncio.sleep(0)
            began = self._timer()
            try:
                return self._at_once(exchange)
            except Exception:  # the core meets it again, and knows whom to tell; this process has others to fetch for
                return None
            finally:
                self._spent += self._timer() - began


if __name__ == "__main__":
    main()
